"""Compiled loops of k-means: codes of rows, nearest centres, clipped sums, seeding.

Rows are (n, d) floats in the unit cube, centres (k, d). Sums over rows are whole numbers, so they
do not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@njit(cache=True)
def codes(rows: Floats, depth: int) -> Integers:
    """Give for each row its ``depth`` leading bits, one of each coordinate in turn."""
    n, width = rows.shape
    bits = (depth + width - 1) // width
    top = np.int64(1) << bits
    out = np.empty(n, dtype=np.int64)
    whole = np.empty(width, dtype=np.int64)
    for i in range(n):
        for j in range(width):
            whole[j] = min(np.int64(rows[i, j] * top), top - 1)
        code = np.int64(0)
        for t in range(depth):
            code = (code << 1) | ((whole[t % width] >> (bits - 1 - t // width)) & 1)
        out[i] = code
    return out


@njit(cache=True)
def nearest(rows: Floats, centres: Floats) -> Integers:
    """Give the nearest centre of each row; of equally near ones the first."""
    out = np.empty(rows.shape[0], dtype=np.int64)
    for i in range(rows.shape[0]):
        least = np.inf
        for c in range(centres.shape[0]):
            far = 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] - centres[c, j]
                far += gap * gap
            if far < least:
                least = far
                out[i] = c
    return out


@njit(cache=True)
def distances(rows: Floats, centres: Floats, labels: Integers) -> Floats:
    """Give how far each row is from the centre it is labelled with."""
    out = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        far = 0.0
        for j in range(rows.shape[1]):
            gap = rows[i, j] - centres[labels[i], j]
            far += gap * gap
        out[i] = np.sqrt(far)
    return out


@njit(cache=True)
def clipped_sums(
    rows: Floats, labels: Integers, centres: Floats, radii: Floats, scale: int, l1_limit: int
) -> Integers:
    """Add, per label, the steps from centre to row, shortened to the radius of the label.

    A step is counted in units of radius/``scale``, rounded toward 0. A row whose steps, as whole
    numbers, are longer than ``scale`` in L2 or than ``l1_limit`` in L1 adds nothing: so the
    sensitivity is what the proof says, whatever floating point did before. (None is: steps are
    shortened by 2⁻³⁰ more than needed.)
    """
    n, width = rows.shape
    out = np.zeros((centres.shape[0], width), dtype=np.int64)
    steps = np.empty(width, dtype=np.int64)
    for i in range(n):
        c = labels[i]
        far = 0.0
        for j in range(width):
            gap = rows[i, j] - centres[c, j]
            far += gap * gap
        far = np.sqrt(far)
        factor = scale / radii[c]
        if far > radii[c]:
            factor = scale / far
        factor *= 1.0 - 2.0**-30
        l1 = np.int64(0)
        l2 = np.int64(0)
        for j in range(width):
            steps[j] = np.int64((rows[i, j] - centres[c, j]) * factor)
            l1 += abs(steps[j])
            l2 += steps[j] * steps[j]
        if l1 > l1_limit or l2 > scale * scale:
            continue
        for j in range(width):
            out[c, j] += steps[j]
    return out


@njit(cache=True)
def box_sums(rows: Floats, labels: Integers, count: int, scale: int) -> Integers:
    """Add, per label, rows minus ½ in units of 1/``scale``: each coordinate is at most scale/2."""
    out = np.zeros((count, rows.shape[1]), dtype=np.int64)
    half = scale // 2
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            steps = np.int64((rows[i, j] - 0.5) * scale)
            out[labels[i], j] += min(max(steps, -half), half)
    return out


@njit(cache=True)
def seed_centres(points: Floats, weights: Floats, coins: Floats) -> Floats:
    """Choose centres among weighted points, each far from those before it (greedy k-means++).

    ``coins`` has a row per centre; each coin proposes a point with probability proportional to its
    weight times its squared distance from the nearest centre, and the proposal that lowers
    the cost most is taken.
    """
    m, width = points.shape
    count, tries = coins.shape
    centres = np.empty((count, width))
    near = np.ones(m)  # before the first centre all points are equally far
    best = np.empty(m)
    trial = np.empty(m)
    for c in range(count):
        total = 0.0
        for i in range(m):
            total += weights[i] * near[i]
        least = np.inf
        for attempt in range(tries):
            left = coins[c, attempt] * total
            pick = m - 1
            for i in range(m):
                left -= weights[i] * near[i]
                if left < 0.0:
                    pick = i
                    break
            cost = 0.0
            for i in range(m):
                far = 0.0
                for j in range(width):
                    gap = points[i, j] - points[pick, j]
                    far += gap * gap
                trial[i] = far if c == 0 else min(near[i], far)
                cost += weights[i] * trial[i]
            if cost < least:
                least = cost
                centres[c] = points[pick]
                best[:] = trial
        near[:] = best
    return centres


@njit(cache=True)
def refine(points: Floats, weights: Floats, centres: Floats, rounds: int) -> float:  # noqa: C901 - a kernel
    """Move centres to the means of their points, in place, until they rest; returns the cost."""
    m, width = points.shape
    k = centres.shape[0]
    before = np.inf
    for _ in range(rounds):
        sums = np.zeros((k, width))
        mass = np.zeros(k)
        cost = 0.0
        for i in range(m):
            least, best = np.inf, 0
            for c in range(k):
                far = 0.0
                for j in range(width):
                    gap = points[i, j] - centres[c, j]
                    far += gap * gap
                if far < least:
                    least, best = far, c
            cost += weights[i] * least
            mass[best] += weights[i]
            for j in range(width):
                sums[best, j] += weights[i] * points[i, j]
        if cost >= before * (1 - 1e-6):
            return cost
        before = cost
        for c in range(k):
            if mass[c] > 0:
                for j in range(width):
                    centres[c, j] = sums[c, j] / mass[c]
    return before
