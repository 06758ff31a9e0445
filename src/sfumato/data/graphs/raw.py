"""A graph as a source tells it, before nodes are numbered and edges checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RawGraph:
    """Pairs of nodes (names, or numbers in an array), nodes beside them, what is known of them.

    `directed` is None where the source does not say.
    """

    pairs: Sequence[tuple[str, str]] | NDArray[np.int64]
    nodes: Sequence[str] | range = ()
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    directed: bool | None = None
    source: str = "the graph"
    name: str = "graph"
    kind: str = "edges"
