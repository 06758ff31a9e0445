"""Questions at random: texts of SQL about the tables of `visits.py`, and calls in Python.

Most can be answered, some are refused. They nest, join, group by public keys and by keys that are
found, and use every aggregate there is.
"""

# Texts here are questions for our own parser; nothing of them reaches an engine.
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

JOINS = {
    "twice": "(SELECT v.id, v.ward, kind, age, cost, raw, nights AS n, ok, day FROM visits AS v "
    "JOIN stays AS s ON v.id = s.id) AS j",
    "outer": "(SELECT v.id, v.ward, kind, age, cost, raw, nights AS n, ok, day FROM visits AS v "
    "LEFT JOIN stays AS s ON v.id = s.id AND v.ward = s.ward) AS j",
    "many": "(SELECT v.id, v.ward, tag AS kind, age, cost, raw, n, ok, day FROM visits AS v "
    "JOIN tags AS t ON v.ward = t.ward) AS j",
    "itself": "(SELECT v.id, w.ward, v.kind, v.age, w.cost, v.raw, v.n, v.ok, v.day FROM "
    "visits AS v JOIN visits AS w ON v.id = w.id) AS j",
}
PUBLIC_JOINS = (
    (
        "(SELECT v.id, v.ward, region AS kind, floor AS age, cost, raw, n, ok, day "
        "FROM visits AS v LEFT JOIN wards AS w ON v.ward = w.ward) AS j"
    ),
    (
        "(SELECT v.id, v.ward, region AS kind, age, cost, raw, floor AS n, ok, day "
        "FROM visits AS v JOIN wards AS w ON v.ward = w.ward) AS j"
    ),
)
DISTINCT = (
    "(SELECT DISTINCT id, ward, kind, age, FLOOR(cost) AS cost, age AS raw, n, ok, day "
    "FROM visits) AS v"
)


