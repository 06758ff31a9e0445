"""One call per mechanism, for a single release.

Contract: each function builds the mechanism of the same name, releases once and returns the
result; the guarantee is that of the mechanism with these parameters. Numbers come back as
numbers, arrays as arrays of the same shape, mappings as one of their keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import Listed
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.above_threshold import AboveThreshold
from sfumato.dp.mechanisms.exponential import Exponential
from sfumato.dp.mechanisms.gaussian import DiscreteGaussian, Gaussian, Method
from sfumato.dp.mechanisms.laplace import Geometric, Laplace
from sfumato.dp.mechanisms.noisy_max import ReportNoisyMax
from sfumato.dp.mechanisms.permute_and_flip import PermuteAndFlip
from sfumato.dp.mechanisms.pricing import Pricing
from sfumato.dp.mechanisms.quantiles import ExponentialQuantile
from sfumato.dp.mechanisms.randomized_response import RandomizedResponse
from sfumato.dp.neighbours import UNBOUNDED, Neighbours
from sfumato.dp.queries.bounds import interval_of
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from sfumato.dp.rounding import Stated


def laplace(value: Any, *, sensitivity: Stated, epsilon: Stated) -> Any:
    """Release real numbers with ε-DP Laplace noise; the sensitivity is in L1."""
    return Laplace(sensitivity=sensitivity, epsilon=epsilon).release(value)


def geometric(value: Any, *, sensitivity: Stated, epsilon: Stated) -> Any:
    """Release whole numbers with ε-DP geometric noise; the sensitivity is in L1."""
    return Geometric(sensitivity=sensitivity, epsilon=epsilon).release(value)


def gaussian(
    value: Any,
    *,
    sensitivity: Stated,
    epsilon: Stated,
    delta: Stated,
    method: Method = "analytic",
) -> Any:
    """Release real numbers with (ε, δ)-DP Gaussian noise; the sensitivity is in L2."""
    parameters.budget(epsilon)
    mechanism = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, method=method)
    return mechanism.release(value)


def discrete_gaussian(
    value: Any,
    *,
    sensitivity: Stated,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
) -> Any:
    """Release whole numbers with discrete Gaussian noise, for (ε, δ) or for ρ."""
    mechanism = DiscreteGaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, rho=rho)
    return mechanism.release(value)


def exponential(
    scores: Any, *, sensitivity: Stated, epsilon: Stated, monotone: bool = False
) -> Any:
    """Pick a candidate by its score with the exponential mechanism."""
    mechanism = Exponential(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return mechanism.release(scores)


def permute_and_flip(
    scores: Any, *, sensitivity: Stated, epsilon: Stated, monotone: bool = False
) -> Any:
    """Pick a candidate by its score with permute-and-flip."""
    mechanism = PermuteAndFlip(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return mechanism.release(scores)


def report_noisy_max(
    scores: Any, *, sensitivity: Stated, epsilon: Stated, monotone: bool = False
) -> Any:
    """Pick the candidate whose score plus Laplace noise is largest."""
    mechanism = ReportNoisyMax(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return mechanism.release(scores)


def above_threshold(
    answers: Iterable[Any],
    *,
    threshold: Stated,
    sensitivity: Stated,
    epsilon: Stated,
    positives: int = 1,
) -> list[bool]:
    """Say which answers exceed a threshold, until ``positives`` of them did."""
    mechanism = AboveThreshold(
        threshold=threshold, sensitivity=sensitivity, epsilon=epsilon, positives=positives
    )
    return mechanism.release(answers)


def randomized_response(
    answers: Any, *, epsilon: Stated | None = None, truth: Stated | None = None
) -> Any:
    """Perturb true/false answers, each with local differential privacy."""
    return RandomizedResponse(epsilon=epsilon, truth=truth).release(answers)


def quantile(
    values: Any,
    q: Stated = 0.5,
    *,
    bounds: tuple[Stated, Stated] | None = None,
    lower: Stated | None = None,
    upper: Stated | None = None,
    epsilon: Stated,
    step: Stated | None = None,
    neighbours: Neighbours = UNBOUNDED,
) -> float:
    """Release the q-quantile of values in `bounds`, or in [lower, upper]."""
    low, high = interval_of(bounds, lower, upper)
    mechanism = ExponentialQuantile(
        q=q, lower=low, upper=high, epsilon=epsilon, step=step, neighbours=neighbours
    )
    return mechanism.release(values)


def median(
    values: Any,
    *,
    bounds: tuple[Stated, Stated] | None = None,
    lower: Stated | None = None,
    upper: Stated | None = None,
    epsilon: Stated,
    step: Stated | None = None,
    neighbours: Neighbours = UNBOUNDED,
) -> float:
    """Release the median of values in `bounds`, or in [lower, upper]."""
    domain = interval_of(bounds, lower, upper)
    return quantile(values, 0.5, bounds=domain, epsilon=epsilon, step=step, neighbours=neighbours)


def quantiles(
    values: Any,
    orders: Sequence[Stated],
    *,
    bounds: tuple[Stated, Stated] | None = None,
    lower: Stated | None = None,
    upper: Stated | None = None,
    epsilon: Stated,
    step: Stated | None = None,
    neighbours: Neighbours = UNBOUNDED,
) -> list[float]:
    """Release several quantiles, each with its equal part of ε, in the order of ``orders``.

    Crossed results are exchanged until they rise with their order, which is post-processing.
    """
    if not orders:
        raise ParameterError("Name at least one quantile, as in quantiles(values, [0.25, 0.75]).")
    each = parameters.budget(epsilon) / len(orders)
    low, high = interval_of(bounds, lower, upper)
    mechanisms = [  # all of them are checked before the first is released
        ExponentialQuantile(
            q=q, lower=low, upper=high, epsilon=each, step=step, neighbours=neighbours
        )
        for q in orders
    ]
    found = [mechanism.release(values) for mechanism in mechanisms]
    ranks = sorted(range(len(orders)), key=lambda i: stated(orders[i]))
    rising = dict(zip(ranks, sorted(found), strict=True))
    return [rising[i] for i in range(len(orders))]


def top1(
    values: Iterable[Hashable],
    candidates: Sequence[Hashable],
    *,
    epsilon: Stated,
    neighbours: Neighbours = UNBOUNDED,
) -> Hashable:
    """Release the most frequent of the public ``candidates``.

    A unit of k values changes a count by at most k, and added units only raise counts, so
    that for add/remove neighbours the scores are monotone.
    """
    listed = Listed(tuple(dict.fromkeys(candidates)), "The list of candidates")
    places = listed.places(values)
    counts = np.bincount(places[places >= 0], minlength=len(listed)).tolist()
    scores = dict(zip(listed.values, counts, strict=True))
    relation = Neighbours.of(neighbours)
    mechanism = Exponential(
        sensitivity=parameters.rows_per_unit(relation),
        epsilon=epsilon,
        monotone=not relation.bounded,
        neighbours=relation,
    )
    picked: Hashable = mechanism.release(scores)
    return picked


def price(
    limits: Any, prices: Sequence[Stated], *, epsilon: Stated, neighbours: Neighbours = UNBOUNDED
) -> Stated:
    """Choose a price by its revenue, given the most that each buyer would pay."""
    return Pricing(prices=prices, epsilon=epsilon, neighbours=neighbours).release(limits)
