"""What was decided about a graph: which edges there will be, or which nodes go together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import AnyGraph
    from sfumato.data.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class EditPlan:
    """Edges after editing, in the numbers of the original graph, which stays in the house.

    `keep` names the attributes of nodes to release, `withheld` tells of which nodes they are not;
    `seed` repeats the new numbers of nodes.
    """

    graph: AnyGraph
    edges: NDArray[np.int64]
    added: int
    removed: int
    keep: tuple[str, ...] = ()
    seed: int | None = None
    withheld: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """The group of every node; groups are numbered from 0."""

    graph: Graph
    group_of: NDArray[np.int64]
    seed: int | None = None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes per group."""
        return np.bincount(self.group_of)
