"""The likelihood ratio of vectors: a sum of one learned number for each part of an output.

Contract: ``Additive`` scores an output by Σ_c w_c(range of its c-th number), and ``learn_additive``
fits the w_c by logistic regression to outputs on D and on D′. For independent parts the fitted sum
is the log-likelihood ratio itself; for a sparse vector, whose output has one number in one of ten
places, it is too, because the place shows in every column. Unlike a sum of ratios of single
columns (naive Bayes) it counts what two columns say twice only once.

Fitting. All weights move together, by the steps of Böhning and Lindsay (Ann. Inst. Statist. Math.
1988): the curvature of the logistic likelihood is nowhere more than XᵀX/4, so steps by the inverse
of that matrix never overshoot, and the matrix is needed once. It comes from some ten thousand
runs; the slope, which decides, from all of them. Where a claim is small the ratio of each part is
smaller still, and few ranges learned from many runs beat many ranges.

Alike. Where all columns have one law on each data set, as answers repeated side by side, their
ranges share one weight, the log-ratio of the range over all columns: what each column alone shows
too weakly is learned from all of them (naive Bayes, exact for independent columns).

Innovations. Of numbers that depend on each other, such as running totals, the score may read what
each adds to those before it: x_c less its best linear prediction, from a Cholesky factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.evidence.lookup import log_ratio
from sfumato.compiled import kernel

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.audit.claims.outputs import Outputs

_STEPS = 12
_CURVATURE_RUNS = 20_000
_SEEN = 20_000
"""Runs by which columns are cut into ranges."""
_FREQUENT = 0.01
_MOST_VALUES = 24
_DEPENDENT = 0.25
_TRIED = 2_000
_FEW_COLUMNS = 4
_ALIKE = 0.25
"""Columns whose medians are so close, in standard deviations, may share their weights."""
_GRID = 2.0**20
"""Weights are whole multiples of 1/this, so that sums of them are exact in any order."""


@dataclass(frozen=True, eq=False)
class Additive:
    """A weight for the range that each number falls into, added up."""

    edges: npt.NDArray[np.float64]
    """Row c holds the borders between ranges of column c, filled up with infinity."""
    weights: npt.NDArray[np.float64]
    """Row c holds the weights of the ranges of column c; the last is for a missing number."""
    centre: npt.NDArray[np.float64] | None = None
    whiten: npt.NDArray[np.float64] | None = None
    """Where innovations are read: what is taken off, and the triangle to multiply by."""
    family: str = "additive"

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Add up the weights."""
        numbers = self._read(outputs)
        scores: npt.NDArray[np.float64] = _add_up(numbers, self.edges, self.weights)
        return scores

    def _read(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        numbers = _of_width(outputs.numbers, len(self.edges))
        if self.centre is None or self.whiten is None:
            return numbers
        return _innovate(numbers, self.centre, self.whiten)


def learn_additive(
    first: Outputs, second: Outputs, *, ranges: int, innovations: bool = False
) -> Additive | None:
    """Fit the weights, with so many ranges to a column; None where there is nothing to fit."""
    width = min(first.numbers.shape[1], second.numbers.shape[1])
    if width < 2:
        return None
    empty = Additive(np.empty((width, 0)), np.empty((width, 0)))
    if innovations:
        found = _innovations(first, second, width)
        if found is None:
            return None
        empty = replace(empty, centre=found[0], whiten=found[1])
    sides = [empty._read(outputs) for outputs in (first, second)]  # noqa: SLF001 - its own module
    edges = _edges(np.concatenate([side[:_SEEN] for side in sides]), ranges)
    codes = [_cut(side, edges) for side in sides]
    weights = _fit(codes[0], codes[1], edges.shape[1] + 2)
    return replace(empty, edges=edges, weights=np.rint(weights * _GRID) / _GRID)


def learn_alike(first: Outputs, second: Outputs, *, ranges: int) -> Additive | None:
    """Give all columns the weights of their ranges taken together, if they look alike."""
    width = min(first.numbers.shape[1], second.numbers.shape[1])
    sides = [np.ascontiguousarray(outputs.numbers[:, :width]) for outputs in (first, second)]
    seen = np.concatenate([side[:_SEEN] for side in sides])
    if width < _FEW_COLUMNS or not np.isfinite(seen).all():
        return None
    middles, spread = np.median(seen, axis=0), seen.std()
    if np.ptp(middles) > _ALIKE * spread:
        return None
    edges = _edges_of(seen.reshape(-1), ranges)
    if not edges.size:
        return None
    counts = [
        np.bincount(_cut(side.reshape(-1, 1), edges[None, :])[:, 0], minlength=edges.size + 2)
        for side in sides
    ]
    ranges_of = slice(0, edges.size + 1)  # what is missing speaks for neither
    weights = np.append(log_ratio(counts[0][ranges_of], counts[1][ranges_of]), 0.0)
    weights = np.rint(weights * _GRID) / _GRID
    return Additive(np.tile(edges, (width, 1)), np.tile(weights, (width, 1)), family="alike")


def _of_width(numbers: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Give so many columns, what is absent as missing."""
    if numbers.shape[1] >= width:
        return numbers[:, :width]
    wide = np.full((len(numbers), width), np.nan)
    wide[:, : numbers.shape[1]] = numbers
    return wide


def _innovate(
    numbers: npt.NDArray[np.float64],
    centre: npt.NDArray[np.float64],
    whiten: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Multiply by the triangle, row by row in one order: a matrix product rounds as it is cut."""
    shifted = np.ascontiguousarray((numbers - centre).T)
    innovated = np.empty_like(shifted)
    for column, row in enumerate(innovated):
        np.multiply(shifted[0], whiten[0, column], out=row)
        for other in range(1, column + 1):
            np.add(row, shifted[other] * whiten[other, column], out=row)
    return np.ascontiguousarray(innovated.T)


def _innovations(
    first: Outputs, second: Outputs, width: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    """Give the centre and the triangle that turn columns into innovations, if they depend."""
    sides = [outputs.numbers[:_SEEN, :width] for outputs in (first, second)]
    both = np.concatenate(sides)
    if not np.isfinite(both).all():
        return None
    spread = both.std(axis=0)
    if not (np.isfinite(spread).all() and (spread > 0).all()):
        return None
    if any(np.unique(column[:_TRIED]).size < 0.9 * len(column[:_TRIED]) for column in both.T):
        return None  # values that come again: a rounding error could carry them over a border
    inside = sum(np.cov(side, rowvar=False) for side in sides) / 2
    alike = np.abs(inside / np.outer(spread, spread)) - np.eye(width)
    if alike.max() < _DEPENDENT:
        return None
    try:
        factor = np.linalg.cholesky(inside + 1e-9 * np.diag(spread**2))
    except np.linalg.LinAlgError:
        return None
    return np.median(both, axis=0), np.linalg.inv(factor).T


def _edges(numbers: npt.NDArray[np.float64], ranges: int) -> npt.NDArray[np.float64]:
    """Cut each column: every value if there are few, else frequent ones and even shares between."""
    found = [_edges_of(column[~np.isnan(column)], ranges) for column in numbers.T]
    width = max((edges.size for edges in found), default=0)
    table = np.full((len(found), width), np.inf)
    for row, edges in zip(table, found, strict=True):
        row[: edges.size] = edges
    return table


def _edges_of(known: npt.NDArray[np.float64], ranges: int) -> npt.NDArray[np.float64]:
    values, counts = np.unique(known, return_counts=True)
    if values.size <= _MOST_VALUES:
        return np.asarray(values[1:])
    frequent = values[counts > max(2.0, _FREQUENT * known.size)][:_MOST_VALUES]
    rest = np.sort(known[~np.isin(known, frequent)])
    shares = np.arange(1, ranges) / ranges
    cuts = rest[(shares * rest.size).astype(np.int64)] if rest.size else rest
    return np.unique(np.concatenate([cuts, frequent, np.nextafter(frequent, np.inf)]))


def _fit(
    first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8], ranges: int
) -> npt.NDArray[np.float64]:
    """Find the weights by which the two are told apart best."""
    runs, width = len(first) + len(second), first.shape[1]
    seen = [codes[:_CURVATURE_RUNS] for codes in (first, second)]
    together = _together(np.concatenate(seen), ranges)
    curvature = together * (runs / sum(map(len, seen)) / 4)
    curvature[np.diag_indices(len(curvature))] += 2.0 + 1e-4 * runs / ranges
    inverse = np.linalg.inv(curvature)
    weights = np.zeros((width, ranges))
    for _ in range(_STEPS):
        slope = np.zeros_like(weights)
        for codes, sign in ((first, 1.0), (second, -1.0)):
            left = 1 / (1 + np.exp(np.clip(sign * _look_up(codes, weights), -30, 30)))
            slope += sign * _pull(codes, left, ranges)
        step = (inverse @ slope.reshape(-1)).reshape(weights.shape)
        weights += step
        if np.abs(step).max() < 0.02 * max(np.abs(weights).max(), 1e-6):
            break
    return weights


# -- kernels: numbers is (n, w), edges (w, e) ascending, codes (n, w), weights (w, e + 2) ---------


def _plain_cut(
    numbers: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.uint8]:
    codes = np.empty(numbers.shape, dtype=np.uint8)
    for column, row in enumerate(edges):
        values = numbers[:, column]
        inside = np.searchsorted(row, values, side="right")
        codes[:, column] = np.where(np.isnan(values), row.size + 1, inside)
    return codes


@kernel(_plain_cut, loss=lambda numbers, _edges: 3e-8 * numbers.size)
def _cut(numbers, edges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Give the range of every number; the last one is for missing numbers."""
    n, width = numbers.shape
    count = edges.shape[1]
    codes = np.empty((n, width), dtype=np.uint8)
    for i in range(n):
        for c in range(width):
            x = numbers[i, c]
            if np.isnan(x):
                codes[i, c] = count + 1
                continue
            k = 0
            for e in range(count):  # no branches: where a number falls is not foreseeable
                k += edges[c, e] <= x
            codes[i, c] = k
    return codes


def _plain_together(codes: npt.NDArray[np.uint8], ranges: int) -> npt.NDArray[np.float64]:
    width = codes.shape[1]
    total = np.zeros((width * ranges, width * ranges))
    marks = codes + np.arange(width) * ranges
    for row in range(width):
        for column in range(row, width):
            both = marks[:, row] * (width * ranges) + marks[:, column]
            total += np.bincount(both, minlength=total.size).reshape(total.shape)
    return np.triu(total) + np.triu(total, 1).T


@kernel(_plain_together, loss=lambda codes, _ranges: 2e-9 * codes.size * codes.shape[1])
def _together(codes, ranges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count how often two ranges come together: XᵀX for columns that mark the ranges."""
    n, width = codes.shape
    total = np.zeros((width * ranges, width * ranges))
    for i in range(n):
        for a in range(width):
            row = a * ranges + codes[i, a]
            for b in range(width):
                total[row, b * ranges + codes[i, b]] += 1.0
    return total


def _plain_look_up(
    codes: npt.NDArray[np.uint8], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    scores = np.zeros(len(codes))
    for column, row in enumerate(weights):
        scores += row[codes[:, column]]
    return scores


@kernel(_plain_look_up, loss=lambda codes, _weights: 5e-9 * codes.size)
def _look_up(codes, weights):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add up the weights of each row's ranges."""
    n, width = codes.shape
    scores = np.zeros(n)
    for i in range(n):
        total = 0.0
        for c in range(width):
            total += weights[c, codes[i, c]]
        scores[i] = total
    return scores


def _plain_add_up(
    numbers: npt.NDArray[np.float64],
    edges: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    return _plain_look_up(_plain_cut(numbers, edges), weights)


@kernel(_plain_add_up, loss=lambda numbers, _edges, _weights: 3e-8 * numbers.size)
def _add_up(numbers, edges, weights):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add up the weights of the ranges that each row's numbers fall into."""
    n, width = numbers.shape
    count = edges.shape[1]
    scores = np.zeros(n)
    for i in range(n):
        total = 0.0
        for c in range(width):
            x = numbers[i, c]
            if np.isnan(x):
                total += weights[c, count + 1]
                continue
            k = 0
            for e in range(count):  # no branches: where a number falls is not foreseeable
                k += edges[c, e] <= x
            total += weights[c, k]
        scores[i] = total
    return scores


def _plain_pull(
    codes: npt.NDArray[np.uint8], left: npt.NDArray[np.float64], ranges: int
) -> npt.NDArray[np.float64]:
    columns: list[Any] = [np.bincount(column, left, ranges) for column in codes.T]
    return np.array(columns)


@kernel(_plain_pull, loss=lambda codes, _left, _ranges: 3e-9 * codes.size)
def _pull(codes, left, ranges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add up, for each range, what is left to explain in the runs that fell into it."""
    n, width = codes.shape
    slope = np.zeros((width, ranges))
    for i in range(n):
        for c in range(width):
            slope[c, codes[i, c]] += left[i]
    return slope
