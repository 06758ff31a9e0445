"""Sums of clipped residuals times features, for linear scores: whole numbers throughout.

Contract as of :mod:`.residuals`. A row has places of its categories (``codes``) and steps of its
numbers (``steps``, between −2¹² and 2¹²); the last parameter is the intercept. A row adds its
residual, in steps of 2⁻²⁶, times its features: a category counts 2¹², the intercept 2¹². So a row
with m categories and numbers moves the sums by at most √(m + 1)·2¹²·clip.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit
from sfumato.dp.learn.residuals import _clamp, _logistic, fill_softmax, shorten

Codes = npt.NDArray[np.uint32]
Steps = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]


@njit(cache=True)
def sum_binary(
    codes: Codes, steps: Steps, target: Integers, values: Integers, table: Integers, clip: int,
    out: Integers,
) -> None:  # fmt: skip
    """Add clip(σ(score) − y)·x to the sums, for labels 0 and 2¹⁴.

    ``values`` holds the categories first, then the numbers, then the intercept.
    """
    rows, categories = codes.shape
    numbers = steps.shape[1]
    first = values.size - 1 - numbers
    for i in range(rows):
        score = values[values.size - 1] << np.int64(12)
        for j in range(categories):
            score += values[codes[i, j]] << np.int64(12)
        for j in range(numbers):
            score += values[first + j] * steps[i, j]
        residual = _clamp(_logistic(score >> np.int64(12), table) - target[i], clip)
        for j in range(categories):
            out[codes[i, j]] += residual << np.int64(12)
        for j in range(numbers):
            out[first + j] += residual * steps[i, j]
        out[values.size - 1] += residual << np.int64(12)


@njit(cache=True)
def sum_classes(
    codes: Codes, steps: Steps, target: Integers, values: npt.NDArray[np.int64], table: Integers,
    clip: int, out: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Add the clipped softmax residual times x; ``values`` and ``out`` have a column a class."""
    rows, categories = codes.shape
    numbers = steps.shape[1]
    last = values.shape[0] - 1
    first = last - numbers
    residual = np.zeros(values.shape[1], dtype=np.int64)
    for i in range(rows):
        top = np.int64(-(1 << 62))
        for k in range(residual.size):
            score = values[last, k] << np.int64(12)
            for j in range(categories):
                score += values[codes[i, j], k] << np.int64(12)
            for j in range(numbers):
                score += values[first + j, k] * steps[i, j]
            residual[k] = score >> np.int64(12)
            top = max(top, residual[k])
        fill_softmax(residual, top, target[i], table)
        shorten(residual, clip)
        for k in range(residual.size):
            for j in range(categories):
                out[codes[i, j], k] += residual[k] << np.int64(12)
            for j in range(numbers):
                out[first + j, k] += residual[k] * steps[i, j]
            out[last, k] += residual[k] << np.int64(12)
