"""Sets: who bought, borrowed or clicked what, one set of items per person.

Contract: the items of a set are distinct and sorted (a duplicate adds nothing to a set), an item is
a leaf of the tree, and nothing says which person a set belongs to: where person identifiers
came in, they are gone. A set may be empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.item_tree import ItemTree


@dataclass(frozen=True, eq=False, repr=False)
class Sets(Shown):
    """Sets of items: those of set i are `items[starts[i]:starts[i + 1]]`.

    `kind` says what they came in ("lines", "pandas", …), so that a release comes back alike;
    `given` tells whether the hierarchy was given or made from the data.
    """

    name: str
    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    tree: ItemTree
    kind: str = "lists"
    given: bool = True
    shape: ClassVar[str] = "sets"
    schema: ClassVar[None] = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"<Sets {self.name}: {len(self):,} sets over {self.tree.items:,} items>"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items in each set."""
        return np.diff(self.starts)

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        """Number of sets that hold each item."""
        return np.bincount(self.items, minlength=self.tree.items).astype(np.int64)

    @cached_property
    def longest(self) -> int:
        """The most items of a set, at least 1: nobody can know more than that many."""
        return int(self.sizes.max(initial=1))

    @property
    def occurrences(self) -> int:
        """Number of items in all sets together."""
        return len(self.items)

    def lists(self) -> list[list[str]]:
        """Return the sets as lists of texts."""
        texts = [self.tree.labels[code] for code in self.items]
        return [
            texts[begin:end] for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]
