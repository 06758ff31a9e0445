"""Group distinct tuples by a node of the generalisation lattice, exactly and fast.

A grouping of a fine node can be grouped again into any node above it: one representative
tuple per cell is enough, because tuples that agree on a level agree on every level above
(hierarchies nest). That roll-up is what makes most checks of a lattice search cost
microseconds instead of a pass over all tuples.

Keys are mixed-radix numbers over the nodes of each attribute, so equal keys mean equal
generalised tuples; no hashing of values is trusted. Where the radix product would leave 63
bits, attributes are folded in steps through dense intermediate keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.hierarchy import Hierarchy

DIRECT_FACTOR = 4
"""Use a plain array instead of a hash table while the key space is at most this many times
the number of tuples."""

KEY_LIMIT = 2**62


class Grouper:
    """Groups tuples of fixed columns at any level of their hierarchies.

    `columns[a]` holds leaf codes; the first `len(hierarchies)` columns have hierarchies, the
    rest (sensitive attributes) are always kept as they are.
    """

    def __init__(
        self,
        columns: NDArray[np.int32],
        hierarchies: tuple[Hierarchy, ...],
        widths: tuple[int, ...] = (),
    ) -> None:
        self._columns = np.ascontiguousarray(columns)
        self._nodes = [
            [np.ascontiguousarray(h.levels[:, j], dtype=np.int64) for j in range(h.height)]
            for h in hierarchies
        ]
        self._radix = [[len(labels) for labels in h.labels] for h in hierarchies]
        self._hierarchical = len(hierarchies)
        self._plain = [np.arange(width, dtype=np.int64) for width in widths]
        sizes = [h.size for h in hierarchies] + list(widths)
        self._width = max(sizes, default=1)

    def _steps(
        self, node: tuple[int, ...], attributes: tuple[int, ...], plain: bool
    ) -> list[tuple[NDArray[np.int64], int]]:
        """Return (table of nodes, radix) for each column that still tells tuples apart."""
        steps = [
            (self._nodes[a][node[a]], self._radix[a][node[a]])
            for a in attributes
            if self._radix[a][node[a]] > 1
        ]
        positions = [a for a in attributes if self._radix[a][node[a]] > 1]
        if plain:
            steps += [(table, len(table)) for table in self._plain]
            positions += range(self._hierarchical, self._hierarchical + len(self._plain))
        self._positions = positions
        return steps

    def group(
        self,
        node: tuple[int, ...],
        members: NDArray[np.int64],
        *,
        attributes: tuple[int, ...] | None = None,
        plain: bool = False,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the group of each member tuple and one representative per group.

        `attributes` restricts the key to some of the hierarchical columns; `plain` adds the
        columns without hierarchy.
        """
        chosen = tuple(range(self._hierarchical)) if attributes is None else attributes
        steps = self._steps(node, chosen, plain)
        positions = self._positions
        groups = np.zeros(len(members), dtype=np.int64)
        space = 1
        start = 0
        while start < len(steps):
            table = np.zeros((len(steps) - start, self._width), dtype=np.int64)
            used = 0
            while start + used < len(steps) and space * steps[start + used][1] < KEY_LIMIT:
                nodes, radix = steps[start + used]
                table[used, : len(nodes)] = nodes * space
                space *= radix
                used += 1
            columns = np.array(positions[start : start + used], dtype=np.int64)
            keys = _keys(self._columns, columns, table[:used], members, groups)
            groups, first = _dense(keys, space, len(members))
            space = max(len(first), 1)
            start += used
        if not steps:
            first = np.zeros(min(1, len(members)), dtype=np.int64)
        return groups, members[first]


@njit(cache=True)
def _keys(columns, positions, table, members, groups):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Mixed-radix key per member; `groups` is the key so far, in the lowest digits."""
    keys = groups.copy()
    for j in range(len(positions)):
        column = columns[positions[j]]
        row = table[j]
        for i in range(len(members)):
            keys[i] += row[column[members[i]]]
    return keys


def _dense(
    keys: NDArray[np.int64], space: int, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal keys the same number 0, 1, …; return the number per key and the first place of each."""
    if space <= DIRECT_FACTOR * n + 64:
        return _dense_direct(keys, space)  # type: ignore[no-any-return]
    return _dense_hashed(keys)  # type: ignore[no-any-return]


@njit(cache=True)
def _dense_direct(keys, space):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    slots = np.full(space, -1, dtype=np.int64)
    groups = np.empty(len(keys), dtype=np.int64)
    first = np.empty(min(space, len(keys)), dtype=np.int64)
    found = 0
    for i in range(len(keys)):
        slot = slots[keys[i]]
        if slot < 0:
            slot = found
            slots[keys[i]] = found
            first[found] = i
            found += 1
        groups[i] = slot
    return groups, first[:found].copy()


@njit(cache=True)
def _dense_hashed(keys):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int32)
    groups = np.empty(len(keys), dtype=np.int64)
    first = np.empty(len(keys), dtype=np.int64)
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        place = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)
        at = np.int64(place)
        while slots[at] >= 0 and keys[first[slots[at]]] != key:
            at = (at + 1) & mask
        if slots[at] < 0:
            slots[at] = found
            first[found] = i
            found += 1
        groups[i] = slots[at]
    return groups, first[:found].copy()
