"""Values that are called apart are apart in every type of column, and engines agree."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from sfumato.dp.accounting import Part
from sfumato.dp.accounting.values import never_equal

NEW_YEAR = dt.datetime.fromisoformat("2024-01-01")
SAME = [
    (0.1, np.float32(0.1)),
    (2**53 + 1, 2.0**53),
    (0.1, Decimal("0.1")),
    (2**24, 2**24 + 1.0),
    (Fraction(1, 3), 1 / 3),
    (10**400, 10**401),
    ("a", "A"),
    ("a", "a "),
    ("é", "e\u0301"),
    ("e", "é"),
    ("ﬁ", "fi"),
    ("I", "ı"),
    ("a-b", "ab"),
    ("10", "10.0"),
    ("1", "01"),
    ("1.4", "1"),
    ("yes", "true"),
    ("2024-01-01", "20240101"),
    ("2024-01-01", "Jan 1 2024"),
    ("2024-01-01", "2024-01-01 12:00"),
    ("inf", "infinity"),
    (1, True),
    (2, True),
    ("10", 10),
    (None, ""),
    (NEW_YEAR, NEW_YEAR + dt.timedelta(hours=12)),
    (NEW_YEAR, NEW_YEAR.date()),
    (NEW_YEAR, dt.datetime(2024, 5, 1, tzinfo=dt.UTC)),
    (b"a", b"b"),
    (1j, 2j),
]
APART = [
    (1, 2),
    (0.1, 0.2),
    (2**24 - 1, 2**24),
    (-0.5, 0.5),
    (True, False),
    ("a", "b"),
    ("nurse", "cook"),
    ("A10", "B20"),
    ("10", "11"),
    ("2024-01-01", "2024-01-02"),
    ("yes", "no"),
    (dt.date(2024, 1, 1), dt.date(2024, 1, 2)),
    (Decimal("1.5"), 2),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_an_engine_may_take_for_equal_is_not_apart(one, other):
    assert not never_equal(one, other)
    assert not never_equal(other, one)
    assert not Part(v=one).disjoint(Part(v=other))


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_no_engine_takes_for_equal_is_apart(one, other):
    assert never_equal(one, other)
    assert never_equal(other, one)
    assert Part(v=one).disjoint(Part(v=[other]))


def test_ends_of_intervals_that_an_engine_rounds_together():
    assert Part(v=(0, 0.1)).disjoint(Part(v=(0.1, 1)))
    assert Part(v=(0, 10)).disjoint(Part(v=(10, 20)))
    assert not Part(v=(0, 2**53 + 4)).disjoint(Part(v=(2.0**53 + 4, 2.0**60)))
    assert not Part(v=(0, 0.1)).disjoint(Part(v=float(np.float32(0.1))))
    assert Part(v=(0, 10)).disjoint(Part(v=10))
    assert not Part(v=(0, 10)).disjoint(Part(v=10.0))
    assert not Part(v=(0, 10)).disjoint(Part(v=True))


TYPES = ("REAL", "DOUBLE", "BIGINT", "INTEGER", "DECIMAL(18,3)", "VARCHAR", "DATE", "BOOLEAN")


def test_random_pairs_in_an_engine():
    """Ask DuckDB, in every type of column, whether a row satisfies both conditions."""
    rng = random.Random(5)
    connection = duckdb.connect()
    pairs = [pair for pair in (_random_pair(rng) for _ in range(4000)) if never_equal(*pair)][:150]
    assert len(pairs) == 150
    for one, other in pairs:
        for type_ in TYPES:
            cells = ", ".join(f"(try_cast({_literal(v)} AS {type_}))" for v in (one, other))
            found = connection.execute(
                f"SELECT count(*) FROM (VALUES {cells}) AS t(x) "
                f"WHERE x = try_cast({_literal(one)} AS {type_}) "
                f"AND x = try_cast({_literal(other)} AS {type_})"
            ).fetchone()
            if type_ in {"BIGINT", "INTEGER", "DECIMAL(18,3)", "BOOLEAN"} and not isinstance(
                one, str
            ):
                continue  # a number is not cast to such a column, but compared in a wider type
            assert found == (0,), (one, other, type_)


def _random_pair(rng):
    kind = rng.choice(["float", "whole", "text"])
    if kind == "text":
        written = ["a", "B", "b ", "1", "1.0", "1.4", "2", "10", "yes", "no", "2024-01-01", "x1"]
        return tuple(rng.choice(written) for _ in range(2))
    base = rng.choice([rng.uniform(-1, 1), rng.uniform(0, 1e6), 2.0**24, 2.0**53])
    near = base * (1 + rng.choice([0, 1e-16, 1e-9, 3e-8, 1e-7, 4e-7, 1e-3]) * rng.uniform(-1, 1))
    return (base, near) if kind == "float" else (round(base), round(near) + rng.choice([0, 1]))


def _literal(value):
    return "'" + value + "'" if isinstance(value, str) else repr(value)
