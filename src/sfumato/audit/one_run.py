"""Auditing a training function by one run: canaries, coins, and guesses that should not be right.

Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (NeurIPS 2023). A fair
coin decides for each of m canaries whether it is trained on. From the model alone the auditor
guesses the r coins he is surest of, and abstains from the others. If training is (ε, δ)-private for
a canary added or removed, then whatever the guesses, the number W of right ones is at most that of
r independent coins that come up right with probability e^ε/(1 + e^ε), up to δ:

    Pr[W ≥ w] ≤ f(w) + 2·m·δ·max over i ≥ 1 of (f(w − i) − f(w)) / i,   f(w) = Pr[Bin(r, p) ≥ w].

So a W that is too large refutes the claim, at a stated confidence, whatever the training does
inside. What one run can show is less than what is there: about 40 % of the true ε with thousands of
canaries. It finds mistakes of a factor of three and more, and no small ones.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantees import ApproxDP, PureDP
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of the canaries that are guessed: fixed before the run, all paid for by Bonferroni."""


@dataclass(frozen=True, eq=False)
class TrainingVerdict(Shown):
    """What one run shows: the largest ε that guesses rule out, and whether that refutes the claim.

    `right` of `guesses` coins were guessed; `p_value` is how likely that is, or more, under the
    claim, corrected for the choices of how many to guess.
    """

    claim: Guarantee
    epsilon: float
    refuted: bool
    p_value: float
    guesses: int
    right: int
    canaries: int
    confidence: float

    def __repr__(self) -> str:
        word = "refuted" if self.refuted else "not refuted"
        return (
            f"<{self.claim}: {word}; {self.right} of {self.guesses} coins guessed, which shows "
            f"ε ≥ {self.epsilon:.2f} at {self.confidence:.0%}. One run shows about 40 % of what is "
            "there>"
        )


def training(
    train: Callable[[Any], Any],
    rows: Any,
    claim: Guarantee,
    *,
    canaries: Sequence[Any] | NDArray[Any] | tuple[Any, ...],
    score: Callable[[Any, Any], Any],
    confidence: float = 0.95,
    shares: Sequence[float] = SHARES,
) -> TrainingVerdict:
    """Audit a training function by training once on `rows` and a random half of the canaries.

    `train(rows)` returns anything; `score(trained, canaries)` returns a number per canary, larger
    for those that seem to be in. `rows` and `canaries` are of one kind: lists, arrays, or tuples
    of arrays (features and labels). The claim is pure or approximate, for one row.

    >>> leaky = lambda rows: set(rows)
    >>> told = lambda trained, canaries: [canary in trained for canary in canaries]
    >>> training(leaky, [0.5], PureDP(1), canaries=list(range(1, 401)), score=told).refuted
    True
    """
    epsilon, delta = _claimed(claim)
    many = len(canaries[0]) if isinstance(canaries, tuple) else len(canaries)
    if many < 20 or not 0 < confidence < 1:
        raise ParameterError(
            "An audit takes at least 20 canaries and a confidence between 0 and 1."
        )
    coins = np.array([secrets.randbits(1) for _ in range(many)], dtype=np.bool_)
    trained = train(_join(rows, _take(canaries, np.flatnonzero(coins))))
    values = np.asarray(score(trained, canaries), dtype=np.float64).reshape(-1)
    if len(values) != many or np.isnan(values).any():
        raise ParameterError("score gives a number for every canary.")
    return judge_guesses(values, coins, claim, epsilon, delta, confidence, shares)


def judge_guesses(
    values: NDArray[np.float64],
    coins: NDArray[np.bool_],
    claim: Guarantee,
    epsilon: float,
    delta: float,
    confidence: float = 0.95,
    shares: Sequence[float] = SHARES,
) -> TrainingVerdict:
    """Guess the highest scores to be in and the lowest to be out; bound ε by how many are right."""
    order = np.argsort(values, kind="stable")
    many, level = len(values), (1 - confidence) / len(shares)
    best = (-1.0, 1.0, 0, 0)  # the largest ε shown, its p-value under the claim, guesses, right
    smallest = 1.0
    for share in shares:
        half = max(int(many * share) // 2, 1)
        right = int(coins[order[-half:]].sum() + (~coins[order[:half]]).sum())
        shown = _largest_epsilon(right, 2 * half, many, delta, level)
        value = chance(right, 2 * half, many, epsilon, delta)
        smallest = min(smallest, value)
        if shown > best[0]:
            best = (shown, value, 2 * half, right)
    corrected = min(smallest * len(shares), 1.0)
    return TrainingVerdict(claim, max(best[0], 0.0), corrected <= 1 - confidence, corrected,
                           best[2], best[3], many, confidence)  # fmt: skip


def chance(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Bound the probability of so many right guesses, or more, under (ε, δ)."""
    tails = _tails(guesses, 1 / (1 + math.exp(-epsilon)))  # f(0), f(1), …, f(r + 1)
    base = float(tails[right])
    if not delta or not right:
        return min(base, 1.0)
    steps = np.arange(1, right + 1)
    worst = float(((tails[right - steps] - base) / steps).max())
    return min(base + 2 * canaries * delta * worst, 1.0)


def _tails(trials: int, share: float) -> NDArray[np.float64]:
    """Return Pr[Bin(n, p) ≥ k] for k from 0 to n + 1, rounded up by more than rounding errors."""
    k = np.arange(trials + 1)
    ways = np.array([math.lgamma(j + 1) for j in range(trials + 1)])
    logs = ways[-1] - ways - ways[::-1] + k * math.log(share) + (trials - k) * math.log1p(-share)
    tails = np.cumsum(np.exp(logs)[::-1])[::-1] * (1 + 1e-9)
    return np.append(np.minimum(tails, 1.0), 0.0)


def _largest_epsilon(right: int, guesses: int, canaries: int, delta: float, level: float) -> float:
    """Return the largest ε under which so many right guesses are too unlikely; 0 where none is."""
    if chance(right, guesses, canaries, 0.0, delta) > level:
        return 0.0
    low, high = 0.0, 1.0
    while chance(right, guesses, canaries, high, delta) <= level and high < 64:
        low, high = high, high * 2
    for _ in range(40):
        middle = (low + high) / 2
        if chance(right, guesses, canaries, middle, delta) <= level:
            low = middle
        else:
            high = middle
    return low


def _claimed(claim: Guarantee) -> tuple[float, float]:
    if isinstance(claim, ApproxDP):
        return float(claim.exact_epsilon), float(claim.exact_delta)
    if isinstance(claim, PureDP):
        return float(claim.exact_epsilon), 0.0
    raise ParameterError("A claim about training is PureDP or ApproxDP; convert others with to().")


def _take(canaries: Any, chosen: NDArray[np.int64]) -> Any:
    if isinstance(canaries, tuple):
        return tuple(_take(part, chosen) for part in canaries)
    if isinstance(canaries, list):
        return [canaries[place] for place in chosen.tolist()]
    return canaries[chosen]


def _join(rows: Any, more: Any) -> Any:
    if isinstance(rows, tuple):
        return tuple(_join(a, b) for a, b in zip(rows, more, strict=True))
    if isinstance(rows, list):
        return rows + list(more)
    return np.concatenate([rows, more])
