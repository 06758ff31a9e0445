"""The compiled kernel keeps exactly the rows that the definition of the choice names."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sfumato.ask.engines import (
    bounded,
    bounded_codes,
    bounded_kernels,
    bounded_summing,
    bounded_texts,
)
from sfumato.ask.engines.bounded_arrow import batches
from sfumato.ask.engines.bounded_summing import ContributionColumns, bounded_totals
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Column,
    Compare,
    Constant,
    Filter,
    Key,
    Not,
    Scan,
)
from sfumato.ask.language.request import Grid, GroupsBound, Request, RowBound, RowsBound, Total
from sfumato.ask.plan import choice as choosing
from sfumato.errors import DataError

SALT = b"0123456789abcdef"
TYPES = {"integer": "BIGINT", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE"}


def sort_key(keys):
    return tuple((key is not None, "" if key is None else key) for key in keys)


def contributed(row, shape):
    numbers = row[1 + len(shape.keys) :]
    return [1 if place < 0 else numbers[place] for place in shape.numbers]


def reference(rows, shape, limits, salt=SALT, numbers=choosing.numbers):
    """Bound and add up row by row, as the definition reads."""
    width = len(shape.keys)
    people = defaultdict(list)
    for row in rows:
        people[row[0]].append(row)
    kept = []
    for person, mine in people.items():
        u = numbers(salt, "p" + choosing.value_text(person))

        def group(keys):
            texts = choosing.SEPARATOR.join(choosing.value_text(key) for key in keys)
            return numbers(salt, "g" + texts)

        def row_key(row, start, u=u):
            values = contributed(row, shape)
            return (choosing.row_number(u, start, values), sort_key(row[1 : 1 + width]), values)

        if isinstance(limits, RowsBound):
            mine.sort(key=lambda row: row_key(row, group(row[1 : 1 + width])[2]))
            kept += mine[: limits.rows]
            continue
        groups = defaultdict(list)
        for row in mine:
            groups[row[1 : 1 + width]].append(row)
        ranked = sorted(groups, key=lambda k, u=u: (choosing.rank(u, group(k)), sort_key(k)))
        for keys in ranked[: limits.groups]:
            kept += sorted(groups[keys], key=lambda row: row_key(row, 1))[: limits.rows]
    answer = {}
    for row in kept:
        values = contributed(row, shape)
        spread = tuple(values[len(values) - shape.spread :]) if shape.spread else ()
        cell = answer.setdefault((row[1 : 1 + width], spread), [set(), [0] * len(values)])
        cell[0].add(row[0])
        cell[1] = [a + b for a, b in zip(cell[1], values, strict=True)]
    totals = len(shape.numbers) - shape.spread
    return {k: (len(seen), tuple(sums[:totals])) for k, (seen, sums) in answer.items()}


def relation(rows, shape, connection):
    kinds = [shape.person, *shape.keys]
    columns = [f"c{i} {TYPES[kind]}" for i, kind in enumerate(kinds)]
    columns += [f"z{i} BIGINT" for i in range(shape.columns)]
    connection.execute(f"CREATE OR REPLACE TABLE rows ({', '.join(columns)})")
    if rows:
        marks = ", ".join(f"unnest(${i + 1})" for i in range(len(columns)))
        connection.execute(
            f"INSERT INTO rows SELECT {marks}", list(map(list, zip(*rows, strict=True)))
        )
    columns = [exp.column(f"c{i}") for i in range(len(kinds))]
    wanted = [
        bounded.streamed(column, kind).sql("duckdb")
        for column, kind in zip(columns, kinds, strict=True)
    ]
    wanted += [f"z{i}" for i in range(shape.columns)]
    return connection.sql(f"SELECT {', '.join(wanted)} FROM rows")


def computed(rows, shape, limits, salt=SALT):
    with duckdb.connect() as connection:
        pieces = [batch for batch in batches(relation(rows, shape, connection)) if batch.rows]
        result = bounded_totals(pieces, shape, limits, salt)
    assert len(set(zip(result.keys, zip(*result.spread, strict=True), strict=False))) in {
        0,
        len(result.keys),
    }
    spread = list(zip(*result.spread, strict=True)) or [()] * len(result.keys)
    sums = list(zip(*result.totals, strict=True)) or [()] * len(result.keys)
    return {
        (keys, tuple(map(int, points))): (int(people), tuple(map(int, row)))
        for keys, points, people, row in zip(result.keys, spread, result.people, sums, strict=True)
    }


KINDS = {
    "integer": st.sampled_from([0, 1, 2, 3, 10, -5, 2**62, -(2**63), 2**63 - 1]),
    "text": st.sampled_from(["", "a", "b", "é", "a\x1f", "\x1e", "a longer text of a person"]),
    "boolean": st.booleans(),
    "date": st.sampled_from([dt.date(1, 1, 1), dt.date(1969, 12, 31)]),
}


@st.composite
def questions(draw):
    person = draw(st.sampled_from(["integer", "text", "date"]))
    keys = tuple(draw(st.lists(st.sampled_from(list(KINDS)), max_size=3)))
    columns = draw(st.integers(0, 3))
    spread = draw(st.integers(0, min(columns, 2)))
    numbers = draw(st.permutations([-1, *range(columns - spread)]))
    numbers = (*numbers, *range(columns - spread, columns))
    totals = len(numbers) - spread
    shape = ContributionColumns(person, keys, numbers, (True,) * totals, spread)
    number = st.sampled_from([0, 1, -1, 7, 2**31 - 1, 2**31, -(2**63), 2**63 - 1])
    cells = [KINDS[person], *(st.none() | KINDS[kind] for kind in keys), *[number] * columns]
    rows = draw(st.lists(st.tuples(*cells), max_size=40))
    limit = st.integers(1, 4)
    groups = GroupsBound(groups=draw(limit), rows=draw(limit))
    return rows, shape, draw(st.sampled_from([groups, RowsBound(draw(limit))]))


@settings(max_examples=150, deadline=None)
@given(questions(), st.binary(min_size=16, max_size=16))
def test_keeps_what_the_definition_names(question, salt):
    rows, shape, limits = question
    assert computed(rows, shape, limits, salt) == reference(rows, shape, limits, salt)


@settings(max_examples=60, deadline=None)
@given(questions(), st.integers(1, 3), st.integers(1, 3))
@example(  # two rows whose numbers agree modulo P, told apart by the total that is named first
    (
        [(0, 1, 2**31 - 1), (0, 2**31, 0)],
        ContributionColumns("integer", (), (1, 0, -1), (True,) * 3),
        GroupsBound(1, 1),
    ),
    1,
    1,
)
def test_breaks_ties_by_keys_and_values(question, few, fewer):
    """With only a few different numbers almost every comparison is a tie."""
    rows, shape, limits = question

    def poor(_salt, text):
        return (
            (3, 1 + len(text) % few, 5, 7) if text[0] == "g" else (1 + len(text) % fewer, 2, 3, 4)
        )

    def digests(salt, sort, texts):
        made = [poor(salt, sort.decode() + text.decode()) for text in texts]
        return np.array(made, np.int64).reshape(-1, 4)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_summing, "digests", digests)
        mine = computed(rows, shape, limits)
    assert mine == reference(rows, shape, limits, numbers=poor)


def test_numbers_of_texts_are_those_of_the_definition():
    texts = ["", "a", "17", "é\x1f"]
    made = bounded_summing.digests(SALT, b"p", [text.encode() for text in texts])
    assert made.tolist() == [list(choosing.numbers(SALT, "p" + text)) for text in texts]


def random_rows(people, groups, rows, seed=1):
    draw = np.random.default_rng(seed)
    columns = draw.integers(people, size=rows), draw.integers(groups, size=rows)
    return list(zip(*(c.tolist() for c in (*columns, draw.integers(-9, 9, rows))), strict=True))


@pytest.mark.parametrize("limits", [GroupsBound(3, 2), GroupsBound(100, 1), RowsBound(7)])
@pytest.mark.parametrize("stretch", [1, 10**12])
def test_many_blocks_and_growing_tables(limits, stretch, monkeypatch):
    monkeypatch.setattr(bounded_summing, "_ROWS_IN_BLOCK", 64)
    monkeypatch.setattr(bounded_codes, "_LEAST", 8)
    monkeypatch.setattr(bounded_texts, "_LEAST", 8)
    rows = [(p * stretch, g * stretch, z) for p, g, z in random_rows(300, 50, 6000)]
    shape = ContributionColumns("integer", ("integer",), (-1, 0), (False, False))
    assert computed(rows, shape, limits) == reference(rows, shape, limits)
    texts = [(f"person {p}", f"group {g}", z) for p, g, z in rows]
    shape = ContributionColumns("text", ("text",), (-1, 0), (False, False))
    assert computed(texts, shape, limits) == reference(texts, shape, limits)


@pytest.mark.parametrize("groups", [2, 40, 3000])
def test_people_with_many_rows_in_few_and_in_many_groups(groups):
    """Fewer ranks are looked at first than rows there are, and more where groups are too few."""
    rows = random_rows(4, groups, 6000) + [(9, g, 1) for g in range(30)]
    shape = ContributionColumns("integer", ("integer",), (-1, 0), (False, False))
    limits = GroupsBound(20, 5)
    assert computed(rows, shape, limits) == reference(rows, shape, limits)


def test_order_of_storage_does_not_matter():
    rows = random_rows(50, 20, 2000)
    shape = ContributionColumns("integer", ("integer",), (0, -1), (False, False))
    limits = GroupsBound(3, 2)
    assert computed(rows, shape, limits) == computed(rows[::-1], shape, limits)
    assert computed(rows, shape, limits) == computed(sorted(rows), shape, limits)


@pytest.mark.parametrize("form", ["{:05d}", "{:08d}", "{:016d}", "a long name {:010d} with more"])
def test_texts_with_equal_hashes_stay_apart(monkeypatch, form):
    """A person is never taken for another, whatever the hash of the search does."""
    texts = [form.format(i).encode() for i in range(50)] * 2
    data = np.frombuffer(b"".join(texts), np.uint8)
    starts = np.arange(0, len(data) + 1, len(texts[0]), dtype=np.int32)
    piece = bounded_codes.Text(starts, data, np.empty(0, np.bool_))
    table, hashes = np.full(256, -1, np.int64), np.zeros(256, np.int64)
    outlines, store = np.zeros((257, 4), np.int64), np.empty(2000, np.uint8)
    codes = np.empty(len(texts), np.int32)

    def outlined(piece, begin, end, _seed, block, _table, found):
        """Hash every text to 0, and know no first or last bytes of those that have others."""
        block.marks[:], block.firsts[:], block.lasts[:], found[:] = 0, 0, 0, -1
        for i in range(begin, end):
            if len(texts[0]) <= 16:
                marked = bounded_texts._mark(data, starts[i], starts[i + 1], 1)
                _, block.firsts[i - begin], block.lasts[i - begin] = marked

    monkeypatch.setattr(bounded_texts, "_outline", outlined)
    known = bounded_texts.KnownTexts(table, hashes, outlines, store)
    with np.errstate(over="ignore"):
        row, used = bounded_texts._code_text.py_func(piece, 0, 1, known, 0, codes)
    assert (row, used) == (100, 50)
    assert codes.tolist() == list(range(50)) * 2


def test_texts_of_every_length_and_null_are_told_apart():
    """Texts that begin and end alike, that hold each other, or that are empty."""
    alike = [b"x" * 12 + b"%04d" % n + b"x" * 12 for n in range(40)]
    texts = [*(b"x" * n for n in range(40)), *alike, None, b"\0", b"\0\0", b"\0" * 9] * 3
    cells = [text or b"" for text in texts]
    starts = np.concatenate(([0], np.cumsum([len(cell) for cell in cells]))).astype(np.int32)
    present = np.array([text is not None for text in texts])
    piece = bounded_codes.Text(starts, np.frombuffer(b"".join(cells), np.uint8), present)
    codes, known = bounded_texts.search_text([piece], len(texts), 5)
    assert [known[code] if code >= 0 else None for code in codes] == texts
    assert len(set(known)) == len(known) == 83


def test_wide_totals_are_exact():
    rows = [(i, 0, 2**63 - 1) for i in range(5)] + [(9, 1, -(2**63)), (9, 1, -(2**63))]
    shape = ContributionColumns("integer", ("integer",), (0,), (True,))
    found = computed(rows, shape, GroupsBound(1, 2))
    assert found == {((0,), ()): (5, (5 * (2**63 - 1),)), ((1,), ()): (1, (-(2**64),))}


def test_remainders_by_shifts_are_remainders():
    p = bounded_kernels.P
    for x in (0, 1, p - 1, p, p + 1, p * p, (p - 1) ** 2 + p, 2**62 + 2**31, 2**63 - 1):
        assert bounded_kernels.modulo.py_func(x) == x % p


# -- whole requests, beside the plan that bounds by window functions -------------------------

PERSON, PLACE, VISIT = Column("who", "text"), Column("place", "text"), Column("visit", "date")
AGE = Column("age", "integer", (Fraction(0), Fraction(120)))
COST, FLAG = Column("cost", "real"), Column("flag", "boolean")
SCAN = Scan("visits", (PLACE, VISIT, AGE, COST, FLAG))
FINE = Grid((Fraction(-10), Fraction(10)), Fraction(1, 4), Fraction(0))
AGES = Grid((Fraction(0), Fraction(100)), Fraction(1), Fraction(50))
WIDE = Grid((Fraction(0), Fraction(2**40)), Fraction(1), Fraction(0))
OLD = Compare(">", AGE, Constant(30, "integer"))
TOTALS = (
    Total("rows"),
    Total("rows", where=OLD),
    Total("present", COST),
    Total("present", COST, where=FLAG),
    Total("sum", COST, FINE),
    Total("sum", AGE, AGES, where=Not(FLAG)),
    Total("squares", COST, FINE),
    Total("squares", AGE, AGES, where=OLD),
    Total("sum", Arithmetic("/", COST, AGE), FINE),
    Total("sum", AGE, WIDE),
)
KEYS = (
    Key("place", PLACE),
    Key("place", PLACE, ("a", None)),
    Key("visit", VISIT),
    Key("flag", FLAG),
    Key("age", AGE),
    Key("decade", Apply("floor", (Arithmetic("/", AGE, Constant(10, "integer")),))),
)
RELATIONS = (SCAN, Filter(SCAN, OLD), Filter(SCAN, Compare("<", AGE, Constant(-1, "integer"))))


def random_visits(seed, rows):
    draw = np.random.default_rng(seed)

    def column(choices):
        return [choices[i] for i in draw.integers(len(choices), size=rows)]

    days = [None, dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]
    return {
        "who": column([*(f"p{i}" for i in range(20)), "", None]),
        "place": column([None, "", "a", "b", "é'\x1f", "Z"]),
        "visit": column(days),
        "age": column([None, -3, 0, 5, 31, 77, 10**15]),
        "cost": column([None, math.nan, math.inf, -math.inf, 0.0, 0.1, -2.5, 3.3, 1e300, 5e-324]),
        "flag": column([None, True, False]),
    }


@pytest.fixture(scope="module")
def engines():
    made = [
        DuckDBEngine.open(
            pl.DataFrame(random_visits(seed, rows), schema=SCHEMA),
            person="who",
            name="visits",
        )
        for seed, rows in enumerate((0, 1, 30, 400))
    ]
    yield made
    for engine in made:
        engine.close()


SCHEMA = {
    "who": pl.String,
    "place": pl.String,
    "visit": pl.Date,
    "age": pl.Int64,
    "cost": pl.Float64,
    "flag": pl.Boolean,
}


def as_mapping(aggregates):
    spread = list(zip(*aggregates.spread, strict=True)) or [()] * len(aggregates.keys)
    totals = list(zip(*aggregates.totals, strict=True)) or [()] * len(aggregates.keys)
    rows = zip(aggregates.keys, spread, aggregates.people, totals, strict=True)
    made = {(k, tuple(map(int, s))): (int(n), tuple(map(int, t))) for k, s, n, t in rows}
    assert len(made) == len(aggregates.keys)
    return made


def by_kernel(engine, request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded.ACCOUNT, "worth", lambda _: True)
        found = bounded.aggregate_bounded(
            engine._cursor(), request, {facts.name: facts for facts in engine.tables()}
        )
    assert found is not None
    return found


limits_of_people = st.one_of(
    st.builds(RowsBound, st.integers(1, 9)),
    st.builds(GroupsBound, st.integers(1, 4), st.integers(1, 3)),
)
requests = st.builds(
    Request,
    st.sampled_from(RELATIONS),
    st.lists(st.sampled_from(KEYS), max_size=3, unique_by=lambda key: key.name).map(tuple),
    st.lists(st.sampled_from(TOTALS), max_size=5).map(tuple),
    limits_of_people,
    st.binary(min_size=16, max_size=16),
    st.lists(st.sampled_from([(COST, FINE), (AGE, AGES)]), max_size=2, unique=True).map(tuple),
)


@settings(max_examples=60, deadline=None)
@given(request=requests, which=st.integers(0, 3))
def test_agrees_with_the_window_functions(engines, request, which):
    engine = engines[which]
    kernel, windows = by_kernel(engine, request), engine.aggregate_by_plan(request)
    assert as_mapping(kernel) == as_mapping(windows)
    assert [total.dtype for total in kernel.totals] == [total.dtype for total in windows.totals]


def test_leaves_to_the_plan_what_it_cannot_do(engines, monkeypatch):
    engine = engines[3]
    facts = {facts.name: facts for facts in engine.tables()}
    squares = Total("squares", AGE, WIDE)
    request = Request(SCAN, (), (Total("rows"),), RowsBound(2), SALT)
    ask = functools.partial(bounded.aggregate_bounded, engine._cursor(), facts=facts)
    monkeypatch.setattr(bounded.ACCOUNT, "worth", lambda _: True)
    assert ask(request) is not None
    assert ask(replace(request, bound=RowBound())) is None
    assert ask(replace(request, totals=(squares,))) is None
    monkeypatch.setattr(bounded, "_SHARE_OF_MEMORY", 10**15)
    assert ask(request) is None
    monkeypatch.undo()
    monkeypatch.setattr(bounded.ACCOUNT, "worth", lambda _: False)
    assert ask(request) is None


def test_an_error_of_the_engine_quotes_no_cell():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE secrets AS SELECT 'secret' || range AS s FROM range(9)")
        relation = connection.sql("SELECT CAST(CAST(s AS INTEGER) AS BIGINT) FROM secrets")
        with pytest.raises(DataError) as caught:
            list(batches(relation))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
