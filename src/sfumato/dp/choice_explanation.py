"""Mechanisms that choose, explained: the law of the choice in two neighbouring worlds.

Contract: as :mod:`sfumato.dp.explanation`. The worlds are ones in which a choice tells most: scores
that all agree, and the same after one unit raised the first by Δ and lowered the others by Δ (for
above-threshold, answers at the threshold and all of them Δ higher). Laws are computed, not sampled:
those of noisy maxima and thresholds by sums over a grid of the noise, to about six digits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.explanation import error_rows, explain_pair
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.above_threshold import AboveThreshold
from sfumato.dp.mechanisms.exponential import Exponential
from sfumato.dp.mechanisms.noisy_max import ReportNoisyMax
from sfumato.dp.mechanisms.permute_and_flip import PermuteAndFlip
from sfumato.dp.mechanisms.randomized_response import RandomizedResponse
from sfumato.dp.neighbours import UNBOUNDED, Neighbours
from sfumato.dp.tradeoff import Pair
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from sfumato.dp.explanation import Explanation
    from sfumato.dp.mechanisms.selection import Selection
    from sfumato.dp.rounding import Stated

Law = list[float]
_MOST_CANDIDATES = 12
_CELLS = 4001
_REACH = 30.0  # scales of noise beyond which nothing is left that a picture shows


def explain_choice(
    name: str,
    *,
    epsilon: Stated,
    sensitivity: Stated = 1,
    neighbours: Neighbours | str = UNBOUNDED,
    size: int = 4,
) -> Explanation:
    """Explain a mechanism that picks a candidate, or says yes and no."""
    if name == "randomized-response":
        return _response(epsilon, size)
    if not 2 <= size <= _MOST_CANDIDATES:
        raise ParameterError(
            f"A choice is explained for 2 to {_MOST_CANDIDATES} candidates; {size} were given."
        )
    relation = Neighbours.of(neighbours)
    if name == "above-threshold":
        return _threshold(epsilon, sensitivity, relation, size)
    made, law = _SELECTIONS[name]
    mechanism = made(sensitivity=sensitivity, epsilon=epsilon, neighbours=relation, size=size)
    shift = float(parameters.budget(epsilon))  # the worlds differ by 2Δ, worth ε
    here, there = (law(gaps) for gaps in ([0.0] * size, [0.0] + [shift] * (size - 1)))
    return explain_pair(name, mechanism.guarantee, _pair(here, there), error_rows(mechanism))


def _pair(here: Law, there: Law) -> Pair:
    return Pair.of(_exact(here), _exact(there))


def _exact(law: Law) -> list[Fraction]:
    """Normalise floats without a rest; outcomes that a float cannot show keep a crumb."""
    masses = [max(Fraction(mass), Fraction(1, 10**300)) for mass in law]
    whole = sum(masses, Fraction(0))
    return [mass / whole for mass in masses]


def _exponential(gaps: Law) -> Law:
    """Pr ∝ exp(−gap): a gap is what a candidate lacks, in units of 1/rate."""
    return [math.exp(-gap) for gap in gaps]


def _permute_and_flip(gaps: Law) -> Law:
    """Sum over who came earlier in the random order, and whose coins therefore came up false."""
    size, coins = len(gaps), [math.exp(-gap) for gap in gaps]
    law = []
    for own in range(size):
        others = [i for i in range(size) if i != own]
        total = 0.0
        for count in range(size):
            ways = math.factorial(count) * math.factorial(size - 1 - count) / math.factorial(size)
            total += ways * sum(
                math.prod(1 - coins[i] for i in earlier) for earlier in combinations(others, count)
            )
        law.append(coins[own] * total)
    return law


def _noisy_max(gaps: Law) -> Law:
    """Integrate over the noise of the winner; all others must stay below it."""
    places, weights = _laplace_cells()
    return [
        float(sum(weights * np.prod([_laplace_below(places - own + gap)
                                     for j, gap in enumerate(gaps) if j != i], axis=0)))
        for i, own in enumerate(gaps)
    ]  # fmt: skip


_SELECTIONS: dict[str, tuple[type[Selection], Callable[[Law], Law]]] = {
    "exponential": (Exponential, _exponential),
    "permute-and-flip": (PermuteAndFlip, _permute_and_flip),
    "noisy-max": (ReportNoisyMax, _noisy_max),
}


def _threshold(
    epsilon: Stated, sensitivity: Stated, relation: Neighbours, size: int
) -> Explanation:
    """Explain a run of ``size`` questions that ends with the first yes."""
    mechanism = AboveThreshold(
        threshold=0, sensitivity=sensitivity, epsilon=epsilon, neighbours=relation, size=size
    )
    moved = float(parameters.budget(epsilon)) / 4  # Δ in scales of the answers' noise
    pair = _pair(_first_yes(0.0, size), _first_yes(moved, size))
    return explain_pair("above-threshold", mechanism.guarantee, pair, error_rows(mechanism))


def _first_yes(height: float, size: int) -> Law:
    """Give the probability that the first yes comes at each question, or never.

    ``height`` is how far all answers are above the threshold, in scales of their noise, which is
    twice that of the threshold. Given the noise of the threshold, answers are independent.
    """
    places, weights = _laplace_cells()
    no = _laplace_below(places / 2 - height)
    law = [float(sum(weights * no**number * (1 - no))) for number in range(size)]
    return [*law, float(sum(weights * no**size))]


def _response(epsilon: Stated, size: int) -> Explanation:
    mechanism = RandomizedResponse(epsilon=epsilon, size=size)
    keep = (1 + mechanism.lever) / 2
    pair = _pair([keep, 1 - keep], [1 - keep, keep])
    return explain_pair("randomized-response", mechanism.guarantee, pair, error_rows(mechanism))


def _laplace_cells() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Cut Laplace noise of scale 1 into cells: their middles, and their masses."""
    ends = np.linspace(-_REACH, _REACH, _CELLS + 1)
    return (ends[1:] + ends[:-1]) / 2, np.diff(_laplace_below(ends))


def _laplace_below(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give the distribution function of Laplace noise of scale 1."""
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)
