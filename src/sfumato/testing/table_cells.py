"""The unpleasant table of `check_table_engine`: cells of all types, and the text of each.

Texts are written down, not computed: they are what every engine has to agree on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

ROWS = 60


@dataclass(frozen=True)
class CheckColumn:
    """A column: its type in the words of DuckDB, its cells, and the text of each cell."""

    kind: str
    cells: tuple[Any, ...]
    texts: tuple[str, ...]


_DOUBLES = (
    (1.0, "1.0"), (0.1, "0.1"), (-0.0, "-0.0"), (1e15, "1000000000000000.0"), (1e16, "1e+16"),
    (1234567890123456.0, "1234567890123456.0"), (1e-4, "0.0001"), (1e-5, "1e-05"),
    (1.5e-7, "1.5e-07"), (12345678.9, "12345678.9"), (1e100, "1e+100"), (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"), (2.0**-44, "5.684341886080802e-14"),
    (2e-3, "0.002"), (0.30000000000000004, "0.30000000000000004"), (2.2e-322, "2.2e-322"),
    (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, ""), (None, ""),
)  # fmt: skip
_FLOATS = (
    (0.1, "0.1"), (1e-4, "0.0001"), (12345679.0, "12345679.0"), (1.5e20, "1.5e+20"), (None, ""),
    (1.0, "1.0"),
)  # fmt: skip
_TEXTS = tuple(
    (text, text or "")
    for text in (
        "flu", "Flu", "flu ", " flu", "a,b", 'say "x"', "line\nbreak", "cr\rx", "crlf\r\nz", "",
        "back\\slash", "it's", "ünïcode", "ﬁ", "\t", "007", "NULL", "null", "{}", "%s $1", None,
    )
)  # fmt: skip
_DATES = (
    (date(2020, 2, 29), "2020-02-29"), (date(1, 1, 1), "0001-01-01"),
    (date(9999, 12, 31), "9999-12-31"), (None, ""),
)  # fmt: skip
_MOMENTS = (
    (datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05"),  # noqa: DTZ001 - without a zone
    (datetime(2020, 1, 2, 3, 4, 5, 500000), "2020-01-02 03:04:05.5"),  # noqa: DTZ001 - same
    (datetime(1969, 12, 31, 23, 59, 59, 1), "1969-12-31 23:59:59.000001"),  # noqa: DTZ001 - same
    (None, ""),
)
_INSTANTS = (
    (datetime(2020, 10, 25, 0, 30, tzinfo=UTC), "2020-10-25 00:30:00+00"),
    (datetime(2020, 10, 25, 1, 30, tzinfo=UTC), "2020-10-25 01:30:00+00"),
    (None, ""),
)
_DECIMALS = (
    (Decimal("1.50"), "1.50"), (Decimal("0.00"), "0.00"), (Decimal("-12345678.90"), "-12345678.90"),
    (None, ""),
)  # fmt: skip
_FINE = (
    (Decimal("0.0000000001"), "0.0000000001"), (Decimal("-0.0000000020"), "-0.0000000020"),
    (Decimal("1.0000000000"), "1.0000000000"), (None, ""),
)  # fmt: skip
_TRUTHS = ((True, "true"), (False, "false"), (None, ""))
_WHOLES = ((2**63 - 1, str(2**63 - 1)), (-(2**63), str(-(2**63))), (0, "0"), (None, ""))
_AGES = ((30, "30"), (31, "31"), (45, "45"), (None, ""))
_AREAS = (("1010", "1010"), ("1020", "1020"), ("9000", "9000"))


def check_columns() -> dict[str, CheckColumn]:
    """Return the columns; every value occurs, in an order without a pattern."""
    people = tuple((f"p{number}", f"p{number}") for number in range(ROWS))
    return {
        "person": _column("VARCHAR", people, 1),
        "age": _column("INTEGER", _AGES, 7),
        "area": _column("VARCHAR", _AREAS, 11),
        "disease": _column("VARCHAR", _TEXTS, 13),
        "income": _column("DOUBLE", _DOUBLES, 17),
        "share": _column("FLOAT", _FLOATS, 19),
        "born": _column("DATE", _DATES, 23),
        "seen": _column("TIMESTAMP", _MOMENTS, 29),
        "logged": _column("TIMESTAMP WITH TIME ZONE", _INSTANTS, 31),
        "price": _column("DECIMAL(10,2)", _DECIMALS, 37),
        "dose": _column("DECIMAL(20,10)", _FINE, 41),
        "member": _column("BOOLEAN", _TRUTHS, 43),
        "number": _column("BIGINT", _WHOLES, 47),
    }


def _column(kind: str, pairs: tuple[tuple[Any, str], ...], step: int) -> CheckColumn:
    chosen = [pairs[(i * step + i * i // 5) % len(pairs)] for i in range(ROWS)]
    if step == 1:
        chosen = list(pairs)
    chosen[: min(len(pairs), ROWS)] = pairs[:ROWS]
    return CheckColumn(kind, tuple(c for c, _ in chosen), tuple(t for _, t in chosen))
