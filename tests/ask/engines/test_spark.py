"""Spark passes the conformance kit, with ANSI mode on and off."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from frames import arrow

from sfumato.ask.engines.spark import SparkEngine
from sfumato.testing.engines import Bench, all_checks

pytestmark = pytest.mark.xdist_group("spark")


def frame(spark, table):
    """Make a frame of a table of the kit."""
    return spark.createDataFrame(arrow(table))


def maker(spark):
    def make(tables):
        first, *others = [(n, t) for n, t in tables.items() if t.private]
        return SparkEngine.open(
            frame(spark, first[1]),
            name=first[0],
            person=first[1].person,
            bounds={f"{n}.{c}": pair for n, t in tables.items() for c, pair in t.bounds.items()},
            private={n: (frame(spark, t), t.person) for n, t in others},
            public={n: frame(spark, t) for n, t in tables.items() if not t.private},
        )

    return make


BENCH = Bench(lambda tables: pytest.fail("no session"), 12)
CHECKS = all_checks(BENCH)


@pytest.fixture(scope="module")
def bench(spark):
    BENCH.make = maker(spark)
    return BENCH


@pytest.mark.parametrize("name", CHECKS, ids=lambda name: name.replace(" ", "_"))
def test_conformance(spark, bench, name):
    ansi = "true" if list(CHECKS).index(name) % 2 else "false"
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    CHECKS[name]()
