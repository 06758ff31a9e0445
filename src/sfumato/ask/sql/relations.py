"""FROM, JOIN, WITH and sub-queries: relations whose rows each belong to one person.

Contract: :class:`RelationReader` gives a scope for a SELECT that stands within another. What would
lose track of the person, or compare people, is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.ask.language.language import TableFacts
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.scopes import Name, Scope, scan, short, table_named
from sfumato.ask.sql.expressions import RowReader
from sfumato.ask.sql.joins import join
from sfumato.ask.sql.nodes import Node, identifier, only, part, shown
from sfumato.ask.sql.people import person_select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.scope.assembly import GivenFacts

MOST_QUERIES = 30
MOST_JOINS = 8
_SELECT = ("with", "expressions", "from", "joins", "where", "group", "having", "distinct")


@dataclass(frozen=True)
class RelationReader:
    """Reads relations, knowing the session's tables and the queries of WITH."""

    facts: Mapping[str, TableFacts]
    given: GivenFacts
    queries: tuple[tuple[str, Scope], ...] = ()
    level: int = 0

    def within(self, select: exp.Select) -> RelationReader:
        """Know the queries of a WITH, too."""
        clause = part(select, "with")
        if clause is None:
            return self
        only(clause, "expressions")
        reader = self
        if len(clause.expressions) > MOST_QUERIES:
            raise refuse("too_long", what=f"more than {MOST_QUERIES} queries in WITH")
        for query in clause.expressions:
            only(query, "this", "alias", "materialized")
            name = _alias(query)
            if name.lower() in (known.lower() for known, _ in reader.queries[len(self.queries) :]):
                raise refuse("duplicate_name", name=name)
            scope = reader.subquery(query.this, name)
            reader = replace(reader, queries=(*reader.queries, (name, scope)))
        return reader

    def rows(self, select: exp.Select) -> Scope:
        """Read FROM, JOIN and WHERE."""
        clause = part(select, "from")
        if clause is None:
            raise refuse("no_measure")
        only(clause, "this")
        found = self.source(clause.this)
        joins = select.args.get("joins") or []
        if len(joins) > MOST_JOINS:
            raise refuse("too_long", what=f"more than {MOST_JOINS} joins")
        aliases = [found[1]]
        for node in joins:
            right = self.source(node.this)
            if right[1].lower() in (alias.lower() for alias in aliases):
                raise refuse("duplicate_name", name=right[1])
            aliases.append(right[1])
            found = (join(node, found, right), found[1])
        scope = found[0]
        if isinstance(scope, TableFacts):
            raise refuse("public_subquery" if self.level else "public_only", name=scope.name)
        where = select.args.get("where")
        if where is None:
            return scope
        return scope.filtered(RowReader(scope, "WHERE").read(only(where, "this").this))

    def source(self, node: Node) -> tuple[Scope | TableFacts, str]:
        """Read a table, a query of WITH or a sub-query, and the name it is seen under."""
        if isinstance(node, exp.Subquery):
            only(node, "this", "alias")
            alias = _alias(node) if node.args.get("alias") else f"sub-query {self.level + 1}"
            return self.subquery(node.this, alias), alias
        if not isinstance(node, exp.Table):
            raise refuse("table_function", what=shown(node))
        if not isinstance(node.this, exp.Identifier):
            raise refuse("table_function", what=shown(node.this))
        if part(node, "db") is not None or part(node, "catalog") is not None:
            raise refuse("unknown_table", name=shown(node), hint="")
        only(node, "this", "alias")
        name = identifier(node.this)
        for known, scope in reversed(self.queries):
            if name.matches(known):
                alias = _alias(node) if node.args.get("alias") else known
                return _seen_as(scope, alias), alias
        table = table_named(name, self.facts)
        alias = _alias(node) if node.args.get("alias") else table.name
        return (scan(table, alias) if table.private else table), alias

    def subquery(self, node: Node, alias: str) -> Scope:
        """Read a query within the question."""
        while isinstance(node, exp.Subquery):
            node = only(node, "this").this
        if self.level > 8:
            raise refuse("too_deep", most=8)
        if isinstance(node, exp.SetOperation):
            raise refuse("set_operation", what=node.key.upper())
        if not isinstance(node, exp.Select):
            raise refuse("unsupported", what=shown(node))
        if any(node.args.get(word) for word in ("order", "limit", "offset")):
            raise refuse("subquery_order")
        only(node, *_SELECT)
        reader = replace(self, level=self.level + 1).within(node)
        scope = reader.rows(node)
        made, named = person_select(node, scope, self.given)
        return made.aliased(alias, named)


def _seen_as(scope: Scope, alias: str) -> Scope:
    named = [(seen.name, seen.expression) for seen in scope.seen]
    return scope.aliased(alias, [*named, *((person.name, person) for person in scope.people)])


def _alias(node: Node) -> str:
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        raise refuse("unsupported", what=shown(node))
    only(alias, "this")
    name: Name = identifier(alias.this)
    return short(name.text)
