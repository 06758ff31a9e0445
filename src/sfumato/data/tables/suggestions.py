"""Suggestions for a schema, from the data itself, each with its reasons.

`inspect(data)` looks at every column (how many values, how evenly, which words its name
has) and at small sets of columns (how many people they single out), and suggests a role
and a hierarchy for each. It errs on the side of caution: what it does not know to be
harmless it does not call insensitive, and the steward decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.atomic import refuse_existing, write_text_atomically
from sfumato.data.hierarchies.suggested_rules import suggested_rule
from sfumato.data.schema import ROW_UNIT, Attribute, Schema
from sfumato.data.schema_files import schema_text
from sfumato.data.tables.column_facts import ColumnFacts, column_facts
from sfumato.data.tables.person_column import PersonColumn, find_person_column
from sfumato.data.tables.role_words import hinted
from sfumato.data.tables.singling_out import SinglingOut, persons, singling_out, telling
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import Table, value_counts
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.data.hierarchies.hierarchy import HierarchyRule
    from sfumato.data.schema import Role

CONTINUOUS = ("number", "date")
"""Types whose values differ from person to person without naming anybody."""

NEARLY_UNIQUE = 0.95
LONG_TEXT = 40
FEW_BITS = 3.0
"""Entropy below which a column counts as having few values: less than eight equal ones."""


@dataclass(frozen=True)
class ColumnSuggestion:
    """What a column seems to be, why, and what was counted."""

    name: str
    role: Role
    reason: str
    facts: ColumnFacts
    singled_out: int = 0
    bits: float | None = None
    rule: HierarchyRule | None = None
    company: str = ""


@dataclass(frozen=True)
class Suggestions:
    """A suggested role for every column, and the sets of columns that single people out."""

    source: str
    rows: int
    columns: tuple[ColumnSuggestion, ...]
    sets: tuple[SinglingOut, ...]
    person: PersonColumn | None = None

    @property
    def people(self) -> int:
        """Number of people: of records, unless a column names people who have several."""
        return self.rows if self.person is None else self.person.people

    @cached_property
    def schema(self) -> Schema:
        """The suggestions as a schema."""
        attributes = {
            one.name: Attribute(
                role=one.role,
                type=None if one.role == "identifier" else one.facts.type,
                hierarchy=one.rule,
            )
            for one in self.columns
        }
        unit = ROW_UNIT if self.person is None else self.person.name
        return Schema(attributes=attributes, unit=unit)

    def text(self) -> str:
        """Return the schema as YAML with the reasons as comments."""
        comments = {one.name: [c for c in (one.reason, one.company) if c] for one in self.columns}
        head = [
            f"# Suggested for {Path(self.source).name} ({self.size()}).",
            "# Read the reasons and change what is wrong. Roles: identifier (removed), quasi",
            "# (generalised), sensitive (protected), insensitive (released as it is). A column",
            "# that is not listed is left out of a release.",
        ]
        head += [f"# {one.sentence(self.people)}." for one in telling(self.sets)]
        return "\n".join(head) + "\n" + schema_text(self.schema, comments=comments)

    def size(self) -> str:
        """Say how many records there are, and of how many people where those differ."""
        of = "" if self.person is None else f" of {persons(self.people)}"
        return f"{self.rows:,} records{of}"

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the schema with its reasons; an existing file is kept unless `force`."""
        if not force:
            refuse_existing(Path(path), "force")
        write_text_atomically(path, self.text())


def inspect(source: Any, **options: Any) -> Suggestions:
    """Suggest a schema for a file, a frame or a table; `options` are those of `read`."""
    return suggest(source if isinstance(source, Table) else read(source, **options))


def suggest(table: Table) -> Suggestions:
    """Suggest a role and a hierarchy for every column of a table."""
    if table.kind != "csv":
        return _suggestions(table)
    copy = table.materialize()  # parsed once, counted many times
    try:
        return _suggestions(copy)
    finally:
        table.engine.run(f"DROP TABLE {copy.scan}")


