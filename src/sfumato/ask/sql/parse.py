"""From SQL to a question.

Contract: :func:`parse` reads one SELECT statement and gives a :class:`Question`, or raises
:class:`Refused` with a code and, where there is one, the nearest question that can be answered. It
sees the text, the public facts about tables, and bounds and keys that come with the question; it
has no access to data, and what it returns holds names and values, no SQL.

The text is parsed by sqlglot (reading DuckDB's dialect) and then walked by an allow-list: every
node and every argument of it must be known here, anything else is refused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.build import condition
from sfumato.ask.language.language import Column, Expression, Output, Question
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import MOST_DEPTH, size_and_depth
from sfumato.ask.plan.pruning import pruned
from sfumato.ask.scope.assembly import GivenFacts, check_given, check_groups, key
from sfumato.ask.scope.measure_register import MeasureRegister
from sfumato.ask.scope.scopes import fresh, short
from sfumato.ask.sql.aggregates import person_named
from sfumato.ask.sql.expressions import RowReader
from sfumato.ask.sql.groups import GroupReader, group_nodes, items_of, key_name
from sfumato.ask.sql.nearest import nearest
from sfumato.ask.sql.nodes import Node, number, only, shown
from sfumato.ask.sql.people import default_name
from sfumato.ask.sql.relations import RelationReader
from sfumato.ask.sql.spellings import respell
from sfumato.errors import ParameterError, Refused, SfumatoError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sfumato.ask.language.language import Key, TableFacts
    from sfumato.ask.scope.scopes import Name, Scope

MOST_TEXT = 20_000
MOST_ITEMS = 200
_BEGINNINGS = frozenset({"SELECT", "WITH", "FROM", "("})
_SELECT = (
    "with", "expressions", "from", "joins", "where", "group", "having", "order", "limit",
)  # fmt: skip


def parse(
    sql: str,
    facts: Mapping[str, TableFacts],
    *,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    keys: Mapping[str, Sequence[Any] | None] | None = None,
    answerable: Callable[[Question], bool] | None = None,
) -> Question:
    """Read a question from SQL.

    ``bounds`` maps a column, or the alias of an aggregate, to (low, high); ``keys`` maps a key to
    the values it may have, None for "find them privately". ``answerable`` tells whether a question
    that can be read can be answered, too, so that no other is offered in its place.
    """
    given = GivenFacts.read(bounds or {}, keys or {})
    try:
        tree = syntax_tree(sql)
        try:
            return question(tree, facts, given)
        except Refused as refused:
            accepted = partial(_accepted, bounds or {}, keys or {}, answerable)
            refused.nearest = nearest(tree, facts, refused.code, accepted)
            raise
    except RecursionError:
        raise refuse("too_deep", most=MOST_DEPTH) from None
    except SfumatoError:
        raise
    except Exception:  # noqa: BLE001 - no text of an analyst may end in a traceback
        raise refuse("unreadable") from None


def nearest_to(
    sql: str,
    facts: Mapping[str, TableFacts],
    code: str,
    *,
    bounds: Mapping[str, tuple[Any, Any]],
    keys: Mapping[str, Sequence[Any] | None],
    answerable: Callable[[Question], bool],
) -> str | None:
    """Find the nearest question that can be answered for one that was read and then refused."""
    try:
        return nearest(syntax_tree(sql), facts, code, partial(_accepted, bounds, keys, answerable))
    except Exception:  # noqa: BLE001 - no text of an analyst may end in a traceback
        return None


def _accepted(
    bounds: Mapping[str, tuple[Any, Any]],
    keys: Mapping[str, Sequence[Any] | None],
    answerable: Callable[[Question], bool] | None,
    sql: str,
    facts: Mapping[str, TableFacts],
) -> bool:
    """Tell whether a question can be answered, with the bounds and keys at hand or without."""
    for given in ((bounds, keys), ({}, {})):
        try:
            found = question(syntax_tree(sql), facts, GivenFacts.read(*given))
        except (Refused, ParameterError):  # bounds of something that it does not have
            continue
        if answerable is None or answerable(found):
            return True
    return False


def syntax_tree(sql: str) -> Node:
    """Parse one statement, with sqlglot's complaints in a sentence of ours."""
    if len(sql) > MOST_TEXT:
        raise refuse("too_long", what=f"at most {MOST_TEXT:,} characters are read")
    dialect = Dialect.get_or_raise("duckdb")
    try:
        tokens, most = _without_top(dialect.tokenize(sql))
        _check_tokens(tokens)
        trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except SqlglotError as error:
        raise _syntax(error) from None
    except RecursionError:
        raise refuse("too_deep", most=MOST_DEPTH) from None
    except Refused:
        raise
    except Exception:  # noqa: BLE001 - whatever a parser raises on odd text is bad syntax
        raise refuse("syntax", what="the parser stopped", line=1, column=1) from None
    if len(trees) != 1:
        raise refuse("one_statement", what=f"{len(trees)} statements")
    if most is not None:
        if trees[0].args.get("limit") is not None:
            raise refuse("bad_limit")
        trees[0].set("limit", exp.Limit(expression=exp.Literal.number(most)))
    return cast("Node", trees[0])


def _without_top(tokens: list[Any]) -> tuple[list[Any], str | None]:
    """Read SELECT TOP n, which is another way to write LIMIT n."""
    words = [token.text.upper() for token in tokens[:3]]
    if words[:2] == ["SELECT", "TOP"] and words[2:] and words[2].isdigit():
        return [tokens[0], *tokens[3:]], words[2]
    return tokens, None


