"""Expressions over keys and aggregates: what SELECT, HAVING and ORDER BY of a grouped query hold.

Contract: a part of the tree that equals a key is that key; an aggregate becomes a column, given by
the ``register`` it is handed to; a column that is neither is refused, since it would show rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.measure_register import MeasureRegister
from sfumato.ask.scope.pairs import pair_of
from sfumato.ask.scope.scopes import Name, PersonName, fresh
from sfumato.ask.sql.aggregates import has_aggregate, read_aggregate, read_pair
from sfumato.ask.sql.expressions import RowReader
from sfumato.ask.sql.nodes import Node, identifier, only, part, shown, unsupported
from sfumato.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sfumato.ask.language.language import Column, Expression
    from sfumato.ask.scope.assembly import AskedAggregate
    from sfumato.ask.scope.scopes import Scope


GROUPING_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


class Register(Protocol):
    """Takes aggregates and gives the columns that will show them."""

    def __call__(
        self, asked: AskedAggregate, wanted: str | None, what: Callable[[], str], /
    ) -> Column:
        """Register an aggregate under a wanted name."""


class GroupReader(RowReader):
    """Reads expressions over the groups of a scope."""

    def __init__(self, scope: Scope, keys: Mapping[Expression, Column], register: Register) -> None:
        super().__init__(scope, "a group")
        self.keys = keys
        self.register = register
        self.wanted: str | None = None
        self.aliases: Sequence[tuple[str, Expression]] = ()

    def dispatch(self, node: Node) -> Expression:
        """Read an aggregate, a key, or something made of them."""
        wanted, self.wanted = self.wanted, None
        if isinstance(self.register, MeasureRegister):
            pair = read_pair(node, self.scope)
            if pair is not None:
                return pair_of(pair, wanted, self.register)
        asked = read_aggregate(node, self.scope)
        if asked is not None:
            return self.register(asked, wanted, lambda: shown(node))
        alias = self._alias(node)
        if alias is not None:
            return alias
        if self.keys and not isinstance(node, (exp.Literal, exp.Null, exp.Boolean)):
            found = self._key(node)
            if found is not None:
                return found
        return super().dispatch(node)

    def _alias(self, node: Node) -> Expression | None:
        if not isinstance(node, exp.Column) or part(node, "table") is not None:
            return None
        if not isinstance(node.this, exp.Identifier):
            return None
        name = identifier(node.this)
        return next((term for alias, term in self.aliases if name.matches(alias)), None)

    def _key(self, node: Node) -> Column | None:
        if has_aggregate(node):
            return None
        try:
            return self.keys.get(RowReader(self.scope, "GROUP BY").read(node))
        except Refused:
            return None  # said again, with its reason, when its parts are read

    def misplaced(self, node: Node) -> Refused:
        """Say why an aggregate is not answered."""
        return unsupported(node)

    def column(self, node: Node) -> Expression:
        """Refuse a column that is neither key nor aggregate, by what it is."""
        if isinstance(node.this, exp.Star):
            raise refuse("raw_column", what=shown(node))
        only(node, "this", "table")
        table = part(node, "table")
        found = self.scope.find(identifier(node.this), identifier(table) if table else None)
        if isinstance(found, PersonName):
            raise refuse("person_shown", name=found.name)
        raise refuse("raw_column", what=shown(node))

    READERS = {**RowReader.READERS, exp.Column: column}  # noqa: RUF012 - declared in the base


def items_of(select: exp.Select) -> list[tuple[Name | None, Node]]:
    """List what is selected, each with its alias."""
    found: list[tuple[Name | None, Node]] = []
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            only(item, "this", "alias")
            found.append((identifier(item.args["alias"]), item.this))
        else:
            found.append((None, item))
    return found


def group_nodes(select: exp.Select, scope: Scope) -> list[Node]:
    """List what is grouped by, with positions and aliases replaced by what they stand for."""
    group = select.args.get("group")
    if group is None:
        return []
    several = group.find(*GROUPING_SETS)
    if several is not None:
        raise refuse("grouping_sets", what=shown(several))
    only(group, "expressions")
    items = items_of(select)
    return [_meant(node, items, scope) for node in group.expressions]


def _meant(node: Node, items: list[tuple[Name | None, Node]], scope: Scope) -> Node:
    if isinstance(node, exp.Literal) and not node.is_string:
        text = str(node.this)
        if not text.isdigit() or not 1 <= int(text[:9]) <= len(items):
            raise refuse("bad_position", what=text)
        return items[int(text) - 1][1]
    if isinstance(node, exp.Column) and part(node, "table") is None:
        name = identifier(node.this)
        try:
            scope.find(name)
        except Refused as unknown:
            named = [what for alias, what in items if alias and name.matches(alias.text)]
            if unknown.code == "unknown_column" and len(named) == 1:
                return named[0]
    return node


def key_name(
    node: Node, items: list[tuple[Name | None, Node]], position: int, taken: Sequence[str]
) -> str:
    """Name a key: by its alias in SELECT, its column, or its position."""
    for alias, what in items:
        if alias is not None and what == node:
            return fresh(alias.text, taken)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        return fresh(str(node.this.this), taken)
    return fresh(f"key_{position + 1}", taken)
