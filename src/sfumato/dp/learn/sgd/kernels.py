"""Passes over gradients that torch would take several for: compiled, one row after the other.

Contract: kernels that add round to whole numbers first, and add doubles that are whole and below
2⁵³, so their result does not depend on the order. A row whose scale is 0 is not looked at, whatever
it holds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

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


_LEAST = 2.0**-500  # what norms below it are taken for
_TINY = 2.0**-900  # doubles below have no reciprocal to scale by
_PLAIN, _ROOM = (
    2.0**40,
    2.0**60,
)  # norms of a and of c·b, in steps, that single precision has room for


@njit(cache=True)
def row_scales(
    long: tuple[Floats, Floats], factors: Floats, unit: float, rows: int,
    inward: Floats, outward: Floats,
) -> bool:  # fmt: skip
    """Choose for each row what a and b are multiplied by, piece by piece of so many rows.

    That is 1 and c·unit where no norm of the piece is out of the ordinary, and 1/‖a‖ and
    c·‖a‖·unit otherwise, or 0; tells whether all pieces are of the first kind. ``long`` holds the
    norms of a and b, examples × positions; ``inward`` and ``outward`` have a number for each row.
    """
    examples, positions = long[0].shape
    count = examples * positions
    ordinary = True
    for start in range(0, count, rows):
        stop = min(count, start + rows)
        plain = True
        for row in range(start, stop):
            i, t = row // positions, row % positions
            far = factors[i] * unit * long[1][i, t] if factors[i] > 0.0 else 0.0
            plain &= long[0][i, t] <= _PLAIN and far <= _ROOM
        for row in range(start, stop):
            i, t = row // positions, row % positions
            alive = factors[i] > 0.0 and long[0][i, t] > _TINY
            if plain:
                inward[row], outward[row] = 1.0, factors[i] * unit
            else:
                inward[row] = 1.0 / long[0][i, t] if alive else 0.0
                outward[row] = factors[i] * long[0][i, t] * unit if alive else 0.0
        ordinary &= plain
    return ordinary


@njit(cache=True)
def shorten(squares: Floats, bound: float, factors: Floats) -> None:
    """Choose min(1, bound/√square) for each example, and 0 where the square is no number."""
    for i in range(squares.size):
        alive = np.isfinite(squares[i])
        factors[i] = min(1.0, bound / max(np.sqrt(squares[i]), _LEAST)) if alive else 0.0


@njit(cache=True)
def shorten_more(reach: Floats, bound: float, factors: Floats) -> None:
    """Keep factors at or below bound/reach, and 0 where the reach is no number."""
    for i in range(reach.size):
        alive = np.isfinite(reach[i])
        factors[i] = min(factors[i], bound / max(reach[i], _LEAST)) if alive else 0.0


@njit(cache=True)
def scale_rows(rows: Rows, scales: Floats, out: Rows) -> Rows:
    """Fill in scale·row, multiplied as doubles and rounded to singles, and give it back."""
    for i in range(rows.shape[0]):
        scale = scales[i]
        if scale == 0.0:
            out[i, :] = 0.0
        else:
            for k in range(rows.shape[1]):
                out[i, k] = np.float32(np.float64(rows[i, k]) * scale)
    return out


@njit(cache=True)
def add_whole(product: Rows, total: Floats) -> None:
    """Add a matrix, rounded to whole numbers, to the total."""
    for i in range(product.shape[0]):
        for k in range(product.shape[1]):
            total[i, k] += np.rint(np.float64(product[i, k]))


@njit(cache=True)
def to_singles(steps: npt.NDArray[np.int64], unit: float, out: Rows) -> None:
    """Fill in step·unit, multiplied as doubles and rounded to singles."""
    for k in range(steps.size):
        out[k] = np.float32(np.float64(steps[k]) * unit)


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


@njit(cache=True)
def row_norms(rows: Rows, out: Floats) -> None:
    """Give the norm of each row in single precision: squares and their sums are doubles.

    No square of a single underflows there, nor overflows. The order of the sum is stated, as eight
    sums that a processor can add up side by side, so that no result depends on the processor.
    """
    sums = np.zeros(8)
    for i in range(rows.shape[0]):
        sums[:] = 0.0
        last = rows.shape[1] - rows.shape[1] % 8
        for first in range(0, last, 8):
            for k in range(8):
                entry = np.float64(rows[i, first + k])
                sums[k] += entry * entry
        for k in range(last, rows.shape[1]):
            entry = np.float64(rows[i, k])
            sums[k - last] += entry * entry
        out[i] = np.sqrt(sums.sum())


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