def _check_tokens(tokens: Sequence[Any]) -> None:
    """Refuse other statements and deep nesting before anything is built."""
    body = list(tokens)
    while body and body[-1].token_type == TokenType.SEMICOLON:
        body.pop()
    if not body:
        raise refuse("one_statement", what="an empty text")
    if body[0].text.upper() not in _BEGINNINGS:
        raise refuse("one_statement", what=body[0].text.upper())
    if any(token.token_type == TokenType.SEMICOLON for token in body):
        raise refuse("one_statement", what="several")
    level = 0
    for token in body:
        level += (token.text in {"(", "[", "{"}) - (token.text in {")", "]", "}"})
        if level > MOST_DEPTH:
            raise refuse("too_deep", most=MOST_DEPTH)


def _syntax(error: SqlglotError) -> Refused:
    details = getattr(error, "errors", None) or [{}]
    first = details[0]
    near = str(first.get("highlight") or "").strip()
    what = f"it stops making sense near {near!r}" if near else "it ends too early or is cut"
    if near.startswith("-"):
        what += ' (quote such a name, as in "sales-2025")'
    return refuse("syntax", what=what, line=first.get("line") or 1, column=first.get("col") or 1)


def question(tree: Node, facts: Mapping[str, TableFacts], given: GivenFacts) -> Question:
    """Read a question from a syntax tree."""
    select = _select(respell(tree, facts))
    reader = RelationReader(facts, given).within(select)
    scope = reader.rows(select)
    items = items_of(select)
    keys = _keys(select, items, scope, given)
    by_term = {key.expression: Column(key.name, kind_of(key.expression)) for key in keys}
    register = MeasureRegister(scope, given, [key.name for key in keys])
    groups = GroupReader(scope, by_term, register)
    outputs = _outputs(items, groups)
    groups.aliases = [(output.name, output.expression) for output in outputs]
    having = _having(select, groups)
    order = _order(select, outputs, groups)
    if not register.found:
        raise refuse("no_measure")
    check_given(given)
    return pruned(
        Question(
            relation=scope.relation,
            measures=tuple(register.found.values()),
            keys=tuple(keys),
            outputs=tuple(outputs),
            having=having,
            order=tuple(order),
            limit=limit_of(select),
        )
    )


def _select(tree: Node) -> exp.Select:
    while isinstance(tree, (exp.Subquery, exp.Paren)):
        tree = only(tree, "this").this
    if isinstance(tree, exp.SetOperation):
        raise refuse("set_operation", what=tree.key.upper())
    if not isinstance(tree, exp.Select):
        raise refuse("one_statement", what=tree.key.upper())
    if tree.args.get("distinct") is not None:
        raise refuse("distinct_top")
    if tree.args.get("qualify") is not None or tree.args.get("windows"):
        raise refuse("window", what="QUALIFY")
    only(tree, *_SELECT)
    if len(tree.expressions) > MOST_ITEMS:
        raise refuse("too_long", what=f"at most {MOST_ITEMS} columns are answered")
    return tree


def _keys(
    select: exp.Select, items: list[tuple[Name | None, Node]], scope: Scope, given: GivenFacts
) -> list[Key]:
    found: dict[Expression, Key] = {}
    for position, node in enumerate(group_nodes(select, scope)):
        person = person_named(node, scope)
        if person is not None:
            raise refuse("person_shown", name=person.name)
        term = RowReader(scope, "GROUP BY").read(node)
        if term not in found:
            taken = [known.name for known in found.values()]
            name = short(key_name(node, items, position, taken))
            found[term] = key(name, term, scope, given)
    check_groups(list(found.values()))
    return list(found.values())


def _outputs(items: list[tuple[Name | None, Node]], groups: GroupReader) -> list[Output]:
    found: list[Output] = []
    for position, (alias, node) in enumerate(items):
        if isinstance(node, exp.Star) or (
            isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
        ):
            raise refuse("raw_column", what=shown(node))
        groups.wanted = None if alias is None else alias.text
        term = groups.read(node)
        name = default_name(node, position) if alias is None else alias.text
        if alias is None and isinstance(term, Column):
            name = term.name
        found.append(Output(short(fresh(name, [output.name for output in found])), term))
    return found


def _having(select: exp.Select, groups: GroupReader) -> Expression | None:
    having = select.args.get("having")
    if having is None:
        return None
    term = condition(groups.read(only(having, "this").this), "HAVING")
    return _modest(term)


def _order(
    select: exp.Select, outputs: list[Output], groups: GroupReader
) -> list[tuple[Expression, bool]]:
    order = select.args.get("order")
    if order is None:
        return []
    only(order, "expressions")
    found = []
    for term in order.expressions:
        only(term, "this", "desc", "nulls_first")
        found.append((_ordered(term.this, outputs, groups), bool(term.args.get("desc"))))
    return found


def _ordered(node: Node, outputs: list[Output], groups: GroupReader) -> Expression:
    if isinstance(node, exp.Literal) and not node.is_string:
        position = number(node).value
        if not isinstance(position, int) or not 1 <= position <= len(outputs):
            raise refuse("bad_position", what=str(node.this))
        return outputs[position - 1].expression
    return _modest(groups.read(node))


def _modest(term: Expression) -> Expression:
    """Refuse what is too deep to evaluate; noisy numbers need no other check."""
    if size_and_depth(term)[1] > MOST_DEPTH:
        raise refuse("too_deep", most=MOST_DEPTH)
    return term


def limit_of(select: exp.Select) -> int | None:
    """Read LIMIT, a literal whole number."""
    limit = select.args.get("limit")
    if limit is None:
        return None
    if not isinstance(limit, exp.Limit):
        raise refuse("bad_limit")
    only(limit, "expression")
    node = limit.expression
    if not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdigit():
        raise refuse("bad_limit")
    if len(str(node.this)) > 15:
        raise refuse("bad_limit")
    return int(str(node.this))
