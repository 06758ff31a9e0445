"""What the report says of trees: one class with its representative, and what became of vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.trees.plan import ClassPlan, CutPlan
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.trees.picture import draw_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.trees.classes import TreeClass

LARGEST = 26
"""A representative with more vertices is not drawn where there is a smaller one."""


def _gather(page: Page) -> Mapping[str, Any] | None:
    plan = getattr(page.release.decision, "content", None)
    if isinstance(plan, ClassPlan):
        chosen = _choose(plan)
        sizes = np.array([len(group) for group in plan.classes])
        return {
            "classes": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
            "members": len(chosen),
            "picture": draw_class(plan, plan.classes.index(chosen)),
            "rows": _rows(page),
            "cut": None,
        }
    if isinstance(plan, CutPlan):
        return {"classes": None, "rows": _rows(page), "cut": _cut(plan), "shown": _shown(plan)}
    return None


def _choose(plan: ClassPlan) -> TreeClass:
    """Return a class whose tree can be read: the richest that is not too large."""
    small = [group for group in plan.classes if len(group.kinds) <= LARGEST]
    if small:
        return max(small, key=lambda group: len(group.kinds))
    return min(plan.classes, key=lambda group: len(group.kinds))


def _rows(page: Page) -> list[tuple[str, float]]:
    return list(page.release.loss.items())


def _cut(plan: CutPlan) -> list[tuple[str, str]]:
    """Name the types that were cut off, and where they hang now."""
    types = plan.data.types
    return [
        (kind.path, types[int(plan.attached[t])].name)
        for t, kind in enumerate(types)
        if t in plan.forest.kept and not plan.dropped[t] and plan.attached[t] != kind.parent
    ]


def _shown(plan: CutPlan) -> list[tuple[str, int, int]]:
    """Return for every label how many values there were, and how many are shown."""
    nodes = plan.forest.nodes
    return [
        (label, len(np.unique(leaf)), len(np.unique(nodes.look[plan.shown[leaf]])))
        for label, leaf in nodes.leaf.items()
    ]


def _facts(page: Page) -> list[Fact]:
    left_out = page.release.loss.get("vertices left out")
    if left_out is None:
        return []
    return [Fact("Vertices left out", f"{100 * left_out:.1f} %", "of all that came")]


SECTIONS = (TemplateSection("trees", "Trees that look alike", "trees/trees.html", _gather, _facts),)
