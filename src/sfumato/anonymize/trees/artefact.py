"""What is given away of trees: trees with generalised labels, in an order that tells nothing.

Labels with the role of identifiers, and those without a role, are left out, and so are vertex types
with nothing else to show. Records come in random order, children in the order of their own content.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.trees.plan import ClassPlan, CutPlan
from sfumato.data.hierarchies.hierarchy import ROOT
from sfumato.data.schema import ROW_UNIT
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.data.trees.json_files import write_json, write_json_lines
from sfumato.data.trees.nested import NumberText, to_nested
from sfumato.data.trees.xml_files import write_xml
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.trees.trees import Trees, VertexType
    from sfumato.decision import Decision

FORMATS = ("jsonl", "json", "xml")


@dataclass(frozen=True, eq=False, repr=False)
class TreesArtefact:
    """The released trees."""

    trees: Trees
    left_out: tuple[str, ...] = ()
    unit: str = ROW_UNIT

    def __len__(self) -> int:
        return len(self.trees)

    @cached_property
    def data(self) -> list[dict[str, Any]]:
        """The trees as nested Python values; numbers as numbers."""
        return [_plain(record) for record in to_nested(self.trees)]

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.jsonl`, `release.json` is what is said of it; or `trees.json`, or XML."""
        came = self.trees.kind if self.trees.kind in FORMATS else "jsonl"
        form = file_format or came
        if form not in FORMATS:
            raise DataError(f"Trees are written as 'jsonl', 'json' or 'xml', not '{form}'.")
        path = folder / ("trees.json" if form == "json" else f"release.{form}")
        records = to_nested(self.trees)
        if form == "xml":
            write_xml(path, records, self.trees.tags)
        else:
            (write_json if form == "json" else write_json_lines)(path, records)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return vertex types and the roles of labels."""
        trees = self.trees
        return {
            "vertices": {
                kind.path: len(places)
                for kind, places in zip(trees.types, trees.of_type, strict=True)
            },
            "roles": {
                role: list(trees.with_role(role)) for role in ("quasi", "sensitive", "insensitive")
            },
            "labels_left_out": list(self.left_out),
            "people": {"unit": self.unit, "column": None},
        }


def apply(data: Trees, decision: Decision) -> TreesArtefact:
    """Make the released trees."""
    plan: ClassPlan | CutPlan = decision.content
    made = _from_classes(plan) if isinstance(plan, ClassPlan) else _from_cut(plan)
    shown = set(made.labels)
    left_out = tuple(label for label in data.labels if label not in shown)
    return TreesArtefact(made, left_out, ROW_UNIT if data.schema is None else data.schema.unit)


def _from_classes(plan: ClassPlan) -> Trees:
    """Copy the representative of every class for each of its members."""
    members = [(c, i) for c, group in enumerate(plan.classes) for i in range(len(group))]
    order = np.arange(len(members))
    shuffle(order, RandomWords(plan.seed))
    chosen = [members[i] for i in order]
    groups = [plan.classes[c] for c, _ in chosen]
    sizes = [len(group.kinds) for group in groups]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    kinds = np.concatenate([group.kinds for group in groups])
    up = np.concatenate([np.where(group.tree.up >= 0, group.tree.up + at, -1)
                         for group, at in zip(groups, starts, strict=False)])  # fmt: skip
    marks = np.concatenate([group.tree.marks for group in groups])
    came = np.concatenate([plan.classes[c].vertices[:, i] for c, i in chosen])
    hidden = {
        label: np.concatenate([plan.withheld[c][label] for c, _ in chosen])
        for label in (plan.withheld[0] if plan.withheld else {})
    }
    record = np.repeat(np.arange(len(chosen)), sizes)
    return _assemble(plan, kinds, up, record, marks, came, hidden)


def _from_cut(plan: CutPlan) -> Trees:
    """Replace labels by the nodes that stand for them, and hang vertices where they belong now."""
    data, forest = plan.data, plan.forest
    keep = np.array([t in forest.kept and not plan.dropped[t] for t in range(len(data.types))])
    there = keep[data.type_of] & ~plan.gone
    up = data.parent.copy()
    for t in np.flatnonzero(keep):
        for v in data.of_type[t].tolist():
            while up[v] >= 0 and data.type_of[up[v]] != plan.attached[t]:
                up[v] = data.parent[up[v]]
    order = np.arange(len(data))
    shuffle(order, RandomWords(plan.seed))
    place = np.argsort(order)
    came = np.flatnonzero(there)
    came = came[np.lexsort([came, place[data.record[came]]])]
    new = np.full(len(data.type_of), -1, dtype=np.int64)
    new[came] = np.arange(len(came))
    kind = np.full(len(data.types), -1, dtype=np.int64)
    kind[list(forest.kept)] = np.arange(len(forest.kept))
    marks = forest.marks[came]
    shown = np.where(marks >= 0, plan.shown[marks], -1) if len(plan.shown) else marks
    above = np.where(up[came] >= 0, new[up[came]], -1)
    return _assemble(plan, kind[data.type_of[came]], above, place[data.record[came]], shown, came)


def _assemble(
    plan: ClassPlan | CutPlan,
    kinds: NDArray[Any],
    up: NDArray[Any],
    record: NDArray[Any],
    marks: NDArray[Any],
    came: NDArray[Any],
    hidden: dict[str, NDArray[np.bool_]] | None = None,
) -> Trees:
    data, forest = plan.data, plan.forest
    types = tuple(_released_type(data, forest.kept, t) for t in forest.kept)
    local = np.empty(len(data.type_of), dtype=np.int64)
    for places in data.of_type:
        local[places] = np.arange(len(places))
    texts = np.array([*forest.nodes.texts, ""], dtype=object)
    values: dict[str, NDArray[Any]] = {}
    for t, kind in enumerate(types):
        at = np.flatnonzero(kinds == t)
        known = [label for label in data.types[forest.kept[t]].labels if label in forest.nodes.leaf]
        for label in kind.labels:
            if label in forest.nodes.leaf:
                values[label] = texts[marks[at, known.index(label)]]
                continue
            values[label] = data.values[label][local[came[at]]]
            if hidden and label in hidden:
                values[label] = np.where(hidden[label][at], ROOT, values[label]).astype(object)
    forms = {label: form for label, form in data.forms.items() if _keeps_form(label, values, data)}
    return replace(
        data, types=types, type_of=kinds.astype(np.int32), parent=up.astype(np.int32),
        record=record.astype(np.int32), values=values, records=len(np.unique(record)), forms=forms,
    )  # fmt: skip


def _released_type(data: Trees, kept: tuple[int, ...], t: int) -> VertexType:
    kind = data.types[t]
    roles = ("quasi", "sensitive", "insensitive")
    labels = tuple(label for label in kind.labels if data.role(label) in roles)
    parent = -1 if kind.parent < 0 else kept.index(kind.parent)
    return replace(kind, labels=labels, parent=parent)


def _keeps_form(label: str, values: dict[str, NDArray[Any]], data: Trees) -> bool:
    """Tell whether a label is written as the numbers it came as: not where texts stand for them."""
    return label in values and data.role(label) != "quasi" and ROOT not in values[label]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, NumberText):
        text = str(value)
        return int(text) if text.lstrip("-").isdigit() else float(text)
    return value
