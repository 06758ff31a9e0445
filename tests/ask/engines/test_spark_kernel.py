"""The kernel on Spark's workers gives what the plan gives, and the plan serves where it cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_bounded import AGES, COST, FINE, KEYS, SCAN, SCHEMA, TOTALS, random_visits

from sfumato.ask.engines import spark_kernel
from sfumato.ask.engines.spark import SparkEngine
from sfumato.ask.language.language import Column, Compare, Constant, Filter
from sfumato.ask.language.request import GroupsBound, Request, RowBound, RowsBound, Total

AGE = Column("age", "integer")


def request(keys=(), totals=TOTALS, bound=GroupsBound(2, 2), spread=(), relation=SCAN):  # noqa: B008
    return Request(relation, keys, totals, bound, b"salt", spread)


REQUESTS = {
    "a key": request(KEYS[:1]),
    "days and conditions": request(KEYS[2:4], TOTALS[:6]),
    "numbers": request(KEYS[4:], bound=GroupsBound(3, 1)),
    "rows": request(KEYS[:1], TOTALS[:5], RowsBound(3)),
    "no key": request((), TOTALS[-3:], RowsBound(5)),
    "grid points": request(KEYS[:1], (Total("rows"),), spread=((AGE, AGES), (COST, FINE))),
    "nobody": request(KEYS[:1], relation=Filter(SCAN, Compare("<", AGE, Constant(-9, "integer")))),
}


@pytest.fixture
def engine(spark, monkeypatch):
    """Give an engine whose rows come to the workers in several partitions and batches."""
    monkeypatch.setattr(spark_kernel, "LEAST_BYTES", 0)
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "70")
    rows = pl.DataFrame(random_visits(7, 900), schema=SCHEMA).to_arrow()
    opened = SparkEngine.open(spark.createDataFrame(rows), person="who", name="visits")
    yield opened
    opened.close()


def groups(found):
    """Give what each group adds up to, whatever the order of groups."""
    points = zip(*found.spread, strict=True) if found.spread else [()] * len(found.keys)
    totals = zip(found.people.tolist(), *(t.tolist() for t in found.totals), strict=True)
    return {
        (key, tuple(map(int, point))): tuple(total)
        for key, point, total in zip(found.keys, points, totals, strict=True)
    }


IN_SOAK = {"numbers", "no key"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak if n in IN_SOAK else ()) for n in REQUESTS]
)
def test_agrees_with_the_plan(engine, name):
    by_kernel = engine._on_workers(REQUESTS[name])
    by_plan = engine.aggregate_by_plan(REQUESTS[name])
    assert by_kernel is not None
    assert groups(by_kernel) == groups(by_plan)
    assert [t.dtype for t in by_kernel.totals] == [t.dtype for t in by_plan.totals]
    assert bool(len(by_kernel.keys)) == (name != "nobody")


def test_small_tables_and_rows_as_units_are_left_to_the_plan(engine, monkeypatch):
    assert engine._on_workers(request(KEYS[:1], bound=RowBound())) is None
    monkeypatch.setattr(spark_kernel, "LEAST_BYTES", 2**30)
    assert engine._on_workers(REQUESTS["a key"]) is None
    assert engine._kernel


def test_workers_without_this_version_leave_the_work_to_the_plan(engine, monkeypatch):
    monkeypatch.setattr(spark_kernel, "__version__", "another")
    found = engine.aggregate(REQUESTS["a key"])
    assert not engine._kernel, "what the workers could not do would be tried again"
    assert groups(found) == groups(engine.aggregate_by_plan(REQUESTS["a key"]))


def test_totals_of_partitions_add_up():
    first = [("a",), ("b",)], [[1, 2], [3, 4]], []
    second = [("b",), (None,)], [[5, 6], [7, 2**62]], []
    found = spark_kernel._merged([first, second], request(KEYS[:1], (Total("rows"),)))
    assert groups(found) == {
        (("a",), ()): (1, 3), (("b",), ()): (7, 11), ((None,), ()): (6, 2**62)
    }  # fmt: skip
