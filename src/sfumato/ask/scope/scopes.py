"""What can be named where: a relation and the names under which its columns are seen.

Contract: a :class:`Scope` is a relation of the language together with names. A name stands for an
expression over the relation's columns, so that a sub-query which filters and projects adds nothing
to the relation but its filter. Names are matched without regard to letter case, quoted ones
exactly. The person's column is seen under names of its own: it is no expression.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import interval_of, kind_of, range_of
from sfumato.ask.language.build import TRUE, condition, conjuncts, logic, readable
from sfumato.ask.language.language import Column, Expression, Filter, Relation, Scan
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import MOST_DEPTH, MOST_NODES, size_and_depth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sfumato.ask.language.language import Kind, TableFacts, Value

MOST_NAME = 60
_MOST_LISTED = 50  # characters of names of columns


@dataclass(frozen=True)
class Name:
    """An identifier as written."""

    text: str
    quoted: bool = False

    def matches(self, other: str) -> bool:
        """Tell whether it names ``other``."""
        return self.text == other if self.quoted else self.text.lower() == other.lower()


@dataclass(frozen=True)
class VisibleName:
    """A name and what it stands for; ``bare`` when it can be said without its table."""

    table: str
    name: str
    expression: Expression
    bare: bool = True


@dataclass(frozen=True)
class PersonName:
    """A name of the person's column."""

    table: str
    name: str
    kind: Kind | None = None
    bare: bool = True


@dataclass(frozen=True)
class Scope:
    """A relation and the names of its columns.

    ``person`` is the person's column in the first private table, None when the unit is the row.
    ``taken`` are names that the relation's columns have, in lower case; ``domains`` maps columns
    of the relation to their public values.
    """

    relation: Relation
    seen: tuple[VisibleName, ...]
    people: tuple[PersonName, ...]
    person: str | None
    table: str
    taken: frozenset[str]
    domains: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    unasked: tuple[str, ...] = ()
    untyped: tuple[str, ...] = ()

    def find(self, name: Name, table: Name | None = None) -> Expression | PersonName:
        """Resolve a name, or refuse it."""
        found: list[Expression | PersonName] = []
        if any(_named(person, name, table) for person in self.people):
            found.append(next(person for person in self.people if _named(person, name, table)))
        found += dict.fromkeys(seen.expression for seen in self.seen if _named(seen, name, table))
        if len(found) > 1:
            raise refuse("ambiguous_column", name=name.text)
        if not found:
            shown = name.text if table is None else f"{table.text}.{name.text}"
            if any(name.matches(column) for column in self.unasked):
                raise refuse("unasked_column", name=shown)
            if any(name.matches(column) for column in self.untyped):
                raise refuse("untyped_column", name=shown)
            known = [column.name for column in self.seen] + [column.name for column in self.people]
            other = hint(name.text, known) or _columns(known)
            raise refuse("unknown_column", name=shown, hint=other)
        return found[0]

    def names_of(self, column: Column) -> list[str]:
        """List what a column of the relation can be called in bounds, its table's name first."""
        seen = [shown for shown in self.seen if isinstance(shown.expression, Column)
                and shown.expression.name == column.name]  # fmt: skip
        return [*(f"{shown.table}.{shown.name}" for shown in seen), *(shown.name for shown in seen)]

    def filtered(self, where: Expression | None) -> Scope:
        """Keep the rows for which a condition is true."""
        if where is None:
            return self
        checked(condition(where, "WHERE"))
        source: Relation = self.relation
        terms = conjuncts(where)
        if isinstance(source, Filter):
            terms = (*conjuncts(source.condition), *terms)
            source = source.source
        terms = tuple(dict.fromkeys(term for term in terms if term != TRUE))
        if not terms:
            return self
        return replace(self, relation=Filter(source, logic("and", terms)))

    def aliased(self, alias: str, named: Iterable[tuple[str, Expression | PersonName]]) -> Scope:
        """See the relation as a table of its own, with these names."""
        seen, people = [], []
        for name, what in named:
            if isinstance(what, PersonName):
                people.append(PersonName(alias, short(name), what.kind))
            else:
                seen.append(VisibleName(alias, short(name), what))
        return replace(self, seen=tuple(seen), people=tuple(people))


def _named(shown: VisibleName | PersonName, name: Name, table: Name | None) -> bool:
    return name.matches(shown.name) and (
        shown.bare if table is None else table.matches(shown.table)
    )


def scan(facts: TableFacts, alias: str) -> Scope:
    """See a private table."""
    shown = tuple(column for column in facts.columns if column.name != facts.person)
    kinds = {column.name: column.kind for column in facts.columns}
    people = (
        () if facts.person is None else (PersonName(alias, facts.person, kinds.get(facts.person)),)
    )
    return Scope(
        relation=Scan(facts.name, shown),
        seen=tuple(VisibleName(alias, column.name, column) for column in shown),
        people=people,
        person=facts.person,
        table=facts.name,
        taken=frozenset(column.name.lower() for column in (*shown, *people)),
        domains=facts.domains,
        unasked=facts.unasked,
        untyped=facts.untyped,
    )


def column_for(name: str, expression: Expression) -> Column:
    """Make the column that shows an expression, with the bounds that follow."""
    if isinstance(expression, Column):
        return replace(expression, name=name)
    return Column(name, kind_of(expression), interval_of(expression))


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """Give a name that no column has, whatever the letter case."""
    used = {name.lower() for name in taken}
    name, count = wanted, 1
    while name.lower() in used:
        count += 1
        name = f"{wanted[: MOST_NAME - 6]}_{count}"
    return name


def checked(expression: Expression) -> Expression:
    """Refuse an expression that is too large or that an engine could not compute on some row."""
    nodes, depth = size_and_depth(expression)
    if nodes > MOST_NODES:
        raise refuse("too_long", what=f"an expression has more than {MOST_NODES} parts")
    if depth > MOST_DEPTH:
        raise refuse("too_deep", most=MOST_DEPTH)
    range_of(expression)
    return expression


def short(name: str) -> str:
    """Refuse a name that an engine would cut."""
    if not name or not readable(name):
        raise refuse("unsupported", what="A name that is empty or not Unicode text")
    if len(name.encode()) > MOST_NAME:
        raise refuse("long_name", name=name)
    return name


def hint(name: str, known: Iterable[str]) -> str:
    """Ask whether another name was meant; names of columns and tables are public."""
    lowered = {text.lower(): text for text in known}
    close = difflib.get_close_matches(name.lower()[:MOST_NAME], list(lowered), n=1)
    return f" Did you mean {lowered[close[0]]}?" if close else ""


def _columns(known: Iterable[str]) -> str:
    """List the columns that there are, as far as they fit into a refusal."""
    names = list(dict.fromkeys(known))
    shown = [name for i, name in enumerate(names) if len(", ".join(names[: i + 1])) <= _MOST_LISTED]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f" There are {', '.join(shown)}{more}." if shown else ""


def table_named(name: Name, facts: Mapping[str, TableFacts]) -> TableFacts:
    """Find a table of the session."""
    found = [table for known, table in facts.items() if name.matches(known)]
    if len(found) != 1:
        raise refuse("unknown_table", name=name.text, hint=hint(name.text, facts))
    return found[0]
