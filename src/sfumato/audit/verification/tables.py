"""Verify a released table: every class measured by formulas of its own.

The file is grouped, every class measured by the formulas of `measures`, the promise held against
them, and columns and labels looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.risk import Risk, reidentification_risk
from sfumato.audit.verification import measures
from sfumato.audit.verification.checks import bottleneck, check_part, distances
from sfumato.audit.verification.file_facts import look_at_file
from sfumato.audit.verification.findings import incomplete_population, look
from sfumato.audit.verification.lookalikes import look_at_cells, look_at_values
from sfumato.audit.verification.people import look_at_people
from sfumato.audit.verification.rows import FigureRow
from sfumato.audit.verification.verify import Verification
from sfumato.released.population import at_least_itself, population_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.promise import StatedPromise
    from sfumato.released.evidence import Evidence
    from sfumato.released.tables import TableView


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableVerification(Verification):
    """What a released table was found to be, with the risk of being found again in it."""

    risk: Risk
    evidence: Evidence = field(repr=False)

    def rows(self) -> list[tuple[str, float]]:
        """Return the figures of risk."""
        return list(self.risk.rows())

    def largest_l(self, attribute: str, *, c: float) -> int:
        """Return the largest l for which recursive (c, l)-diversity holds; 0 for none."""
        return measures.largest_rank(self.evidence.sensitive[attribute], c)

    def least_c(self, attribute: str, *, l: int) -> float:  # noqa: E741 - the letter of the definition
        """Return the number that c must exceed for recursive (c, l)-diversity to hold."""
        return float(measures.recursive_ratio(self.evidence.sensitive[attribute], l).max())


def verify_table(
    view: TableView, stated: StatedPromise, *, population: Any = None
) -> TableVerification:
    """Hold a promise against the classes of a released table."""
    evidence, rules = view.evidence, view.schema
    people = None if population is None else population_counts(evidence, rules, population)
    parts = () if stated.definition is None else stated.definition.parts
    persons = view.persons
    numbers = persons.column if persons.numbers else None
    findings = (
        *look_at_people(evidence, view.table, persons),
        *look(evidence, view.table, rules, view.pseudonyms, numbers, view.linkable),
        *look_at_values(evidence, parts, people),
        *look_at_cells(evidence, view.table),
        *look_at_file(view.table, kept_order=view.kept_order, known=evidence.texts),
    )
    known = view.linked.evidence  # by whom has another file with columns released as they are
    crowd = at_least_itself(evidence, people)
    if crowd is not None and known is not evidence:
        crowd = known.sizes  # such a file leaves no more people than records
    return TableVerification(
        source=evidence.source,
        records=evidence.records,
        classes=evidence.classes,
        promises=tuple(check_part(part, evidence, people) for part in parts),
        measured=tuple(_measure(evidence)),
        findings=(*findings, *incomplete_population(evidence, people)),
        unchecked=stated.own,
        risk=reidentification_risk(known.sizes, crowd),
        evidence=evidence,
    )


def _measure(evidence: Evidence) -> list[FigureRow]:
    """Measure everything that needs no parameter."""
    rows = [_worst("k", "", evidence.sizes, evidence, low=True)]
    for name, spread in evidence.sensitive.items():
        low_is_bad = [
            ("distinct l", measures.distinct_values(spread)),
            ("entropy l", measures.effective_values(spread)),
        ]
        rows += [_worst(label, name, values, evidence, low=True) for label, values in low_is_bad]
        high_is_bad = [
            ("recursive c (l = 2)", measures.recursive_ratio(spread, 2)),
            *(
                (f"t ({distance})", distances(spread, distance, name))
                for distance in ("equal", "kl", "ordered", "hierarchical")
                if distance != "hierarchical" or spread.hierarchy is not None
            ),
            ("β", measures.largest_gain(spread)),
            ("δ", measures.largest_change(spread)),
        ]
        rows += [_worst(label, name, values, evidence, low=False) for label, values in high_is_bad]
    return rows


def _worst(
    label: str, attribute: str, values: NDArray[Any], evidence: Evidence, *, low: bool
) -> FigureRow:
    worst = int(np.argmin(values) if low else np.argmax(values))
    return FigureRow(label, attribute, float(values[worst]), bottleneck(evidence, worst))
