"""The grids that questions are summed on, and days, are the same whole numbers on every engine."""

from __future__ import annotations

import datetime as dt
import random
import sys
from fractions import Fraction as F
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from any_engine import ENGINES, opener

from sfumato.ask.language.days import days_of
from sfumato.ask.language.language import Column, Scan
from sfumato.ask.language.request import Grid, GroupsBound, Request, RowBound, Total
from sfumato.ask.price.grids import grid_for

SALT = b"sixteen bytes of"
X, DAY = Column("x", "real"), Column("day", "date")
DRAW = random.Random(5)
VALUES = [0.1] * 40 + [DRAW.uniform(-3, 3) for _ in range(50)] + [2.5, -2.5, 1e300, -1e300, 0.0]
DAYS = [dt.date.fromordinal(DRAW.randrange(1, dt.date.max.toordinal())) for _ in VALUES]
TABLE = pl.DataFrame({"u": range(len(VALUES)), "x": VALUES, "day": DAYS})


def grids():
    for low, high in ((F(-5, 2), F(5, 2)), (F(0), F(1)), (F(1, 3), F(2**40))):
        for centred in (False, True):
            yield grid_for((low, high), "real", centred=centred), "sum"
            yield grid_for((low, high), "real", centred=centred, squared=True), "squares"


BY_ROW, BY_PERSON = (RowBound(), {}), (GroupsBound(1, 1), {"person": "u"})


@pytest.mark.parametrize("unit", [BY_PERSON, BY_ROW], ids=["person", "row"])
@pytest.mark.parametrize("kind", ENGINES)
def test_fine_grids_and_days_are_summed_exactly(kind, unit, request):
    days = days_of(DAY)
    ends = (F(-719162), F(2932896))
    totals = [Total(form, X, grid) for grid, form in grids()]
    totals.append(Total("sum", days, Grid(ends, F(1), F(0))))
    scan = Scan("t", (X, DAY))
    bound, person = unit
    engine = opener(kind, request)(TABLE, name="t", **person)
    found = engine.aggregate(Request(scan, (), tuple(totals), bound, SALT))
    assert [int(total[0]) for total in found.totals] == [
        *(sum(z if form == "sum" else z * z for z in map(number(grid), VALUES))
          for grid, form in grids()),
        sum((day - dt.date(1970, 1, 1)).days for day in DAYS),
    ]  # fmt: skip


@pytest.mark.parametrize(("squared", "bits"), [(False, 46), (True, 31)])
@pytest.mark.parametrize("centred", [False, True])
def test_numbers_of_a_grid_have_the_bits_that_engines_count_on(squared, bits, centred):
    ends = {F(2) ** p + nudge for p in range(-60, 53) for nudge in (0, F(2) ** (p - 20), F(1, 4))}
    for kind in ("real", "integer"):
        for high in sorted(ends):
            for low in (-high, F(0)):
                grid = grid_for((low, high), kind, centred=centred, squared=squared)
                whole = high.denominator == 1 and kind == "integer"
                assert grid.most <= 2**bits
                assert whole or grid.most >= 2 ** (bits - 2)  # and as fine as that allows
                assert grid.step != 1 or whole


def number(grid):
    low, high = (float(end) for end in grid.bounds)
    return lambda value: grid.number(min(max(value, low), high))
