"""How well a release protects, class by class: formulas of their own.

These functions share nothing with the definitions that guided the algorithm: they work on
sparse counts, in another arithmetic order, so that a mistake there does not hide itself
here. Each returns one number per class; the release is as good as its worst class.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.released.evidence import Spread

SLACK = 1e-9
"""What rounding may add to a sum of fractions before a comparison calls it a breach."""


def mean_risk(sizes: NDArray[np.int64]) -> Fraction:
    """Return the mean of 1 / size of the class over all records: each record adds its own."""
    found, times = np.unique(sizes, return_counts=True)
    risks = (Fraction(int(n), int(s)) * int(s) for s, n in zip(found, times, strict=True))
    return sum(risks, Fraction(0)) / int(sizes.sum())


def share_alone(sizes: NDArray[np.int64]) -> Fraction:
    """Return the share of records in classes of their own."""
    return 1 - Fraction(int(sizes[sizes > 1].sum()), int(sizes.sum()))


def as_shown(value: float) -> Fraction:
    """Return the decimal that a number is shown as."""
    return Fraction(repr(float(value)))


def distinct_values(spread: Spread) -> NDArray[np.int64]:
    """Count the different values of each class."""
    return np.bincount(spread.class_, minlength=len(spread.sizes)).astype(np.int64)


def shared_by_all(spread: Spread, people: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell in which classes some value is that of everybody, so that it hides nobody's.

    Among people with one value each this is a class with one value. A person may have several.
    """
    shared = np.zeros(len(people), dtype=np.bool_)
    shared[spread.class_[spread.count >= people[spread.class_]]] = True
    return shared


def effective_values(spread: Spread) -> NDArray[np.float64]:
    """Return e to the entropy: as many equally frequent values would be as surprising."""
    # H = log n − (Σ r·log r)/n, from counts instead of shares.
    count = spread.count.astype(np.float64)
    surprise = _per_class(spread, count * np.log(count))
    return np.exp(np.log(spread.sizes) - surprise / spread.sizes)


