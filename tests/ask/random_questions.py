"""Questions and small tables at random, for tests that look for a counterexample.

A question is a text of SQL about the tables below; most can be answered, some are refused. Rows are
nasty on purpose: NULL, NaN, infinities, huge numbers, texts with quotes, people without a name.
"""

from __future__ import annotations

import datetime as dt
import math

WARDS = ("a", "b", "c")
BOUNDS = {"age": (0, 9), "cost": (-5, 5), "stays.nights": (0, 4)}
KEYS = {"ward": WARDS}
REALS = (0.0, -0.0, 0.1, 1.5, -7.25, 4.999, 1e-31, 1e300, -1e300, math.inf, -math.inf, math.nan)
WHOLES = (0, 1, 2, 3, 7, -4, 2**31, -(2**53), 2**53 + 1, 2**62)
TEXTS = ("", "x", "y", "it's", 'a"b', "x;y", "Å", "\\", "--", "日本")
DAYS = (dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(2021, 7, 4), dt.date(9999, 12, 31))


def visits(rng, people, most):
    """Make rows of visits; some people have many, some rows belong to nobody."""
    rows = []
    for person in (*people, None):
        rows += [_visit(rng, person) for _ in range(rng.randint(1, most))]
    rng.shuffle(rows)
    return rows


def _visit(rng, person):
    def maybe(value):
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


def stays(rng, people, most):
    """Make rows of a second private table of the same people."""
    return [
        {"id": p, "ward": rng.choice((*WARDS, None)), "nights": rng.choice((None, -1, 0, 2, 9))}
        for p in people
        for _ in range(rng.randint(0, most))
    ]


WARD_ROWS = [
    {"ward": "a", "floor": 1, "region": "in"},
    {"ward": "b", "floor": 2, "region": "out"},
    {"ward": "c", "floor": 2, "region": None},
]
TAG_ROWS = [{"ward": w, "tag": t} for w in ("a", "b") for t in ("red", "blue", "green")]


