"""Verify a release from its file and schema alone.

`verify` groups the file, measures every class by the formulas of `measures`, holds the
stated promise against them and looks at columns and labels. It shares no code with the
algorithms; what they thought they did plays no part in it.

The promise is the definition handed over, else the one that `release.json` beside the
file states; without either, the release is only measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.risk import Risk, reidentification_risk
from sfumato.audit.verification import measures
from sfumato.audit.verification.checks import Row, bottleneck, check_part, distances
from sfumato.audit.verification.findings import look
from sfumato.data.schema import Schema
from sfumato.data.tables.sources import read
from sfumato.errors import DataError, PromiseBroken
from sfumato.promise import StatedPromise, read_promise
from sfumato.released.evidence import gather
from sfumato.released.population import (
    at_least_itself,
    incomplete_population,
    population_counts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.audit.verification.checks import Bottleneck
    from sfumato.audit.verification.findings import Finding
    from sfumato.released.evidence import Evidence


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """What a release was found to be.

    `promises` has one row per promise that was checked, `measured` one per figure that can
    be measured without any promise ("recursive c (l = 2)" is the number c must exceed).
    `unchecked` names promises that only whoever wrote their definition can check.
    """

    source: str
    records: int
    classes: int
    promises: tuple[Row, ...]
    measured: tuple[Row, ...]
    findings: tuple[Finding, ...]
    risk: Risk
    unchecked: tuple[str, ...] = ()
    evidence: Evidence = field(repr=False, kw_only=True)

    @property
    def holds(self) -> bool:
        """Whether a promise was stated, checked and kept, and nothing serious was found.

        Where nothing is promised nothing can hold; the figures are in `found`.
        """
        kept = bool(self.promises) and all(row.holds for row in self.promises)
        return kept and not self.unchecked and not any(f.serious for f in self.findings)

    @cached_property
    def found(self) -> Mapping[str, float]:
        """Every measured figure by name, such as "k" or "distinct l of disease"."""
        rows = [*self.promises, *self.measured]
        return {row.name: row.found for row in rows if row.found is not None}

    @property
    def bottleneck(self) -> Bottleneck | None:
        """The class behind the first broken promise, else the smallest class."""
        broken = [row for row in self.promises if row.holds is False]
        return (broken or list(self.measured))[0].bottleneck

    @property
    def table(self) -> tuple[Row, ...]:
        """The rows to print: promises first, then what else was measured."""
        promised = {row.name for row in self.promises}
        return (*self.promises, *(row for row in self.measured if row.name not in promised))

    def largest_l(self, attribute: str, *, c: float) -> int:
        """Return the largest l for which recursive (c, l)-diversity holds; 0 for none."""
        return measures.largest_rank(self.evidence.sensitive[attribute], c)

    def least_c(self, attribute: str, *, l: int) -> float:  # noqa: E741 - the letter of the definition
        """Return the number that c must exceed for recursive (c, l)-diversity to hold."""
        return float(measures.recursive_ratio(self.evidence.sensitive[attribute], l).max())

    def raise_if_broken(self) -> None:
        """Raise `PromiseBroken` with everything that is wrong, or do nothing."""
        if self.holds:
            return
        wrong = [
            f"{row.promised} does not hold ({row.name} is {_figure(row.found)})"
            for row in self.promises
            if not row.holds
        ]
        if not self.promises and not self.unchecked:
            wrong.append("nothing is promised; hand a definition over with definition=")
        wrong += [
            f"{text} was not checked; hand its definition over with definition="
            for text in self.unchecked
        ]
        wrong += [finding.text for finding in self.findings if finding.serious]
        raise PromiseBroken(f"{self.source}: " + "; ".join(wrong))

    def __str__(self) -> str:
        lines = [f"{self.source}: {self.records} records in {self.classes} classes"]
        for row in self.table:
            verdict = {True: "holds", False: "BROKEN", None: ""}[row.holds]
            promised = f"  promised: {row.promised}: {verdict}" if row.promised else ""
            lines.append(f"  {row.name} = {_figure(row.found)}{promised}")
        lines += [f"  {name}: {_figure(value)}" for name, value in self.risk.rows()]
        lines += [f"  {'!' if f.serious else '-'} {f.text}" for f in self.findings]
        lines += [f"  ? not checked: {text}" for text in self.unchecked]
        return "\n".join(lines)


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def verify(
    source: Any,
    schema: str | Path | Schema,
    definition: Definition | None = None,
    *,
    population: Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    called: str | None = None,
) -> Verification:
    """Check a released file or frame against a promise, from what it shows alone.

    `population` is a table of everybody who could be in the data, for k-map, δ-presence
    and the journalist's risk. `delimiter` and `encoding` are as for `sf.read`; `called` is
    what messages call the release.
    """
    rules = schema if isinstance(schema, Schema) else Schema.read(schema)
    facts = _facts_beside(source) if isinstance(source, str | Path) else {}
    stated = _stated(definition, facts)
    judged = () if stated.definition is None else stated.definition.sensitive
    data = read(source, delimiter=delimiter, encoding=encoding)
    data = replace(data, source=called) if called is not None else data
    evidence, table = gather(data, rules, judged)
    people = None if population is None else population_counts(evidence, rules, population)
    parts = () if stated.definition is None else stated.definition.parts
    findings = look(evidence, table, rules, facts.get("pseudonyms", ()))
    return Verification(
        evidence.source,
        evidence.records,
        evidence.classes,
        tuple(check_part(part, evidence, people) for part in parts),
        tuple(_measured(evidence)),
        (*findings, *incomplete_population(evidence, people)),
        reidentification_risk(evidence.sizes, at_least_itself(evidence, people)),
        stated.own,
        evidence=evidence,
    )


def _stated(definition: Definition | None, facts: Mapping[str, Any]) -> StatedPromise:
    if definition is not None:
        return StatedPromise(definition)
    return read_promise(facts["promise"]) if facts.get("promise") else StatedPromise(None)


def _facts_beside(source: str | Path) -> dict[str, Any]:
    """Return what `release.json` beside the file says; nothing if there is none."""
    path = Path(source).parent / "release.json"
    if not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = None
    if not isinstance(facts, dict):
        raise DataError(
            f"{path} is not a JSON mapping, so the promise of the release is unknown; mend it, or "
            "move it away and hand the definition over."
        )
    return facts


def _measured(evidence: Evidence) -> list[Row]:
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
) -> Row:
    worst = int(np.argmin(values) if low else np.argmax(values))
    return Row(label, attribute, float(values[worst]), bottleneck(evidence, worst))
