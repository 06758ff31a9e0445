"""On Postgres and Spark, too, no person moves an answer further than it is charged for."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import random_questions as at_random
from any_engine import opener
from privacy_loss import table
from test_sensitivity import SALT, VISITS, check, neighbourhood, questions

from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.dp.neighbours import Row, Unit

UNITS = (Unit("id", groups=2, rows_per_group=2), Unit("id", rows=3))


@pytest.mark.parametrize(("kind", "count"), [("postgres", 6), ("spark", 1)])
@pytest.mark.parametrize("unit", [Row(), *UNITS], ids=str)
def test_no_person_moves_an_answer_further_than_it_is_charged_for(kind, count, unit, request):
    open_on = opener(kind, request)
    rng = random.Random(f"{kind} {unit}")
    by_row = isinstance(unit, Row)
    facts = {
        "name": "visits", "person": None if by_row else "id",
        "bounds": {"age": (0, 9), "cost": (-5, 5)}, "domains": at_random.KEYS,
    }  # fmt: skip
    frames = [
        pl.DataFrame(rows, schema=VISITS).drop("id" if by_row else [])
        for rows, _ in list(neighbourhood(rng, by_row=by_row, people=3))[: 4 if count > 1 else 2]
    ]
    engines = [open_on(frame, **facts) for frame in frames]
    known = {one.name: one for one in engines[0].tables()}
    beside = DuckDBEngine.open(frames[0], **facts)
    for text, prepared in questions(rng, known, unit, count=count):
        asked, whole = check(text, prepared, engines, lambda engine, one: engine.aggregate(one))
        for one, found in zip(asked, whole, strict=True):
            assert one.salt == SALT
            assert found == table(beside.aggregate(one)), text  # exact, and the same everywhere
