"""Few words to write requests with, for every list of them that engines are tried on."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ask.language.language import Constant, Expression, Key, Relation, Scan
from sfumato.ask.language.request import Bound, Grid, GroupsBound, Request, Total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.testing.reference_engine import CheckTable

SALT = b"conformance"
FINE = Grid((Fraction(-10), Fraction(100)), Fraction(1, 1024), Fraction(0))
CENTRED = Grid((Fraction(-10), Fraction(100)), Fraction(1, 4096), Fraction(45))
FAR = Grid((Fraction(-(2**53)), Fraction(2**53)), Fraction(1), Fraction(0))
ALL = GroupsBound(1000, 1000)


def scan(tables: Mapping[str, CheckTable], name: str) -> Scan:
    """Scan all columns of a table."""
    table = tables[name]
    return Scan(name, tuple(table.column(known) for known in table.kinds if known != table.person))


def number(value: Fraction | float) -> Constant:
    """Write a number."""
    exact = Fraction(value)
    return Constant(int(exact), "integer") if exact.denominator == 1 else Constant(exact, "real")


def text(value: str | None) -> Constant:
    """Write a text."""
    return Constant(value, "text")


def summed(term: Expression, grid: Grid = FINE, where: Expression | None = None) -> Total:
    """Ask for the sum of a term."""
    return Total("sum", term, grid, where)


def counted(
    relation: Relation,
    *keys: Key,
    totals: Sequence[Total] = (Total("rows"),),
    bound: Bound = ALL,
    spread: tuple[tuple[Expression, Grid], ...] = (),
) -> Request:
    """Make a request."""
    return Request(relation, keys, tuple(totals), bound, SALT, spread)
