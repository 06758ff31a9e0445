"""Privacy amplification by shuffling: what a local ε becomes when nobody knows who sent what.

Contract: ``shuffle_epsilon(epsilon0, n, delta)`` gives an ε such that the shuffled reports of n
people, each made by an ε₀-locally private protocol, are (ε, δ)-differentially private for changing
one person's value. The result is a :class:`Shuffled`, which never prints without its assumption: a
trusted shuffler.

The bound is the clone argument of Feldman, McMillan and Talwar ("Hiding among the clones", FOCS
2021; "Stronger privacy amplification by shuffling", SODA 2023), evaluated numerically instead of by
its closed form. Proof. Let R⁰, R¹ be the reports of the two values of the changed person and α =
e^ε₀/(e^ε₀+1). There are distributions Q⁰, Q¹ with R⁰ = αQ⁰ + (1−α)Q¹ and R¹ = (1−α)Q⁰ + αQ¹, and R⁰
+ R¹ = Q⁰ + Q¹. Any other person's report is at least e^(−ε₀) times R⁰ and R¹, so it is a mixture:
with probability e^(−ε₀) a clone, drawn from Q⁰ or Q¹ by a fair coin, otherwise drawn from something
that does not depend on the changed person. What the collector sees is a function of that and of how
many reports came from Q⁰ and from Q¹: with C ~ Bin(n−1, e^(−ε₀)) clones, A ~ Bin(C, ½) and Δ ~
Bernoulli(α),

    (A + Δ, C − A + 1 − Δ)   against   (A + 1 − Δ, C − A + Δ).

δ(ε) is the sum over c of Pr[C = c] times the hockey-stick divergence given c. With b(a) = Pr[A =
a], the likelihood ratio grows with the first count and passes e^ε at some t, and the divergence is
(α − e^ε(1−α))·b(t−1) − (e^ε − 1)·Pr[A ≥ t]. The tails go from c to c+1 by two terms, so all of them
are one running sum.

Rounding: values of C beyond a Bernstein bound count in full, and the result is raised by one part
in 10⁶, far beyond the error of :mod:`.binomial`, and by the error of the running sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.binomial import binomial
from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Neighbours, Person
from sfumato.dp.rounding import exp_down, float_up
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.dp.rounding import Stated

ASSUMPTION = (
    "this holds only if a trusted shuffler hides who sent which report and when, and all n people "
    "report honestly and once, by a protocol with this local ε; without the shuffler each person "
    "has her local ε alone"
)
_SLACK = 1e-6
_PRECISION = 1e-6
_LEAST = 1e-15
_MOST = 10**12
_MOST_COUNTS = 1 << 16


@dataclass(frozen=True, repr=False)
class Shuffled(Shown):
    """The central guarantee of shuffled local reports, with what it rests on."""

    epsilon: float
    delta: float
    local_epsilon: float
    n: int
    assumption: str = ASSUMPTION

    @property
    def guarantee(self) -> ApproxDP:
        """The guarantee as a value; it still rests on the assumption."""
        return ApproxDP(self.epsilon, self.delta, neighbours=Neighbours("bounded", Person()))

    def __str__(self) -> str:
        return (
            f"ε = {self.epsilon:.4g} at δ = {self.delta:.3g} in the shuffle model, from local "
            f"ε = {self.local_epsilon:.6g} and {self.n:,} people; {self.assumption}"
        )

    __repr__ = __str__


def shuffle_epsilon(epsilon0: Stated, n: int, delta: Stated) -> Shuffled:
    """Find the central ε of n shuffled reports of local ε₀, at a given δ."""
    local = float_up(parameters.budget(epsilon0))
    failure = float(parameters.failure(delta))
    people = parameters.count(n, "The number of people")
    if people is None or people > _MOST:
        raise ParameterError(f"The number of people is 1 to {_MOST:,}, and {n} was given.")
    if failure < 1e-14:
        raise ParameterError(
            f"δ (delta) is at least 1e-14 for the shuffle bound, and {failure:g} was given."
        )
    clones = _clones(local, people, failure)
    low, high = local / 2, local
    while low > _LEAST and _delta(low, local, clones) <= failure:
        low, high = low / 2, low
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _delta(middle, local, clones) <= failure:
            high = middle
        else:
            low = middle
    return Shuffled(high, failure, local, people)


@dataclass(frozen=True)
class _Clones:
    """The likely numbers of clones with their probabilities, and that of all others."""

    counts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    beyond: float


def _clones(local: float, people: int, failure: float) -> _Clones:
    chance, others = exp_down(-local), people - 1
    mean, spread = others * chance, others * chance * (1 - chance)
    # Bernstein: Pr[|C − mean| > w] ≤ 2·exp(−w²/(2(spread + w/3))), which this w makes δ·10⁻⁷.
    log = math.log(2e7 / failure)
    reach = math.sqrt(2 * spread * log) + 2 * log / 3
    low, high = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
    if high - low > _MOST_COUNTS:
        # More clones hide better (they can be added afterwards), so the fewest stand for all.
        return _Clones(np.array([low]), np.ones(1), failure * 1e-7)
    counts = np.arange(low, high + 1)
    return _Clones(counts, binomial(counts, others, chance), failure * 1e-7)


def _delta(epsilon: float, local: float, clones: _Clones) -> float:
    """Bound δ(ε) from above."""
    alpha = 1 / (1 + math.exp(-local))
    gain = alpha - math.exp(epsilon) * (1 - alpha)
    if gain <= 0:
        return 0.0  # the local guarantee holds anyway
    counts, grown = clones.counts, math.expm1(epsilon)
    turn = (math.exp(epsilon) * alpha - (1 - alpha)) / gain
    cuts = np.floor(turn / (1 + turn) * (counts + 1)).astype(np.int64) + 1
    below = binomial(cuts - 1, counts, 0.5)
    tails = _tails(counts, cuts, below)
    given = np.maximum(gain * below - grown * tails, 0.0)
    lost = 2.3e-16 * counts.size * float(tails.max()) * grown
    return float(clones.weights @ given) * (1 + _SLACK) + lost + clones.beyond


def _tails(
    counts: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64], below: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Give Pr[Bin(c, ½) ≥ t] for consecutive c and cuts t that never fall and rise by at most 1.

    One more coin adds half of the probability just below the cut (``below``); a cut that rises by
    one loses its own probability.
    """
    first, cut = int(counts[0]), int(cuts[0])
    # Sixteen standard deviations further the rest is below e⁻¹²⁸ of the tail.
    reach = math.ceil(8 * math.sqrt(first + 1)) + 64
    whole = np.arange(cut, min(first, cut + reach) + 1)
    start = float(binomial(whole, first, 0.5).sum()) if whole.size else 0.0
    raised = cuts[1:] > cuts[:-1]
    lost = np.zeros(counts.size - 1)
    lost[raised] = binomial(cuts[:-1][raised], counts[1:][raised], 0.5)
    sums = np.concatenate([[start], start + np.cumsum(0.5 * below[:-1] - lost)])
    return np.asarray(np.maximum(sums, 0.0))
