"""The few forms of SQL that plans are made of, as sqlglot nodes.

Contract: names are always quoted identifiers, literals are always literal nodes, and nothing is
parsed or copied on the way (sqlglot's builders copy whole trees, which would cost more than the
answer). A node has one place in a tree; what is used twice is a column, and copied.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from sfumato.ask.plan.dialects import Double, checked_text
from sfumato.ask.plan.nodes import nodes_of
from sfumato.ask.plan.plain_spelling import FROM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from sfumato.ask.language.language import Bounds, Kind, Value

SQL: TypeAlias = exp.Expression

DOUBLE, BIGINT = exp.DType.DOUBLE, exp.DType.BIGINT
TYPES = {
    "integer": DOUBLE,
    "real": DOUBLE,
    "text": exp.DType.TEXT,
    "boolean": exp.DType.BOOLEAN,
    "date": exp.DType.DATE,
}
"""The SQL type of an expression by its kind; whole numbers are doubles in arithmetic."""

_LOOSE = (exp.Binary, exp.Not, exp.In, exp.Between, exp.Neg)


def identifier(name: str) -> exp.Identifier:
    """Write a name."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """Write a column."""
    if table is None:
        return exp.Column(this=identifier(name))
    return exp.Column(this=identifier(name), table=identifier(table))


def again(sql: SQL) -> SQL:
    """Write once more what is used in another place; a column is quicker written than copied."""
    if type(sql) is exp.Column and len(sql.args) == 1:
        return column(sql.this.this)
    return sql.copy()


def column_names(sql: SQL) -> list[str]:
    """Name the columns in an expression, as often as they stand there."""
    return [node.this.this for node in nodes_of(sql) if type(node) is exp.Column]


def aliased(sql: SQL, name: str) -> SQL:
    """Give an expression of a SELECT its name."""
    return exp.Alias(this=sql, alias=identifier(name))


def cast(sql: SQL, to: exp.DType) -> SQL:
    """Change the type of a value that fits the new type."""
    return exp.Cast(this=sql, to=exp.DataType(this=to))


def binary(operation: type, left: SQL, right: SQL) -> SQL:
    """Apply an operator, in brackets where an operand needs them."""
    node: SQL = operation(this=bracketed(left), expression=bracketed(right))
    return node


def bracketed(sql: SQL) -> SQL:
    """Put an operand in brackets if it is an operation itself."""
    return exp.Paren(this=sql) if isinstance(sql, _LOOSE) else sql


def plus(left: SQL, right: SQL) -> SQL:
    """Add."""
    return binary(exp.Add, left, right)


def minus(left: SQL, right: SQL) -> SQL:
    """Subtract."""
    return binary(exp.Sub, left, right)


def times(left: SQL, right: SQL) -> SQL:
    """Multiply."""
    return binary(exp.Mul, left, right)


def modulo(left: SQL, right: SQL) -> SQL:
    """Give the remainder, whose sign is that of the left side."""
    return binary(exp.Mod, left, right)


def over(left: SQL, right: SQL) -> SQL:
    """Divide doubles; sqlglot is told to leave the types alone."""
    return exp.Div(this=bracketed(left), expression=bracketed(right), typed=True)


def is_null(sql: SQL) -> SQL:
    """Tell whether there is no value."""
    return exp.Is(this=bracketed(sql), expression=exp.Null())


def negated(condition: SQL) -> SQL:
    """Give the opposite of a condition."""
    return exp.Not(this=bracketed(condition))


def all_of(conditions: Sequence[SQL]) -> SQL:
    """Join conditions by AND."""
    return _chain(exp.And, conditions) if conditions else exp.Boolean(this=True)


def any_of(conditions: Sequence[SQL]) -> SQL:
    """Join conditions by OR."""
    return _chain(exp.Or, conditions) if conditions else exp.Boolean(this=False)


def _chain(operation: type, conditions: Sequence[SQL]) -> SQL:
    """Join many conditions as a tree of little depth, so that none is too deep to print."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    left, right = _chain(operation, conditions[:middle]), _chain(operation, conditions[middle:])
    return binary(operation, left, right)


def case(branches: Iterable[tuple[SQL, SQL]], default: SQL | None = None) -> SQL:
    """Choose a value by the first condition that is true; NULL without a default."""
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=default)


def whole(number: int) -> SQL:
    """Write a whole number."""
    literal = exp.Literal.number(abs(number))
    return exp.Neg(this=literal) if number < 0 else literal


def big(number: int) -> SQL:
    """Write a whole number of 64 bits, also where no operand says so."""
    return cast(whole(number), BIGINT)


def double(value: Fraction | float) -> SQL:
    """Write a double."""
    return Double(this=repr(float(value)))


def text(value: str) -> SQL:
    """Write a text."""
    return exp.Literal(this=checked_text(value), is_string=True)


def constant(value: Value, kind: Kind) -> SQL:
    """Write a literal of the question."""
    if value is None:
        return cast(exp.Null(), TYPES[kind])
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dt.date):
        return cast(text(value.isoformat()), exp.DType.DATE)
    return double(value)


def clamped(value: SQL, bounds: Bounds) -> list[tuple[SQL, SQL]]:
    """Give the branches that clamp a double that is no NaN; NULL takes none of them."""
    low, high = bounds
    return [
        (binary(exp.LT, again(value), double(low)), double(low)),
        (binary(exp.GT, again(value), double(high)), double(high)),
    ]


def select(outputs: Iterable[SQL], source: SQL, where: SQL | None = None) -> exp.Select:
    """Select outputs of a table or sub-query."""
    clauses = {"expressions": list(outputs), FROM: exp.From(this=source)}
    if where is not None:
        clauses["where"] = exp.Where(this=where)
    return exp.Select(**clauses)


def derived(query: exp.Select, name: str) -> SQL:
    """Use a query as a table."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(name)))


def window(function: str, partition: Iterable[SQL], order: Iterable[SQL]) -> SQL:
    """Give each row its place within a partition, in an order in which NULL comes first."""
    ordered = [exp.Ordered(this=term.copy(), desc=False, nulls_first=True) for term in order]
    return exp.Window(
        this=exp.Anonymous(this=function),
        partition_by=[term.copy() for term in partition],
        order=exp.Order(expressions=ordered),
    )


def table(name: str) -> exp.Table:
    """Write the name of a common table expression."""
    return exp.Table(this=identifier(name))
