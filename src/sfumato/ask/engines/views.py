"""Views of a database that may stand for people's rows: each row of them is one row of one table.

Contract: what a person can change is bounded by counting the rows that are theirs. That is right of
a table; of a view it is right only where every row is computed from one row of one table, by
itself. A window function, a LIMIT, DISTINCT, a join, an aggregate, a subquery or random() lets one
person change, or take away, the rows of all others, whatever noise is added. So the definition of a
view is read before anything is asked of it (:func:`table_behind`), down to the tables beneath it,
and all of it that is not on a list of what looks at one row alone, and cannot fail because of what
is in that row, is refused. An operator who knows more about a view than its text proves states so
in the address (``view=rows``), or makes a table of it.

What is on the list: columns, renamed and left out; conditions that compare a column with a value,
or with NULL, joined by AND, OR and NOT; in Postgres, which writes every cast down, also CASE,
COALESCE, NULLIF, IN, BETWEEN, lower, upper, trim, length and casts to text. Arithmetic and other
casts are not: an overflow in one row is an error of every question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sfumato.errors import GovernanceError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STATED = "view=rows"
"""What an operator writes into the address to state that each row of a view is one person's."""

_DEEPEST = 20
"""How many views may lie on top of each other."""

_FRAME = (
    exp.Select, exp.From, exp.Where, exp.Table, exp.TableAlias, exp.Identifier, exp.Column,
    exp.Alias, exp.Paren, exp.Literal, exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Is,
)  # fmt: skip
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_POSTGRES = (
    *_COMPARED, exp.Between, exp.In, exp.Any, exp.Array, exp.Case, exp.If, exp.Coalesce, exp.Nullif,
    exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.DataType, exp.DataTypeParam,
)  # fmt: skip
_TEXTS = {exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.BPCHAR}
_PARTS = {"expressions", "from_", "where", "kind"}
"""What a SELECT of a view may have: no DISTINCT, GROUP BY, LIMIT, join, sample or WITH."""


class Relation(NamedTuple):
    """A relation of a database: what it is, and for a view its definition.

    ``types`` are those of its columns where the database casts in silence, so that a comparison of
    unlike things may fail for one cell.
    """

    name: str
    is_table: bool
    definition: str | None = None
    types: Mapping[str, str] | None = None


def check_rows_of_one_table(
    relation: Relation, find: Callable[[str, str], Relation | None], dialect: str
) -> None:
    """Refuse a view whose rows are not, each by itself, rows of one table.

    ``find`` gives the relation with a schema ("" where none is named) and a name.
    """
    seen = relation
    for _ in range(_DEEPEST):
        if seen.is_table:
            return
        table = _table_read(seen, find, dialect)
        if isinstance(table, str):
            raise _not_by_rows(relation, table)
        seen = table
    raise _not_by_rows(relation, "views lie on each other without an end")


def _table_read(
    view: Relation, find: Callable[[str, str], Relation | None], dialect: str
) -> Relation | str:
    """Give the relation that a view reads row by row, or what is in the way."""
    select = _select_of(view, dialect)
    if not isinstance(select, exp.Select):
        return "its definition is no single SELECT, or cannot be read here"
    for part, value in select.args.items():
        if value and part not in _PARTS:
            return f"it has a {part.rstrip('_').upper()}"
    source = select.args["from_"].this if select.args.get("from_") else None
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return "it reads no table by its name"
    if any(value for part, value in source.args.items() if part not in _NAMES):
        return "it reads a part or a form of a table"
    below = find(source.db, source.name)
    if below is None:
        return f"it reads {source.name!r}, which is no table of this database"
    for node in select.walk():
        if not _is_plain(node, dialect, below.types):
            return f"it computes {_called(node)}"
    return below


_NAMES = {"this", "db", "catalog", "alias", "only"}
"""What stands beside a table that is read as it is."""


def _select_of(view: Relation, dialect: str) -> Any:
    """Read the definition of a view."""
    if view.definition is None:
        return None
    try:
        tree: Any = sqlglot.parse_one(view.definition, dialect=dialect)
    except SqlglotError:
        return None
    return tree.expression if isinstance(tree, exp.Create) else tree


def _is_plain(node: Any, dialect: str, types: Mapping[str, str] | None) -> bool:
    """Tell whether a part of a view looks at one row alone and cannot fail because of it."""
    if isinstance(node, exp.Star):
        return not node.args.get("replace") and not node.args.get("rename")
    if isinstance(node, exp.Select):
        return node.parent is None or isinstance(node.parent, exp.Create)
    if isinstance(node, _COMPARED) and dialect != "postgres":
        return _are_alike(node.left, node.right, types or {})
    if dialect != "postgres":
        return isinstance(node, _FRAME)
    if isinstance(node, exp.Cast):
        return node.to.this in _TEXTS or isinstance(node.this, (exp.Literal, exp.Null, exp.Neg))
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal)
    if isinstance(node, exp.In):
        return not node.args.get("query") and not node.args.get("unnest")
    return isinstance(node, (*_FRAME, *_POSTGRES))


def _are_alike(left: Any, right: Any, types: Mapping[str, str]) -> bool:
    """Tell whether two sides are compared without casting a column to another type."""
    sides = [left, right]
    if not all(isinstance(side, (exp.Column, exp.Literal, exp.Boolean)) for side in sides):
        return False
    columns = [types.get(side.name, "") for side in sides if isinstance(side, exp.Column)]
    if len(columns) == 2:
        return columns[0] == columns[1] != ""
    if any(isinstance(side, exp.Literal) and not side.is_string for side in sides):
        return all(type_.endswith("INT") or type_ in {"INTEGER", "DOUBLE"} for type_ in columns)
    return columns != [""]  # a text is read as the type of the column, or for no row


def _called(node: Any) -> str:
    """Name a part of a view in the words of SQL; a definition holds no person's cells."""
    if isinstance(node, exp.Anonymous):
        return f"{node.name}()"
    if isinstance(node, exp.Func):
        return f"{node.sql_name()}()"
    return str(type(node).__name__.upper())


def _not_by_rows(view: Relation, why: str) -> GovernanceError:
    return GovernanceError(
        f"{view.name!r} is a view, and its definition does not prove that each of its rows is one "
        f"row of one table ({why}): one person could change the rows of others. Ask about the "
        f"table beneath it; or, if you know that every row belongs to one person and depends on "
        f"theirs alone, state so by {STATED!r} in the address (postgresql://…?table=…&{STATED}, "
        f"clinic.duckdb::visits?{STATED}), or make a table of it."
    )


def split_statement(table: str) -> tuple[str, bool]:
    """Take the statement about a view out of the table of a DuckDB address."""
    name, mark, stated = table.partition("?")
    if mark and stated != STATED:
        raise ParameterError(
            f"After a table of a DuckDB file stands nothing, or '?{STATED}' for a view each of "
            "whose rows belongs to one person and depends on theirs alone."
        )
    return name, bool(mark)
