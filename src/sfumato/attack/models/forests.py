"""Forests as arrays, and the smallest change found that a forest's vote does not survive.

A forest answers the same inside boxes, so only crossing a threshold changes anything. `walk` does
what its name says: among the thresholds on the paths that the row takes now, it crosses the one
that wins most votes for its length, until the label changes; then every changed cell goes back as
far as it can, cell by cell. Resets of random cells and further starts look for shorter ways within
a number of tries (in the manner of Zhang, Zhang and Hsieh, "An efficient adversarial attack for
tree ensembles", NeurIPS 2020).

A forest is one array per property of its nodes: `feature` (−1 for a leaf), `threshold`, `left`,
`right`, `votes` (share of each class at a leaf), and `roots`. scikit-learn compares cells rounded
to single precision, so values next to a threshold are the nearest single on the other side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


_ALIKE = 0.99


class Forest(NamedTuple):
    """The nodes of all trees."""

    feature: NDArray[np.int64]
    below: NDArray[np.float64]  # the largest single that goes left
    above: NDArray[np.float64]  # the smallest single that goes right
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    votes: NDArray[np.float64]
    roots: NDArray[np.int64]


class Ways(NamedTuple):
    """What may be changed, and how long to look."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    free: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    tries: int


def votes_as(forest: Forest, rows: NDArray[np.float64], places: NDArray[np.int64]) -> bool:
    """Whether the mean of the trees' votes says so of nearly all rows: boosted trees weigh them."""
    votes = np.zeros((len(rows), forest.votes.shape[1]))
    everybody, cells = np.arange(len(rows)), rows.astype(np.float32).astype(np.float64)
    for root in forest.roots:
        node = np.full(len(rows), root)
        while (inner := forest.feature[node] >= 0).any():
            goes_left = cells[everybody, np.maximum(forest.feature[node], 0)] <= forest.below[node]
            node = np.where(inner, np.where(goes_left, forest.left[node], forest.right[node]), node)
        votes += forest.votes[node]
    return bool((votes.argmax(axis=1) == places).mean() > _ALIKE)


def forest_of(model: Any) -> Forest | None:
    """Flatten a fitted forest or tree of scikit-learn; None for what is none."""
    trees = getattr(model, "estimators_", None)
    if trees is None:
        trees = [model] if hasattr(model, "tree_") else None
    if trees is None or np.ndim(trees) != 1 or not all(hasattr(t, "tree_") for t in trees):
        return None
    if getattr(model, "n_outputs_", 1) != 1 or not hasattr(model, "classes_"):
        return None
    parts, roots, start = [], [], 0
    for grown in trees:
        tree = grown.tree_
        share = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        inner = tree.children_left >= 0
        parts.append((np.where(inner, tree.feature, -1), tree.threshold,
                      tree.children_left + start, tree.children_right + start, share))  # fmt: skip
        roots.append(start)
        start += tree.node_count
    feature, threshold, left, right, votes = (np.concatenate(p) for p in zip(*parts, strict=True))
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below.astype(np.float32), np.float32(np.inf))
    return Forest(feature.astype(np.int64), below.astype(np.float64), above.astype(np.float64),
                  left.astype(np.int64), right.astype(np.int64), np.ascontiguousarray(votes),
                  np.array(roots, dtype=np.int64))  # fmt: skip


