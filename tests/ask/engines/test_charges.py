"""On Postgres and Spark, too, no person moves an answer further than it is charged for."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from any_engine import in_postgres

import sfumato as sf
from sfumato.dp.neighbours import Row, Unit
from sfumato.testing import fuzz_questions

KINDS = {
    "integer": pl.Int64, "real": pl.Float64, "text": pl.String, "boolean": pl.Boolean,
    "date": pl.Date,
}  # fmt: skip
UNITS = (Row(), Unit("id", groups=2, rows_per_group=2), Unit("id", rows=3))


def opened_on(kind, request, place):
    """Give a function that opens a session on tables in an engine, each with a ledger."""

    def open_session(tables, unit, **settings):
        frames = {
            name: pl.DataFrame(rows, schema={c: KINDS[k] for c, k in columns.items()}).select(
                list(columns)
            )
            for name, (columns, rows) in tables.by_name(by_row=isinstance(unit, Row)).items()
        }
        if kind == "postgres":
            given = in_postgres(request.getfixturevalue("postgres_url"), frames)
        else:
            spark = request.getfixturevalue("spark")
            given = {n: spark.createDataFrame(f.to_arrow()) for n, f in frames.items()}
        private = {"stays": given["stays"]} if "stays" in given else {}
        public = {"wards": given["wards"], "tags": given["tags"]}
        return sf.Session(
            given["visits"], unit=unit, name="visits", private=private, public=public,
            ledger=place / f"{uuid.uuid4().hex}.sqlite", **settings,
        )  # fmt: skip

    return open_session


@pytest.mark.parametrize(
    ("kind", "count", "unit"),
    [
        *(("postgres", 5, unit) for unit in UNITS),
        *(
            pytest.param("spark", 1, unit, marks=() if unit == UNITS[1] else pytest.mark.soak)
            for unit in UNITS
        ),
    ],
    ids=str,
)
def test_no_person_moves_an_answer_further_than_it_is_charged_for(
    kind, count, unit, request, tmp_path
):
    found = fuzz_questions(
        questions=count, each=count + 1, units=(unit,), seed=5,
        people=3 if kind == "postgres" else 1,
        open_session=opened_on(kind, request, tmp_path),
    )  # fmt: skip
    assert found.compared > 0
