"""A released table as a stranger sees it: its equivalence classes, and what its columns mean.

Where no schema is given, the roles in `release.json` beside the file serve; labels are then read as
they are written, and a label nobody can read may stand for any value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.data.engines.addresses import is_database
from sfumato.data.schema import Schema
from sfumato.data.tables.singling_out import nearly_unique
from sfumato.data.tables.sources import read
from sfumato.errors import ParameterError, SchemaError
from sfumato.released.evidence import gather
from sfumato.released.manifest import Manifest
from sfumato.released.people import Persons, find_persons, stated_unit
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sfumato.anonymize.definitions.classes import Classes
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.tables.singling_out import NearlyUnique
    from sfumato.data.tables.table import Table
    from sfumato.released.evidence import Evidence, Spread


@dataclass(frozen=True, eq=False, kw_only=True)
class TableView(View):
    """The classes of a released table and the meaning of its columns.

    `blind` says that the roles are known but not the hierarchies; `pseudonyms` names columns that
    are said to hold keyed pseudonyms; `table` is for further looks at the same file; `persons`
    says how people are told apart, and `kept_order` that the rows stand as in the original data.
    """

    shape: ClassVar[str] = "table"

    evidence: Evidence
    schema: Schema
    table: Table
    blind: bool = False
    pseudonyms: tuple[str, ...] = ()
    persons: Persons = field(default_factory=Persons)
    kept_order: bool = False

    @property
    def records(self) -> int:
        """Number of released records."""
        return self.evidence.records

    def groups(self, definition: Definition | None = None) -> Classes:
        """Return the equivalence classes."""
        return self.evidence.classes_for(() if definition is None else definition.sensitive)

    def describe(self, group: int) -> Mapping[str, str]:
        """Return the generalised tuple of a class."""
        return self.evidence.cells(group)

    def attribute(self, name: str | None) -> str:
        """Return the sensitive attribute to attack; the only one if none is named."""
        known = self.evidence.sensitive
        if name is None and len(known) == 1:
            return next(iter(known))
        if name is None:
            raise ParameterError(
                f"The release has {len(known)} sensitive attributes "
                f"({', '.join(known) or 'none'}); say which to attack with attribute=."
            )
        if name not in known:
            raise SchemaError(
                f"'{name}' is no sensitive attribute of the release; it has "
                f"{', '.join(known) or 'none'}."
            )
        return name

    @cached_property
    def linkable(self) -> tuple[NearlyUnique, ...]:
        """The columns released as they are that tell most records apart by themselves."""
        person = self.evidence.person
        who = (*(self.evidence.quasi if self.persons.numbers else ()), person) if person else ()
        names = [n for n in self.schema.insensitive_names if n in self.table.columns]
        return nearly_unique(self.table, names, who)

    @cached_property
    def linked(self) -> TableView:
        """The same to an attacker who has the nearly unique columns, too.

        A column of which somebody stated in writing why no other file has it does not count.
        """
        accepted = self.schema.accepted
        return self.known_by([c.column for c in self.linkable if c.column not in accepted])

    def known_by(self, names: Collection[str]) -> TableView:
        """Return the same to an attacker who knows some columns beside the quasi-identifiers."""
        if not names:
            return self
        judged = tuple(name for name in self.evidence.sensitive if name not in names)
        person = self.evidence.person
        evidence, table = gather(self.table, self.schema, judged, person, tuple(names))
        return replace(self, evidence=evidence, table=table)

    def spread(self, name: str) -> Spread:
        """Return how a sensitive attribute is spread over the classes."""
        return self.evidence.sensitive[name]


def see_table(
    source: Any,
    *,
    schema: str | Path | Schema | None = None,
    promise: Definition | None = None,
    manifest: Manifest | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    called: str | None = None,
) -> TableView:
    """Group a released file or frame into its classes.

    The attributes that a promise is about are counted, too, sensitive or not; `called` is what
    messages call the release.
    """
    stated = manifest or Manifest()
    rules = _roles(stated, source) if schema is None else _schema(schema)
    if delimiter is None and isinstance(source, str | Path) and Path(source).suffix == ".csv":
        delimiter = stated.facts.get("delimiter")
    data = read(source, delimiter=delimiter, encoding=encoding)
    data = replace(data, source=called) if called is not None else data
    persons = find_persons(data, rules, stated)
    judged = () if promise is None else promise.sensitive
    evidence, table = gather(data, rules, judged, persons.column)
    settings = stated.facts.get("settings")
    return TableView(
        source=evidence.source,
        evidence=evidence,
        schema=rules,
        table=table,
        blind=schema is None,
        pseudonyms=tuple(stated.facts.get("pseudonyms") or ()),
        persons=persons,
        kept_order=isinstance(settings, dict) and settings.get("order") == "keep",
    )


def _roles(manifest: Manifest, source: Any) -> Schema:
    roles = manifest.facts.get("roles")
    if isinstance(roles, dict):
        accepted = manifest.facts.get("linkable")
        reasons = accepted if isinstance(accepted, dict) else {}
        return Schema(
            quasi=roles.get("quasi", ()),
            sensitive=roles.get("sensitive", ()),
            attributes={
                name: {
                    "role": "insensitive",
                    "linkable": f"accepted, {reasons[name]}" if reasons.get(name) else None,
                }
                for name in roles.get("insensitive", ())
            },
            unit=stated_unit(manifest),
        )
    if isinstance(source, str | Path) and not is_database(source):
        raise SchemaError(
            f"No schema was given, and {Path(source).with_name('release.json')} states no roles; "
            "give the schema of the release."
        )
    raise ParameterError("A table says nothing about roles; give its schema with schema=.")


def _schema(schema: str | Path | Schema) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.read(schema)
