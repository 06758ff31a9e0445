"""The ten questions of the tutorial on every engine, with one changed line: where the rows are."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from any_engine import in_postgres

PAGE = (Path(__file__).parents[3] / "docs/tutorial/ask-under-a-budget.md").read_text("utf-8")
SALARY = {"salary": (0, 150_000)}
FLOORS = {
    "general practice": 0, "laboratory": 0, "radiology": 0, "emergency": 0, "physiotherapy": 1,
    "cardiology": 1, "dermatology": 2, "psychology": 2,
}  # fmt: skip
QUESTIONS = (
    ("patients", "SELECT COUNT(*) FROM patients", {}),
    ("patients", "SELECT COUNT(*) FROM patients WHERE age >= 65 AND diagnosis = 'stroke'", {}),
    ("visits", "SELECT COUNT(DISTINCT patient) AS people FROM visits", {}),
    (
        "patients",
        "SELECT SUM(salary) AS payroll FROM patients WHERE job <> 'retired'",
        {"bounds": SALARY},
    ),
    ("patients", "SELECT AVG(salary) AS salary FROM patients", {"bounds": SALARY}),
    (
        "patients",
        "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY sex",
        {"bounds": {"age": (18, 100)}, "keys": {"sex": ["female", "male"]}},
    ),
    ("patients", "SELECT job, COUNT(*) AS n FROM patients GROUP BY job", {}),
    (
        "patients",
        "SELECT MEDIAN(salary) AS median, QUANTILE(salary, 0.9) AS top FROM patients",
        {"bounds": SALARY},
    ),
    (
        "visits",
        (
            "SELECT floor, COUNT(*) AS n FROM visits JOIN floors ON visits.department = "
            "floors.department GROUP BY floor"
        ),
        {"keys": {"floor": [0, 1, 2]}},
    ),
    (
        "visits",
        (
            "SELECT AVG(n) AS mean FROM "
            "(SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS each"
        ),
        {"bounds": {"n": (0, 60)}},
    ),
)


def test_these_are_the_questions_of_the_page():
    for _, question, _ in QUESTIONS:
        assert question in PAGE


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    examples.patients(400, 1).write(folder)
    examples.visits(400, 1).write(folder)
    found = {
        name: pl.read_csv(folder / f"{name}.csv", try_parse_dates=True)
        for name in ("patients", "visits")
    }
    return {**found, "floors": pl.DataFrame({"department": [*FLOORS], "floor": [*FLOORS.values()]})}


def there(kind, frames, request):
    """Say where the tables are: the one line that differs."""
    if kind == "duckdb":
        return frames
    if kind == "postgres":
        tables = in_postgres(request.getfixturevalue("postgres_url"), frames)
        place = tables["visits"].removesuffix("visits")
        return {**tables, "patients": f"{place}patients"}
    spark = request.getfixturevalue("spark")
    return {name: spark.createDataFrame(frame.to_arrow()) for name, frame in frames.items()}


def answers(tables, folder, asked):
    """Ask questions with so large a budget that noise is far below what is compared."""
    rich = {"budget": sf.ApproxDP(1e7, 1e-6), "public_types": True}
    patients = sf.Session(
        tables["patients"], name="patients", unit="row", ledger=folder / "patients.db", **rich
    )
    visits = sf.Session(
        tables["visits"],
        name="visits",
        unit=sf.Unit("patient", groups=8, rows_per_group=60),
        public={"floors": tables["floors"]},
        ledger=folder / "visits.db",
        **rich,
    )
    with patients, visits:
        open_ = {"patients": patients, "visits": visits}
        found = [open_[table].sql(text, epsilon=1e5, **more).table for table, text, more in asked]
    return [_plain(table) for table in found]


def _plain(table):
    frame = table.toPandas() if hasattr(table, "toPandas") else table
    columns = [[None if cell != cell else cell for cell in frame[name]] for name in frame.columns]  # noqa: PLR0124 - NaN
    return sorted(zip(*columns, strict=True), key=str)


EVERY = range(len(QUESTIONS))


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("postgres", EVERY),
        ("spark", (5, 8, 9)),  # groups with means, a public join, numbers about a person
        pytest.param("spark", EVERY, marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_ten_questions_are_answered_alike(kind, places, frames, request, tmp_path):
    """At ε = 10⁵ Laplace noise passes a hundredth of any of these numbers with less than 10⁻⁶."""
    asked = [QUESTIONS[place] for place in places]
    wanted = answers(there("duckdb", frames, request), tmp_path, asked)
    (tmp_path / "other").mkdir()
    found = answers(there(kind, frames, request), tmp_path / "other", asked)
    for (_, question, _), one, other in zip(asked, wanted, found, strict=True):
        assert len(one) == len(other), question
        for row, same in zip(one, other, strict=True):
            for cell, twin in zip(row, same, strict=True):
                if cell is None or isinstance(cell, str):
                    assert cell == twin, question
                else:
                    assert float(twin) == pytest.approx(float(cell), rel=0.02, abs=1), question
