"""Data shuffling: numbers stay, rank correlations stay, the tie to the record does not."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.tables.perturb.records import records_of
from sfumato.errors import DataError, ParameterError

N = 8_000


def shuffled(data, operation, seed=1):
    records = records_of(sf.perturb(data, operation, seed=seed))
    return {name: [c.values[code] for code in c.codes] for name, c in records.columns.items()}


def numbers(texts):
    return np.array([float(text) for text in texts])


def rank_correlation(a, b):
    return float(np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1])


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    age = rng.normal(size=N)
    skill = rng.normal(size=N)
    salary = np.exp(0.8 * age + 0.6 * skill).round(6)
    bonus = (0.5 * np.log(salary) + rng.normal(size=N)).round(6)
    return {"age": age.round(6), "salary": salary, "bonus": bonus, "skill": skill.round(6)}


def test_columns_and_rank_correlations_stay(people):
    after = shuffled(people, sf.Shuffle(["salary", "bonus"], given="age"))
    new = {name: numbers(texts) for name, texts in after.items()}
    for name in ("salary", "bonus"):
        assert np.array_equal(np.sort(new[name]), np.sort(people[name]))
    for a, b in (("age", "salary"), ("age", "bonus"), ("salary", "bonus")):
        before = rank_correlation(people[a], people[b])
        assert rank_correlation(new[a], new[b]) == pytest.approx(before, abs=0.04)
    # the record's own part, which the given column does not tell, is gone
    assert rank_correlation(people["skill"], people["salary"]) > 0.5
    assert abs(rank_correlation(people["skill"], new["salary"])) < 0.05
    assert np.array_equal(new["age"], people["age"])


@pytest.mark.parametrize("runs", [36, pytest.param(480, marks=pytest.mark.soak)])
def test_without_given_columns_all_orders_are_equally_likely(runs):
    data = sf.read({"x": [1, 2, 3]})
    seen = Counter(tuple(shuffled(data, sf.Shuffle("x"), seed=s)["x"]) for s in range(runs))
    assert set(seen) == set(permutations("123"))
    assert all(abs(count - runs / 6) < 5 * np.sqrt(runs * 5 / 36) for count in seen.values())


def test_missing_cells_stay_missing():
    data = {"x": ["1", "", "3", "4", "5.5", ""] * 20, "s": ["1", "2", "", "4", "5", "6"] * 20}
    after = shuffled(data, sf.Shuffle("x", given="s"))
    assert [v == "" for v in after["x"]] == [v == "" for v in data["x"]]
    assert Counter(after["x"]) == Counter(data["x"])
    assert after["s"] == data["s"]
    assert after["x"] != data["x"]


def test_a_given_column_that_tells_all_and_one_that_tells_nothing():
    data = {"x": list(range(50)), "same": list(range(50)), "flat": [1] * 50}
    told = shuffled(data, sf.Shuffle("x", given="same"))["x"]
    assert rank_correlation(numbers(told), np.arange(50)) > 0.999  # nothing is left to draw
    after = shuffled(data, sf.Shuffle("x", given="flat"))
    assert Counter(after["x"]) == Counter(map(str, range(50)))


def test_the_release_says_so():
    table = sf.perturb({"x": [1, 2, 3], "s": [3, 1, 2]}, sf.Shuffle("x", given="s"))
    assert table.untruthful == ("values of x shuffled between records given s",)


def test_slips_are_told():
    with pytest.raises(ParameterError, match="both shuffled and given"):
        sf.Shuffle("x", given=["x"])
    with pytest.raises(DataError, match="Shuffle needs numbers"):
        shuffled({"x": ["a", "b"]}, sf.Shuffle("x"))
    with pytest.raises(DataError, match="at least two records"):
        shuffled({"x": ["1", ""], "s": ["", "2"]}, sf.Shuffle("x", given="s"))
