"""Putting hierarchies together from levels that a rule has computed.

Contract: `build` takes the leaves and, per level, a node for each leaf; it adds the root
and, where the data has missing cells, a branch of their own that ends in the root. The
missing leaf always stands last, outside any order the other leaves have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray


class Rule(BaseModel, ABC):
    """A hierarchy still to be bound to values; its fields are its options in YAML and code."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    name: ClassVar[str]

    @abstractmethod
    def over(
        self, values: Iterable[str], attribute: str, counts: Mapping[str, int] | None = None
    ) -> Hierarchy:
        """Return a hierarchy whose leaves are the distinct `values`."""


@dataclass(frozen=True)
class Level:
    """One level: the node of each leaf, and each node's label and, if known, its span."""

    nodes: NDArray[np.int64]
    labels: Sequence[str]
    spans: Sequence[float] | None = None


def level_of(keys: Sequence[Hashable], labels: Mapping[Any, str] | None = None) -> Level:
    """Return the level whose nodes are the distinct keys, numbered as they first occur."""
    index: dict[Hashable, int] = {}
    nodes = np.fromiter(
        (index.setdefault(key, len(index)) for key in keys), dtype=np.int64, count=len(keys)
    )
    return Level(nodes, [str(key) if labels is None else labels[key] for key in index])


def present_values(values: Iterable[str], attribute: str) -> tuple[list[str], bool]:
    """Return the distinct values that are not missing, and whether any was missing."""
    distinct = dict.fromkeys(values)
    if not distinct:
        raise HierarchyError(
            f"Attribute '{attribute}' has no values, so no hierarchy can be built over it."
        )
    missing = MISSING in distinct
    distinct.pop(MISSING, None)
    return list(distinct), missing


def build(
    leaves: Sequence[str],
    levels: Sequence[Level],
    *,
    missing: bool,
    source: str,
    ordered: bool = False,
) -> Hierarchy:
    """Return the hierarchy over `leaves` with these levels between them and the root."""
    size = len(leaves)
    alone = np.arange(size)
    spanned = bool(levels) and all(level.spans is not None for level in levels)
    columns = [Level(alone, leaves, [1.0] * size), *levels]
    nodes = [_with_missing(level.nodes, len(level.labels), missing) for level in columns]
    labels = [(*level.labels, *([MISSING] * missing)) for level in columns]
    spans: list[NDArray[np.float64]] = []
    if spanned:
        spans = [np.array([*(level.spans or ()), *([1.0] * missing)]) for level in columns]
        spans.append(np.array([spans[-1].sum()]))
    matrix = np.stack([*nodes, np.zeros(size + missing, dtype=np.int64)], axis=1).astype(np.int32)
    matrix.setflags(write=False)
    return Hierarchy((*labels, (ROOT,)), matrix, ordered, tuple(spans), source)


def _with_missing(nodes: NDArray[np.int64], count: int, missing: bool) -> NDArray[np.int64]:
    return np.append(nodes, count) if missing else nodes
