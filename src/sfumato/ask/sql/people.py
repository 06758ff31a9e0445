"""A SELECT within a question: it filters and projects, or makes one row per person.

Contract: :func:`person_select` gives the scope of a sub-query and its names. GROUP BY and DISTINCT
must name the person, so that each row still belongs to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from sfumato.ask.language.language import Column, Expression, PersonAggregate
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.assembly import narrowed
from sfumato.ask.scope.joins import per_person, person_aggregate, person_column
from sfumato.ask.scope.scopes import Name, PersonName, Scope, checked, column_for, fresh
from sfumato.ask.sql.aggregates import has_aggregate, person_named
from sfumato.ask.sql.expressions import RowReader
from sfumato.ask.sql.groups import GroupReader, group_nodes, items_of, key_name
from sfumato.ask.sql.nodes import Node, identifier, only, part

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.scope.assembly import AskedAggregate, GivenFacts

Named: TypeAlias = "list[tuple[str, Expression | PersonName]]"


def person_select(select: exp.Select, scope: Scope, given: GivenFacts) -> tuple[Scope, Named]:
    """Read the SELECT list, GROUP BY, HAVING and DISTINCT of a sub-query."""
    items = items_of(select)
    grouped = select.args.get("group") is not None or select.args.get("having") is not None
    if grouped or any(has_aggregate(node) for _, node in items):
        if select.args.get("distinct") is not None:
            raise refuse("subquery_distinct")
        return _grouped(select, items, scope, given)
    named: Named = []
    for position, (alias, node) in enumerate(items):
        if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
            named += _everything(node, scope)
        else:
            named.append(_item(alias, node, position, scope))
    if select.args.get("distinct") is None:
        return scope, named
    only(select.args["distinct"])
    return _distinct(scope, named)


def _everything(node: Node, scope: Scope) -> Named:
    """Expand ``*`` and ``table.*``."""
    table = part(node, "table") if isinstance(node, exp.Column) else None
    only(node if table is None else node.this)
    if table is not None:
        only(node, "this", "table")
    wanted = None if table is None else identifier(table)
    named: Named = [
        (person.name, person)
        for person in scope.people
        if wanted is None or wanted.matches(person.table)
    ]
    for seen in scope.seen:
        if seen.bare if wanted is None else wanted.matches(seen.table):
            named.append((seen.name, seen.expression))
    if not named and wanted is not None:
        raise refuse("unknown_table", name=wanted.text, hint="")
    return named


def _item(
    alias: Name | None, node: Node, position: int, scope: Scope
) -> tuple[str, Expression | PersonName]:
    name = alias.text if alias is not None else default_name(node, position)
    person = person_named(node, scope)
    if person is not None:
        return name, person
    return name, checked(RowReader(scope, "the SELECT list of a sub-query").read(node))


def default_name(node: Node, position: int) -> str:
    """Name an item without an alias."""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        return str(node.this.this)
    return f"column_{position + 1}"


def _distinct(scope: Scope, named: Named) -> tuple[Scope, Named]:
    if scope.person is None:
        raise refuse("row_unit", name=scope.table)
    if not any(isinstance(what, PersonName) for _, what in named):
        raise refuse("subquery_distinct")
    keys: list[tuple[str, Expression]] = []
    for name, what in named:
        if not isinstance(what, PersonName) and what not in dict(map(reversed, keys)):  # type: ignore[arg-type]
            keys.append((fresh(name, [scope.person, *(key for key, _ in keys)]), what))
    made, columns = per_person(scope, keys, [])
    shown = {what: columns[name] for name, what in keys}
    return made, [
        (name, what if isinstance(what, PersonName) else shown[what]) for name, what in named
    ]


class _PersonRegister:
    """Collects the numbers about each person's rows."""

    def __init__(self, scope: Scope, given: GivenFacts, taken: list[str]) -> None:
        self.scope = scope
        self.given = given
        self.taken = taken
        self.found: dict[PersonAggregate, str] = {}

    def __call__(
        self, asked: AskedAggregate, wanted: str | None, what: Callable[[], str], /
    ) -> Column:
        function = asked.aggregate
        if asked.order is not None and asked.spelling in {"MIN", "MAX"}:
            made = self._make(asked.spelling.lower(), asked, what)
        elif function in {"count", "sum", "avg"}:
            made = self._make(function, asked, what)
        else:
            raise refuse("subquery_aggregate", what=what())
        if made not in self.found:
            name = fresh(wanted or made.function, self.taken)
            self.taken.append(name)
            self.found[made] = name
        return person_column(self.found[made], made)

    def _make(
        self, function: str, asked: AskedAggregate, what: Callable[[], str]
    ) -> PersonAggregate:
        term = asked.filtered()
        if term is not None and function != "count":
            term = narrowed(term, self.given, self.scope)
        return person_aggregate(function, term, what())


def _grouped(
    select: exp.Select, items: list[tuple[Name | None, Node]], scope: Scope, given: GivenFacts
) -> tuple[Scope, Named]:
    if scope.person is None:
        raise refuse("row_unit", name=scope.table)
    nodes = group_nodes(select, scope)
    if not any(person_named(node, scope) for node in nodes):
        raise refuse("subquery_group")
    taken = [scope.person]
    keys: dict[Expression, Column] = {}
    for position, node in enumerate(nodes):
        if person_named(node, scope):
            continue
        term = checked(RowReader(scope, "GROUP BY").read(node))
        if term not in keys:
            name = key_name(node, items, position, taken)
            taken.append(name)
            keys[term] = column_for(name, term)
    register = _PersonRegister(scope, given, taken)
    reader = GroupReader(scope, keys, register)
    named: Named = []
    for position, (alias, node) in enumerate(items):
        name = alias.text if alias is not None else default_name(node, position)
        person = person_named(node, scope)
        reader.wanted = name
        named.append((name, person or reader.read(node)))
    reader.aliases = [(name, what) for name, what in named if isinstance(what, Expression)]
    having = select.args.get("having")
    kept = None if having is None else reader.read(only(having, "this").this)
    listed = [(column.name, term) for term, column in keys.items()]
    made, _ = per_person(
        scope, listed, [(name, aggregate) for aggregate, name in register.found.items()]
    )
    return made.filtered(kept), named