def recursive_parts(spread: Spread, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return r₁ and r_l + … + r_m of each class, for l = `rank`."""
    order = np.lexsort((-spread.count, spread.class_))
    starts = np.searchsorted(spread.class_, np.arange(len(spread.sizes)))
    place = np.arange(len(order)) - starts[spread.class_[order]]
    count = spread.count[order]
    top = count[starts]
    tail = np.bincount(
        spread.class_[order], weights=np.where(place >= rank - 1, count, 0), minlength=len(top)
    )
    return top, tail.astype(np.int64)


def recursive_ratio(spread: Spread, rank: int) -> NDArray[np.float64]:
    """Return r₁ / (r_l + … + r_m): c must exceed it; infinite with fewer than l values."""
    top, tail = recursive_parts(spread, rank)
    return np.where(tail > 0, top / np.maximum(tail, 1), np.inf)


def is_recursive(spread: Spread, c: float, rank: int) -> NDArray[np.bool_]:
    """Compare r₁ < c·(r_l + … + r_m) in whole numbers, c read as the decimal it is shown as."""
    top, tail = recursive_parts(spread, rank)
    exact = as_shown(c)
    pairs, index = np.unique(np.stack([top, tail], axis=1), axis=0, return_inverse=True)
    verdicts = [int(a) * exact.denominator < int(b) * exact.numerator for a, b in pairs]
    return np.array(verdicts, dtype=np.bool_)[index.reshape(-1)]


def largest_rank(spread: Spread, c: float) -> int:
    """Return the largest l for which recursive (c, l)-diversity holds; 0 for none."""
    held = 0
    for rank in range(1, len(spread.values) + 1):
        if not is_recursive(spread, c, rank).all():
            break
        held = rank
    return held


def equal_distance(spread: Spread) -> NDArray[np.float64]:
    """Return what must be moved to turn the class into the table: Σ of the gains p − q."""
    return _per_class(spread, np.maximum(spread.inside - spread.overall, 0.0))


def divergence(spread: Spread) -> NDArray[np.float64]:
    """Return Kullback–Leibler Σ p·(log p − log q), in nats."""
    return _per_class(spread, spread.inside * (np.log(spread.inside) - np.log(spread.overall)))


def ordered_distance(spread: Spread) -> NDArray[np.float64]:
    """Return Σ_i |P(≤ i) − Q(≤ i)| / (m − 1), without writing out the zeros.

    Between two values that occur in a class, P(≤ i) is a constant and Q(≤ i) climbs, so
    each stretch is summed from prefix sums of Q on both sides of where they cross.
    """
    m = len(spread.values)
    if m < 2:
        return np.zeros(len(spread.sizes))
    climb = np.cumsum(spread.total) / spread.total.sum()
    prefix = np.concatenate([[0.0], np.cumsum(climb)])
    last_of_class = np.append(spread.class_[1:] != spread.class_[:-1], True)
    running = np.cumsum(spread.count)
    before = np.concatenate([[0], np.cumsum(spread.sizes)])[spread.class_]
    height = (running - before) / spread.sizes[spread.class_]
    begin = spread.value
    end = np.where(last_of_class, m, np.append(spread.value[1:], m))
    cross = np.clip(np.searchsorted(climb, height), begin, end)
    below = height * (cross - begin) - (prefix[cross] - prefix[begin])
    above = (prefix[end] - prefix[cross]) - height * (end - cross)
    first_of_class = np.concatenate([[True], last_of_class[:-1]])
    lead = np.where(first_of_class, prefix[begin], 0.0)
    return np.maximum(_per_class(spread, below + above + lead), 0.0) / (m - 1)


def hierarchical_distance(spread: Spread, tree: Hierarchy) -> NDArray[np.float64]:
    """Return the earth mover's distance over a tree: per level, what must leave its node."""
    root = tree.height - 1
    moved = np.zeros(len(spread.sizes))
    leaves = np.array([tree.codes[value] for value in spread.values], dtype=np.int64)
    for level in range(root):
        node = tree.levels[leaves, level].astype(np.int64)
        width = len(tree.labels[level])
        whole = np.bincount(node, weights=spread.total, minlength=width) / spread.total.sum()
        key, index = np.unique(spread.class_ * width + node[spread.value], return_inverse=True)
        share = np.bincount(index.reshape(-1), weights=spread.inside)
        gain = np.maximum(share - whole[key % width], 0.0)
        moved += np.bincount(key // width, weights=gain, minlength=len(moved))
    return moved / max(root, 1)


def largest_gain(spread: Spread) -> NDArray[np.float64]:
    """Return the largest relative gain (p − q)/q of a value: the β of each class."""
    gain = spread.inside / spread.overall - 1.0
    return _largest_per_class(spread, gain)


def gain_beyond(spread: Spread, beta: float, *, enhanced: bool) -> NDArray[np.float64]:
    """Return by how much the worst gain passes β, or min(β, −ln q) in the enhanced form."""
    bound = np.full(len(spread.count), beta)
    if enhanced:
        bound = np.minimum(bound, -np.log(spread.overall))
    return _largest_per_class(spread, spread.inside / spread.overall - 1.0 - bound)


def largest_change(spread: Spread) -> NDArray[np.float64]:
    """Return the largest |log p − log q|: the δ of each class; infinite if a value lacks."""
    change = np.abs(np.log(spread.inside) - np.log(spread.overall))
    lacking = distinct_values(spread) < np.count_nonzero(spread.total)
    return np.where(lacking, np.inf, _largest_per_class(spread, change))


def _per_class(spread: Spread, entries: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.bincount(spread.class_, weights=entries, minlength=len(spread.sizes))
    return sums.astype(np.float64)


def _largest_per_class(spread: Spread, entries: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.full(len(spread.sizes), -np.inf)
    np.maximum.at(largest, spread.class_, entries)
    return largest
