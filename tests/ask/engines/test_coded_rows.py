"""Rows are coded and counted alike wherever they are, and no engine keeps more than a unit may."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from any_engine import ENGINES, opener

import sfumato as sf
from sfumato.dp.publish.synthesis.coarsening import group, smooth_all
from sfumato.dp.publish.synthesis.columns import Column, coder_of
from sfumato.dp.publish.synthesis.curator import NoisyCounts
from sfumato.dp.publish.synthesis.domain import Domain
from sfumato.dp.publish.synthesis.tables import rows_of

KNOWN = {
    "age": Column(bounds=(0, 50)),
    "income": Column(bounds=(0.0, 90.0), bins=7, special=[0]),
    "job": Column(values=["clerk", "cook's", "a\\b"]),
    "since": Column(bounds=("2001-01-01", "2004-12-31"), bins=6),
    "vip": Column(values=[True, False]),
}


def frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    jobs = rng.choice(["clerk", "cook's", "a\\b", "spy", ""], n).tolist()
    income = rng.choice([0.0, 13.5, 89.9, 500.0, float("nan")], n).tolist()
    days = [dt.date(2000, 6, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 2000, n)]
    return pl.DataFrame(
        {
            "who": rng.integers(0, n // 4, n).tolist(),
            "age": [None if a > 60 else int(a) for a in rng.integers(-5, 64, n)],
            "income": income,
            "job": [None if k % 17 == 0 else job for k, job in enumerate(jobs)],
            "since": [None if k % 19 == 0 else day for k, day in enumerate(days)],
            "vip": [None if k % 23 == 0 else bool(k % 3) for k in range(n)],
        },
        schema={
            "who": pl.Int64, "age": pl.Int64, "income": pl.Float64, "job": pl.String,
            "since": pl.Date, "vip": pl.Boolean,
        },
    )  # fmt: skip


@pytest.fixture(params=ENGINES)
def held(request):
    given = frame()
    engine = opener(request.param, request)(
        given, name="people", person="who", bounds={"age": (0, 50)}, domains={"vip": (True, False)}
    )
    yield engine, rows_of(engine.held("people")), rows_of(given)
    close = getattr(engine, "close", None)
    if close is not None:
        close()


def coders():
    return {name: coder_of(name, column, None) for name, column in KNOWN.items()}


def test_codes_and_pairs_are_those_of_the_same_rows_in_duckdb(held):
    _, rows, plain = held
    domain = Domain(tuple(coder.coded for coder in coders().values()))
    ours, theirs = (source.code_rows(coders(), None, 1) for source in (rows, plain))
    for mine, yours in zip(ours.count_ones(domain), theirs.count_ones(domain), strict=True):
        assert mine.tolist() == yours.tolist()
    noisy = [NoisyCounts(np.full(size, 20), 1.0, 1) for size in domain.sizes]
    columns = smooth_all(domain, noisy, 300.0, most=5)
    atoms, grouping = [column.atoms for column in columns], group(columns)
    assert (
        ours.count_pairs(atoms, grouping).tolist() == theirs.count_pairs(atoms, grouping).tolist()
    )
    ours.drop()


def test_a_unit_keeps_at_most_its_rows(held):
    _, rows, _ = held
    domain = Domain((coders()["age"].coded,))
    given = frame()
    sizes = given.group_by("who").len()["len"].to_numpy()
    for most in (1, 2):
        kept = rows.code_rows({"age": coders()["age"]}, "who", most).count_ones(domain)[0].sum()
        assert kept == np.minimum(sizes, most).sum()
    texts = dict(rows.count_texts("job", "who", 1))
    assert sum(texts.values()) <= len(sizes)
    assert set(texts) <= {"clerk", "cook's", "a\\b", "spy"}


def test_a_session_publishes_wherever_the_rows_are(held):
    engine, _, _ = held
    with sf.Session(
        engine, unit=sf.Unit("who", rows=2), budget=sf.ApproxDP(9, 1e-4), name="people"
    ) as session:
        made = session.synthesize(epsilon=3, delta=1e-6, columns={"job": KNOWN["job"]}, size=40)
        assert set(made.table["job"].dropna()) <= {"clerk", "cook's", "a\\b"}
        assert made.table["age"].dropna().between(0, 50).all()
        found = session.synthesize(epsilon=3, delta=1e-6, search="0.3", size=20)
        assert {"age", "job", "income"} <= set(found.table.columns)
        assert len(session.kmeans(["age"], 2, epsilon=1).data.sizes_) == 2
        assert session.top_k("vip", 1, epsilon=1).data.items[0] in {True, False}


def test_bounds_of_another_kind_are_refused(held):
    engine, rows, _ = held
    if not hasattr(rows, "dialect"):
        pytest.skip("DuckDB reads numbers out of texts")
    with pytest.raises(sf.SfumatoError, match="declare its type"):
        rows.code_rows({"job": coder_of("job", Column(bounds=(0, 5)), None)}, None, 1)
    assert engine is not None
