"""A table of a database is coded and counted there for a synthesis, as the same rows in DuckDB."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pytest
from table_places import put

import sfumato as sf
from sfumato.dp.publish.synthesis.coarsening import group, smooth_all
from sfumato.dp.publish.synthesis.columns import Column, coder_of
from sfumato.dp.publish.synthesis.curator import NoisyCounts
from sfumato.dp.publish.synthesis.domain import Domain
from sfumato.dp.publish.synthesis.tables import rows_of

KINDS = {
    "who": "VARCHAR", "age": "INTEGER", "income": "DOUBLE", "rent": "DECIMAL(10,2)",
    "job": "VARCHAR", "since": "DATE", "vip": "BOOLEAN",
}  # fmt: skip
KNOWN = {
    "age": Column(bounds=(0, 50)),
    "income": Column(bounds=(0.0, 0.9), bins=9, special=[0]),
    "rent": Column(bounds=(0.0, 0.9), bins=9),
    "job": Column(values=["clerk", "cook's", "a\\b", "1.50"]),
    "since": Column(bounds=("2001-01-01", "2004-12-31"), bins=6),
    "vip": Column(values=[True, False]),
}


def cells(n=240, seed=0):
    rng = np.random.default_rng(seed)
    days = [dt.date(2000, 6, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 2000, n)]
    days[:3] = dt.date(1, 1, 1), dt.date(9999, 12, 31), None
    ends = [0.0, 0.1, 0.2, 0.1 + 0.2, 0.7, 0.9, 5e-324, 1e308, float("inf"), float("-inf")]
    incomes = rng.choice([*ends, float("nan")], n).tolist()
    jobs = rng.choice(["clerk", "cook's", "a\\b", "1.50", "spy", "", " clerk"], n).tolist()
    return [
        [None if k % 31 == 0 else f"p{k % 60}" for k in range(n)],
        [None if a > 60 else int(a) for a in rng.integers(-5, 64, n)],
        [None if k % 29 == 0 else income for k, income in enumerate(incomes)],
        [Decimal(int(r)) / 100 for r in rng.integers(-20, 120, n)],
        [None if k % 17 == 0 else job for k, job in enumerate(jobs)],
        days,
        [None if k % 23 == 0 else bool(k % 3) for k in range(n)],
    ]


def coders(**more):
    return {name: coder_of(name, column, None) for name, column in {**KNOWN, **more}.items()}


def counts(source, wanted, unit=None, rows=1):
    """Count every code and every pair of atoms."""
    domain = Domain(tuple(coder.coded for coder in wanted.values()))
    records = source.code_rows(wanted, unit, rows)
    ones = records.count_ones(domain)
    noisy = [NoisyCounts(np.full(size, 20), 1.0, 1) for size in domain.sizes]
    columns = smooth_all(domain, noisy, 300.0, most=5)
    pairs = records.count_pairs([column.atoms for column in columns], group(columns))
    records.drop()
    return [*(one.tolist() for one in ones), pairs.tolist()]


@pytest.fixture(params=["postgres", "spark"])
def places(request):
    given = cells()
    there, here = (sf.read(put(p, request, KINDS, given)) for p in (request.param, "memory"))
    yield rows_of(there), rows_of(here)
    there.engine.close()


def test_counts_are_those_of_the_same_rows_in_duckdb(places):
    there, here = places
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no row comes here
        assert counts(there, coders()) == counts(here, coders())
        for name in ("job", "income", "rent", "age", "since", "vip"):
            found, wanted = there.count_texts(name, None, 1), here.count_texts(name, None, 1)
            if name in {"income", "rent"}:  # 0.0 is written as 0 here, another spelling of it
                found, wanted = ([(float(t), n) for t, n in each] for each in (found, wanted))
            assert sorted(found) == sorted(wanted), name


def test_a_unit_keeps_at_most_its_rows(places):
    there, _ = places
    sizes = np.bincount([int(who[1:]) for who in cells()[0] if who is not None])
    for most in (1, 3):
        ages = counts(there, {"age": coders()["age"]}, "who", most)[0]
        assert sum(ages) == np.minimum(sizes, most).sum()


def test_numbers_written_as_texts_come_here_with_a_warning(request):
    """Which texts are numbers, DuckDB alone knows as DuckDB does."""
    texts = [["1", " 2", "0x3", "4e0", "five", "inf", "", "1_0", None]]
    wanted = {"n": coder_of("n", Column(bounds=(0, 9)), None)}
    there, here = (
        rows_of(sf.read(put(p, request, {"n": "VARCHAR"}, texts))) for p in ("postgres", "memory")
    )
    with pytest.warns(UserWarning, match="brought from the database"):
        assert counts(there, wanted) == counts(here, wanted)


def test_a_copy_of_a_table_in_postgres_is_made_from_counts(request):
    people = sf.read(put("postgres", request, KINDS, cells()))
    asked = []
    honest = people.engine.ask
    people.engine.ask = lambda statement: asked.append(rows := honest(statement)) or rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = sf.dp.synthesize(people, epsilon=3, delta=1e-6, columns=KNOWN, size=40)
    assert set(made.table["job"].dropna()) <= {"clerk", "cook's", "a\\b", "1.50"}
    assert made.table["age"].dropna().between(0, 50).all()
    assert asked
    assert all(isinstance(n, int) for rows in asked for row in rows for n in row)
    people.engine.close()
