"""SQL at random: much of it right, some of it wrong, all of it made of the words of SQL."""

from __future__ import annotations

COLUMNS = (
    "age", "cost", "ward", "weight", "days", "smoker", "day", "name", "patient", "v.age",
    "v.patient", "nights", "region", "nope",
)  # fmt: skip
LITERALS = (
    "0", "1", "2.5", "-3", "1e9", "1e400", "'east'", "''", "'it''s'", "'2020-01-01'", "NULL",
    "TRUE", "DATE '2020-01-01'", "?", "$1",
)  # fmt: skip
FUNCTIONS = (
    "ABS", "FLOOR", "CEIL", "ROUND", "LEAST", "GREATEST", "COALESCE", "LOWER", "UPPER", "LENGTH",
    "YEAR", "CLAMP", "NULLIF", "SUBSTRING", "IF", "RANDOM", "NOW", "md5", "getenv", "SQRT",
)  # fmt: skip
AGGREGATES = (
    "COUNT", "SUM", "AVG", "VARIANCE", "STDDEV", "MEDIAN", "MIN", "MAX", "MODE", "LIST",
)  # fmt: skip
SOURCES = (
    "visits", "visits v", "visits AS v", "stays", "wards", "rows", "missing", "read_csv('x')",
    "visits v JOIN wards USING (ward)", "visits v JOIN stays s ON v.patient = s.patient",
    "visits v LEFT JOIN stays USING (patient)", "visits, stays",
    "wards JOIN visits v USING (ward)",
)  # fmt: skip


def term(rng, depth):
    """Make a value."""
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(COLUMNS if rng.random() < 0.7 else LITERALS)
    match rng.randrange(6):
        case 0 | 1:
            sign = rng.choice(["+", "-", "*", "/", "%", "||", "//"])
            return f"({term(rng, depth - 1)} {sign} {term(rng, depth - 1)})"
        case 2:
            inner = ", ".join(term(rng, depth - 1) for _ in range(rng.randint(0, 3)))
            return f"{rng.choice(FUNCTIONS)}({inner})"
        case 3:
            test, one, other = condition(rng, depth - 1), term(rng, depth - 1), term(rng, 0)
            return f"CASE WHEN {test} THEN {one} ELSE {other} END"
        case 4:
            kind = rng.choice(["INT", "DOUBLE", "TEXT", "DATE", "BLOB"])
            return f"CAST({term(rng, depth - 1)} AS {kind})"
    return aggregate(rng, depth - 1)


def condition(rng, depth):
    """Make a condition."""
    if depth > 0 and rng.random() < 0.4:
        one, other = condition(rng, depth - 1), condition(rng, depth - 1)
        return rng.choice([f"({one} AND {other})", f"({one} OR {other})", f"NOT {one}"])
    a, b, c = (term(rng, max(depth - 1, 0)) for _ in range(3))
    sign = rng.choice(["=", "<>", "<", "<=", ">", ">=", "LIKE"])
    shapes = [f"{a} {sign} {b}", f"{a} IS NULL", f"{a} BETWEEN {b} AND {c}", f"{a} IN ({b}, {c})"]
    if rng.random() < 0.05:
        return "patient IN (SELECT patient FROM stays)"
    return rng.choice([*shapes, shapes[0], shapes[0], "age >= 18", "ward = 'east'"])


def aggregate(rng, depth):
    """Make an aggregate."""
    inner = term(rng, max(depth, 0))
    return rng.choice([
        "COUNT(*)", "COUNT(*)", "COUNT(DISTINCT patient)", "AVG(cost)",
        f"{rng.choice(AGGREGATES)}({inner})", f"QUANTILE({inner}, {rng.choice(LITERALS)})",
        f"SUM({inner}) OVER ()", f"COUNT(*) FILTER (WHERE {condition(rng, 0)})",
    ])  # fmt: skip


def select(rng, depth):
    """Make a SELECT."""
    items = [
        aggregate(rng, 1) if rng.random() < 0.6 else rng.choice([term(rng, 1), "*", "ward"])
        for _ in range(rng.randint(1, 3))
    ]
    shown = [item + rng.choice(["", "", " AS x", " AS age", ' AS "q""; --"']) for item in items]
    sql = "SELECT " + rng.choice(["", "", "", "DISTINCT "]) + ", ".join(shown)
    nested = depth > 0 and rng.random() < 0.4
    sql += f" FROM ({select(rng, depth - 1)}) v" if nested else f" FROM {rng.choice(SOURCES)}"
    if rng.random() < 0.5:
        sql += f" WHERE {condition(rng, 2)}"
    if rng.random() < 0.5:
        keys = [rng.choice(["ward", "smoker", "1", "patient", term(rng, 1)]) for _ in range(2)]
        sql += " GROUP BY " + ", ".join(keys[: rng.randint(1, 2)])
        if rng.random() < 0.3:
            sql += f" HAVING {condition(rng, 1)}"
    if rng.random() < 0.2:
        sql += f" ORDER BY {term(rng, 1)}" + rng.choice(["", " DESC", " LIMIT 3"])
    return sql


def likely(rng):
    """Make a question that can often be answered."""
    measures = [
        "COUNT(*)", "COUNT(DISTINCT patient)", "AVG(cost)", "SUM(CLAMP(weight, 0, 9))",
        f"MAX(age + {rng.choice(LITERALS)})", "MEDIAN(v.days / 2)", "STDDEV(LEAST(cost, age))",
    ]  # fmt: skip
    source = rng.choice([
        "visits v", "visits v JOIN wards w ON v.ward = w.ward AND w.beds > 3",
        "(SELECT * FROM visits) v", ("(SELECT patient, age, cost, days, smoker, ward, name, weight"
        " FROM visits WHERE age > 2) v"),
    ])  # fmt: skip
    key = rng.choice(["v.ward", "smoker", "FLOOR(v.age / 10)", "name", "v.age > 3"])
    tests = ["v.age >= 18", "cost < 5.5", "name LIKE 'a%'", "smoker", "v.days IS NOT NULL"]
    where = " AND ".join(rng.sample(tests, rng.randint(1, 3)))
    where = where if rng.random() < 0.8 else condition(rng, 1)
    return f"SELECT {', '.join(rng.sample(measures, 2))} FROM {source} WHERE {where} GROUP BY {key}"


ODD = (
    "'", '"', ";", "--", "/*", "*/", "(", ")", ",", "*", "\0", "\\", "$$", "`", "{{", "é", "\u202e",
    " OVER () ", " UNION ", " SELECT ", "::", "->", "[", "]", "?", "@x", "#", "0x", "1e", "..",
    " NULL ", "\ud800", " LATERAL ", " TABLESAMPLE ", "E'\\n'", "U&'\\0041'", "\t", "%", "!",
)  # fmt: skip


def mutated(rng, sql):
    """Cut and insert at a few places."""
    for _ in range(rng.randint(1, 4)):
        place, cut = rng.randrange(len(sql) + 1), rng.choice([0, 0, 1, 3, 8])
        new = rng.choice(ODD) if rng.random() < 0.7 else sql[place : place + 12]
        sql = sql[:place] + new + sql[place + cut :]
    return sql
