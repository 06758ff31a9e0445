"""Answers that are saved, read without a session, and added up."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F

import numpy as np
import pytest

import sfumato as sf
from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.artefact import summed_half_width
from sfumato.ask.price.noise import Noise
from sfumato.errors import DataError, ParameterError

WARDS = ["east", "north", "south", "west"]


@pytest.fixture
def answer():
    rows = {"ward": [WARDS[i % 4] for i in range(4000)], "cost": [i % 100 for i in range(4000)]}
    with sf.Session(
        sf.read(rows, name="visits"), public_types=True, unit="row", budget=sf.PureDP(10),
        bounds={"cost": (0, 100)}, keys={"ward": WARDS},
    ) as session:  # fmt: skip
        yield session.sql(
            "SELECT ward, COUNT(*) AS n, SUM(cost) AS total, AVG(cost) AS mean "
            "FROM visits GROUP BY ward",
            epsilon=4,
        )


def test_a_saved_answer_is_read_without_a_session(answer, tmp_path):
    file = answer.save(tmp_path / "wards.json")
    again = Answer.load(file)
    assert again.rows == answer.rows
    assert again.columns == answer.columns
    assert again.guarantee == answer.guarantee
    assert again.intervals(0.9) == answer.intervals(0.9)
    assert again.total("n", ward=["east", "west"]) == answer.total("n", ward=["east", "west"])
    with pytest.raises(ParameterError, match="no budget"):
        _ = again.remaining


def test_a_saved_answer_states_its_guarantee_in_words(answer, tmp_path):
    written = json.loads(answer.save(tmp_path / "wards.json").read_text())
    assert "pure differential privacy with ε = 4" in written["guarantee_in_words"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "sfumato answer 1"}', "\udcff"])
def test_files_that_are_no_answers_are_refused(text, tmp_path):
    file = tmp_path / "x.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=r"x\.json"):
        Answer.load(file)
    with pytest.raises(DataError, match="cannot be read"):
        Answer.load(tmp_path / "none.json")


def test_cells_add_up_with_an_interval_that_counts_all_their_noise(answer):
    counts = dict(zip(answer.column("ward"), answer.column("n"), strict=True))
    value, (low, high) = answer.total("n", ward=["east", "north"])
    assert value == counts["east"] + counts["north"]
    assert low < value < high
    one = answer.intervals()["n"][0]
    assert high - low > one[1] - one[0]
    assert answer.total("n")[0] == sum(counts.values())
    assert answer.total("n", ward="nowhere") == (0, (0, 0))


def test_means_do_not_add_up_and_other_columns_are_no_keys(answer):
    with pytest.raises(ParameterError, match="do not add up"):
        answer.total("mean")
    with pytest.raises(ParameterError, match="not a key"):
        answer.total("n", cost=3)


@pytest.mark.parametrize("noise", [Noise("geometric", F(5)), Noise("gaussian", F(50))], ids=str)
@pytest.mark.parametrize("count", [1, 2, 10, 200])
def test_sums_of_noise_stay_within_their_half_width(noise, count):
    draws = np.abs(noise.draw(20_000 * count).reshape(20_000, count).sum(axis=1))
    half = summed_half_width(noise, count, 0.95)
    assert np.mean(draws <= half) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 20_000)
    assert half < 6 * noise.deviation * math.sqrt(count)
