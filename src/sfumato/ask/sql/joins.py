"""JOIN … ON and USING, from a syntax tree.

Contract: a join is read as equalities between the two sides. What else an inner join's ON holds
becomes a filter after it; a LEFT join holds equalities only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from sqlglot import exp

from sfumato.ask.language.language import Column, Expression, Scan, TableFacts
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.joins import join_person, join_public
from sfumato.ask.scope.scopes import Name, PersonName, Scope, VisibleName
from sfumato.ask.sql.expressions import RowReader
from sfumato.ask.sql.nodes import Node, bare, identifier, only, part, shown
from sfumato.errors import Refused

Source: TypeAlias = tuple[Scope | TableFacts, str]
Pair: TypeAlias = tuple[Expression | PersonName, Expression | PersonName]


def join(node: Node, left: Source, right: Source) -> Scope:
    """Join what stands left of JOIN with what stands right of it."""
    outer = _outer(node)
    left_scope, right_scope = _scope(left), _scope(right)
    using = [identifier(name) for name in node.args.get("using") or []]
    on: Any = node.args.get("on")
    if not using and on is None:
        raise refuse("join_condition", what="write ON or USING; a comma or CROSS JOIN has none")
    if using:
        pairs: list[Pair] = [(left_scope.find(name), right_scope.find(name)) for name in using]
        rest: list[Node] = []
    else:
        pairs, rest = _equalities(on, left_scope, right_scope)
    if rest and outer:
        raise refuse("join_condition", what=f"the ON of a LEFT JOIN cannot hold {shown(rest[0])}")
    joined = _joined((left, left_scope), (right, right_scope), pairs, outer=outer)
    if using:
        joined = _hidden(joined, using, right[1])
    reader = RowReader(joined, "ON")
    for condition in rest:
        joined = joined.filtered(reader.read(condition))
    return joined


def _outer(node: Node) -> bool:
    only(node, "this", "on", "using", "side", "kind")
    side, kind = str(part(node, "side") or ""), str(part(node, "kind") or "")
    if side.upper() not in {"", "LEFT"} or kind.upper() not in {"", "INNER", "OUTER"}:
        raise refuse("join_kind", what=f"{side} {kind} JOIN".replace("  ", " ").strip())
    if kind.upper() == "OUTER" and not side:
        raise refuse("join_kind", what="OUTER JOIN without a side")
    return bool(side)


def _scope(source: Source) -> Scope:
    """See a public table as a scope, to resolve names in."""
    what, alias = source
    if isinstance(what, Scope):
        return what
    seen = tuple(VisibleName(alias, column.name, column) for column in what.columns)
    return Scope(Scan(what.name, what.columns), seen, (), None, what.name, frozenset())


def _joined(
    left: tuple[Source, Scope], right: tuple[Source, Scope], pairs: list[Pair], *, outer: bool
) -> Scope:
    (first, _), (second, second_alias) = left[0], right[0]
    if isinstance(first, TableFacts):
        if isinstance(second, TableFacts) or outer:
            raise refuse("join_public_first", name=first.name)
        turned = [(there, here) for here, there in pairs]
        return _to_public(second, first, left[0][1], turned, outer=False)
    if isinstance(second, TableFacts):
        return _to_public(first, second, second_alias, pairs, outer=outer)
    people = [
        pair
        for pair in pairs
        if isinstance(pair[0], PersonName) and isinstance(pair[1], PersonName)
    ]
    if first.person is None or second.person is None:
        raise refuse("row_unit", name=first.table if first.person is None else second.table)
    if not people:
        names = [f"{side.people[0].table}.{side.people[0].name}" if side.people else side.table
                 for side in (first, second)]  # fmt: skip
        raise refuse("join_person", what=" = ".join(names))
    return join_person(first, second, _values(pairs), outer=outer)


def _to_public(
    scope: Scope, table: TableFacts, alias: str, pairs: list[Pair], *, outer: bool
) -> Scope:
    on = []
    for here, there in _values(pairs):
        if not isinstance(there, Column):
            raise refuse("join_condition", what=f"a plain column of {table.name} on one side")
        on.append((here, there))
    return join_public(scope, table, alias, on, outer=outer)


def _values(pairs: list[Pair]) -> list[tuple[Expression, Expression]]:
    """Leave out the equality of people; a person equal to something else is refused."""
    found = []
    for first, second in pairs:
        if isinstance(first, PersonName) and isinstance(second, PersonName):
            continue
        if isinstance(first, PersonName) or isinstance(second, PersonName):
            person: Any = first if isinstance(first, PersonName) else second
            raise refuse("person_shown", name=person.name)
        found.append((first, second))
    return found


def _equalities(on: Node, left: Scope, right: Scope) -> tuple[list[Pair], list[Node]]:
    """Split ON into equalities between the sides and the rest."""
    pairs: list[Pair] = []
    rest: list[Node] = []
    stack = [on]
    while stack:
        node = bare(stack.pop())
        if isinstance(node, exp.And):
            only(node, "this", "expression")
            stack += [node.expression, node.this]
            continue
        pair = _pair(node, left, right) if isinstance(node, exp.EQ) else None
        if pair is None:
            rest.append(node)
        else:
            pairs.append(pair)
    return pairs, rest


def _pair(node: Node, left: Scope, right: Scope) -> Pair | None:
    only(node, "this", "expression")
    first, second = bare(node.this), bare(node.expression)
    sides = _sides(first, left, right), _sides(second, left, right)
    if sides == ({"left"}, {"right"}):
        return _what(first, left), _what(second, right)
    if sides == ({"right"}, {"left"}):
        return _what(second, left), _what(first, right)
    return None


def _what(node: Node, scope: Scope) -> Expression | PersonName:
    if isinstance(node, exp.Column):
        table = part(node, "table")
        return scope.find(identifier(node.this), identifier(table) if table else None)
    return RowReader(scope, "ON").read(node)


def _sides(node: Node, left: Scope, right: Scope) -> set[str]:
    """Tell which sides of the join the columns of a term are of."""
    found: set[str] = set()
    for column in node.find_all(exp.Column):
        table = part(column, "table")
        name, of = identifier(column.this), identifier(table) if table else None
        known = {word for word, scope in (("left", left), ("right", right))
                 if _knows(scope, name, of)}  # fmt: skip
        if len(known) == 2:
            raise refuse("ambiguous_column", name=name.text)
        if not known:
            shown_name = name.text if of is None else f"{of.text}.{name.text}"
            raise refuse("unknown_column", name=shown_name, hint="")
        found |= known
    return found


def _knows(scope: Scope, name: Name, table: Name | None) -> bool:
    try:
        scope.find(name, table)
    except Refused as refused:
        return refused.code == "ambiguous_column"
    return True


def _hidden(joined: Scope, using: list[Name], alias: str) -> Scope:
    """Let a name of USING mean the left column, as its right one equals it."""

    def hide(seen: VisibleName) -> VisibleName:
        shared = seen.table == alias and any(name.matches(seen.name) for name in using)
        return replace(seen, bare=False) if shared else seen

    return replace(joined, seen=tuple(hide(seen) for seen in joined.seen))
