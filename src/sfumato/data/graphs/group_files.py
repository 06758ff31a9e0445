"""Groups of nodes with the edges within and between them, as a JSON file.

`{"groups": [{"nodes": 5, "edges": 4}, …], "between": [[0, 1, 3], …]}`: the first group has 5 nodes
and 4 edges among them, and 3 edges run between the first and the second group.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class NodeGroups:
    """Sizes of groups, edges within each, and rows (a, b, edges between them) with a < b."""

    sizes: NDArray[np.int64]
    within: NDArray[np.int64]
    between: NDArray[np.int64]

    @property
    def edges(self) -> int:
        """Number of edges."""
        return int(self.within.sum() + self.between[:, 2].sum())


def is_group_file(path: Path) -> bool:
    """Tell by its name whether a file holds groups."""
    return path.suffix == ".json"


def read_group_file(path: Path) -> NodeGroups:
    """Read groups; refuse sizes and numbers of edges that no graph has."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        sizes = np.array([group["nodes"] for group in content["groups"]], dtype=np.int64)
        within = np.array([group["edges"] for group in content["groups"]], dtype=np.int64)
        between = np.array(content["between"], dtype=np.int64).reshape(-1, 3)
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        raise DataError(f"{path} cannot be read as groups of nodes.") from None
    found = NodeGroups(sizes, within, between)
    if not _possible(found):
        raise DataError(f"{path} has more edges in or between groups than their nodes can have.")
    return found


def _possible(groups: NodeGroups) -> bool:
    sizes, (a, b, count) = groups.sizes, groups.between.T
    if (sizes < 1).any() or (groups.within < 0).any() or (count < 1).any():
        return False
    if ((a < 0) | (b >= len(sizes)) | (a >= b)).any() or len(set(zip(a, b, strict=True))) < len(a):
        return False
    inside = groups.within <= sizes * (sizes - 1) // 2
    return bool(inside.all() and (count <= sizes[a] * sizes[b]).all())


def write_group_file(path: Path, groups: NodeGroups) -> None:
    """Write groups."""
    listed = [
        {"nodes": size, "edges": edges}
        for size, edges in zip(groups.sizes.tolist(), groups.within.tolist(), strict=True)
    ]
    content = {"groups": listed, "between": groups.between.tolist()}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
