"""Plans in plain SQL, printed without the detours that a general printer takes.

Contract: the text is the very text that sqlglot's own generator gives for the same tree; a test
holds both against each other. Only forms that :mod:`sfumato.ask.plan.forms` makes are spelt
here, with the arguments it gives them; whatever has another argument is left to sqlglot. Printing
a small plan took a fifth of what a small question costs, most of it to look for clauses that our
plans never have.

It is DuckDB's spelling: names in double quotes, texts in single ones, each doubled within, and no
other character with a meaning of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FROM = "from_" if "from_" in exp.Select.arg_types else "from"
"""What this version of sqlglot calls the source of a SELECT."""

_SELECT = frozenset({"expressions", FROM, "where", "having", "group"})
_SUBQUERY = frozenset({"this", "alias"})
_COLUMN = frozenset({"this", "table"})
_CAST = frozenset({"this", "to"})
_CASE = frozenset({"ifs", "default"})
_ONLY = frozenset({"this"})
_BOTH = frozenset({"this", "expression"})
_TYPES = {
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.TEXT: "TEXT",
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.DATE: "DATE",
}
_SIGNS = {
    exp.EQ: " = ", exp.NEQ: " <> ", exp.LT: " < ", exp.LTE: " <= ", exp.GT: " > ", exp.GTE: " >= ",
    exp.Add: " + ", exp.Sub: " - ", exp.Mul: " * ",
}  # fmt: skip


def quote(name: str) -> str:
    """Write a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


class PlainSpelling:
    """What a generator of sqlglot has to have first among its bases to spell in the short way."""

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:  # noqa: ARG002 - as sqlglot calls it
        """Spell a node, or one of its arguments; nothing for nothing."""
        if not expression or isinstance(expression, str):
            return expression or ""
        node = expression.args.get(key) if key else expression
        if not node or isinstance(node, str):
            return node or ""
        return spell(self, node)

    def general(self, node: Any) -> str:
        """Spell a node in sqlglot's way."""
        text: str = super().sql(node)  # type: ignore[misc]
        return text


def spell(print_: Any, node: Any) -> str:
    """Spell a node in the short way if it has one, else in sqlglot's."""
    short = _SHORT.get(type(node))
    text = None if short is None else short(print_, node)
    return print_.general(node) if text is None else text


def _identifier(_: Any, node: exp.Identifier) -> str | None:
    return quote(node.args["this"]) if node.args.get("quoted") else None


def _column(print_: Any, node: exp.Column) -> str | None:
    args = node.args
    if not args.keys() <= _COLUMN:
        return None
    table, name = args.get("table"), spell(print_, args["this"])
    return name if table is None else f"{spell(print_, table)}.{name}"


def _alias(print_: Any, node: exp.Alias) -> str:
    return f"{spell(print_, node.args['this'])} AS {spell(print_, node.args['alias'])}"


def _select(print_: Any, node: exp.Select) -> str | None:
    args = node.args
    if not args.keys() <= _SELECT or FROM not in args:
        return None
    outputs = ", ".join([spell(print_, output) for output in args["expressions"]])
    text = f"SELECT {outputs} FROM {spell(print_, args[FROM].args['this'])}"  # noqa: S608 - quoted
    if "where" in args:
        text += f" WHERE {spell(print_, args['where'].args['this'])}"
    if "group" in args:
        if not args["group"].args.keys() <= {"expressions"}:
            return None
        keys = [spell(print_, key) for key in args["group"].args["expressions"]]
        text += f" GROUP BY {', '.join(keys)}"
    if "having" in args:
        text += f" HAVING {spell(print_, args['having'].args['this'])}"
    return text


def _subquery(print_: Any, node: exp.Subquery) -> str | None:
    args = node.args
    alias = args.get("alias")
    if not args.keys() <= _SUBQUERY or alias is None or not alias.args.keys() <= _ONLY:
        return None
    return f"({spell(print_, args['this'])}) AS {spell(print_, alias.args['this'])}"


def _case(print_: Any, node: exp.Case) -> str | None:
    args = node.args
    if not args.keys() <= _CASE:
        return None
    text = "CASE"
    for branch in args["ifs"]:
        when, then = branch.args["this"], branch.args["true"]
        text += f" WHEN {spell(print_, when)} THEN {spell(print_, then)}"
    default = args.get("default")
    return f"{text} END" if default is None else f"{text} ELSE {spell(print_, default)} END"


def _cast(print_: Any, node: exp.Cast) -> str | None:
    args = node.args
    kind = args["to"]
    if not (args.keys() <= _CAST and kind.args.keys() <= _ONLY):
        return None
    name = _TYPES.get(kind.args["this"])
    return None if name is None else f"CAST({spell(print_, args['this'])} AS {name})"


def _binary(print_: Any, node: Any) -> str | None:
    args = node.args
    if not args.keys() <= _BOTH:
        return None
    left, right = spell(print_, args["this"]), spell(print_, args["expression"])
    return left + _SIGNS[type(node)] + right


def _paren(print_: Any, node: exp.Paren) -> str:
    return f"({spell(print_, node.args['this'])})"


def _not(print_: Any, node: exp.Not) -> str:
    return f"NOT {spell(print_, node.args['this'])}"


def _star(_: Any, node: exp.Star) -> str | None:
    return None if node.args else "*"


def _null(_: Any, __: exp.Null) -> str:
    return "NULL"


def _literal(_: Any, node: exp.Literal) -> str:
    text: str = node.args["this"]
    return "'" + text.replace("'", "''") + "'" if node.args["is_string"] else text


_SHORT: Mapping[type, Callable[[Any, Any], str | None]] = {
    exp.Identifier: _identifier,
    exp.Column: _column,
    exp.Alias: _alias,
    exp.Select: _select,
    exp.Subquery: _subquery,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Paren: _paren,
    exp.Not: _not,
    exp.Star: _star,
    exp.Null: _null,
    exp.Literal: _literal,
    **dict.fromkeys(_SIGNS, _binary),
}
