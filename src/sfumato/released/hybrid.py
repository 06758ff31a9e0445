"""Released hybrid records as a stranger sees them: a table, and sets within its classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.engines.duckdb import quoted, quoted_text
from sfumato.data.hybrid.records import HybridRecords
from sfumato.data.schema import Schema
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import ROW
from sfumato.errors import SchemaError
from sfumato.released.manifest import Manifest
from sfumato.released.people import stated_people, stated_unit
from sfumato.released.sets import SetsView, see_sets
from sfumato.released.tables import see_table
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.tables.table import Table
    from sfumato.released.tables import TableView


EVERYBODY = "everybody"
"""What the only column is called where records have no quasi-identifier."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridView(View):
    """The rows as a table, and for every attribute of sets what each row shows of it."""

    shape: ClassVar[str] = "hybrid"

    quasi: tuple[str, ...]
    columns: Mapping[str, list[str]]
    sets: Mapping[str, list[list[str]]]
    roles: Schema
    count: int
    people: Mapping[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Number of released records."""
        return self.count

    @cached_property
    def table(self) -> TableView:
        """The same without its sets."""
        if not self.quasi:  # nothing is known of rows: all look alike
            columns = {**self.columns, EVERYBODY: ["*"] * self.count}
            quasi: tuple[str, ...] = (EVERYBODY,)
        else:
            columns, quasi = dict(self.columns), self.quasi
        sensitive, unit = [n for n in self.roles.sensitive_names if n in columns], self.roles.unit
        plain = {
            name: self.roles.attributes.get(name, "insensitive")
            for name in columns
            if name not in {*quasi, *sensitive, unit}
        }
        named = [unit] if unit in columns else []
        rules = Schema(
            identifiers=named, quasi=quasi, sensitive=sensitive, attributes=plain, unit=unit
        )
        stated = Manifest({"people": self.people})
        return see_table(columns, schema=rules, manifest=stated, called=self.source)

    @property
    def shares_people(self) -> bool:
        """Whether the file itself shows that somebody has several records."""
        named = self.columns.get(self.roles.unit, ())
        return len(set(named)) < len(named)

    @cached_property
    def group_of(self) -> NDArray[np.int64]:
        """The group of every record: those alike in all quasi-identifiers."""
        rows = list(zip(*(self.columns[name] for name in self.quasi), strict=True))
        numbers: dict[tuple[str, ...], int] = {}
        keys = rows or [()] * self.count
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def groups(self, definition: Definition | None = None) -> Classes:
        """Return the classes of rows."""
        return self.table.groups(definition)

    def describe(self, group: int) -> Mapping[str, str]:
        """Return what the rows of a class show."""
        return self.table.describe(group)

    def shown(self, group: int) -> Mapping[str, str]:
        """Return what a group of `group_of` shows."""
        first = int(np.argmax(self.group_of == group))
        return {name: self.columns[name][first] for name in self.quasi}

    def within(self, attribute: str) -> SetsView:
        """Return sets in which every item says in which group it is, as if each had its own."""
        tagged = [
            [f"{item}\x1f{group}" for item in members]
            for members, group in zip(self.sets[attribute], self.group_of.tolist(), strict=True)
        ]
        return see_sets(tagged, called=self.source)


def see_hybrid(
    source: Any,
    *,
    schema: str | Path | Schema | None = None,
    manifest: Manifest | None = None,
    called: str | None = None,
    promise: Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> HybridView:
    """Look at a released file, or at records as they came."""
    if isinstance(source, HybridRecords):
        return _see_records(source, called)
    facts = (manifest or Manifest()).facts
    rules = Schema.read(schema) if isinstance(schema, str | Path) else schema
    table = brought(read(source, delimiter=delimiter, encoding=encoding))
    marks = _marks(rules, facts, table)
    quasi, people = _quasi(rules, facts, marks), stated_people(manifest)
    unit = stated_unit(manifest) if rules is None else rules.unit
    sensitive = _sensitive(rules, facts, marks)
    stated = _accepted(rules, facts)
    kept = table.materialize()
    columns = {name: _texts(kept, name) for name in table.columns if name not in marks}
    sets = {name: _lists(kept, name, mark) for name, mark in marks.items()}
    return HybridView(
        source=called or table.source, promise=promise, quasi=quasi, columns=columns, sets=sets,
        roles=Schema(quasi=quasi, sensitive=sensitive, attributes=stated, unit=unit),
        count=int(kept.rows), people=people,
    )  # fmt: skip


def _marks(rules: Schema | None, facts: Mapping[str, Any], table: Table) -> dict[str, str]:
    """Return the attributes of sets and their separators."""
    if rules is not None:
        found = {n: a.separator for n, a in rules.attributes.items() if a.type == "set"}
    else:
        stated = facts.get("sets")
        found = {str(k): str(v) for k, v in stated.items()} if isinstance(stated, dict) else {}
    found = {name: mark for name, mark in found.items() if name in table.columns}
    if not found:
        raise SchemaError(
            "Nothing says which columns hold sets; give the schema of the release, with attributes "
            "of type 'set'."
        )
    return found


def _quasi(
    rules: Schema | None, facts: Mapping[str, Any], marks: Mapping[str, str]
) -> tuple[str, ...]:
    if rules is not None:
        return tuple(name for name in rules.quasi_names if name not in marks)
    return tuple((facts.get("roles") or {}).get("quasi", ()))


def _sensitive(
    rules: Schema | None, facts: Mapping[str, Any], marks: Mapping[str, str]
) -> tuple[str, ...]:
    if rules is not None:
        return tuple(name for name in rules.sensitive_names if name not in marks)
    return tuple((facts.get("roles") or {}).get("sensitive", ()))


def _accepted(rules: Schema | None, facts: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the columns that may be nearly unique, with the reason that was stated."""
    reasons = (facts.get("linkable") or {}) if rules is None else rules.accepted
    return {
        name: {"role": "insensitive", "linkable": f"accepted, {reason}"}
        for name, reason in reasons.items()
    }


def _texts(table: Table, name: str) -> list[str]:
    rows = table.run(f"SELECT {table.text(name)} FROM {table.scan} ORDER BY {ROW}")  # noqa: S608 - quoted
    return [row[0] or "" for row in rows]


def _lists(table: Table, name: str, mark: str) -> list[list[str]]:
    if table.types[name].endswith("]"):
        cut = quoted(name)
    else:
        cut = f"string_split({table.text(name)}, {quoted_text(mark)})"
    rows = table.run(f"SELECT {cut} FROM {table.scan} ORDER BY {ROW}")  # noqa: S608 - quoted
    return [[str(item) for item in row[0] or () if item] for row in rows]


def _see_records(records: HybridRecords, called: str | None) -> HybridView:
    """Look at records as they came."""
    columns = {
        column.name: [column.tree.labels[code] for code in column.codes] for column in records.quasi
    }
    columns |= {name: [cell or "" for cell in cells] for name, cells in records.others.items()}
    quasi = tuple(column.name for column in records.quasi)
    sensitive = [n for n in records.schema.sensitive_names if n in records.others]
    return HybridView(
        source=called or records.name, quasi=quasi, columns=columns,
        sets={name: sets.lists() for name, sets in records.sets.items()},
        roles=Schema(quasi=quasi, sensitive=sensitive), count=len(records),
    )  # fmt: skip
