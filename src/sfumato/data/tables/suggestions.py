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
from sfumato.data.hierarchies.beside import hierarchy_beside
from sfumato.data.hierarchies.suggested_rules import suggested_rule
from sfumato.data.schema import ROW_UNIT, Attribute, Schema
from sfumato.data.schema_files import schema_text
from sfumato.data.tables.column_facts import ColumnFacts, column_facts
from sfumato.data.tables.person_column import (
    FEW_RECORDS,
    MANY_VALUES,
    PersonColumn,
    find_person_column,
    names_people,
)
from sfumato.data.tables.role_words import hinted, words
from sfumato.data.tables.safe_harbor import look_at_column
from sfumato.data.tables.singling_out import SinglingOut, persons, singling_out, telling
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import Table, value_counts
from sfumato.errors import DataError
from sfumato.representation import Shown

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
    safe_harbor: str = ""


@dataclass(frozen=True)
class Suggestions(Shown):
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
        """The suggestions as a schema, whose facts are marked as found in the data."""
        unit = ROW_UNIT if self.person is None else self.person.name
        attributes = {}
        for column in self.columns:
            type_ = None if column.role == "identifier" else column.facts.type
            guessed = type_ is not None or column.name == unit
            attributes[column.name] = Attribute(
                role=column.role,
                type=type_,
                hierarchy=column.rule,
                origin="data" if guessed else "declared",
            )
        return Schema(attributes=attributes, unit=unit)

    def text(self, folder: Path | None = None) -> str:
        """Return the schema as YAML, for a file in `folder`, with the reasons as comments."""
        comments = {
            column.name: [c for c in (column.reason, column.company, column.safe_harbor) if c]
            for column in self.columns
        }
        head = [
            f"# Suggested for {Path(self.source).name} ({self.size()}).",
            "# Read the reasons and change what is wrong. Roles: identifier (removed), quasi",
            "# (generalised), sensitive (protected), insensitive (released as it is). A column",
            "# that is not listed is left out of a release. 'from: data' marks what one record may",
            "# have made so: questions under a budget are refused until you look at it and remove",
            "# the mark, or add public_types: true.",
        ]
        head += [f"# {found.sentence(self.people)}." for found in telling(self.sets)]
        return "\n".join(head) + "\n" + schema_text(self.schema, folder, comments=comments)

    def __str__(self) -> str:
        lines = [f"Suggested for {Path(self.source).name} ({self.size()}):"]
        for column in self.columns:
            lines.append(f"  {column.name}: {column.role} ({column.reason})")
            lines += [f"    {column.safe_harbor}"] if column.safe_harbor else []
        lines += [f"  ! {found.sentence(self.people)}" for found in telling(self.sets)]
        return "\n".join(lines)

    def size(self) -> str:
        """Say how many records there are, and of how many people where those differ."""
        of = "" if self.person is None else f" of {persons(self.people)}"
        return f"{self.rows:,} records{of}"

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the schema with its reasons; an existing file is kept unless `force`."""
        if not force:
            refuse_existing(Path(path), "force")
        write_text_atomically(path, self.text(Path(path).parent))


def inspect(source: Any, **options: Any) -> Suggestions:
    """Suggest a schema for a file, a frame or a table; `options` are those of `read`."""
    return suggest(source if isinstance(source, Table) else read(source, **options))


def suggest(table: Table) -> Suggestions:
    """Suggest a role and a hierarchy for every column of a table."""
    if table.kind not in {"csv", "spark"}:
        return _suggestions(table)
    copy = table.materialize()  # parsed once, counted many times
    try:
        return _suggestions(copy)
    finally:
        copy.drop()


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
        columns = tuple(_with_rule_of_law(column, table) for column in columns)
        return Suggestions(table.source, rows, columns, (), person)
    counted = table.count((*combined, *unit))
    sets = singling_out(table.engine.local, counted, *unit)
    alone = {found.columns[0]: found.people for found in sets if len(found.columns) == 1}
    counts = {name: value_counts(counted, c) for c, name in enumerate(combined)}
    columns = tuple(
        _with_company(
            _suggestion(column, rows, alone.get(column.name, 0), counts.get(column.name)), sets
        )
        if column.name not in unit
        else ColumnSuggestion(column.name, "identifier", person.reason if person else "", column)
        for column in facts
    )
    columns = tuple(_with_file(column, table.source, counts.get(column.name)) for column in columns)
    columns = tuple(_with_rule_of_law(column, table) for column in columns)
    return Suggestions(table.source, rows, columns, sets, person)


def _with_rule_of_law(column: ColumnSuggestion, table: Table) -> ColumnSuggestion:
    """Add what the safe-harbour rule says; values of a form that names people identify them."""
    note = look_at_column(table, column.facts)
    if note is None:
        return column
    if note.identifies and column.role != "identifier":
        reason = "its values have a form that names people directly"
        column = replace(column, role="identifier", reason=reason, rule=None, company="")
    return replace(column, safe_harbor=note.text)


def _with_file(
    column: ColumnSuggestion, source: str, counts: dict[str, int] | None
) -> ColumnSuggestion:
    """Take the hierarchy that lies beside the data: whoever made it meant to generalise."""
    if counts is None or column.role == "identifier":
        return column
    found = hierarchy_beside(source, column.name, list(counts))
    if found is None:
        return column
    reason = f"{column.reason}; its hierarchy lies beside the data"
    return replace(column, role="quasi", rule=found, reason=reason)


def _with_company(column: ColumnSuggestion, sets: Sequence[SinglingOut]) -> ColumnSuggestion:
    """Add what a quasi-identifier does together with others."""
    worst = next((found for found in sets if column.name in found.columns), None)
    if column.role != "quasi" or worst is None or worst.people <= column.singled_out:
        return column
    others = " and ".join(name for name in worst.columns if name != column.name)
    return replace(column, company=f"with {others} it singles out {persons(worst.people)}")


def _hint(facts: ColumnFacts, rows: int) -> tuple[str, str] | None:
    """Return the role that the name hints at; numbers of wards and products name no people."""
    hint = hinted(facts.name)
    own = [word for word in words(facts.name) if word != "id"]
    many = facts.distinct < MANY_VALUES or rows > FEW_RECORDS * facts.distinct
    if hint == ("identifier", "id") and own and many and not names_people(facts.name):
        return hinted(" ".join(own))
    return hint


def _may_be_combined(facts: ColumnFacts, rows: int) -> bool:
    """Whether others may know it, as far as its values and name tell."""
    hint = _hint(facts, rows)
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
    hint = _hint(facts, rows)
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
