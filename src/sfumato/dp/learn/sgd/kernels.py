"""Passes over gradients that torch would take several for: compiled, one row after the other.

Contract: kernels that add round to whole numbers first, and add doubles that are whole and below
2⁵³, so their result does not depend on the order. A row whose scale is 0 is not looked at, whatever
it holds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float32]


@njit(cache=True)
def add_rounded(rows: Rows, scales: Floats, total: Floats) -> None:
    """Add round(scale·row) to the total, for every row."""
    for i in range(rows.shape[0]):
        scale = scales[i]
        if scale != 0.0:
            for k in range(rows.shape[1]):
                total[k] += np.rint(np.float64(rows[i, k]) * scale)


_TINY = 2.0**-900  # doubles below have no reciprocal to scale by


@njit(cache=True)
def row_scales(
    long: Floats, factors: Floats, unit: float, inward: Floats, outward: Floats
) -> None:  # fmt: skip
    """Choose for each row what a and b are multiplied by: 1/‖a‖ and c·‖a‖·unit, or 0.

    ``long`` is examples × positions; ``inward`` and ``outward`` have a number for each row.
    """
    examples, positions = long.shape
    for i in range(examples):
        for t in range(positions):
            row, alive = i * positions + t, factors[i] > 0.0 and long[i, t] > _TINY
            inward[row] = 1.0 / long[i, t] if alive else 0.0
            outward[row] = factors[i] * long[i, t] * unit if alive else 0.0


@njit(cache=True)
def scale_rows(rows: Rows, scales: Floats, out: Rows) -> None:
    """Fill in scale·row, multiplied as doubles and rounded to singles."""
    for i in range(rows.shape[0]):
        scale = scales[i]
        if scale == 0.0:
            out[i, :] = 0.0
        else:
            for k in range(rows.shape[1]):
                out[i, k] = np.float32(np.float64(rows[i, k]) * scale)


@njit(cache=True)
def add_whole(product: Rows, total: Floats) -> None:
    """Add a matrix, rounded to whole numbers, to the total."""
    for i in range(product.shape[0]):
        for k in range(product.shape[1]):
            total[i, k] += np.rint(np.float64(product[i, k]))


@njit(cache=True)
def patches(
    image: Rows, dilation: tuple[int, int], padding: tuple[int, int], stride: tuple[int, int],
    out: Rows,
) -> None:  # fmt: skip
    """Fill in what a kernel meets of images: examples × (channel, row, column) × positions.

    ``out`` has six dimensions: examples, channels, rows and columns of the kernel, and of the
    positions. Outside the image there are zeros.
    """
    height, width = image.shape[2], image.shape[3]
    examples, channels, rows, columns, down, across = out.shape
    for i in range(examples):
        for c in range(channels):
            for u in range(rows):
                for v in range(columns):
                    left = v * dilation[1] - padding[1]
                    first = min(across, max(0, -(left // stride[1])))
                    last = max(first, min(across, (width - 1 - left) // stride[1] + 1))
                    for y in range(down):
                        top = y * stride[0] + u * dilation[0] - padding[0]
                        line = out[i, c, u, v, y]
                        if not 0 <= top < height:
                            line[:] = 0.0
                            continue
                        line[:first] = 0.0
                        for x in range(first, last):
                            line[x] = image[i, c, top, x * stride[1] + left]
                        line[last:] = 0.0


@njit(cache=True, fastmath={"reassoc"})
def row_norms(rows: Rows, out: Floats) -> None:
    """Give the norm of each row in single precision: squares and their sums are doubles.

    No square of a single underflows there, nor overflows; sums may be taken in any order.
    """
    for i in range(rows.shape[0]):
        total = 0.0
        for k in range(rows.shape[1]):
            entry = np.float64(rows[i, k])
            total += entry * entry
        out[i] = np.sqrt(total)


@njit(cache=True)
def word_norms(words: npt.NDArray[np.int64], rows: npt.NDArray[np.float32], out: Floats) -> None:
    """Give the squared norm of an embedding's gradient: rows of the same word are added first.

    ``words`` is examples × positions, ``rows`` examples × positions × width.
    """
    examples, positions, width = rows.shape
    sums = np.zeros((positions, width), dtype=np.float64)
    for i in range(examples):
        total = 0.0
        for t in range(positions):
            first = 0
            while words[i, first] != words[i, t]:
                first += 1
            if first == t:
                sums[t, :] = 0.0
            for k in range(width):
                sums[first, k] += rows[i, t, k]
        for t in range(positions):
            first = 0
            while words[i, first] != words[i, t]:
                first += 1
            if first == t:
                for k in range(width):
                    total += sums[t, k] * sums[t, k]
        out[i] = total


@njit(cache=True)
def add_words(
    words: npt.NDArray[np.int64], rows: npt.NDArray[np.float32], scales: Floats,
    total: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Add round(scale·row) to the row of each word."""
    examples, positions, width = rows.shape
    for i in range(examples):
        scale = scales[i]
        if scale != 0.0:
            for t in range(positions):
                word = words[i, t]
                for k in range(width):
                    total[word, k] += np.rint(np.float64(rows[i, t, k]) * scale)
