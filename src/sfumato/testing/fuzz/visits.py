"""Small tables of visits at random, and what is left of them without one person.

Rows are nasty on purpose: NULL, NaN, infinities, huge numbers, texts with quotes, people without a
name, people with more rows than any bound keeps.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

Row = dict[str, Any]

WARDS = ("a", "b", "c")
BOUNDS = {"age": (0, 9), "cost": (-5, 5), "stays.nights": (0, 4)}
KEYS = {"ward": WARDS}
REALS = (0.0, -0.0, 0.1, 1.5, -7.25, 4.999, 1e-31, 1e300, -1e300, math.inf, -math.inf, math.nan)
WHOLES = (0, 1, 2, 3, 7, -4, 2**31, -(2**53), 2**53 + 1, 2**62)
TEXTS = ("", "x", "y", "it's", 'a"b', "x;y", "Å", "\\", "--", "日本")
DAYS = (dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(2021, 7, 4), dt.date(9999, 12, 31))

WARD_ROWS: list[Row] = [
    {"ward": "a", "floor": 1, "region": "in"},
    {"ward": "b", "floor": 2, "region": "out"},
    {"ward": "c", "floor": 2, "region": None},
]
TAG_ROWS: list[Row] = [{"ward": w, "tag": t} for w in ("a", "b") for t in ("red", "blue", "green")]

COLUMNS = {
    "visits": {
        "id": "integer", "ward": "text", "kind": "text", "age": "integer", "cost": "real",
        "raw": "real", "n": "integer", "ok": "boolean", "day": "date",
    },
    "stays": {"id": "integer", "ward": "text", "nights": "integer"},
    "wards": {"ward": "text", "floor": "integer", "region": "text"},
    "tags": {"ward": "text", "tag": "text"},
}  # fmt: skip
"""The columns of every table and their kinds."""


@dataclass(frozen=True)
class Tables:
    """The private rows of one state of the world; the public tables are always the same."""

    visits: Sequence[Row]
    stays: Sequence[Row]

    def by_name(self, *, by_row: bool) -> dict[str, tuple[dict[str, str], Sequence[Row]]]:
        """Return columns and rows of every table that a session of this unit has."""
        columns = dict(COLUMNS)
        rows: dict[str, Sequence[Row]] = {
            "visits": self.visits, "stays": self.stays, "wards": WARD_ROWS, "tags": TAG_ROWS
        }  # fmt: skip
        if by_row:
            columns["visits"] = {k: v for k, v in columns["visits"].items() if k != "id"}
            del rows["stays"]
        return {name: (columns[name], rows[name]) for name in rows}


def draw_visits(rng: random.Random, people: Iterable[int], most: int) -> list[Row]:
    """Draw rows of visits; some people have many, some rows belong to nobody."""
    rows = []
    for person in (*people, None):
        rows += [draw_visit(rng, person) for _ in range(rng.randint(1, most))]
    rng.shuffle(rows)
    return rows


def draw_visit(rng: random.Random, person: int | None) -> Row:
    """Draw one visit of a person."""

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.12 else value

    return {
        "id": person,
        "ward": maybe(rng.choice((*WARDS, "z"))),
        "kind": maybe(rng.choice(TEXTS)),
        "age": maybe(rng.randint(-3, 12)),
        "cost": maybe(rng.choice((*REALS, rng.uniform(-6, 6)))),
        "raw": maybe(rng.choice((*REALS, rng.uniform(-100, 100)))),
        "n": maybe(rng.choice(WHOLES)),
        "ok": maybe(rng.random() < 0.5),
        "day": maybe(rng.choice(DAYS)),
    }


def draw_stays(rng: random.Random, people: Iterable[int], most: int) -> list[Row]:
    """Draw rows of a second private table of the same people."""
    return [
        {"id": p, "ward": rng.choice((*WARDS, None)), "nights": rng.choice((None, -1, 0, 2, 9))}
        for p in people
        for _ in range(rng.randint(0, most))
    ]


def draw_tables(rng: random.Random, *, people: int = 3, most: int = 7) -> Tables:
    """Draw a small world; in most there is somebody who weighs as much as anybody may."""
    rows = draw_visits(rng, range(people), most)
    if rng.random() < 0.7:
        rows = [row for row in rows if row["id"] != 0] + heaviest(rng)
        rng.shuffle(rows)
    return Tables(rows, draw_stays(rng, range(people), 2))


def heaviest(rng: random.Random) -> list[Row]:
    """Give a person many rows everywhere, all at the ends of their bounds."""
    high = rng.random() < 0.5
    ends = {"age": 12, "cost": 6.0, "raw": 50.0} if high else {"age": 9, "cost": -6.0, "raw": -9.0}
    return [
        {**draw_visit(rng, 0), **ends, "ward": ward, "kind": kind, "ok": True, "n": n, "day": day}
        for n, ward in enumerate(WARDS)
        for kind, day in zip(TEXTS[:3], DAYS[1:], strict=True)
    ]


def neighbours(
    rng: random.Random, tables: Tables, *, by_row: bool, people: int = 3
) -> Iterator[Tables]:
    """Return the world without each person, or without some of the rows."""
    rows = tables.visits
    if by_row:
        for place in rng.sample(range(len(rows)), min(people, len(rows))):
            yield Tables([*rows[:place], *rows[place + 1 :]], tables.stays)
        return
    for person in range(people):
        yield Tables(
            [row for row in rows if row["id"] != person],
            [row for row in tables.stays if row["id"] != person],
        )
