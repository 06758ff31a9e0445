"""Histograms of records in memory: noisy counts, or noisy sums, of every bin.

Promise: ε-differential privacy, (ε, δ) when δ is given, ρ-zCDP when ρ is given instead, for the
neighbours that are named. The bins are public; which of them are empty is not told.

Proof. Each record falls into one bin or none, by itself (:mod:`sfumato.dp.publish.binning`), so
the counts are :class:`~sfumato.dp.queries.grouped.Histogram` and the sums, of values that are
clamped and rounded to whole steps of a grid record by record, are
:class:`~sfumato.dp.queries.grouped.GroupedSum` of whole numbers; Δ₁ and Δ₂ are derived there. A
record that is in no bin or has no value adds 0, which the derivation allows for by stretching the
bounds to 0. All totals are whole numbers, added without rounding. Geometric noise of scale
Δ₁/ε is then ε-differentially private (:mod:`sfumato.dp.mechanisms.laplace`). Continuous Gaussian
noise with σ = Δ₂/μ added to whole numbers and rounded is post-processing of the Gaussian
mechanism, and equals adding rounded noise; so it is μ-GDP, and μ is chosen for (ε, δ) or ρ
(:mod:`sfumato.dp.mechanisms.gaussian`). Multiplying by the step is post-processing.

A unit with several records keeps to its declared limits because the caller truncated the
records to them before; an array has no names by which this could be done here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.cells import as_numbers
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.additive import WHOLE
from sfumato.dp.mechanisms.gaussian import Gaussian
from sfumato.dp.mechanisms.laplace import Geometric
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.publish.binning import Axis, axes_of, columns_of, flat_places
from sfumato.dp.publish.numbers import NumberTable, release_numbers
from sfumato.dp.queries.base import read_bounds, sensitivity
from sfumato.dp.queries.exact_sum import GridSum
from sfumato.dp.queries.grouped import GroupedSum, Histogram
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.mechanisms.additive import Additive
    from sfumato.dp.mechanisms.grid import Grid
    from sfumato.dp.queries.base import Query, Sensitivity
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_FINE = 20  # a step is so many bits below the largest value, and 1 at most


@dataclass(frozen=True, eq=False)
class NoisyHistogram(Shown):
    """Noisy counts, or sums, of every bin; ``values`` has one axis per dimension.

    ``edges`` are the edges or the categories of each dimension; ``sensitivity`` is in units of
    ``step``. All of it may be published.
    """

    values: NDArray[Any]
    axes: tuple[Axis, ...]
    guarantee: Guarantee
    sensitivity: Sensitivity
    mechanism: Additive
    step: Fraction = Fraction(1)

    @property
    def edges(self) -> tuple[tuple[Any, ...], ...]:
        """The edges, or the categories, of each dimension."""
        return tuple(axis.categories or axis.edges for axis in self.axes)

    def half_width(self, confidence: float = 0.95) -> float:
        """Give how far noise moves one bin, at most, with this probability."""
        return self.mechanism.error.interval(confidence)[1] * float(self.step)

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give the ends of an interval for each bin, which holds its exact number so surely."""
        half = self.half_width(confidence)
        return self.values - half, self.values + half

    def release(self, name: str = "histogram", *, confidence: float = 0.95) -> Release:
        """Hand the histogram over as a release: a row per bin, with its interval."""
        half = self.half_width(confidence)
        titles = tuple(f"bin {i + 1}" for i in range(len(self.axes)))
        rows = [
            (*(axis.label(i) for axis, i in zip(self.axes, place, strict=True)),
             value, float(value) - half, float(value) + half)
            for place, value in np.ndenumerate(self.values)
        ]  # fmt: skip
        table = NumberTable(
            (*titles, "value", "low", "high"), rows, self, {"confidence": confidence}
        )
        return release_numbers(table, self.guarantee, name=name, mechanism=str(self.mechanism))

    def __str__(self) -> str:
        shape = " × ".join(str(axis.bins) for axis in self.axes)
        return (
            f"{shape} bins, each ± {self.half_width():.6g} with 95 % confidence; {self.guarantee}"
        )


