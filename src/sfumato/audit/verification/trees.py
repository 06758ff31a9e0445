"""Verify released trees: like trees, like vertices and known facts, counted from the file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.branches import KmnAnonymity
from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.audit.verification.tree_facts import rarest_fact
from sfumato.audit.verification.value_formulas import FORMULAS, NAMES, worst_of
from sfumato.audit.verification.verify import Verification
from sfumato.data.hierarchies.hierarchy import ROOT
from sfumato.data.schema import ROW_UNIT
from sfumato.data.wording import listed, some

if TYPE_CHECKING:
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.promise import StatedPromise
    from sfumato.released.trees import TreesView


def verify_trees(view: TreesView, stated: StatedPromise) -> Verification:
    """Hold a promise against released trees."""
    parts = () if stated.definition is None else stated.definition.parts
    return Verification(
        source=view.source,
        records=view.records,
        classes=len(view.classes),
        promises=tuple(_check(part, view) for part in parts),
        measured=(_smallest(view),) if view.records else (),
        findings=(
            *_people(view),
            *_strangers(view),
            *_withheld(view),
            *_sampled(parts, view),
            *_cut_off(view),
        ),
        unchecked=stated.own,
        unit="tree",
    )


def _people(view: TreesView) -> list[FileFinding]:
    """Tell where several trees may be of one person, who would hide only behind herself."""
    unit = view.schema.unit
    if unit == ROW_UNIT:
        return []
    if unit in view.trees.root_labels:
        if len(set(view.trees.values[unit].tolist())) == view.records:
            return []
        text = f"Label '{unit}' shows that several trees are of one person, and trees are counted."
        return [FileFinding("people", unit, text)]
    if view.people.get("unit") == unit:
        text = (
            "That every tree is another person is what release.json states; the file itself cannot "
            "show it."
        )
        return [FileFinding("people", "", text, serious=False)]
    text = (
        f"The schema names '{unit}' as the privacy unit, and the release has no label that tells "
        "people apart, so nobody can tell how many people a class holds."
    )
    return [FileFinding("people", "", text)]


def _smallest(view: TreesView) -> FigureRow:
    """Measure the smallest class of trees that are isomorphic with their labels."""
    form, size = min(view.classes.items(), key=lambda item: item[1])
    shown = Bottleneck(view.describe_tree(view.class_of.index(form)), size)
    return FigureRow("k", "", float(size), shown)


def _check(part: Definition, view: TreesView) -> FigureRow:
    if isinstance(part, KAnonymity):
        row = _smallest(view)
        kept = row.found is not None and row.found >= part.k
        return FigureRow("k", "", row.found, row.bottleneck, str(part), holds=kept)
    if isinstance(part, KmnAnonymity):
        return _check_known(part, view)
    if type(part) in FORMULAS:
        return _check_vertices(part, view)
    classes = view.groups(part)
    broken = int((~part.judge(classes)).sum())
    return FigureRow("groups that break it", "", float(broken), None, str(part), holds=not broken)


def _check_known(part: KmnAnonymity, view: TreesView) -> FigureRow:
    found = rarest_fact(view, part.m, part.relations, part.k)
    name = f"trees with the same {part.m} labels and {part.n} relations"
    if found is None:
        return FigureRow(name, "", None, None, str(part), holds=True)
    cells = {f"label {i}": text for i, text in enumerate(found.labels, 1)}
    if found.relations:
        cells["relations"] = str(found.relations)
    shown = Bottleneck(cells, found.support)
    return FigureRow(
        name, "", float(found.support), shown, str(part), holds=found.support >= part.k
    )


# -- vertices that look alike: one formula per definition ------------------------------------


def _check_vertices(part: Any, view: TreesView) -> FigureRow:
    """Judge every set of vertices that look alike; the worst of those that break it is shown."""
    counted = view.values_by_orbit(part.attribute)
    name = NAMES[type(part)]
    if not counted:
        return FigureRow(name, part.attribute, None, None, str(part), holds=True)
    worst, figure, holds = worst_of(part, counted)
    tree = int(view.trees.record[view.orbits.index(worst)])
    shown = Bottleneck(view.describe_tree(tree), sum(counted[worst].values()))
    return FigureRow(name, part.attribute, figure, shown, str(part), holds=holds)


# -- beside the promise ---------------------------------------------------------------------


def _strangers(view: TreesView) -> tuple[FileFinding, ...]:
    """Report labels that have no business in a release."""
    allowed = {n for n, a in view.schema.attributes.items() if a.role != "identifier"}
    wrong = [label for label in view.trees.labels if label not in allowed]
    if not wrong:
        return ()
    text = f"the file shows {listed(wrong)}, which the schema does not let out"
    return (FileFinding("label", "", text, serious=True),)


def _withheld(view: TreesView) -> tuple[FileFinding, ...]:
    found = []
    for label in view.secret:
        stars = int(np.sum(view.trees.values[label] == ROOT))
        if stars:
            text = f"{some(stars, 'value')} of {label} withheld"
            found.append(FileFinding("withheld", label, text, serious=False))
    return tuple(found)


def _cut_off(view: TreesView) -> tuple[FileFinding, ...]:
    loose = int(view.trees.detached.sum())
    if not loose:
        return ()
    count = some(loose, "vertex", "vertices")
    text = f"{count} cut off: the file does not say which parent is theirs"
    return (FileFinding("cut off", "", text, serious=False),)


def _sampled(parts: tuple[Definition, ...], view: TreesView) -> tuple[FileFinding, ...]:
    """Say where only some fact sets were looked at."""
    for part in parts:
        if isinstance(part, KmnAnonymity) and part.m > 2:
            found = rarest_fact(view, part.m, part.relations, part.k)
            if found is not None and not found.exact:
                text = f"{part}: up to two labels were counted exactly, more on a sample"
                return (FileFinding("sample", "", text, serious=False),)
    return ()
