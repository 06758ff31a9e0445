"""Sums of clipped residuals over rows: whole numbers from the rows to the noise.

Contract: a kernel adds, for every row, one whole-number vector that depends on that row and on
public parameters alone; sums of 64-bit integers have no order. Scores are in steps of 2⁻¹⁶ and
residuals in steps of 2⁻¹⁴, so 2⁴⁸ rows fit. Parameters are what :func:`on_grid` makes of values,
so that no score overflows: kernels do not look, and a residual is bounded for such scores only.

What the arrays mean: ``codes[i, j]`` is the place, among all bins of all columns, of row i's bin of
column j; ``values`` are the parameters, a whole number of steps per bin; ``target[i]`` is the
label or the number to be predicted, in residual steps; ``out`` receives the sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

SCORE_BITS = 16
RESIDUAL_BITS = 14
NUMBER_BITS = 12
_TABLE_BITS = 12  # entries of the table of the logistic function, over scores in [−8, 8)
_REACH = 8
_MOST_SCORE = 1 << 24  # a value of 256, far beyond every table

Codes = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]


def on_grid(values: npt.NDArray[np.float64]) -> Integers:
    """Put parameters on the grid of scores, at most 256 in size; what is no number counts as 0."""
    numbers = np.clip(values, -float(_MOST_SCORE), float(_MOST_SCORE)) * (1 << SCORE_BITS)
    clipped = np.clip(np.nan_to_num(np.rint(numbers)), -_MOST_SCORE, _MOST_SCORE)
    whole: Integers = clipped.astype(np.int64)
    return whole


def logistic_table() -> Integers:
    """Tabulate 2¹⁴/(1 + e^−s) at the middles of 4096 cells of [−8, 8)."""
    cells = 1 << _TABLE_BITS
    scores = (np.arange(cells) + 0.5) * (2 * _REACH / cells) - _REACH
    table: Integers = np.rint((1 << RESIDUAL_BITS) / (1 + np.exp(-scores))).astype(np.int64)
    return table


def exponential_table() -> Integers:
    """Tabulate 2²⁰·e^−s for s in [0, 16), at steps of 2⁻⁸."""
    cells = 1 << _TABLE_BITS
    table: Integers = np.rint((1 << 20) * np.exp(-np.arange(cells) / 256)).astype(np.int64)
    return table


LOGISTIC = logistic_table()
EXPONENTIAL = exponential_table()


@njit(cache=True, inline="always")
def _clamp(value: int, limit: int) -> int:
    return min(max(value, -limit), limit)


@njit(cache=True, inline="always")
def _logistic(score: int, table: Integers) -> int:
    """Look 2¹⁴·σ(score) up: 2⁸ steps of a score share a cell."""
    place = (score + np.int64(8 << 16)) >> np.int64(8)
    value: int = table[min(max(place, np.int64(0)), np.int64(4095))]
    return value


@njit(cache=True)
def sum_binary(
    codes: Codes, target: Integers, values: Integers, table: Integers, clip: int, out: Integers
) -> None:
    """Add clip(σ(score) − y) to every bin of the row, for labels 0 and 2¹⁴."""
    rows, columns = codes.shape
    for i in range(rows):
        score = np.int64(0)
        for j in range(columns):
            score += values[codes[i, j]]
        residual = _clamp(_logistic(score, table) - target[i], clip)
        for j in range(columns):
            out[codes[i, j]] += residual


@njit(cache=True)
def sum_numeric(
    codes: Codes,
    target: Integers,
    values: Integers,
    table: Integers,  # noqa: ARG001 - one signature
    clip: int,
    out: Integers,
) -> None:
    """Add clip(score − y) to every bin of the row."""
    rows, columns = codes.shape
    for i in range(rows):
        score = np.int64(0)
        for j in range(columns):
            score += values[codes[i, j]]
        residual = _clamp((score >> np.int64(2)) - target[i], clip)
        for j in range(columns):
            out[codes[i, j]] += residual


@njit(cache=True)
def sum_classes(
    codes: Codes, target: Integers, values: npt.NDArray[np.int64], table: Integers, clip: int,
    out: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Add the clipped softmax residual to every bin: ``values`` and ``out`` have a column a class.

    Entries are scaled by clip/⌈‖r‖⌉ and cut towards 0, so the norm is at most ``clip`` exactly.
    """
    rows, columns = codes.shape
    classes = values.shape[1]
    residual = np.zeros(classes, dtype=np.int64)
    for i in range(rows):
        softmax_residual(codes[i], target[i], values, table, residual)
        shorten(residual, clip)
        for j in range(columns):
            for k in range(classes):
                out[codes[i, j], k] += residual[k]


@njit(cache=True)
def softmax_residual(
    row: npt.NDArray[np.uint32], label: int, values: npt.NDArray[np.int64], table: Integers,
    residual: Integers,
) -> None:  # fmt: skip
    """Fill in p − e_label in residual steps, by whole numbers alone."""
    classes = values.shape[1]
    top = np.int64(-(1 << 62))
    for k in range(classes):
        score = np.int64(0)
        for j in range(row.size):
            score += values[row[j], k]
        residual[k] = score
        top = max(top, score)
    fill_softmax(residual, top, label, table)


@njit(cache=True, inline="always")
def fill_softmax(residual: Integers, top: int, label: int, table: Integers) -> None:
    """Turn scores into p − e_label; ``top`` is the largest score."""
    total = np.int64(0)
    for k in range(residual.size):
        residual[k] = table[min((top - residual[k]) >> np.int64(8), np.int64(4095))]
        total += residual[k]
    for k in range(residual.size):
        residual[k] = (residual[k] << np.int64(14)) // total
    residual[label] -= np.int64(1 << 14)


@njit(cache=True, inline="always")
def shorten(residual: Integers, clip: int) -> None:
    """Scale a vector down to a norm of at most ``clip``, in whole numbers."""
    square = np.int64(0)
    for k in range(residual.size):
        square += residual[k] * residual[k]
    if square <= clip * clip:
        return
    norm = np.int64(np.sqrt(np.float64(square)))
    while norm * norm < square:
        norm += np.int64(1)
    for k in range(residual.size):
        sign = np.int64(1) if residual[k] >= 0 else np.int64(-1)
        residual[k] = sign * ((sign * residual[k] * np.int64(clip)) // norm)
