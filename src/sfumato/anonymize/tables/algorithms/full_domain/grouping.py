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

from sfumato.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy

DIRECT_FACTOR = 4
"""Use a plain array instead of a hash table while the key space is at most this many times
the number of tuples."""

PLAIN_FACTOR = 64
"""The same for array operations, whose alternative is to sort."""

KEY_LIMIT = 2**62


class Grouper:
    """Groups tuples of fixed columns at any level of their hierarchies.

    `columns[a]` holds leaf codes; the first `len(hierarchies)` columns have hierarchies, the
    rest (sensitive attributes, `widths` values each) are always kept as they are.
    """

    def __init__(
        self,
        columns: NDArray[np.int32],
        hierarchies: tuple[Hierarchy, ...],
        widths: tuple[int, ...] = (),
    ) -> None:
        self._columns = np.ascontiguousarray(columns, dtype=np.int32)
        self._hierarchical = len(hierarchies)
        self._plain = len(widths)
        height = max((h.height for h in hierarchies), default=1)
        width = max([*(h.size for h in hierarchies), *widths, 1])
        self._nodes = np.zeros((len(columns), height, width), dtype=np.int32)
        self._radix = np.ones((len(columns), height), dtype=np.int64)
        for a, h in enumerate(hierarchies):
            self._nodes[a, : h.height, : h.size] = h.levels.T
            self._radix[a, : h.height] = [len(labels) for labels in h.labels]
        for s, n_values in enumerate(widths):
            self._nodes[self._hierarchical + s, 0, :n_values] = np.arange(n_values)
            self._radix[self._hierarchical + s, 0] = n_values

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
        chosen = range(self._hierarchical) if attributes is None else attributes
        positions = [*chosen]
        levels = [node[a] for a in chosen]
        if plain and self._plain:
            positions += range(self._hierarchical, self._hierarchical + self._plain)
            levels += [0] * self._plain
        keys = np.zeros(len(members), dtype=np.int64)
        space = 1
        for start, stop in self._folds(positions, levels, len(members)):
            part = np.array(positions[start:stop], dtype=np.int64)
            at = np.array(levels[start:stop], dtype=np.int64)
            space = _add_keys(
                self._columns, self._nodes, self._radix, part, at, members, keys, space
            )
            keys, first = _dense(keys, space)
            space = max(len(first), 1)
        if not positions:
            first = np.zeros(min(1, len(members)), dtype=np.int64)
        return keys, members[first]

    def _folds(
        self, positions: list[int], levels: list[int], members: int
    ) -> list[tuple[int, int]]:
        """Cut the columns into runs whose keys fit 63 bits beside a dense key before them."""
        cuts, start, space = [], 0, 1
        for i, (a, level) in enumerate(zip(positions, levels, strict=True)):
            radix = int(self._radix[a, level])
            if space * radix >= KEY_LIMIT:
                cuts.append((start, i))
                start, space = i, members
            space *= radix
        return [*cuts, (start, len(positions))] if positions else []


def _plain_add_keys(
    columns: NDArray[np.int32],
    nodes: NDArray[np.int32],
    radix: NDArray[np.int64],
    positions: NDArray[np.int64],
    levels: NDArray[np.int64],
    members: NDArray[np.int64],
    keys: NDArray[np.int64],
    space: int,
) -> int:
    for position, level in zip(positions.tolist(), levels.tolist(), strict=True):
        base = int(radix[position, level])
        if base == 1:
            continue
        leaves = columns[position].take(members)
        digits = nodes[position, level].astype(np.int64) * space
        keys += digits.take(leaves)
        space *= base
    return space


@kernel(_plain_add_keys, loss=lambda *a: 1e-5 + 4e-9 * len(a[3]) * len(a[5]))
def _add_keys(columns, nodes, radix, positions, levels, members, keys, space):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add higher digits to the key of each member; return the size of the key space."""
    for j in range(len(positions)):
        base = radix[positions[j], levels[j]]
        if base == 1:
            continue
        column = columns[positions[j]]
        node_of = nodes[positions[j], levels[j]]
        for i in range(len(members)):
            keys[i] += node_of[column[members[i]]] * space
        space *= base
    return space


def _plain_dense(
    keys: NDArray[np.int64], space: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    places = np.arange(len(keys), dtype=np.int64)
    if space <= PLAIN_FACTOR * len(keys) + 64:
        first_of = np.empty(space, dtype=np.int64)
        first_of[keys[::-1]] = places[::-1]  # of equal keys the last written, the first, stays
        firsts = first_of.take(keys)
    else:
        firsts = _first_places(keys, places, space)
    is_first = firsts == places
    number = np.cumsum(is_first) - 1
    return number.take(firsts), np.flatnonzero(is_first)


def _first_places(
    keys: NDArray[np.int64], places: NDArray[np.int64], space: int
) -> NDArray[np.int64]:
    """Return where the key of each place first occurs, by sorting."""
    bits = len(keys).bit_length()
    if space << bits >= 2**63:
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return first[inverse]
    both = np.sort((keys << bits) | places)  # plain numbers sort much faster than with their places
    at = both & ((1 << bits) - 1)
    both >>= bits
    new = np.empty(len(keys), dtype=np.bool_)
    new[:1] = True
    np.not_equal(both[1:], both[:-1], out=new[1:])
    firsts = np.empty_like(places)
    firsts[at] = at[new][np.cumsum(new) - 1]
    return firsts


@kernel(_plain_dense, loss=lambda keys, _: 2e-5 + 6e-8 * len(keys))
def _dense(keys, space):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Give equal keys the same number 0, 1, …; return them and the first place of each.

    Numbers are found in a plain array where the key space is small, else by open addressing.
    """
    n = len(keys)
    direct = space <= DIRECT_FACTOR * n + 64
    bits = 4
    while not direct and (1 << bits) < 2 * n:
        bits += 1
    slots = np.full(space if direct else 1 << bits, -1, dtype=np.int32)
    mask = len(slots) - 1
    groups = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    found = 0
    for i in range(n):
        key = keys[i]
        at = key
        if not direct:
            mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
            at = np.int64(mixed >> np.uint64(64 - bits))
            while slots[at] >= 0 and keys[first[slots[at]]] != key:
                at = (at + 1) & mask
        if slots[at] < 0:
            slots[at] = found
            first[found] = i
            found += 1
        groups[i] = slots[at]
    return groups, first[:found].copy()
