"""Compiled loops of the synthesis: counting pairs, scoring, raking, Gibbs sweeps.

Contract: numbers of the data go in only through :func:`count_pairs` and :func:`score_candidates`,
which the curator alone calls. All other kernels work on particles, that
is on what was released. Arrays, throughout:

    atoms[i, k]      atom of particle (or row) k in column i
    w[k]         weight of particle k; all weights sum to 1
    offsets[p]   where the table of pair p begins in a flat array; tables are row-major
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

if TYPE_CHECKING:
    from sfumato.dp.publish.synthesis.rules import MaskArrays

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Atoms = npt.NDArray[np.uint8]
Cells = npt.NDArray[np.uint16]

_BLOCK = 8192  # rows counted at a time, so that their atoms stay in the cache
_LANES = 4  # copies of a table that take turns, so that no addition waits for the last one


@njit(cache=True)
def count_pairs(atoms: Atoms, sizes: Integers, offsets: Integers, out: Integers) -> None:
    """Add the two-way tables of all pairs of columns, in one pass over the rows."""
    d, n = atoms.shape
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        p = 0
        for i in range(d):
            for j in range(i + 1, d):
                at, width = offsets[p], sizes[j]
                for k in range(start, stop):
                    out[at + atoms[i, k] * width + atoms[j, k]] += 1
                p += 1


@njit(cache=True)
def model_pairs(
    atoms: Atoms,
    w: Floats,
    sizes: Integers,
    offsets: Integers,
    lanes: Floats,
    out: Floats,
) -> None:
    """Give the weighted two-way tables of all pairs; ``lanes`` has four rows for one table."""
    d, n = atoms.shape
    whole = n - n % _LANES
    p = 0
    for i in range(d):
        for j in range(i + 1, d):
            width = sizes[j]
            size = sizes[i] * width
            lanes[:, :size] = 0.0
            for k in range(0, whole, _LANES):
                for lane in range(_LANES):
                    lanes[lane, atoms[i, k + lane] * width + atoms[j, k + lane]] += w[k + lane]
            for k in range(whole, n):
                lanes[0, atoms[i, k] * width + atoms[j, k]] += w[k]
            for c in range(size):
                out[offsets[p] + c] = lanes[0, c] + lanes[1, c] + lanes[2, c] + lanes[3, c]
            p += 1


@njit(cache=True)
def score_candidates(
    gaps: Integers,
    sizes: Integers,
    offsets: Integers,
    groups: Atoms,
    widths: Integers,
    depths: Integers,
    weights: Integers,
    penalty: int,
    out: Integers,
) -> None:
    """Score every pair at every pair of levels: weight·(‖gap‖₁ − penalty·cells).

    ``gaps`` are the flat differences of pair tables in whole units; ``groups[i, a, x]`` is the
    group of atom x at level a of column i, ``widths[i, a]`` their number, ``depths[i]`` the number
    of levels. All arithmetic is on whole numbers, so that sensitivities hold exactly.
    """
    d = sizes.size
    widest = widths.max()
    total = np.zeros(widest * widest, dtype=np.int64)
    p = 0
    c = 0
    for i in range(d):
        for j in range(i + 1, d):
            for a in range(depths[i]):
                for b in range(depths[j]):
                    width = widths[j, b]
                    cells = widths[i, a] * width
                    total[:cells] = 0
                    at = offsets[p]
                    for x in range(sizes[i]):
                        row = groups[i, a, x] * width
                        for y in range(sizes[j]):
                            total[row + groups[j, b, y]] += gaps[at]
                            at += 1
                    norm = 0
                    for e in range(cells):
                        norm += abs(total[e])
                    out[c] = weights[p] * (norm - penalty * cells)
                    c += 1
            p += 1


@njit(cache=True)
def place_cells(
    first: Atoms, second: Atoms, rows: Atoms, columns: Atoms, width: int, out: Cells
) -> None:
    """Give each particle its cell in a two-way table at some levels."""
    for k in range(out.size):
        out[k] = rows[first[k]] * width + columns[second[k]]


@njit(cache=True)
def rake(
    cells: Cells,
    w: Floats,
    offsets: Integers,
    y: Floats,
    strength: Floats,
    theta: Floats,
    order: Integers,
    lanes: Floats,
    least: float,
) -> int:
    """Take one exact coordinate step of the penalised raking problem per measurement in ``order``.

    ``cells[r, k]`` is the cell of particle k in measurement r, whose cells stand from
    ``offsets[r]`` on in ``y`` (shares wanted), ``strength`` (λ) and ``theta`` (multipliers). A
    step solves θ + x + λ(μ·e^x − y) = 0 for each cell by Newton's method and multiplies its
    weights by e^x. Stops when the effective share of particles falls below ``least``; returns how
    many steps it took.
    """
    n = w.size
    whole = n - n % _LANES
    for step in range(order.size):
        r = order[step]
        at = offsets[r]
        size = offsets[r + 1] - at
        lanes[:, :size] = 0.0
        for k in range(0, whole, _LANES):
            for lane in range(_LANES):
                lanes[lane, cells[r, k + lane]] += w[k + lane]
        for k in range(whole, n):
            lanes[0, cells[r, k]] += w[k]
        shares = lanes[0]
        total = 0.0
        for c in range(size):
            mu = lanes[0, c] + lanes[1, c] + lanes[2, c] + lanes[3, c]
            x = 0.0
            if mu > 0:
                x = _multiplier(mu, y[at + c], strength[at + c], theta[at + c])
            theta[at + c] += x
            shares[c] = math.exp(x)
            total += mu * shares[c]
        for c in range(size):
            shares[c] /= total
        squares = 0.0
        for k in range(n):
            w[k] *= shares[cells[r, k]]
            squares += w[k] * w[k]
        if squares * least * n > 1.0:
            return step + 1
    return order.size


@njit(cache=True, inline="always")
def _multiplier(mu: float, y: float, strength: float, theta: float) -> float:
    x = -1.0
    if y > 1e-9:
        x = min(max(math.log(y / mu), -8.0), 3.0)
    wanted = strength * y - theta
    for _ in range(6):
        pull = strength * mu * math.exp(x)
        x = min(x - (x + pull - wanted) / (1.0 + pull), 30.0)
    return min(max(x, -4.0), 2.5)


@njit(cache=True)
def sweep(
    atoms: Atoms,
    sizes: Integers,
    base: Floats,
    starts: Integers,
    others: Integers,
    tables: Floats,
    masks: MaskArrays,
    coins: Floats,
) -> None:
    """Draw every column of every particle from its conditional in the pairwise field, once.

    ``base[i, v]`` is the factor of atom v of column i alone; the neighbours of i are
    ``others[starts[i]:starts[i+1]]``, and ``tables[q, u, v]`` is the factor of v when neighbour q
    has u. A particle keeps its value where nothing else has weight.
    """
    d, n = atoms.shape
    p = np.empty(base.shape[1])
    for k in range(n):
        for i in range(d):
            size = sizes[i]
            for v in range(size):
                p[v] = base[i, v]
            for q in range(starts[i], starts[i + 1]):
                u = atoms[others[q], k]
                for v in range(size):
                    p[v] *= tables[q, u, v]
            _forbid(p, size, atoms, i, k, masks)
            total = 0.0
            for v in range(size):
                total += p[v]
                p[v] = total
            if total > 0.0:
                spot = coins[k * d + i] * total
                v = 0
                while v < size - 1 and p[v] <= spot:
                    v += 1
                atoms[i, k] = v


@njit(cache=True, inline="always")
def _forbid(p: Floats, size: int, atoms: Atoms, i: int, k: int, masks: MaskArrays) -> None:
    """Take the weight from values of column i that a mask forbids beside the others of k.

    Mask t allows a combination where ``allowed[offsets[t] + Σ x·stride]`` is 1; the masks of column
    i are ``rules[starts[i]:starts[i+1]]``; columns[t] is filled up with −1.
    """
    for s in range(masks.starts[i], masks.starts[i + 1]):
        t = masks.rules[s]
        at = masks.offsets[t]
        step = 0
        for c in range(masks.columns.shape[1]):
            column = masks.columns[t, c]
            if column == i:
                step = masks.strides[t, c]
            elif column >= 0:
                at += masks.strides[t, c] * atoms[column, k]
        for v in range(size):
            p[v] *= masks.allowed[at + step * v]


@njit(cache=True)
def fit_pieces(values: Floats, price: float) -> Floats:
    """Fit a piecewise constant function: least Σ(y − f)² + price·pieces, exactly (Potts)."""
    n = values.size
    sums = np.zeros(n + 1)
    squares = np.zeros(n + 1)
    for k in range(n):
        sums[k + 1] = sums[k] + values[k]
        squares[k + 1] = squares[k] + values[k] * values[k]
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    start = np.zeros(n + 1, dtype=np.int64)
    for stop in range(1, n + 1):
        for begin in range(stop):
            part = sums[stop] - sums[begin]
            cost = best[begin] + squares[stop] - squares[begin] - part * part / (stop - begin)
            if cost + price < best[stop]:
                best[stop] = cost + price
                start[stop] = begin
    fitted = np.empty(n)
    stop = n
    while stop > 0:
        begin = start[stop]
        fitted[begin:stop] = (sums[stop] - sums[begin]) / (stop - begin)
        stop = begin
    return fitted