@dataclass(frozen=True, kw_only=True)
class _RoundedGaussian(Gaussian):
    """Gaussian noise for whole numbers, rounded to whole numbers."""

    whole: ClassVar[bool] = True

    def grid_for(self, size: int) -> Grid:  # noqa: ARG002 - whole numbers have one grid
        return WHOLE

    def steps_squared(self, size: int) -> Fraction:  # noqa: ARG002 - whole numbers are not rounded
        return parameters.bound_up(self.sensitivity) ** 2 * self.variance


def histogram(
    values: Any,
    *,
    bins: Any,
    bounds: Any = None,
    sums: Any = None,
    sum_bounds: tuple[Any, Any] | None = None,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
) -> NoisyHistogram:
    """Release how many records fall into each bin, or the sums of ``sums`` in each bin.

    ``values`` are numbers or categories; of several dimensions an array of one row per record, or a
    mapping of columns. ``bins`` is a number of bins within public ``bounds``, a list of edges
    or of categories, or a list of such per dimension. Bins of sums clamp each value to
    ``sum_bounds`` first, and have the sensitivity that follows from them.
    """
    axes = axes_of(values, bins, bounds)
    relation = Neighbours.of(neighbours)
    size = math.prod(axis.bins for axis in axes)
    summing = _grid(sums, sum_bounds)
    size_of = sensitivity(_query(size, summing), relation)
    if not size_of.finite:
        raise ParameterError(f"No noise hides one unit: {size_of.why}. {size_of.advice}")
    mechanism = _mechanism(size_of, size, epsilon=epsilon, delta=delta, rho=rho)
    places = flat_places(axes, columns_of(values, len(axes)))
    exact = _counted(places, size) if summing is None else _summed(places, size, sums, summing)
    step = Fraction(1) if summing is None else summing.step
    noisy = mechanism.release(exact)
    shown = noisy if step == 1 else np.asarray(noisy, dtype=np.float64) * float(step)
    shape = tuple(axis.bins for axis in axes)
    return NoisyHistogram(shown.reshape(shape), axes, mechanism.guarantee, size_of, mechanism, step)


def _grid(sums: Any, sum_bounds: Any) -> GridSum | None:
    """Choose the steps in which values are added; whole numbers are exact multiples of them."""
    if sums is None:
        if sum_bounds is not None:
            raise ParameterError("sum_bounds= belongs to sums=, which was not given.")
        return None
    ends = read_bounds(sum_bounds)
    if ends is None:
        raise ParameterError(
            "Sums need sum_bounds=(low, high), from knowledge of the domain and never from the "
            "data; values outside are clamped."
        )
    reach = max(abs(end) for end in ends)
    if not reach:
        raise ParameterError("Sums of values that are clamped to 0 tell nothing.")
    exponent = min(math.floor(math.log2(reach)) - _FINE, 0)  # from public bounds alone
    low, high = (float(end) for end in ends)
    return GridSum((low, high), exponent, missing="skip")


def _query(size: int, summing: GridSum | None) -> Query:
    if summing is None:
        return Histogram(size)
    low, high = summing.step_bounds
    return GroupedSum(size, (min(low, 0), max(high, 0)))


def _mechanism(
    moved: Sensitivity,
    size: int,
    *,
    epsilon: Stated | None,
    delta: Stated | None,
    rho: Stated | None,
) -> Additive:
    about = {"size": size, "neighbours": moved.neighbours}
    if delta is None and rho is None:
        if epsilon is None:
            raise ParameterError("Give epsilon=, epsilon= with delta=, or rho=.")
        return Geometric(sensitivity=moved.l1, epsilon=epsilon, **about)  # type: ignore[arg-type]
    return _RoundedGaussian(
        sensitivity=moved.l2, epsilon=epsilon, delta=delta, rho=rho, **about  # type: ignore[arg-type]
    )  # fmt: skip


def _counted(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.bincount(places[places >= 0], minlength=size).astype(np.int64)


def _summed(places: NDArray[np.int64], size: int, sums: Any, summing: GridSum) -> NDArray[Any]:
    """Add the steps of each bin, as whole numbers of any size."""
    column = as_numbers(sums)
    if column.shape != places.shape:
        raise DataError("sums= has one value for each record.")
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.searchsorted(sorted_places, np.arange(size + 1))
    totals = [0] * size
    for k in np.unique(sorted_places[sorted_places >= 0]).tolist():
        totals[k] = summing.steps(column[order[starts[k] : starts[k + 1]]])
    return np.array(totals, dtype=object)
