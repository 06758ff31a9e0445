"""The pair of output distributions of a mechanism, for its privacy loss and trade-off curve.

Contract: ``pair_of(mechanism)`` is for study and pictures. It gives the pair of one number that
moves by the whole sensitivity, where the law allows it to be listed:

* geometric noise and randomised response: exact, but for the 30th digit;
* Laplace noise: the pair of the same law on a coarser grid of 512 steps per sensitivity, which
  dominates every finer one that divides it, and the continuous law: with r fine steps per coarse
  one, a geometric variable G splits into the independent parts ⌊G/r⌋, geometric again,
  and G mod r, so fine noise is coarse noise times r plus noise of its own (post-processing);
* Gaussian noise: cut into cells of σ/40 up to 9σ, the rest of each tail in one cell. Cutting is
  post-processing, so its δ is a little below the true one; use ``mechanism.gdp`` for promises.

``pair_of(mechanism, here, there)`` takes the inputs of a mechanism that can list its
``probabilities``, such as the exponential mechanism with two vectors of scores.
"""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from sfumato.dp.rounding import exp_bounds, stated
from sfumato.dp.tradeoff import Pair, geometric_pair
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.mechanisms.base import Mechanism

_STEPS = 512
_CELLS_PER_SIGMA = 40
_REACH = 9


def pair_of(mechanism: Mechanism, here: Any = None, there: Any = None) -> Pair:
    """Give the output distributions of a mechanism on two inputs, or on its worst pair of numbers.

    Without inputs, the pair is the worst one of a single number: the truth moves by the whole
    sensitivity.
    """
    from sfumato.dp.mechanisms.gaussian import DiscreteGaussian, Gaussian  # noqa: PLC0415 - heavy
    from sfumato.dp.mechanisms.laplace import Geometric, Laplace  # noqa: PLC0415 - heavy
    from sfumato.dp.mechanisms.randomized_response import (  # noqa: PLC0415 - heavy
        RandomizedResponse,
    )

    if here is not None and there is not None:
        return _listed(mechanism, here, there)
    if isinstance(mechanism, Geometric):
        return geometric_pair(mechanism.epsilon, _whole(mechanism.sensitivity))
    if isinstance(mechanism, Laplace):
        return geometric_pair(mechanism.epsilon, _STEPS)
    if isinstance(mechanism, RandomizedResponse):
        return geometric_pair(mechanism.guarantee.epsilon)
    if isinstance(mechanism, DiscreteGaussian):
        return _discrete_gaussian(mechanism.variance, _whole(mechanism.sensitivity))
    if isinstance(mechanism, Gaussian):
        return _gaussian(mechanism.gdp.mu)
    raise ParameterError(
        f"{type(mechanism).__name__} has no worst pair that can be listed; give two inputs, "
        "pair_of(mechanism, here, there), or distributions, Pair.of(…)."
    )


def _listed(mechanism: Mechanism, here: Any, there: Any) -> Pair:
    probabilities = getattr(mechanism, "probabilities", None)
    if probabilities is None:
        raise ParameterError(
            f"{type(mechanism).__name__} cannot list its probabilities; give the two "
            "distributions to Pair.of(…)."
        )
    return Pair.of(
        [float(p) for p in probabilities(here)], [float(p) for p in probabilities(there)]
    )


def _gaussian(mu: float) -> Pair:
    """Cut N(0, 1) and N(μ, 1) into cells."""
    normal = NormalDist()
    cells = round((2 * _REACH + mu) * _CELLS_PER_SIGMA)
    cuts = [-_REACH + k / _CELLS_PER_SIGMA for k in range(cells + 1)]
    return Pair.of_masses(zip(_cells(normal, cuts, 0.0), _cells(normal, cuts, mu), strict=True))


def _cells(normal: NormalDist, cuts: list[float], mean: float) -> list[Fraction]:
    """Give the masses between cuts, each tail from its own side so that small ones stay exact."""
    below = [Fraction(normal.cdf(cut - mean)) for cut in cuts]
    above = [Fraction(normal.cdf(mean - cut)) for cut in cuts]
    inner = [
        below[k + 1] - below[k] if cuts[k] < mean else above[k] - above[k + 1]
        for k in range(len(cuts) - 1)
    ]
    return [below[0], *inner, above[-1]]


def _discrete_gaussian(variance: Fraction, size: int) -> Pair:
    """List Pr[n] ∝ exp(−n²/(2σ²)) for sensitivity Δ, up to 9σ beyond both centres."""
    sigma_squared = variance * size**2
    reach = _REACH * round(float(sigma_squared) ** 0.5 + 1)
    law = [
        Fraction(exp_bounds(-Fraction(n * n) / (2 * sigma_squared), 30)[1])
        for n in range(reach + size + 1)
    ]
    places = range(-reach, size + reach + 1)
    here, there = [law[abs(n)] for n in places], [law[abs(n - size)] for n in places]
    return Pair.of_masses((p / sum(here), q / sum(there)) for p, q in zip(here, there, strict=True))


def _whole(sensitivity: Any) -> int:
    exact = stated(sensitivity)
    if exact.denominator != 1:
        raise ParameterError("Noise on whole numbers has a whole sensitivity.")
    return int(exact)