def _suggestions(table: Table) -> Suggestions:
    facts = column_facts(table)
    rows = table.rows
    if not rows:
        raise DataError(
            f"{table.source} has a header but no records; at least one record is needed."
        )
    person = find_person_column(table, facts, rows)
    unit = () if person is None else (person.name,)
    combined = [f.name for f in facts if _may_be_combined(f, rows) and f.name not in unit]
    if not combined:
        columns = tuple(_suggestion(f, rows) for f in facts)
        return Suggestions(table.source, rows, columns, (), person)
    counted = table.count((*combined, *unit))
    sets = singling_out(table.engine, counted, *unit)
    alone = {one.columns[0]: one.people for one in sets if len(one.columns) == 1}
    counts = {name: value_counts(counted, c) for c, name in enumerate(combined)}
    columns = tuple(
        _with_company(_suggestion(one, rows, alone.get(one.name, 0), counts.get(one.name)), sets)
        if one.name not in unit
        else ColumnSuggestion(one.name, "identifier", person.reason if person else "", one)
        for one in facts
    )
    return Suggestions(table.source, rows, columns, sets, person)


def _with_company(one: ColumnSuggestion, sets: Sequence[SinglingOut]) -> ColumnSuggestion:
    """Add what a quasi-identifier does together with others."""
    worst = next((found for found in sets if one.name in found.columns), None)
    if one.role != "quasi" or worst is None or worst.people <= one.singled_out:
        return one
    others = " and ".join(name for name in worst.columns if name != one.name)
    return replace(one, company=f"with {others} it singles out {persons(worst.people)}")


def _may_be_combined(facts: ColumnFacts, rows: int) -> bool:
    """Whether others may know it, as far as its values and name tell."""
    hint = hinted(facts.name)
    apart = hint is not None and hint[0] != "quasi"
    unique = _is_unique(facts, rows) and facts.type not in CONTINUOUS
    return not apart and not unique and facts.length <= LONG_TEXT and facts.distinct > 1


def _is_unique(facts: ColumnFacts, rows: int) -> bool:
    present = rows - facts.missing
    return present > 1 and facts.distinct >= NEARLY_UNIQUE * present


def _suggestion(
    facts: ColumnFacts, rows: int, singled_out: int = 0, counts: dict[str, int] | None = None
) -> ColumnSuggestion:
    bits = None if counts is None else _entropy(counts)
    role, reason = _role(facts, rows, singled_out, bits)
    rule = suggested_rule(facts, counts) if role == "quasi" else None
    return ColumnSuggestion(facts.name, role, reason, facts, singled_out, bits, rule)


def _entropy(counts: dict[str, int]) -> float:
    shares = np.array(list(counts.values()), dtype=np.float64)
    shares /= shares.sum()
    return float(-(shares * np.log2(shares)).sum())


def _role(facts: ColumnFacts, rows: int, singled_out: int, bits: float | None) -> tuple[Role, str]:
    """Return the suggested role and the reason, the strongest evidence first."""
    continuous = facts.type in CONTINUOUS
    hint = hinted(facts.name)
    if facts.distinct <= 1 < rows and (hint is None or hint[0] == "quasi"):
        return "insensitive", "every record has the same value, so it tells nobody from another"
    if _is_unique(facts, rows) and not continuous and (hint is None or hint[0] != "sensitive"):
        exactly = "has a value of its own" if facts.distinct == rows else "has almost its own value"
        return "identifier", f"unique: every record {exactly}"
    if facts.length > LONG_TEXT:
        return "identifier", "long free text, in which anybody may be named"
    if hint is not None and hint[0] == "sensitive":
        return "sensitive", f"'{hint[1]}' in its name: what people would not want known"
    if hint is not None and hint[0] == "identifier":
        return "identifier", f"'{hint[1]}' in its name: it names people directly"
    alone = f"; alone it singles out {persons(singled_out)}" if singled_out else ""
    if hint is not None:
        return "quasi", f"'{hint[1]}' in its name: others may know it{alone}"
    if bits is not None and bits < FEW_BITS and not continuous:
        return "sensitive", (
            f"few values that repeat (entropy {bits:.1f} bits): a candidate; make it quasi if "
            "others can know it of a person"
        )
    return "quasi", f"{facts.distinct} different values, so it helps to tell people apart{alone}"
