"""What a release of trees lost, per vertex, in all and for every vertex type.

A vertex that is left out loses 1, one that is shown what its generalised labels lose, between 0 and
1. Structure has losses of its own: the share of vertices left out, and the share of edges cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.trees.plan import ClassPlan, CutPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.data.trees.trees import Trees
    from sfumato.decision import Decision


def measure(data: Trees, decision: Decision, artefact: Any) -> Mapping[str, float]:  # noqa: ARG001 - the signature of the method
    """Return the loss of all vertices first, then of each type, then of structure and values."""
    plan: ClassPlan | CutPlan = decision.content
    kept = plan.forest.kept
    came = np.array([len(data.of_type[t]) for t in kept], dtype=np.float64)
    lost, there = _classes(plan) if isinstance(plan, ClassPlan) else _cut(plan)
    whole = came - there + lost
    found = {"loss per vertex": float(whole.sum() / max(came.sum(), 1))}
    for number, t in enumerate(kept):
        name = f"loss of {data.types[t].path or 'roots'}"
        found[name] = float(whole[number] / max(came[number], 1))
    found["vertices left out"] = float(1 - there.sum() / max(came.sum(), 1))
    if isinstance(plan, CutPlan):
        found["edges cut"] = _edges_cut(plan, came)
    else:
        found |= _withheld(plan)
    return found


def _classes(plan: ClassPlan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return by type what shown vertices lose, and how many are shown."""
    lost, there = np.zeros(len(plan.forest.kept)), np.zeros(len(plan.forest.kept))
    loss = plan.forest.model.loss
    for group in plan.classes:
        marks = group.tree.marks
        each = np.where(marks >= 0, loss[marks], 0.0).sum(axis=1)
        lost += len(group) * np.bincount(group.kinds, weights=each, minlength=len(lost))
        there += len(group) * np.bincount(group.kinds, minlength=len(lost))
    return lost, there


def _cut(plan: CutPlan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    data, forest = plan.data, plan.forest
    lost, there = np.zeros(len(forest.kept)), np.zeros(len(forest.kept))
    for number, t in enumerate(forest.kept):
        if plan.dropped[t]:
            continue
        marks = forest.marks[data.of_type[t]][~plan.gone[data.of_type[t]]]
        shown = np.where(marks >= 0, plan.shown[marks], -1) if len(plan.shown) else marks
        lost[number] = np.where(shown >= 0, forest.model.loss[shown], 0.0).sum()
        there[number] = len(marks)
    return lost, there


def _edges_cut(plan: CutPlan, came: NDArray[np.float64]) -> float:
    usual = np.array([plan.data.types[t].parent for t in plan.forest.kept])
    now = plan.attached[list(plan.forest.kept)]
    gone = plan.dropped[list(plan.forest.kept)]
    return float(came[(usual != now) & ~gone].sum() / max(came[1:].sum(), 1))


def _withheld(plan: ClassPlan) -> dict[str, float]:
    """Return the share of values of each judged label that are shown as a star."""
    found: dict[str, list[int]] = {}
    for group, masks in zip(plan.classes, plan.withheld, strict=True):
        for label, mask in masks.items():
            number = next(
                i for i, t in enumerate(plan.forest.kept) if label in plan.data.types[t].labels
            )
            counts = found.setdefault(label, [0, 0])
            counts[0] += int(mask.sum()) * len(group)
            counts[1] += int((group.kinds == number).sum()) * len(group)
    return {f"{label} withheld": a / max(b, 1) for label, (a, b) in found.items()}
