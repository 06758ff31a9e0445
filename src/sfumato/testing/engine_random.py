"""Random tables and requests for the conformance kit: always the same ones.

Contract: :func:`random_cases` draws small tables full of unpleasant cells, and legal requests about
them, from a fixed seed. They try combinations that nobody thought of.
"""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    Filter,
    IsNull,
    Key,
    Logic,
    Not,
    Project,
    Relation,
)
from sfumato.ask.language.request import Bound, Grid, GroupsBound, Request, RowsBound, Total
from sfumato.testing.engine_requests import CENTRED, FAR, FINE, number, scan, text
from sfumato.testing.reference_engine import CheckTable

if TYPE_CHECKING:
    from sfumato.ask.language.language import Kind

_CELLS: dict[Kind, list[Any]] = {
    "integer": [0, 1, 2, -3, 10, 2**53 + 1, -(2**63), 2**63 - 1, None],
    "real": [0.0, -0.0, 0.5, -1.75, 3.25, 1e20, -1e300, math.inf, -math.inf, math.nan, None, 1e-40],
    "text": ["a", "b", "A", "ä", "", "'", "\\", "zz", None],
    "boolean": [True, False, None],
    "date": [dt.date(2020, 1, 31), dt.date(1999, 12, 31), dt.date(1, 1, 1), None],
}
_KINDS: dict[str, Kind] = {
    "i": "integer", "j": "integer", "x": "real", "y": "real",
    "s": "text", "b": "boolean", "d": "date",
}  # fmt: skip


def random_cases(count: int, seed: int = 0) -> tuple[dict[str, CheckTable], list[Request]]:
    """Draw a few tables and ``count`` requests about them."""
    draw = _Draw(seed)
    tables = {f"random_{i}": draw.table() for i in range(min(4, max(count, 1)))}
    names = list(tables)
    return tables, [draw.request(tables, names[i % len(names)]) for i in range(count)]


class _Draw:
    """Draws from a fixed seed."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def _pick(self, values: Any) -> Any:
        return values[int(self._rng.integers(len(values)))]

    def table(self) -> CheckTable:
        """Draw a table of up to 40 rows of a few people."""
        rows = int(self._rng.integers(1, 41))
        kind: Kind = self._pick(["integer", "text"])
        kinds: dict[str, Kind] = {"who": kind, **_KINDS}
        people = [1, 2, 3, None, -5] if kind == "integer" else ["p", "q", "", None, "ü"]
        cells = {"who": [self._pick(people) for _ in range(rows)]}
        for name, kind_ in _KINDS.items():
            cells[name] = [self._pick(_CELLS[kind_]) for _ in range(rows)]
        return CheckTable(kinds, cells, "who", bounds={"x": (-2, 4), "j": (0, 3)})

    def request(self, tables: dict[str, CheckTable], name: str) -> Request:
        """Draw a legal request about a table."""
        source = scan(tables, name)
        columns = list(source.columns)
        relation: Relation = source
        if self._rng.random() < 0.5:
            relation = Filter(relation, self._condition(columns, 2))
        if self._rng.random() < 0.3:
            kept = [(column.name, column) for column in columns]
            extra = self._number(columns, 2)
            relation = Project(relation, (*kept, ("extra", extra)))
            columns = [*columns, Column("extra", kind_of(extra))]
        keys = tuple(self._key(i, columns) for i in range(int(self._rng.integers(3))))
        totals = tuple(self._total(columns) for _ in range(int(self._rng.integers(1, 4))))
        bounds: list[Bound] = [
            GroupsBound(1, 1), GroupsBound(2, 3), GroupsBound(50, 1), RowsBound(1), RowsBound(3),
        ]  # fmt: skip
        spread = ((self._number(columns, 1), FINE),) if self._rng.random() < 0.2 else ()
        return Request(relation, keys, totals, self._pick(bounds), b"random", spread)

    def _of(self, columns: list[Column], kinds: set[str]) -> Column:
        found: Column = self._pick([column for column in columns if column.kind in kinds])
        return found

    def _key(self, place: int, columns: list[Column]) -> Key:
        column = self._of(columns, {"integer", "text", "boolean", "date"})
        values = None
        if self._rng.random() < 0.4:
            legal = list(_CELLS[column.kind])
            values = tuple(dict.fromkeys(self._pick(legal) for _ in range(3)))
        if values is None and self._rng.random() < 0.3:
            return Key(f"k{place}", Apply("floor", (self._number(columns, 1),)))
        return Key(f"k{place}", column, values)

    def _total(self, columns: list[Column]) -> Total:
        where = self._condition(columns, 1) if self._rng.random() < 0.3 else None
        form = self._pick(["rows", "present", "sum", "sum", "squares"])
        if form == "rows":
            return Total("rows", where=where)
        term = self._number(columns, 2)
        if form == "present":
            return Total("present", term, where=where)
        grid: Grid = self._pick([FINE, CENTRED] if form == "squares" else [FINE, CENTRED, FAR])
        return Total(form, term, grid, where)

    def _number(self, columns: list[Column], depth: int) -> Expression:
        if depth == 0 or self._rng.random() < 0.3:
            if self._rng.random() < 0.3:
                return number(self._pick([0, 1, -2, Fraction(1, 3), 10]))
            return self._of(columns, {"integer", "real"})
        parts = [self._number(columns, depth - 1) for _ in range(2)]
        form = self._pick(["+", "-", "*", "/", "floor", "ceil", "round", "abs", "least", "greatest",
                           "coalesce", "case", "length", "year", "weekday"])  # fmt: skip
        match form:
            case "+" | "-" | "*" | "/":
                return Arithmetic(form, parts[0], parts[1])
            case "least" | "greatest" | "coalesce":
                return Apply(form, tuple(parts))
            case "case":
                return Case(((self._condition(columns, depth - 1), parts[0]),), parts[1])
            case "length":
                return Apply("length", (self._of(columns, {"text"}),))
            case "year" | "weekday":
                return Apply(form, (self._of(columns, {"date"}),))
        return Apply(form, (parts[0],))

    def _condition(self, columns: list[Column], depth: int) -> Expression:
        sign = self._pick(["=", "<>", "<", "<=", ">", ">="])
        form = self._pick(["number", "text", "date", "truth", "null", "not", "and", "or"])
        if depth == 0 and form in {"not", "and", "or"}:
            form = "number"
        match form:
            case "text":
                return Compare(sign, self._of(columns, {"text"}), text(self._pick(["a", "ä", "'"])))
            case "date":
                day = Constant(dt.date(2000, 1, 1), "date")
                term: Expression = self._of(columns, {"date"})
                if self._rng.random() < 0.5:
                    term = Apply(self._pick(["week_start", "quarter_start"]), (term,))
                return Compare(sign, term, day)
            case "truth":
                return self._of(columns, {"boolean"})
            case "null":
                return IsNull(self._pick(columns))
            case "not":
                return Not(self._condition(columns, depth - 1))
            case "and" | "or":
                return Logic(form, tuple(self._condition(columns, depth - 1) for _ in range(2)))
        depth = max(depth - 1, 0)
        return Compare(sign, self._number(columns, depth), self._number(columns, depth))