class Grammar:
    """Writes questions about visits, stays, wards and tags."""

    def __init__(self, rng, *, by_row=False):
        self.rng, self.by_row = rng, by_row

    def pick(self, *ways):
        way = self.rng.choice(ways)
        return way() if callable(way) else way

    def number(self, depth=2):
        leaf = ("age", "cost", "raw", "n", "2", "0.5", "-3", "age", "cost", "1e3")
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice(leaf)
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / {y})", f"ABS({x})",
            f"FLOOR({x})", f"LEAST({x}, {y})", f"GREATEST({x}, {y})", f"COALESCE({x}, {y})",
            f"CLAMP({x}, -2, 3)", f"CLAMP({x}, 0, 1)", "LENGTH(kind)", "MONTH(day)",
            lambda: f"CASE WHEN {self.condition(1)} THEN {x} ELSE {y} END",
            lambda: f"CASE WHEN {self.condition(1)} THEN {x} END", f"ROUND({x})", f"CEIL({x})",
            f"NULLIF({x}, 0)",
        )  # fmt: skip

    def condition(self, depth=2):
        x, y = self.number(1), self.number(1)
        sign = self.rng.choice(("=", "<>", "<", "<=", ">", ">="))
        simple = (
            f"{x} {sign} {y}", f"{x} BETWEEN -1 AND 4", "ward = 'a'", "kind IN ('x', 'y')", "ok",
            f"{x} IS NULL", "kind LIKE '%x%'", "day >= DATE '2020-01-01'", "kind = 'it''s'",
            "NOT ok", "ward IS NOT NULL", "raw = raw", "kind < 'm'", "cost / age > 1",
        )  # fmt: skip
        if depth == 0 or self.rng.random() < 0.5:
            return self.rng.choice(simple)
        one, other = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})")

    def measure(self):
        x = self.number()
        ways = [
            "COUNT(*)", "COUNT(*)", f"COUNT({x})", f"SUM({x})", f"SUM(CLAMP({x}, -4, 4))",
            f"AVG(CLAMP({x}, 0, 5))", "SUM(age)", "AVG(cost)", f"AVG({x})",
            f"VARIANCE(CLAMP({x}, -1, 6))", "STDDEV(age)", "MEDIAN(age)", "MIN(cost)",
            f"QUANTILE(CLAMP({x}, 0, 8), 0.25)", "MAX(age)", "COUNT(kind)", "COUNT(ok)",
        ]  # fmt: skip
        if not self.by_row:
            ways += ["COUNT(DISTINCT id)"] * 3
        found = self.rng.choice(ways)
        if self.rng.random() < 0.2 and "DISTINCT" not in found:
            found += f" FILTER (WHERE {self.condition(1)})"
        return found

    def key(self):
        return self.rng.choice((
            "ward", "ward", "kind", "age", "ok", "day", "FLOOR(cost)", "MONTH(day)", "n",
            "CASE WHEN age > 4 THEN 'old' ELSE 'young' END", "LOWER(kind)", "YEAR(day)",
            "CASE WHEN cost > 0 THEN 1 ELSE 0 END",
        ))  # fmt: skip

    def relation(self):
        """Give FROM … with every column of visits still in reach under its own name."""
        ways = [
            "visits", "visits", "visits",
            f"(SELECT * FROM visits WHERE {self.condition(1)}) AS v",
        ]  # fmt: skip
        if not self.by_row:
            ways += [
                (
                    "(SELECT DISTINCT id, ward, kind, age, FLOOR(cost) AS cost, age AS raw, n, ok, "
                    "day FROM visits) AS v"
                ),
                self.per_person(),
                self.per_person(),
                (
                    "(SELECT v.id, v.ward, kind, age, cost, raw, nights AS n, ok, day FROM "
                    "visits AS v JOIN stays AS s ON v.id = s.id) AS j"
                ),
                (
                    "(SELECT v.id, v.ward, kind, age, cost, raw, nights AS n, ok, day FROM "
                    "visits AS v LEFT JOIN stays AS s ON v.id = s.id AND v.ward = s.ward) AS j"
                ),
                (
                    "(SELECT v.id, v.ward, tag AS kind, age, cost, raw, n, ok, day FROM "
                    "visits AS v JOIN tags AS t ON v.ward = t.ward) AS j"
                ),
            ]
        ways += [
            (
                "(SELECT v.id, v.ward, region AS kind, floor AS age, cost, raw, n, ok, day FROM "
                "visits AS v LEFT JOIN wards AS w ON v.ward = w.ward) AS j"
            ),
            (
                "(SELECT v.id, v.ward, region AS kind, age, cost, raw, floor AS n, ok, day FROM "
                "visits AS v JOIN wards AS w ON v.ward = w.ward) AS j"
            ),
        ]
        if self.by_row:
            ways = [way.replace("v.id, ", "") for way in ways]
        return self.rng.choice(ways)

    def per_person(self):
        one = self.rng.choice(("MIN", "MAX"))
        return (
            f"(SELECT id, ward, ward AS kind, COUNT(*) AS age, "
            f"SUM(CLAMP({self.number(1)}, -3, 3)) AS cost, AVG(CLAMP(raw, 0, 2)) AS raw, "
            f"{one}(age) AS n, SUM(CLAMP(n, 0, 1)) > 1 AS ok, DATE '2020-01-01' AS day FROM visits "
            f"WHERE {self.condition(1)} GROUP BY id, ward HAVING COUNT(*) >= 1) AS p"
        )

    def question(self):
        measures = [self.measure() for _ in range(self.rng.randint(1, 3))]
        keys = [self.key() for _ in range(self.rng.choice((0, 0, 1, 1, 1, 2)))]
        text = f"SELECT {', '.join(measures)} FROM {self.relation()}"
        if self.rng.random() < 0.4:
            text += f" WHERE {self.condition()}"
        return text + (f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else "")
