"""Reading a syntax tree by an allow-list: what is not named is refused.

Contract: every reader states which arguments of a node it understands (:func:`only`); a node with
any other is refused, so that a newer parser cannot smuggle a meaning past an older reader. No text
of the question is ever kept as SQL.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from sfumato.ask.language.build import numeral
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.scopes import Name

if TYPE_CHECKING:
    from sfumato.ask.language.language import Constant
    from sfumato.errors import Refused

Node = exp.Expression
_NUMBER = re.compile(r"\d{0,320}(\.\d{0,60})?([eE][+-]?\d{1,3})?", re.ASCII)
# Aggregates that a parser may take for any function.
_AGGREGATES = frozenset({
    "mode", "list", "histogram", "bit_xor", "bit_and", "bit_or", "first", "last", "product",
    "kurtosis", "skewness", "entropy", "mad", "fsum", "favg", "max_by", "min_by", "bool_and",
    "bool_or",
})  # fmt: skip


def only(node: Node, *allowed: str) -> Node:
    """Refuse a node with arguments other than those allowed."""
    for name, value in node.args.items():
        if value is None or value is False or value == [] or name.startswith("_"):
            continue
        if name.rstrip("_") not in allowed:
            raise refuse("unsupported", what=f"{name.rstrip('_').upper()} in {shown(node)}")
    return node


def part(node: Node, name: str) -> Any:
    """Give an argument; newer parsers add an underscore to names that Python reserves."""
    value = node.args.get(name)
    return node.args.get(name + "_") if value is None else value


def shown(node: Node) -> str:
    """Print a node for a message."""
    try:
        return str(node.sql(dialect="duckdb", comments=False, unsupported_level=ErrorLevel.IGNORE))
    except Exception:  # noqa: BLE001 - a printer's failure must not hide the refusal
        return str(node.key)


def bare(node: Node) -> Node:
    """Take off parentheses."""
    while isinstance(node, exp.Paren):
        node = only(node, "this").this
    return node


def identifier(node: Any) -> Name:
    """Read a name."""
    if not isinstance(node, exp.Identifier):
        raise refuse("unsupported", what=shown(node) if isinstance(node, Node) else "A name")
    only(node, "this", "quoted")
    return Name(str(node.this), bool(node.args.get("quoted")))


def number(node: exp.Literal) -> Constant:
    """Read a numeric literal exactly."""
    text = str(node.this)
    if not text or not _NUMBER.fullmatch(text) or not any(c.isdigit() for c in text):
        raise refuse("bad_number", what=text)
    if text.isascii() and text.isdigit():
        return numeral(Fraction(text), "integer")
    return numeral(Fraction(text), "real")


def unsupported(node: Node) -> Refused:
    """Say why a node is not answered, by what it is."""
    what = shown(node)
    if isinstance(node, (exp.Select, exp.Subquery, exp.Exists, exp.SetOperation)):
        return refuse("subquery_where")
    if isinstance(node, (exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        return refuse("parameter", what=what)
    if isinstance(node, exp.Window):
        return refuse("window", what=what)
    if type(node).__name__ in {"Rand", "Randn", "Uuid", "RandStr"}:
        return refuse("random", what=what)
    aggregate = isinstance(node, exp.AggFunc) or isinstance(node.this, exp.AggFunc)
    if aggregate or what.split("(")[0].lower() in _AGGREGATES:
        return refuse("not_aggregate", what=what)
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        if name in {"random", "setseed", "uuid", "gen_random_uuid", "nextval"}:
            return refuse("random", what=what)
        return refuse("function", what=name.upper())
    if isinstance(node, exp.Func):
        return refuse("function", what=what)
    return refuse("unsupported", what=what)
