"""What becomes of every item of every set: a node of the tree, or nothing.

All algorithms that change items decide this one array. An item is released as itself, as a group
that covers it, or deleted; a deleted item leaves no trace, not even that there was one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets

DELETED = -1


@dataclass(frozen=True, eq=False, repr=False)
class SetRecoding:
    """The node for each item of `data.items`, `DELETED` where it is left out.

    With the *set* meaning a group stands once in a set however many of its items are there, and the
    size of the set is not told; with the *bag* meaning it stands once for each.
    """

    data: Sets
    nodes: NDArray[np.int32]
    bag: bool = False
    seed: int | None = None
    """Repeats the order of the released sets; never told."""

    @cached_property
    def prices(self) -> NDArray[np.float64]:
        """NCP of every item as released; 1 where it is deleted."""
        price = self.data.tree.price
        return np.where(self.nodes == DELETED, 1.0, price[self.nodes])

    @property
    def ncp(self) -> float:
        """Mean NCP over all items of all sets."""
        return float(self.prices.mean()) if len(self.prices) else 0.0

    @property
    def deleted(self) -> int:
        """Number of items deleted."""
        return int((self.nodes == DELETED).sum())

    @cached_property
    def released(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The released sets, empty ones included, as starts and sorted nodes."""
        data, width = self.data, self.data.tree.nodes
        rows = np.repeat(np.arange(len(data)), data.sizes)
        kept = self.nodes != DELETED
        keys = rows[kept] * width + self.nodes[kept]
        keys = np.sort(keys) if self.bag else sort_distinct(keys)
        sizes = np.bincount(keys // width, minlength=len(data))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return starts, (keys % width).astype(np.int32)


def sort_distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort keys and leave out repetitions; `np.unique` hashes them first, and takes far longer."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
