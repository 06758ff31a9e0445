"""k^m-anonymity of traces: whoever saw somebody m times is left with at least k people.

A trace is the set of (cell, time bin) in which its person was seen. Cells are those of a quadtree
over the public bounds; where few people share what may be known, a cell is shown as the larger
one around it, in the limit as the whole of the bounds at that time, or not at all. The search is
that for sets of items (`anonymize/sets`), with the quadtree as hierarchy of the items.

Terrovitis, Mamoulis: Privacy preservation in the publication of trajectories, MDM 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.descent import Descent
from sfumato.anonymize.trajectories.plan import BoxPlan
from sfumato.data.sets.item_tree import ItemTree
from sfumato.data.sets.sets import Sets
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

MOST_LEVELS = 8


def generalize_observations(
    data: Trajectories, k: int, m: int, *, levels: int, seconds: float, seed: int | None
) -> tuple[BoxPlan, int, float]:
    """Return the boxes to show of every trace, and how many observations are not shown at all.

    The last number is what it cost: 1 for an observation that is not shown, the share of levels
    it lost for the others.
    """
    if data.frame.plane_bounds is None:
        raise ParameterError(
            "Cells need public bounds: read the data with bounds=(low x, high x, low y, high y)."
        )
    if not 1 <= levels <= MOST_LEVELS:
        raise ParameterError(f"levels must be between 1 and {MOST_LEVELS}, not {levels!r}.")
    owner, token, codes = _observe(data, levels, seconds)
    tree, code_of_node, level_of_node = _quadtree(codes, levels)
    sizes = np.bincount(owner, minlength=len(data))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    search = Descent(Sets(data.name, starts, token.astype(np.int32), tree), k, m)
    search.run()
    shown = search.shown
    kept = (shown >= 0) & (shown != tree.root)
    pairs = np.unique(np.column_stack([owner[kept], shown[kept]]), axis=0).reshape(-1, 2)
    boxes, spans = _boxes(data, code_of_node[pairs[:, 1]], level_of_node[pairs[:, 1]], seconds)
    ordered = np.lexsort([boxes[:, 2], boxes[:, 0], spans[:, 0], pairs[:, 0]])
    counts = np.bincount(pairs[:, 0], minlength=len(data))
    plan = BoxPlan(
        data, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), boxes[ordered],
        spans[ordered], np.zeros(len(data), np.int64), seed,
    )  # fmt: skip
    lost = np.where(kept, 1.0 - level_of_node[np.where(kept, shown, tree.root)] / levels, 1.0)
    return plan, int((~kept).sum()), float(lost.sum())


def _observe(
    data: Trajectories, levels: int, seconds: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return distinct (trace, item) pairs, and the time bin with Morton code of every item."""
    bounds = data.frame.plane_bounds
    assert bounds is not None
    cells = 1 << levels
    share = (data.places - bounds[[0, 2]]) / (bounds[[1, 3]] - bounds[[0, 2]])
    at = np.clip((share * cells).astype(np.int64), 0, cells - 1)
    bins = np.floor(data.times / seconds).astype(np.int64)
    code = bins - int(bins.min())
    for bit in range(levels - 1, -1, -1):
        code = code * 4 + ((at[:, 1] >> bit & 1) * 2 + (at[:, 0] >> bit & 1))
    codes, item = np.unique(code, return_inverse=True)
    pairs = np.unique(data.owner * len(codes) + item.reshape(-1))
    return pairs // len(codes), pairs % len(codes), codes


def _quadtree(
    codes: NDArray[np.int64], levels: int
) -> tuple[ItemTree, NDArray[np.int64], NDArray[np.int64]]:
    """Return the tree over sorted codes, and the code and level of each of its nodes."""
    n = len(codes)
    below, first, last = np.arange(n), np.arange(n), np.arange(n) + 1
    at, level = codes, [np.full(n, levels, np.int64)]
    parents, firsts, lasts, at_all = [], [first], [last], [codes]
    nodes = n
    for up in range(levels - 1, -1, -1):
        at, start = np.unique(at // 4, return_index=True)
        owner = np.repeat(np.arange(len(start)), np.diff([*start, len(below)]))
        parents.append(nodes + owner)
        first, last = first[start], last[np.append(start[1:], len(last)) - 1]
        firsts.append(first)
        lasts.append(last)
        at_all.append(at)
        level.append(np.full(len(at), up, np.int64))
        below = np.arange(len(at))
        nodes += len(at)
    parents.append(np.full(len(at), nodes))
    parent = np.concatenate([*parents, [nodes]]).astype(np.int32)
    tree = ItemTree(
        parent, np.concatenate([*firsts, [0]]).astype(np.int32),
        np.concatenate([*lasts, [n]]).astype(np.int32),
        tuple(str(v) for v in range(nodes + 1)), n,
    )  # fmt: skip
    return tree, np.concatenate([*at_all, [0]]), np.concatenate([*level, [0]])


def _boxes(
    data: Trajectories, code: NDArray[np.int64], level: NDArray[np.int64], seconds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    bounds = data.frame.plane_bounds
    assert bounds is not None
    x, y = np.zeros_like(code), np.zeros_like(code)
    rest = code.copy()
    for bit in range(int(level.max(initial=0))):
        deep = level > bit
        digit = np.where(deep, rest % 4, 0)
        x |= (digit & 1) << bit
        y |= (digit >> 1) << bit
        rest = np.where(deep, rest // 4, rest)
    side = 1 << level
    width, height = bounds[1] - bounds[0], bounds[3] - bounds[2]
    boxes = np.column_stack([
        bounds[0] + x / side * width, bounds[0] + (x + 1) / side * width,
        bounds[2] + y / side * height, bounds[2] + (y + 1) / side * height,
    ])  # fmt: skip
    begin = (rest + int(np.floor(data.times.min() / seconds))) * seconds
    return boxes, np.column_stack([begin, begin + seconds])
