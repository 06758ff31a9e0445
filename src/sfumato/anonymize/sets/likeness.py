"""Sets that look alike beside hidden items, and deletion until k of them do.

Whether two sets are alike is asked of a sum of odd constants, one per shown label: deleting a label
changes the sums of its holders only. Equal sums of different sets are next to impossible, and are
looked for at the end: the result rests on exact keys.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.recoding import DELETED, SetRecoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = np.uint64(0x9E3779B97F4A7C15)
SHARE = 64
"""With many labels in sets that lack company, one in this many of them goes at once."""


def number_alike(
    recoding: SetRecoding, hidden: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a number for each set, equal where the labels that are not hidden are.

    The second array tells which sets show any such label.
    """
    starts, shown = _public(recoding, hidden)
    keys: dict[bytes, int] = {}
    numbers = np.array(
        [keys.setdefault(shown[b:e].tobytes(), len(keys)) for b, e in itertools.pairwise(starts)],
        dtype=np.int64,
    )
    return numbers, np.diff(starts) > 0


def release_rare(recoding: SetRecoding, k: int, hidden: tuple[int, ...]) -> SetRecoding:
    """Delete labels until every set looks like k − 1 others; the same where they do already."""
    nodes, offset = recoding.nodes, 0
    while True:
        current = recoding if nodes is recoding.nodes else SetRecoding(
            recoding.data, nodes, recoding.bag
        )  # fmt: skip
        numbers, public = number_alike(current, hidden)
        shown = np.diff(current.released[0]) > 0
        sizes = np.bincount(numbers[shown], minlength=numbers.max(initial=0) + 1)
        rare = shown & (sizes[numbers] < k)
        if not rare.any():
            return current
        nodes = nodes.copy()
        if rare[public].any():
            nodes = _thin(current, k, hidden, offset)
        else:  # sets of secrets alone: too few to be alike in showing nothing else
            rows = np.repeat(np.arange(len(recoding.data)), recoding.data.sizes)
            nodes[rare[rows]] = DELETED
        offset += 1


def _thin(recoding: SetRecoding, k: int, hidden: tuple[int, ...], offset: int) -> NDArray[np.int32]:
    """Delete, again and again, the labels that most sets without company share."""
    starts, shown = _public(recoding, hidden)
    width = recoding.data.tree.nodes
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    value = _constants(width, offset)
    sums = np.zeros(len(starts) - 1, dtype=np.uint64)
    np.add.at(sums, rows, value[shown])
    left = np.diff(starts)
    alive = np.ones(len(shown), dtype=np.bool_)
    while True:
        _, number, sizes = np.unique(sums, return_inverse=True, return_counts=True)
        rare = (sizes[number] < k) & (left > 0)
        guilt = np.bincount(shown[alive & rare[rows]], minlength=width)
        if not guilt.any():
            break
        weights = np.maximum(np.bincount(shown[alive], minlength=width), 1)
        many = max(1, int((guilt > 0).sum()) // SHARE)
        worst = np.argsort(guilt / weights)[-many:]
        lost = alive & np.isin(shown, worst[guilt[worst] > 0])
        np.subtract.at(sums, rows[lost], value[shown[lost]])
        np.subtract.at(left, rows[lost], 1)
        alive &= ~lost
    kept = np.zeros(width, dtype=np.bool_)
    kept[shown[alive]] = True
    kept[list(hidden)] = True
    nodes = np.where((recoding.nodes >= 0) & kept[recoding.nodes], recoding.nodes, DELETED)
    return nodes.astype(np.int32)


def _public(
    recoding: SetRecoding, hidden: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the released sets without hidden labels."""
    starts, shown = recoding.released
    kept = ~np.isin(shown, hidden)
    counts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return counts[starts], shown[kept]


def _constants(width: int, offset: int) -> NDArray[np.uint64]:
    """Return an odd number of 64 well-mixed bits per label (the finaliser of SplitMix64)."""
    mixed = (np.arange(1, width + 1, dtype=np.uint64) + np.uint64(offset * width)) * STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)
