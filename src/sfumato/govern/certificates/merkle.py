"""A Merkle tree over the entries of a ledger (RFC 9162, section 2.1).

Contract: the leaf of an entry is SHA-256(0 ‖ hash of the entry), a node is SHA-256(1 ‖ left ‖
right), and the left part of n leaves is the largest power of two below n. :func:`root_from`
recomputes the root from one leaf and about log₂ n hashes, so one entry can be checked without the
others; :func:`is_extension` tells from a proof whether a larger tree only adds leaves to a
smaller one. The prefixes keep a node from being passed off as a leaf.

    >>> leaves = [leaf_of(f"{i:064x}") for i in range(5)]
    >>> root_from(leaves[3], 3, 5, inclusion(leaves, 3)) == root(leaves)
    True
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

EMPTY = sha256(b"").digest()


def leaf_of(entry_hash: str) -> bytes:
    """Give the leaf of an entry, from its hash in hexadecimal."""
    return sha256(b"\0" + bytes.fromhex(entry_hash)).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _split(count: int) -> int:
    return 1 << ((count - 1).bit_length() - 1)


def root(leaves: Sequence[bytes]) -> bytes:
    """Give the root of a tree, level by level: an odd node at the end is carried up as it is."""
    level = list(leaves)
    if not level:
        return EMPTY
    while len(level) > 1:
        above = [_node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = above + level[len(level) - len(level) % 2 :]
    return level[0]


def inclusion(leaves: Sequence[bytes], place: int) -> list[bytes]:
    """Give the hashes that lead from the leaf at a place up to the root."""
    if len(leaves) == 1:
        return []
    cut = _split(len(leaves))
    if place < cut:
        return [*inclusion(leaves[:cut], place), root(leaves[cut:])]
    return [*inclusion(leaves[cut:], place - cut), root(leaves[:cut])]


def root_from(leaf: bytes, place: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Recompute the root of so many leaves from one of them; None if the path does not fit."""
    if not 0 <= place < size:
        return None
    where, last, found = place, size - 1, leaf
    for sibling in path:
        if last == 0:
            return None
        if where & 1 or where == last:
            found = _node(sibling, found)
            while where and not where & 1:
                where, last = where >> 1, last >> 1
        else:
            found = _node(found, sibling)
        where, last = where >> 1, last >> 1
    return found if last == 0 else None


def consistency(leaves: Sequence[bytes], earlier: int) -> list[bytes]:
    """Give the hashes that prove a tree to begin with the first ``earlier`` leaves."""
    return [] if earlier in {0, len(leaves)} else _consistent(leaves, earlier, whole=True)


def _consistent(leaves: Sequence[bytes], earlier: int, *, whole: bool) -> list[bytes]:
    if earlier == len(leaves):
        return [] if whole else [root(leaves)]
    cut = _split(len(leaves))
    if earlier <= cut:
        return [*_consistent(leaves[:cut], earlier, whole=whole), root(leaves[cut:])]
    return [*_consistent(leaves[cut:], earlier - cut, whole=False), root(leaves[:cut])]


class Levels:
    """A tree with all its nodes, so that proofs cost no hash: level k has one per 2ᵏ leaves."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.size = len(leaves)
        self._levels = [list(leaves)]
        while len(level := self._levels[-1]) > 1:
            above = [_node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
            self._levels.append(above + level[len(level) - len(level) % 2 :])

    def first(self, count: int) -> Levels:
        """Give the tree of the first so many leaves: only its edge is hashed."""
        found = Levels(())
        found.size = count
        found._levels = [level := self._levels[0][:count]]
        for above in self._levels[1:]:
            if len(level) <= 1:
                break
            rest = level[len(level) // 2 * 2 :]
            whole = count >> len(found._levels)
            if len(level) // 2 > whole:
                rest = [_node(level[-2], level[-1])]
            found._levels.append(level := above[:whole] + rest)
        return found

    @property
    def root(self) -> bytes:
        """The root."""
        return self._levels[-1][0] if self.size else EMPTY

    def inclusion(self, place: int) -> list[bytes]:
        """Give what :func:`inclusion` gives."""
        pairs = [(level, place >> k ^ 1) for k, level in enumerate(self._levels)]
        return [level[beside] for level, beside in pairs[:-1] if beside < len(level)]

    def consistency(self, earlier: int) -> list[bytes]:
        """Give what :func:`consistency` gives."""
        if earlier in {0, self.size}:
            return []
        start, end, whole = 0, self.size, True
        path: list[bytes] = []
        while earlier != end:
            high = (end - start - 1).bit_length() - 1
            cut = start + (1 << high)
            if earlier <= cut:
                path.append(self._levels[high][cut >> high])
                end = cut
            else:
                path.append(self._levels[high][start >> high])
                start, whole = cut, False
        if not whole:
            high = (end - start - 1).bit_length()
            path.append(self._levels[high][start >> high])
        return path[::-1]


def is_extension(
    old: bytes, old_size: int, new: bytes, new_size: int, path: Sequence[bytes]
) -> bool:
    """Tell whether a tree only adds leaves to a smaller one (RFC 9162, section 2.1.4.2)."""
    if old_size == new_size:
        return not path and old == new
    if old_size == 0:
        return not path
    if not 0 < old_size < new_size or not path:
        return False
    steps = list(path)
    if old_size & (old_size - 1) == 0:
        steps.insert(0, old)
    where, last = old_size - 1, new_size - 1
    while where & 1:
        where, last = where >> 1, last >> 1
    first = second = steps[0]
    for sibling in steps[1:]:
        if last == 0:
            return False
        if where & 1 or where == last:
            first, second = _node(sibling, first), _node(sibling, second)
            while where and not where & 1:
                where, last = where >> 1, last >> 1
        else:
            second = _node(second, sibling)
        where, last = where >> 1, last >> 1
    return last == 0 and first == old and second == new
