"""Noisy gradient descent over bins: what the additive models share.

Contract: :func:`descend` makes one noisy histogram and T noisy sums of clipped residuals, at the
shares of the budget that the proof in :mod:`.additive` names, and returns a value for each bin.
All that is not a noisy sum is post-processing and may be done in floating point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.learn import residuals
from sfumato.dp.learn.features import Number
from sfumato.dp.learn.shapes import Layout
from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.dp.learn.budget import Budget

COUNTS_SHARE = Fraction(1, 10)
_RESIDUAL = float(1 << residuals.RESIDUAL_BITS)
_DENSE = 40.0  # so many times its noise a count must be for a bin of its own


@dataclass(frozen=True)
class Descent:
    """Public constants of a descent; ``clip`` is in residual steps."""

    rounds: int
    rate: float
    damping: float
    smoothing: float
    momentum: float
    clip: int
    curvature: float
    classes: int = 1
    bins: int = 32

    def l2_squared(self, columns: int) -> int:
        """Bound the square of what a row moves in one round, in residual steps."""
        return self.clip**2 * columns

    def noise(self, budget: Budget, columns: int) -> float:
        """Give the standard deviation of the noise in one round, had it all the rounds' share."""
        moved = self.l2_squared(columns)
        return math.sqrt(budget.variance(moved, 1 - COUNTS_SHARE)) / _RESIDUAL


def check_steps(rate: float, damping: float, momentum: float, smoothing: float = 0.0) -> None:
    """Refuse steps that lead nowhere, before anything is read."""
    for value, name in ((rate, "rate"), (damping, "damping")):
        parameters.positive(value, f"The {name}")
    if parameters.read(smoothing, "The smoothing", "a finite number of at least 0") < 0:
        raise ParameterError(f"The smoothing is at least 0, and {smoothing} was given.")
    if not 0 <= parameters.read(momentum, "The momentum", "at least 0 and below 1") < 1:
        raise ParameterError(f"The momentum is at least 0 and below 1, and {momentum} was given.")


def clip_steps(clip: float, classes: int) -> int:
    """Read the clip of residuals in whole steps; √2 times as many for more than two classes."""
    share = float(parameters.share(clip, "The clip")) if clip != 1 else 1.0
    steps = math.floor(share * _RESIDUAL * (math.sqrt(2) if classes > 2 else 1.0))
    if steps < 1:
        raise ParameterError(f"The clip is at least {1 / _RESIDUAL:.1e}, and {clip} was given.")
    return steps


def count_bins(codes: NDArray[np.uint32], layout: Layout) -> NDArray[np.int64]:
    """Count the rows of every bin."""
    return np.bincount(codes.ravel(), minlength=layout.total).astype(np.int64)


def descend(
    budget: Budget,
    layout: Layout,
    codes: NDArray[np.uint32],
    target: NDArray[np.int64],
    kernel: Callable[..., None],
    constants: Descent,
    table: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the value of every bin, and the noisy counts."""
    columns = len(layout.columns)
    fine = budget.gaussian(count_bins(codes, layout), columns, COUNTS_SHARE)
    error = math.sqrt(budget.variance(columns, COUNTS_SHARE))
    layout, places = merge_bins(layout, fine, constants.bins, error)
    counts = np.bincount(places, weights=fine.astype(np.float64), minlength=layout.total)
    codes = places[codes]
    share = (1 - COUNTS_SHARE) / constants.rounds
    step = Preconditioner(layout, counts, constants, constants.noise(budget, columns))
    shape = (layout.total,) if constants.classes == 1 else (layout.total, constants.classes)
    values, speed, mean = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    kept = constants.rounds - constants.rounds // 2
    for k in range(constants.rounds):
        sums = np.zeros(shape, dtype=np.int64)
        kernel(codes, target, residuals.on_grid(values), table, constants.clip, sums)
        noisy = budget.gaussian(sums, constants.l2_squared(columns), share)
        speed = constants.momentum * speed + step(noisy.astype(np.float64) / _RESIDUAL)
        values = values - constants.rate * (1 - constants.momentum) * speed
        if k >= constants.rounds - kept:
            mean += values / kept
    return mean[places], fine


def merge_bins(
    layout: Layout, counts: NDArray[Any], most: int, noise: float
) -> tuple[Layout, NDArray[np.uint32]]:
    """Join neighbouring bins of numbers that hold few rows by the noisy counts.

    Returns the coarser layout and the place in it of every bin: post-processing of the counts.
    """
    places: list[NDArray[np.int64]] = []
    sizes = []
    start = 0
    for column, bins, first in zip(layout.columns, layout.bins, layout.starts, strict=False):
        joined = np.arange(bins)
        if isinstance(column, Number) and bins > most:
            joined = _join(counts[first : first + bins].astype(np.float64), most, noise)
        size = int(joined[-1]) + 1
        places.append(np.r_[joined, size] + start)
        sizes.append(size)
        start += size + 1
    merged = Layout(layout.columns, tuple(sizes))
    return merged, np.concatenate(places).astype(np.uint32)


def _join(counts: NDArray[np.float64], most: int, noise: float) -> NDArray[np.int64]:
    """Cut a column into ``most`` stretches of equal width, and finer where rows are many.

    A fine bin stays alone, or a stretch ends, once its rows exceed the noise of a count so far
    that a value of its own can be learnt for it.
    """
    enough = _DENSE * noise
    width = counts.size / most
    joined = np.zeros(counts.size, dtype=np.int64)
    place, held = 0, 0.0
    for k in range(1, counts.size):
        held += counts[k - 1]
        if held >= enough or int(k / width) > int((k - 1) / width):
            place, held = place + 1, 0.0
        joined[k] = place
    return joined


class Preconditioner:
    """Divides sums of bins by their noisy curvature, damped and, where ordered, smoothed."""

    def __init__(
        self, layout: Layout, counts: NDArray[Any], constants: Descent, noise: float
    ) -> None:
        weight = constants.curvature * np.maximum(counts.astype(np.float64), 0.0)
        self.diagonal = 1 / (weight + constants.damping * noise)
        self.blocks = []
        for column, bins, start in zip(layout.columns, layout.bins, layout.starts, strict=False):
            if isinstance(column, Number) and bins > 1 and constants.smoothing:
                inside = slice(start, start + bins)
                stiff = constants.smoothing * noise * _path_laplacian(bins)
                matrix = np.linalg.inv(np.diag(1 / self.diagonal[inside]) + stiff)
                self.blocks.append((inside, matrix))

    def __call__(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply it to one sum for each bin, or to a column of sums for each class."""
        out = sums * (self.diagonal if sums.ndim == 1 else self.diagonal[:, None])
        for inside, matrix in self.blocks:
            out[inside] = matrix @ sums[inside]
        return out


def _path_laplacian(size: int) -> NDArray[np.float64]:
    """Give the matrix of squared differences of neighbouring bins."""
    matrix = np.diag(np.r_[1.0, np.full(size - 2, 2.0), 1.0] if size > 1 else [0.0])
    return matrix - np.eye(size, k=1) - np.eye(size, k=-1)
