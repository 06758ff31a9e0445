"""What was decided about trees: classes with their representatives, or a cut and detached types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.trees.classes import TreeClass
    from sfumato.anonymize.trees.tree_arrays import Forest
    from sfumato.data.trees.trees import Trees


@dataclass(frozen=True, eq=False)
class ClassPlan:
    """Classes, and where each withholds sensitive values: a mask per label over the vertices."""

    data: Trees
    forest: Forest
    classes: tuple[TreeClass, ...]
    withheld: tuple[Mapping[str, NDArray[np.bool_]], ...]
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class CutPlan:
    """The node that stands for every node, where each type is attached, and which are left out.

    `attached[t]` is the type at whose vertices those of t hang, its own parent where nothing was
    cut; `gone` are single vertices that are left out.
    """

    data: Trees
    forest: Forest
    shown: NDArray[np.int32]
    attached: NDArray[np.int32]
    dropped: NDArray[np.bool_]
    gone: NDArray[np.bool_]
    seed: int | None = None
