"""Queries of ours, which are written in DuckDB's SQL, in the words of another engine.

Contract: :func:`spelt` parses a query and prints it for Postgres or Spark. The queries are made of
a small part of SQL over texts, and what engines do differently there is settled here:

* a whole text is held against a regular expression by each engine's own operator;
* Postgres has no cast that gives NULL where a text is no number, so the form is looked at first;
* Spark reads backslashes in a literal as escapes or not, by a setting, so a text with anything but
  plain characters is written there as its bytes;
* a subquery has a name, which Postgres demands up to version 15.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:/%+-]*")

_FORMS = {
    exp.DType.DOUBLE: r"^\s*[-+]?([0-9]{1,99}\.?[0-9]{0,99}|\.[0-9]{1,99})"
    r"([eE][-+]?[0-9]{1,2})?\s*$",
    exp.DType.BIGINT: r"^\s*[-+]?[0-9]{1,18}\s*$",
    exp.DType.INT128: r"^\s*[-+]?[0-9]{1,38}(\.0*)?\s*$",
}
"""Texts that Postgres reads as a number of a type without raising."""

_WIDE = {"postgres": "NUMERIC", "spark": "DECIMAL(38, 0)"}
"""Whole numbers of 38 digits."""


def spark_literal(_: Any, node: exp.Literal) -> str:
    """Write a text for Spark: plain, or as its bytes."""
    if not node.is_string:
        return str(node.this)
    if _PLAIN.fullmatch(node.this):
        return f"'{node.this}'"
    return f"CAST(X'{node.this.encode().hex()}' AS STRING)"


def _full_match(print_: Any, node: exp.RegexpFullMatch) -> str:
    text, pattern = print_.sql(node, "this"), node.expression.this
    end = r"\Z" if print_.target == "postgres" else r"\z"
    whole = print_.sql(exp.Literal.string(rf"\A(?:{pattern}){end}"))
    return f"({text} {'~' if print_.target == 'postgres' else 'RLIKE'} {whole})"


def _try_cast(print_: Any, node: exp.TryCast) -> str:
    text, kind = print_.sql(node, "this"), node.to.this
    to = _WIDE[print_.target] if kind == exp.DType.INT128 else print_.sql(node, "to")
    if print_.target == "spark":
        return f"TRY_CAST({text} AS {to})"
    form = print_.sql(exp.Literal.string(_FORMS[kind]))
    return f"CASE WHEN {text} ~ {form} THEN CAST({text} AS {to}) END"


def _sha256(print_: Any, node: exp.SHA2) -> str:
    text = print_.sql(node, "this")
    if print_.target == "spark":
        return f"SHA2({text}, 256)"
    return f"ENCODE(SHA256(CONVERT_TO({text}, 'UTF8')), 'hex') COLLATE \"C\""


def _data_type(print_: Any, node: exp.DataType) -> str:
    """Write DuckDB's times without a zone for Spark, where TIMESTAMP is an instant."""
    if print_.target == "spark" and node.this == exp.DType.TIMESTAMP:
        return "TIMESTAMP_NTZ"
    text: str = print_.datatype_sql(node)
    return text


_SPELLINGS: Mapping[type, Callable[[Any, Any], str]] = {
    exp.RegexpFullMatch: _full_match,
    exp.TryCast: _try_cast,
    exp.SHA2: _sha256,
    exp.DataType: _data_type,
}


@cache
def _generator(dialect: str) -> type:
    base = Dialect.get_or_raise(dialect).generator_class
    spellings = {**base.TRANSFORMS, **_SPELLINGS}
    if dialect == "spark":
        spellings[exp.Literal] = spark_literal
    return type("SfumatoTableGenerator", (base,), {"TRANSFORMS": spellings, "target": dialect})


@lru_cache(maxsize=256)
def spelt(query: str, dialect: str) -> str:
    """Write a query of ours for another engine."""
    tree = sqlglot.parse_one(query, dialect="duckdb")
    for number, inner in enumerate(tree.find_all(exp.Subquery)):
        if not inner.alias and isinstance(inner.parent, (exp.From, exp.Join)):
            inner.set("alias", exp.TableAlias(this=exp.to_identifier(f"sfumato_part_{number}")))
    text: str = _generator(dialect)(dialect=dialect, comments=False).generate(tree, copy=False)
    return text


def quoted_for(name: str, dialect: str) -> str:
    """Quote an identifier for an engine."""
    return exp.Identifier(this=name, quoted=True).sql(dialect)


def literal_for(text: str, dialect: str) -> str:
    """Write a text as a literal for an engine."""
    literal = exp.Literal.string(text)
    return spark_literal(None, literal) if dialect == "spark" else literal.sql(dialect)
