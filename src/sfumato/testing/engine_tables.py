"""The tables on which engines are checked: small, fixed and unpleasant.

Contract: :func:`tables` gives them by name. They hold what has broken engines: NULL and NaN,
infinities, denormal numbers, integers at the ends of 64 bits, texts with quotes and letters of
many scripts, dates at both ends of the calendar, names that look like SQL, tables without rows,
with one row, with equal rows, people whose numbers doubles would not tell apart.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from sfumato.ask.language.multiplication import MOST_JOINED
from sfumato.testing.reference_engine import CheckTable

NAMES = ('say "when"', "Robert'); DROP TABLE visits; --")
"""Names of a table and of a column that must stay names."""

_WARDS = ("north", "south", "East", "éast", "", "it's", "a\\b", 'q"q', "😀", None)
_REALS = (
    0.0, -0.0, 1.5, -2.25, 1e308, -1e308, math.inf, -math.inf, math.nan, None,
    5e-324, 1e-31, 2.0**53, -(2.0**60), 0.1, 99.99999999999999, 100.0, 1e-300,
)  # fmt: skip
_WHOLES = (0, 1, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None, 100)
_DAYS = (
    dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(1969, 12, 31),
)  # fmt: skip


def _cycled(values: tuple[Any, ...], count: int, stride: int) -> list[Any]:
    return [values[(i * stride) % len(values)] for i in range(count)]


def visits(rows: int = 240, people: int = 24) -> CheckTable:
    """Make the main table: people with many rows in many groups, and every unpleasant cell."""
    return CheckTable(
        {
            "who": "integer", "ward": "text", "cost": "real", "visits": "integer",
            "day": "date", "urgent": "boolean",
        },
        {
            "who": [None if i % 41 == 40 else (i * i + i // 7) % people - 3 for i in range(rows)],
            "ward": _cycled(_WARDS, rows, 7),
            "cost": _cycled(_REALS, rows, 5),
            "visits": _cycled(_WHOLES, rows, 3),
            "day": _cycled(_DAYS, rows, 2),
            "urgent": _cycled((True, False, None), rows, 1),
        },
        person="who",
        bounds={"cost": (-10, 100)},
    )  # fmt: skip


def _texts() -> CheckTable:
    people = ["ann", "Ann", "", "ön", "o'n", 'o"n', "\\n", "😀", None, "p\u0301", " ann ", "ann "]
    return CheckTable(
        {"who": "text", "word": "text", "n": "integer"},
        {
            "who": _cycled(tuple(people), 60, 5),
            "word": _cycled(
                ("Apple", "äpple", "APFEL", "a_b", "a%b", None, "", "x\ny", "ß"), 60, 1
            ),
            "n": list(range(60)),
        },
        person="who",
    )


def _groups() -> CheckTable:
    """Make 150 people who each have 5 rows in each of 8 groups, all alike but for a number."""
    rows = [(p, g, r) for p in range(150) for g in range(8) for r in range(5)]
    return CheckTable(
        {"who": "integer", "team": "integer", "n": "integer"},
        {
            "who": [p for p, _, _ in rows],
            "team": [g for _, g, _ in rows],
            "n": [r for _, _, r in rows],
        },
        person="who",
        bounds={"n": (0, 4)},
    )


def _named() -> CheckTable:
    return CheckTable(
        {"who": "integer", NAMES[1]: "text", 'a"b`c': "real", "select": "integer"},
        {
            "who": [1, 1, 2, 3],
            NAMES[1]: ["x", "'; DROP TABLE visits; --", "x", None],
            'a"b`c': [1.0, 2.0, 3.0, 4.0],
            "select": [1, 2, 3, 4],
        },
        person="who",
    )


def _dated() -> CheckTable:
    days = (dt.date(2000, 1, 1), dt.date(2000, 1, 2), None, dt.date(1900, 3, 1))
    return CheckTable(
        {"born": "date", "x": "real"},
        {"born": _cycled(days, 30, 3), "x": [float(i) for i in range(30)]},
        person="born",
        bounds={"x": (0, 30)},
    )


def _wide() -> CheckTable:
    """Make people who are one where their numbers are read as doubles, or clamped."""
    people = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63), None]
    people += [10**17 + i for i in range(20)]
    return CheckTable(
        {"who": "integer", "n": "integer"},
        {"who": _cycled(tuple(people), 135, 4), "n": list(range(135))},
        person="who",
        bounds={"n": (0, 134)},
    )


def _busy() -> CheckTable:
    """Make a person with more rows than are joined to several others, and one with few."""
    rows = MOST_JOINED + 40
    return CheckTable(
        {"who": "integer", "x": "real", "word": "text", "flag": "boolean", "n": "integer"},
        {
            "who": [1 if i % 50 else 2 for i in range(rows)],
            "x": _cycled((*_REALS, 1.0, 2.0), rows, 7),
            "word": _cycled(_WARDS, rows, 3),
            "flag": _cycled((True, None, False), rows, 1),
            "n": list(range(rows)),
        },
        person="who",
    )


def tables() -> dict[str, CheckTable]:
    """Give all the tables, with their names."""
    numbers: dict[str, Any] = {"who": "integer", "x": "real"}
    return {
        "visits": visits(),
        "texts": _texts(),
        "groups": _groups(),
        NAMES[0]: _named(),
        "dated": _dated(),
        "busy": _busy(),
        "wide": _wide(),
        "empty": CheckTable(numbers, {"who": [], "x": []}, "who", bounds={"x": (0, 1)}),
        "one": CheckTable(numbers, {"who": [7], "x": [0.5]}, "who", bounds={"x": (0, 1)}),
        "equal": CheckTable(numbers, {"who": [5] * 50, "x": [0.25] * 50}, "who"),
        "nobody": CheckTable(numbers, {"who": [None] * 4, "x": [1.0] * 4}, "who"),
        "rows": CheckTable(
            {"ward": "text", "x": "real"},
            {"ward": _cycled(_WARDS, 90, 7), "x": _cycled(_REALS, 90, 5)},
        ),
        "stays": CheckTable(
            {"who": "integer", "ward": "text", "nights": "integer"},
            {
                "who": [i % 9 - 3 for i in range(27)],
                "ward": _cycled(_WARDS, 27, 3),
                "nights": [i % 5 for i in range(27)],
            },
            person="who",
            bounds={"nights": (0, 4)},
        ),
        "wards": CheckTable(
            {"ward": "text", "beds": "integer", "floor": "real"},
            {
                "ward": ["north", "south", "éast", None, "it's"],
                "beds": [10, 20, 30, 40, 2**63 - 1],
                "floor": [1.0, 2.0, math.nan, 4.0, 1.0],
            },
            private=False,
            unique=(("ward",), ("beds",)),
        ),
    }