class Grammar:
    """Writes questions about visits, stays, wards and tags."""

    def __init__(self, rng: random.Random, *, by_row: bool = False) -> None:
        self.rng, self.by_row = rng, by_row

    def pick(self, *ways: str | Callable[[], str]) -> str:
        """Choose one of several ways to go on."""
        way = self.rng.choice(ways)
        return way if isinstance(way, str) else way()

    def number(self, depth: int = 2) -> str:
        """Write a number."""
        leaf = ("age", "cost", "raw", "n", "2", "0.5", "-3", "age", "cost", "1e3")
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice(leaf)
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / {y})", f"ABS({x})",
            f"FLOOR({x})", f"LEAST({x}, {y})", f"GREATEST({x}, {y})", f"COALESCE({x}, {y})",
            f"CLAMP({x}, -2, 3)", f"CLAMP({x}, 0, 1)", "LENGTH(kind)", "MONTH(day)",
            "EXTRACT(DOW FROM day)", lambda: f"CASE WHEN {self.condition(1)} THEN {x} ELSE {y} END",
            lambda: f"CASE WHEN {self.condition(1)} THEN {x} END", f"ROUND({x})", f"CEIL({x})",
            f"NULLIF({x}, 0)",
        )  # fmt: skip

    def condition(self, depth: int = 2) -> str:
        """Write a condition."""
        x, y = self.number(1), self.number(1)
        sign = self.rng.choice(("=", "<>", "<", "<=", ">", ">="))
        simple = (
            f"{x} {sign} {y}", f"{x} BETWEEN -1 AND 4", "ward = 'a'", "kind IN ('x', 'y')", "ok",
            f"{x} IS NULL", "kind LIKE '%x%'", "day >= DATE '2020-01-01'", "kind = 'it''s'",
            "NOT ok", "ward IS NOT NULL", "raw = raw", "kind < 'm'", "cost / age > 1",
            "DATE_TRUNC('week', day) < DATE '2020-01-01'",
        )  # fmt: skip
        if depth == 0 or self.rng.random() < 0.5:
            return self.rng.choice(simple)
        left, right = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})")

    def measure(self) -> str:
        """Write an aggregate."""
        x = self.number()
        ways = [
            "COUNT(*)", "COUNT(*)", f"COUNT({x})", f"SUM({x})", f"SUM(CLAMP({x}, -4, 4))",
            f"AVG(CLAMP({x}, 0, 5))", "SUM(age)", "AVG(cost)", f"AVG({x})",
            f"VARIANCE(CLAMP({x}, -1, 6))", "STDDEV(age)", "MEDIAN(age)", "MIN(cost)",
            f"QUANTILE(CLAMP({x}, 0, 8), 0.25)", "MAX(age)", "COUNT(kind)", "COUNT(ok)",
            "VAR_POP(cost)", "STDDEV_POP(age)", "SUM(cost) / COUNT(*)",
            "CORR(age, cost)", f"COVAR_SAMP(age, CLAMP({x}, -1, 2))",
        ]  # fmt: skip
        if not self.by_row:
            ways += ["COUNT(DISTINCT id)"] * 3
        found = self.rng.choice(ways)
        if self.rng.random() < 0.2 and "DISTINCT" not in found and "/" not in found:
            found += f" FILTER (WHERE {self.condition(1)})"
        return found

    def key(self) -> str:
        """Write what to group by."""
        return self.rng.choice((
            "ward", "ward", "kind", "age", "ok", "day", "FLOOR(cost)", "MONTH(day)", "n",
            "CASE WHEN age > 4 THEN 'old' ELSE 'young' END", "LOWER(kind)", "YEAR(day)",
            "CASE WHEN cost > 0 THEN 1 ELSE 0 END", "DATE_TRUNC('month', day)",
            "EXTRACT(QUARTER FROM day)",
        ))  # fmt: skip

    def relation(self) -> str:
        """Write FROM … with every column of visits still in reach under its own name."""
        ways = ["visits"] * 3 + [f"(SELECT * FROM visits WHERE {self.condition(1)}) AS v"]
        if not self.by_row:
            ways += [DISTINCT, self.per_person(), self.per_person(), *JOINS.values()]
            ways += [self.per_person_twice()]
        ways += PUBLIC_JOINS
        if self.by_row:
            ways = [way.replace("v.id, ", "") for way in ways]
        return self.rng.choice(ways)

    def per_person(self, source: str = "visits") -> str:
        """Write one row per person and ward."""
        extreme = self.rng.choice(("MIN", "MAX"))
        return (
            f"(SELECT id, ward, ward AS kind, COUNT(*) AS age, "
            f"SUM(CLAMP({self.number(1)}, -3, 3)) AS cost, AVG(CLAMP(raw, 0, 2)) AS raw, "
            f"{extreme}(age) AS n, SUM(CLAMP(n, 0, 1)) > 1 AS ok, DATE '2020-01-01' AS day "
            f"FROM {source} WHERE {self.condition(1)} GROUP BY id, ward HAVING COUNT(*) >= 1) AS p"
        )

    def per_person_twice(self) -> str:
        """Write one row per person and ward of what was joined or condensed already."""
        inner = self.rng.choice((*JOINS.values(), DISTINCT, self.per_person()))
        return self.per_person(inner)

    def question(self) -> str:
        """Write a whole question."""
        measures = [self.measure() for _ in range(self.rng.randint(1, 3))]
        keys = [self.key() for _ in range(self.rng.choice((0, 0, 1, 1, 1, 2)))]
        relation, begin = self.relation(), ""
        if relation.startswith("(") and self.rng.random() < 0.3:
            body, _, name = relation.rpartition(" AS ")
            begin, relation = f"WITH {name} AS {body} ", name
        text = f"{begin}SELECT {', '.join(measures)} FROM {relation}"
        if self.rng.random() < 0.4:
            text += f" WHERE {self.condition()}"
        return text + (f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else "")

    def parts(self) -> list[str]:
        """Write questions about parts of the rows, some disjoint, to be asked together."""
        measure = self.rng.choice(("COUNT(*)", "SUM(age)", "SUM(cost)"))
        cuts = sorted(self.rng.sample(range(-2, 12), 2))
        name = self.rng.choice(("age", "n"))
        parts = [
            f"{name} < {cuts[0]}", f"{name} >= {cuts[0]} AND {name} < {cuts[1]}",
            self.pick(f"{name} >= {cuts[1]}", f"{name} > {cuts[0]}", f"{name} < {cuts[1]}",
                      f"{name} IS NULL", "ward IS NOT NULL"),
        ]  # fmt: skip
        return [f"SELECT {measure} FROM visits WHERE {part}" for part in parts]

    def call(self) -> Callable[..., Any]:
        """Write a question in Python: a function of a session and a price."""
        rng = self.rng
        low = rng.randint(-2, 2)
        where = self.condition(1)
        columns: Any = rng.choice(("age", "ward", ("ward", "age"), "ok"))
        bins = {"age": [0, rng.randint(1, 4), 9]}
        sums: Any = rng.choice((None, "cost", ("age", "cost")))

        def binned(session: Any, **price: Any) -> Any:
            use = bins if "age" in columns else None
            return session.histogram(columns, bins=use, sums=sums, where=where, **price)

        def chained(session: Any, **price: Any) -> Any:
            from sfumato.ask.fluent.terms import col  # noqa: PLC0415 - tests only

            asked = session.table().where(col("age") > low)
            if rng.random() < 0.5 and not self.by_row:
                return session.ask(asked.group_by("ward").people().sum("cost"), **price)
            return session.ask(asked.group_by("ward").count().sum("cost").avg("age"), **price)

        return rng.choice((binned, chained))
