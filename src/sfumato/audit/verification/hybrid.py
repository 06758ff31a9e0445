"""Verify released hybrid records: rows as a table, and sets within each class of rows.

k^m-anonymity of an attribute is counted among the records that show the same quasi-identifiers,
class by class: (k, k^m)-anonymity is the joint promise. All from the file alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.anonymize.definitions.definition import Conjunction
from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.itemset_counts import find_rarest
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.audit.verification.tables import verify_table
from sfumato.audit.verification.verify import Verification
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.promise import StatedPromise
    from sfumato.released.hybrid import HybridView


def verify_hybrid(view: HybridView, stated: StatedPromise) -> Verification:
    """Hold a promise against rows and the sets in them."""
    parts = () if stated.definition is None else stated.definition.parts
    about_rows = tuple(part for part in parts if not isinstance(part, KmAnonymity))
    rows = replace(stated, definition=Conjunction(about_rows) if about_rows else None)
    found = verify_table(view.table, rows)
    about_sets = [_sets(view, part) for part in parts if isinstance(part, KmAnonymity)]
    return Verification(
        source=view.source,
        records=view.records,
        classes=found.classes,
        promises=(*found.promises, *about_sets),
        measured=found.measured,
        findings=(*found.findings, *_shared(view)),
        unchecked=stated.own,
    )


def _shared(view: HybridView) -> list[FileFinding]:
    """Find records of one person, by which sets would be counted twice."""
    if not view.shares_people:
        return []
    text = (
        f"Column '{view.roles.unit}' shows that somebody has several records; sets are counted by "
        "records, so fewer people may share them than were counted."
    )
    return [FileFinding("people", view.roles.unit, text)]


def _sets(view: HybridView, part: KmAnonymity) -> FigureRow:
    """Find the rarest itemset of any class."""
    if part.attribute is None or part.attribute not in view.sets:
        raise ParameterError(
            f"{part} must be about an attribute of sets; there are {', '.join(view.sets)}."
        )
    seen = view.within(part.attribute)
    name = f"support of {part.m} items of {part.attribute} within a class"
    if not len(seen.items):
        return FigureRow(name, "", None, None, str(part), holds=True)
    support, witness = find_rarest(seen.starts, seen.items, seen.weights, len(seen.labels), part.m)
    labels = [seen.labels[int(a)].split("\x1f") for a in witness if a >= 0]
    cells = dict(view.shown(int(labels[0][1].split(" ")[0])))
    cells[part.attribute] = "{" + ", ".join(item for item, _ in labels) + "}"
    return FigureRow(
        name, "", float(support), Bottleneck(cells, int(support)), str(part),
        holds=support >= part.k,
    )  # fmt: skip
