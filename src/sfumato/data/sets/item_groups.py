"""Hierarchies of items where none is given: by co-occurrence, or by the order of the items.

`group_by_occurrence` joins items that are bought together: level by level, every group is matched
with the one it shares most sets with (heavy-edge matching, Karypis and Kumar 1998), two
matchings per level, so that a group has about four members. `group_in_order` joins neighbours.

A tree made from the data tells which items go together. That is no count of anybody's set, but who
must not even tell that gives a hierarchy of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.numbers import number
from sfumato.data.sets.item_tree import build_tree
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.sets.item_tree import ItemTree

SPELT_OUT = 4
"""A group of at most so many items is called by them."""


def group_in_order(labels: Sequence[str], fanout: int = 5) -> ItemTree:
    """Return the tree that joins `fanout` neighbours per level, items in their natural order."""
    if isinstance(fanout, bool) or not isinstance(fanout, int) or fanout < 2:
        raise ParameterError(f"fanout must be a whole number of at least 2, not {fanout!r}.")
    ordered = sorted(labels, key=_natural)
    starts = np.arange(len(ordered), dtype=np.int64)
    runs = []
    while len(starts) > 1:
        starts = starts[::fanout]
        runs.append((starts, _names(ordered, starts)))
    return build_tree(ordered, runs, f"{fanout} neighbours per level")


def _natural(label: str) -> tuple[int, float, str]:
    """Sort numbers by their size and before texts."""
    value = number(label)
    return (1, 0.0, label) if value is None else (0, float(value), label)


def _names(labels: Sequence[str], starts: NDArray[np.int64]) -> list[str]:
    """Call a group by its first and last item, or by all of them where they are few."""
    names = []
    for begin, end in zip(starts, np.append(starts[1:], len(labels)), strict=True):
        members = labels[begin:end]
        names.append("*" if len(starts) == 1 else name_group(members))
    return names


def name_group(members: Sequence[str]) -> str:
    """Call a group by all of its items where they are few, else by two of them and their number."""
    if len(members) <= SPELT_OUT:
        return "{" + "/".join(members) + "}"
    return f"{{{members[0]}…{members[-1]}/{len(members)}}}"


def group_by_occurrence(
    labels: Sequence[str], starts: NDArray[np.int64], items: NDArray[np.int32]
) -> ItemTree:
    """Return the tree that joins, level by level, items found in the same sets."""
    group = np.arange(len(labels), dtype=np.int64)
    levels: list[NDArray[np.int64]] = []
    count, shown = len(labels), items.astype(np.int64)
    while count > 1:
        for _ in range(2):
            renumbered, count = _match(count, starts, shown)
            group = renumbered[group]
            starts, shown = _recode(starts, renumbered[shown], count)
        levels.append(group.copy())
    order = np.lexsort([np.arange(len(labels)), *levels])
    ordered = [labels[i] for i in order]
    runs = []
    for level in levels:
        column = level[order]
        begins = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
        runs.append((begins.astype(np.int64), _names(ordered, begins)))
    return build_tree(ordered, runs, "co-occurrence")


def _match(
    count: int, starts: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Join groups in pairs; the strongest links first, what is left by how often it occurs."""
    from sfumato.data.sets.matching import match_groups  # noqa: PLC0415 - loads the compiler

    if count == 1:
        return np.zeros(1, dtype=np.int64), 1
    partner = match_groups(count, starts, groups)
    heads = np.minimum(np.arange(count), partner)
    _, renumbered = np.unique(heads, return_inverse=True)
    renumbered = renumbered.reshape(-1)
    return renumbered, int(renumbered.max()) + 1


def _recode(
    starts: NDArray[np.int64], groups: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sets with each group once: a large set is as small as its groups are few."""
    records = len(starts) - 1
    keys = np.unique(np.repeat(np.arange(records), np.diff(starts)) * count + groups)
    sizes = np.bincount(keys // count, minlength=records)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), keys % count
