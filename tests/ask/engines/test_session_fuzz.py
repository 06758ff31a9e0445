"""Random SQL at sessions on Postgres and Spark, beside one on DuckDB that holds the same tables.

Every outcome is an answer or a clear refusal; all three answer and refuse the same questions, as
a refusal depends on the question and on public facts alone.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import fuzzing
from any_engine import in_postgres

from sfumato.ask.answers.answer import Answer
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import SfumatoError

SEED = int(os.environ.get("SFUMATO_FUZZ_SEED", "4"))
MANY = int(os.environ.get("SFUMATO_FUZZ_QUESTIONS", "15"))
FEW = 2  # of Spark, which takes seconds for one


def fuzzed(unit, given, frames, count, broken, place):
    """Ask both sessions the same; give how often there was an answer, and a refusal."""
    seed = f"{SEED} {unit}"
    asking, beside = random.Random(seed), random.Random(seed)
    written = fuzzing.questions(random.Random(f"{seed} texts"), unit, broken=broken)
    answers = refusals = 0
    with (
        fuzzing.session(asking, unit, given, ledger=place / "one.sqlite") as one,
        fuzzing.session(beside, unit, frames, ledger=place / "other.sqlite") as other,
    ):
        for _, text in zip(range(count), written, strict=False):
            found, wanted = fuzzing.checked(asking, one, text), fuzzing.checked(beside, other, text)
            assert type(found) is type(wanted), text
            if isinstance(found, SfumatoError):
                assert getattr(found, "code", None) == getattr(wanted, "code", None), text
            if isinstance(found, Answer):
                assert found.columns == wanted.columns, text
            answers += isinstance(found, Answer)
            refusals += isinstance(found, SfumatoError)
        fuzzing.checked_afterwards(one)
    return answers, refusals


@pytest.mark.parametrize("unit", fuzzing.UNITS[:3], ids=str)
def test_postgres_answers_or_refuses_every_question(unit, postgres_url, tmp_path):
    frames = fuzzing.frames(random.Random(f"{SEED} {unit}"))
    given = in_postgres(postgres_url, frames)
    assert min(fuzzed(unit, given, frames, MANY, 0.5, tmp_path)) > 0


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        (Unit("id", groups=2, rows_per_group=2), FEW),
        pytest.param(Unit("id", groups=2, rows_per_group=2), MANY, marks=pytest.mark.soak),
        pytest.param(Row(), MANY, marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_spark_answers_or_refuses_every_question(unit, count, spark, tmp_path):
    frames = fuzzing.frames(random.Random(f"{SEED} {unit}"))
    given = {name: spark.createDataFrame(frame.to_arrow()) for name, frame in frames.items()}
    assert sum(fuzzed(unit, given, frames, count, 0.0, tmp_path)) > 0
