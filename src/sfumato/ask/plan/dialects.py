"""How the one plan is spelt on each engine.

Contract: the plan is a sqlglot tree of ordinary SQL and of the few nodes below, which engines
spell differently; :func:`printed` prints it. Nothing here depends on data, and texts and names get
into SQL only as literals and quoted identifiers.

Where engines would differ and the plan must not:

* NaN: tested by each engine's own test. Comparing with infinity would do by the order of doubles,
  but statistics of a file, which know no NaN, may fold such a comparison away.
* Spark reads backslashes in a literal as escapes or not, by a setting; a text with anything but
  plain characters is therefore written there as its bytes.
* Doubles from 2⁵² on are whole, and are left alone where an engine's FLOOR gives an integer.
* Sums are taken in integers of 38 digits or more, so that they neither wrap nor raise.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect

from sfumato.ask.plan.plain_spelling import PlainSpelling, quote
from sfumato.data.engines.spelling import spark_literal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Dialect: TypeAlias = Literal["duckdb", "postgres", "spark"]

SCHEMA = "sfumato"
"""The schema in which an engine of ours keeps the tables of a session."""


class _Node(exp.Expression):
    """A node with one argument that is spelt by :data:`_SPELLINGS`."""

    arg_types = {"this": True}  # noqa: RUF012 - sqlglot's way to declare a node


class HexInteger(_Node):
    """Eight hexadecimal digits as a whole number."""


class DateText(_Node):
    """A date of the years 1 to 9999 as YYYY-MM-DD."""


class Weekday(_Node):
    """The day of the week of a date: 0 on Sundays, 6 on Saturdays."""


class PeriodStart(_Node):
    """The first day of the year, quarter, month or week (from Monday) that a date is in."""

    arg_types = {"this": True, "period": True}  # noqa: RUF012


class NaN(_Node):
    """Whether a double is NaN."""


class Bytewise(_Node):
    """A text that is compared and sorted by its bytes."""


class Wide(_Node):
    """A whole number of 64 bits in a type whose sums do not overflow."""


class Floor(_Node):
    """The largest whole number that is not larger than a double, as a double."""


class Ceiling(_Node):
    """The smallest whole number that is not smaller than a double, as a double."""


class Double(_Node):
    """A double, by the shortest text that is read back as it."""


class Fenced(_Node):
    """A query used as a table that the engine must not merge with the query around it."""

    arg_types = {"this": True, "alias": True}  # noqa: RUF012


class StoredTable(_Node):
    """A table of the session; a name of its own kind, so that no CTE can hide it."""


def _hex_integer(print_: Any, node: HexInteger) -> str:
    digits = print_.sql(node, "this")
    match print_.target:
        case "postgres":
            return f"CAST(CAST('x' || {digits} AS BIT(32)) AS BIGINT)"
        case "spark":
            return f"CAST(CONV({digits}, 16, 10) AS BIGINT)"
    return f"CAST('0x' || {digits} AS BIGINT)"


def _date_text(print_: Any, node: DateText) -> str:
    date = print_.sql(node, "this")
    match print_.target:
        case "postgres":  # whose own cast depends on a setting
            return f"TO_CHAR({date}, 'YYYY-MM-DD')"
        case "spark":
            return f"CAST({date} AS STRING)"
    return f"CAST({date} AS TEXT)"


def _weekday(print_: Any, node: Weekday) -> str:
    date = print_.sql(node, "this")
    return f"DAYOFWEEK({date}) - 1" if print_.target == "spark" else f"EXTRACT(DOW FROM {date})"


def _period_start(print_: Any, node: PeriodStart) -> str:
    """Truncate a date; a time zone, which Postgres would take from a setting, has no part in it."""
    date, period = print_.sql(node, "this"), node.args["period"]
    if print_.target == "spark":
        return f"TRUNC({date}, '{period}')"
    return f"CAST(DATE_TRUNC('{period}', CAST({date} AS TIMESTAMP)) AS DATE)"


def _nan(print_: Any, node: NaN) -> str:
    number = print_.sql(node, "this")
    if print_.target == "postgres":
        return f"{number} = CAST('NaN' AS DOUBLE PRECISION)"
    return f"ISNAN({number})"


def _bytewise(print_: Any, node: Bytewise) -> str:
    """Set aside what a column or a setting says; Spark's cells come without their collation."""
    text = print_.sql(node, "this")
    collation = {"postgres": ' COLLATE "C"', "duckdb": ' COLLATE "binary"'}
    return f"{text}{collation.get(print_.target, '')}"