@njit(cache=True)
def _vote(forest, row, votes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    votes[:] = 0.0
    for root in forest.roots:
        node = root
        while forest.feature[node] >= 0:
            cell = np.float32(row[forest.feature[node]])
            node = forest.left[node] if cell <= forest.below[node] else forest.right[node]
        votes += forest.votes[node]


@njit(cache=True)
def _margin(forest, row, own, wanted, votes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return how far the label is from being another (or the wanted) one; misled above 0.

    Ties go to the first class, as in scikit-learn.
    """
    _vote(forest, row, votes)
    best, place = -np.inf, -1
    for c in range(len(votes)):
        if c != (own if wanted < 0 else wanted) and votes[c] > best:
            best, place = votes[c], c
    if wanted < 0:
        gap = best - votes[own]
        return gap if gap != 0 else (1e-12 if place < own else -1e-12)
    gap = votes[wanted] - best
    return gap if gap != 0 else (1e-12 if wanted < place else -1e-12)


@njit(cache=True)
def _climb(forest, ways, free, origin, row, own, wanted, votes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Cross thresholds of the present paths, best gain for its length first, until misled."""
    now = _margin(forest, row, own, wanted, votes)
    for _ in range(60):
        if now > 0:
            return True
        best, cell, value = 0.0, -1, 0.0
        for root in forest.roots:
            node = root
            while forest.feature[node] >= 0:
                f = forest.feature[node]
                left = np.float32(row[f]) <= forest.below[node]
                new = forest.above[node] if left else forest.below[node]
                if ways.whole[f]:
                    new = np.ceil(new) if left else np.floor(new)
                if free[f] and ways.low[f] <= new <= ways.high[f] and new != row[f]:
                    old = row[f]
                    longer = (new - origin[f]) ** 2 - (old - origin[f]) ** 2
                    row[f] = new
                    gain = _margin(forest, row, own, wanted, votes) - now
                    row[f] = old
                    worth = gain / max(longer, 1e-6)
                    if gain > 0 and worth > best:
                        best, cell, value = worth, f, new
                node = forest.left[node] if left else forest.right[node]
        if cell < 0:
            return False
        row[cell] = value
        now = _margin(forest, row, own, wanted, votes)
    return now > 0


@njit(cache=True)
def _shrink(forest, ways, origin, row, own, wanted, votes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Let every changed cell go back as far as the row stays misled, the farthest first."""
    for _ in range(4):
        order = np.argsort(-np.abs(row - origin))
        changed = False
        for f in order:
            if row[f] == origin[f]:
                break
            kept = row[f]
            row[f] = origin[f]
            if _margin(forest, row, own, wanted, votes) > 0:
                changed = True
                continue
            near, far = origin[f], kept  # misled at far, not at near
            for _ in range(24):
                middle = (near + far) / 2
                if ways.whole[f]:
                    middle = np.rint(middle)
                if middle in (near, far):
                    break
                row[f] = middle
                if _margin(forest, row, own, wanted, votes) > 0:
                    far = middle
                else:
                    near = middle
            row[f] = far
            changed = changed or far != kept
        if not changed:
            return


@njit(cache=True)
def walk(forest, ways, origins, starts, owns, wanted, draws):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the nearest misled row found for each origin, and whether one was found.

    `starts[i]` are rows to begin from, beside the origin itself; `draws` are random numbers that
    choose which cells a try resets.
    """
    found = origins.copy()
    there = np.zeros(len(origins), dtype=np.bool_)
    votes = np.zeros(forest.votes.shape[1])
    for i in range(len(origins)):
        origin, best = origins[i], np.inf
        for s in range(starts.shape[1] + 1):
            row = origin.copy() if s == 0 else starts[i, s - 1].copy()
            if _climb(forest, ways, ways.free, origin, row, owns[i], wanted[i], votes):
                _shrink(forest, ways, origin, row, owns[i], wanted[i], votes)
                size = np.sum((row - origin) ** 2)
                if size < best:
                    best = size
                    found[i] = row
                    there[i] = True
        for t in range(ways.tries if there[i] and best > 0 else 0):
            row = found[i].copy()
            cells = np.flatnonzero(row != origin)
            free = ways.free.copy()
            for turn in range(1 + t % 2):  # one or two cells go back, and stay there in this try
                cell = cells[int(draws[i, t] * 997 * (1 + turn)) % len(cells)]
                row[cell] = origin[cell]
                free[cell] = False
            if _climb(forest, ways, free, origin, row, owns[i], wanted[i], votes):
                _shrink(forest, ways, origin, row, owns[i], wanted[i], votes)
                size = np.sum((row - origin) ** 2)
                if size < best - 1e-12:
                    best = size
                    found[i] = row
    return found, there