def _wide(print_: Any, node: Wide) -> str:
    kind = {"postgres": "DECIMAL", "spark": "DECIMAL(38, 0)"}.get(print_.target, "HUGEINT")
    return f"CAST({print_.sql(node, 'this')} AS {kind})"


def _rounded(print_: Any, node: Floor | Ceiling) -> str:
    """Round; Spark makes a whole number of 64 bits of it, which large doubles do not fit."""
    number, name = print_.sql(node, "this"), "FLOOR" if isinstance(node, Floor) else "CEIL"
    if print_.target != "spark":
        return f"{name}({number})"
    whole = f"CAST({name}({number}) AS DOUBLE)"
    return f"CASE WHEN ABS({number}) < 4503599627370496 THEN {whole} ELSE {number} END"


def _double(print_: Any, node: Double) -> str:
    kind = "DOUBLE PRECISION" if print_.target == "postgres" else "DOUBLE"
    return f"CAST('{node.this}' AS {kind})"


def _fenced(print_: Any, node: Fenced) -> str:
    """Postgres would write expressions out as often as they are used, exponentially often."""
    fence = " OFFSET 0" if print_.target == "postgres" else ""
    return f"({print_.sql(node, 'this')}{fence}) AS {quoted(node.args['alias'], print_.target)}"


def _stored_table(print_: Any, node: StoredTable) -> str:
    if node.this in print_.tables:
        return str(print_.tables[node.this])
    return f"{quoted(SCHEMA, print_.target)}.{quoted(node.this, print_.target)}"


_SPELLINGS: Mapping[type, Callable[[Any, Any], str]] = {
    HexInteger: _hex_integer,
    DateText: _date_text,
    Weekday: _weekday,
    PeriodStart: _period_start,
    NaN: _nan,
    Bytewise: _bytewise,
    Wide: _wide,
    Floor: _rounded,
    Ceiling: _rounded,
    Double: _double,
    Fenced: _fenced,
    StoredTable: _stored_table,
}

_DEEP = 8000  # frames of Python; the language allows 100 levels, each printed by some 20 calls


def _cte(print_: Any, node: exp.CTE) -> str:
    """Write a common table expression for Spark, which decides itself what it computes once."""
    return f"{print_.sql(node, 'alias')} AS {print_.wrap(node)}"


@cache
def _generator(dialect: Dialect, *, short: bool = False) -> type:
    base = SqlglotDialect.get_or_raise(dialect).generator_class
    spellings = {**base.TRANSFORMS, **_SPELLINGS}
    if dialect == "spark":
        spellings |= {exp.Literal: spark_literal, exp.CTE: _cte}
    bases = (PlainSpelling, base) if short else (base,)
    return type("SfumatoGenerator", bases, {"TRANSFORMS": spellings, "target": dialect})


def printed(
    tree: exp.Expression,
    dialect: Dialect,
    *,
    tables: Mapping[str, str] | None = None,
    pretty: bool = False,
) -> str:
    """Print a plan for an engine; ``tables`` gives the SQL of stored tables by name."""
    short = dialect == "duckdb" and not pretty
    generator = _generator(dialect, short=short)(dialect=dialect, pretty=pretty, comments=False)
    generator.tables = tables or {}
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))  # a deep question is a deep tree, of bounded depth
    try:
        text: str = generator.generate(tree, copy=False)
    finally:
        sys.setrecursionlimit(before)
    return text


def quoted(name: str, dialect: Dialect) -> str:
    """Quote an identifier."""
    if dialect == "duckdb":
        return quote(name)
    return exp.Identifier(this=name, quoted=True).sql(dialect)


def checked_text(text: str) -> str:
    """Refuse what not every engine can hold in a text."""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ParameterError(
            "A text in a question has a character that no database can hold (NUL, or half of a "
            "surrogate pair); leave it out."
        )
    return text
