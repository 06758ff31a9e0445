"""What each truth-breaking operation changes, and what it leaves alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.tables.perturb.records import records_of
from sfumato.anonymize.tables.perturb.synthetic_records import POOL
from sfumato.errors import DataError, ParameterError


def columns(table):
    """Return the texts of a table in the order of its rows."""
    records = records_of(table)
    return {
        name: [column.values[code] for code in column.codes]
        for name, column in records.columns.items()
    }


def perturbed(data, *operations, schema=None, seed=1):
    return columns(sf.perturb(data, *operations, schema=schema, seed=seed))


# -- noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["normal", "laplace", "uniform"])
def test_noise_has_the_size_asked_for(distribution):
    n = 10_000
    data = {"x": np.arange(n) * 1.0, "y": ["a"] * n}
    operation = sf.AddNoise("x", scale=500.0, distribution=distribution)
    after = perturbed(data, operation)
    moved = np.array(list(map(float, after["x"]))) - data["x"]
    assert abs(moved.mean()) < 500 * 4 / np.sqrt(n)
    assert moved.std() == pytest.approx(500, rel=0.03)
    assert after["y"] == data["y"]


def test_relative_noise_follows_the_spread_of_the_column():
    n = 10_000
    x = np.arange(n) % 1000
    after = np.array(list(map(int, perturbed({"x": x}, sf.AddNoise("x", relative=0.5))["x"])))
    assert (after - x).std() == pytest.approx(0.5 * x.std(), rel=0.03)


def test_correlated_noise_keeps_correlations():
    generator = np.random.default_rng(1)
    x = generator.normal(50, 10, 10_000).round(3)
    y = (3 * x + generator.normal(0, 5, 10_000)).round(3)
    before = np.corrcoef(x, y)[0, 1]
    after = {}
    for correlated in (False, True):
        noise = sf.AddNoise(["x", "y"], relative=0.6, correlated=correlated)
        found = perturbed({"x": x, "y": y}, noise)
        a, b = (np.array(list(map(float, found[name]))) for name in "xy")
        assert (a - x).std() == pytest.approx(0.6 * x.std(), rel=0.03)
        after[correlated] = np.corrcoef(a, b)[0, 1]
    assert after[True] == pytest.approx(before, abs=0.01)
    assert after[False] < before - 0.2


def test_integers_stay_integers_decimals_stay_and_missing_cells_stay_missing():
    whole = ["30", "", "41", "", "57"] * 40
    money = ["1200.25", "13", "", "99.9", "0"] * 40
    after = perturbed({"age": whole, "wage": money}, sf.AddNoise(["age", "wage"], scale=3))
    assert [a == "" for a in after["age"]] == [a == "" for a in whole]
    assert [a == "" for a in after["wage"]] == [a == "" for a in money]
    assert all(a == "" or str(int(a)) == a for a in after["age"])
    lengths = Counter(len(a.partition(".")[2]) for a in after["wage"] if a)
    assert max(lengths) == 2
    assert after["age"] != whole


def test_noise_is_pulled_back_into_bounds():
    data = {"age": [str(i % 100) for i in range(500)]}
    given = list(map(int, perturbed(data, sf.AddNoise("age", scale=40, low=0, high=99))["age"]))
    assert (min(given), max(given)) == (0, 99)
    schema = sf.Schema(attributes={"age": {"role": "quasi", "domain": {"low": 5, "high": 90}}})
    declared = perturbed(
        {"age": [str(5 + i % 86) for i in range(500)]}, sf.AddNoise("age", scale=40), schema=schema
    )
    assert {min(map(int, declared["age"])), max(map(int, declared["age"]))} == {5, 90}


@pytest.mark.parametrize(
    ("kind", "low", "high"), [(np.int8, -128, 127), (np.uint8, 0, 255), (np.int64, -(10**6), 10**6)]
)
def test_noise_fits_the_type_of_the_column(kind, low, high):
    data = {"x": np.array([100, 101, 102, 5] * 100, dtype=kind)}
    table = sf.perturb(data, sf.AddNoise("x", scale=90), seed=2)
    found = [row[0] for row in table.run(f"SELECT x FROM {table.scan}")]
    assert all(low <= x <= high for x in found)
    assert table.types["x"] == sf.read(data).types["x"]


def test_decimal_columns_do_not_overflow():
    arrow = pytest.importorskip("pyarrow")
    from decimal import Decimal

    values = arrow.array([Decimal("99.50"), Decimal("1.25")] * 50, type=arrow.decimal128(4, 2))
    table = sf.perturb(arrow.table({"x": values}), sf.AddNoise("x", scale=80), seed=1)
    found = {row[0] for row in table.run(f"SELECT x FROM {table.scan}")}
    assert max(found) == Decimal("99.99")
    assert min(found) == Decimal("-99.99")


# -- swapping --------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.1, 0.33, 1])
def test_swapping_keeps_every_value_and_moves_the_share(share):
    n = 999
    data = {"x": [f"v{i}" for i in range(n)], "y": list(range(n))}
    after = perturbed(data, sf.Swap("x", share=share))
    assert Counter(after["x"]) == Counter(data["x"])
    assert after["y"] == [str(y) for y in data["y"]]
    moved = [i for i in range(n) if after["x"][i] != data["x"][i]]
    assert len(moved) == round(share * n) // 2 * 2
    where = {value: i for i, value in enumerate(after["x"])}
    assert all(after["x"][where[data["x"][i]]] == data["x"][i] for i in moved)
    partner = [where[value] for value in data["x"]]
    assert all(partner[partner[i]] == i for i in range(n))


def test_columns_swapped_together_stay_together():
    data = {"a": [f"a{i}" for i in range(300)], "b": [f"b{i}" for i in range(300)], "c": range(300)}
    after = perturbed({**data, "c": list(data["c"])}, sf.Swap(["a", "b"], share=0.5))
    assert all(a[1:] == b[1:] for a, b in zip(after["a"], after["b"], strict=True))
    assert sum(a[1:] != c for a, c in zip(after["a"], after["c"], strict=True)) == 150


def test_missing_cells_do_not_take_part():
    data = {"a": ["", "x", "y", "z"] * 25, "b": ["1", "2", "", "4"] * 25}
    after = perturbed(data, sf.Swap(["a", "b"], share=1))
    for i in range(100):
        if i % 4 in {0, 2}:
            assert (after["a"][i], after["b"][i]) == (data["a"][i], data["b"][i])
    assert Counter(zip(after["a"], after["b"], strict=True)) == Counter(
        zip(data["a"], data["b"], strict=True)
    )


@pytest.mark.parametrize("window", [0.001, 0.05, 0.3, 1.0])
def test_rank_swapping_stays_within_its_window(window):
    n = 1_000
    values = np.random.default_rng(3).permutation(n)
    after = list(map(int, perturbed({"x": values}, sf.Swap("x", share=1, window=window))["x"]))
    assert sorted(after) == list(range(n))
    distance = np.abs(np.array(after) - values)  # values are their own ranks
    assert distance.max() <= max(int(window * n), 1)
    assert (distance > 0).mean() > 0.85
    if window == 0.3:
        assert distance.max() > 250


def test_rank_swapping_of_some_records_counts_ranks_among_them():
    n = 2_000
    values = np.arange(n)
    after = np.array(
        list(map(int, perturbed({"x": values}, sf.Swap("x", share=0.5, window=0.01))["x"]))
    )
    moved = np.flatnonzero(after != values)
    assert 850 < len(moved) <= 1000
    assert np.abs(after - values).max() <= 60  # 10 ranks among the half that take part


# -- synthetic records -----------------------------------------------------------------


SCHEMA = sf.Schema(identifiers=["id", "name"], quasi=["age", "sex"], sensitive=["illness"])


def people(n=1_000):
    sexes = ["f" if i % 2 else "m" for i in range(n)]
    illnesses = ["prostate" if s == "m" and i % 3 == 0 else "flu" for i, s in enumerate(sexes)]
    return {
        "id": list(range(1, n + 1)),
        "name": [f"Ann {i}" for i in range(n)],
        "age": [20 + i % 50 for i in range(n)],
        "sex": sexes,
        "illness": illnesses,
    }


def test_synthetic_records_are_mixed_among_the_real_ones():
    data = people()
    after = perturbed(data, sf.AddSynthetic(share=0.05), schema=SCHEMA)
    real = {f"Ann {i}" for i in range(1_000)}
    places = [i for i, name in enumerate(after["name"]) if name not in real]
    assert len(places) == 50
    assert len(after["id"]) == 1_050
    kept = [i for i in range(1_050) if i not in set(places)]
    for name, column in data.items():
        assert [after[name][i] for i in kept] == [str(cell) for cell in column]
    assert min(places) < 150
    assert max(places) > 900
    assert len({after["id"][i] for i in places} - set(map(str, data["id"]))) == 50
    assert len({after["name"][i] for i in places}) == 50


def test_synthetic_records_look_like_real_ones_pair_by_pair():
    data = people()
    after = perturbed(data, sf.AddSynthetic(share=1.0), schema=SCHEMA)
    made = Counter(zip(after["sex"], after["illness"], strict=True))
    assert ("f", "prostate") not in made  # neighbouring columns are drawn together
    assert set(after["age"]) == set(map(str, data["age"]))
    assert made["m", "prostate"] == pytest.approx(333, abs=60)


def test_values_of_a_unique_column_are_drawn_from_a_pool():
    n = 200
    data = {"x": list(range(n)), "y": list(range(n))}
    after = perturbed(data, sf.AddSynthetic(share=1.0))
    pairs = Counter(zip(map(int, after["x"]), map(int, after["y"]), strict=True))
    made = pairs - Counter((i, i) for i in range(n))
    assert sum(made.values()) == n
    assert all(abs(x - y) < POOL for x, y in made)
    assert sum(count for (x, y), count in made.items() if x == y) < n / 4


@pytest.mark.parametrize(
    ("ids", "check"),
    [
        ([f"{i:03}" for i in range(60)], lambda v: v.isdigit()),
        ([f"A-{i}" for i in range(60)], lambda v: len(v) == 32),
        (np.arange(60, dtype=np.int8), lambda v: v == ""),
        (np.arange(60) / 2 + 0.25, lambda v: v == ""),
    ],
)
def test_fresh_identifiers(ids, check):
    schema = sf.Schema(identifiers=["id"], quasi=["q"])
    after = perturbed({"id": ids, "q": list(range(60))}, sf.AddSynthetic(share=0.5), schema=schema)
    known = set(perturbed({"id": ids, "q": range(60)}, sf.Swap("q", share=0))["id"])
    new = [value for value in after["id"] if value not in known]
    assert len(new) == 30
    assert all(map(check, new))


def test_no_share_adds_nobody():
    assert perturbed(people(20), sf.AddSynthetic(share=0)) == {
        name: list(map(str, column)) for name, column in people(20).items()
    }


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sf.AddNoise("x"), "needs either scale"),
        (lambda: sf.AddNoise("x", scale=1, relative=1), "needs either scale"),
        (lambda: sf.AddNoise("x", scale=0), "scale must be a number above 0, not 0"),
        (lambda: sf.AddNoise("x", relative=float("nan")), "relative must be a number above 0"),
        (lambda: sf.AddNoise("x", scale=True), "scale must be a number above 0"),
        (lambda: sf.AddNoise("x", scale=1, distribution="cauchy"), "one of normal, laplace"),
        (lambda: sf.AddNoise(["x", "y"], scale=1, correlated=True), "give relative"),
        (lambda: sf.AddNoise("x", scale=1, low=3, high=2), "low must not exceed high"),
        (lambda: sf.AddNoise([], scale=1), "needs the name of a column"),
        (lambda: sf.AddNoise(["x", "x"], scale=1), "names a column twice"),
        (lambda: sf.Swap("x", share=1.5), "share must be at least 0 and at most 1, not 1.5"),
        (lambda: sf.Swap("x", share=-0.1), "share must be"),
        (lambda: sf.Swap("x", share=1, window=0), "window must be more than 0"),
        (lambda: sf.Swap(["x", "y"], share=1, window=0.1), "needs a single column"),
        (lambda: sf.Microaggregate("x", size=1), "size must be a whole number of at least 2"),
        (lambda: sf.Microaggregate("x", size=2.0), "size must be a whole number of at least 2"),
        (lambda: sf.AddSynthetic(share=2), "share must be at least 0 and at most 1, not 2"),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "operation",
    [
        sf.AddNoise("salry", scale=1),
        sf.Swap("salry", share=0.5),
        sf.Microaggregate("salry", size=2),
    ],
)
def test_unknown_columns(operation):
    with pytest.raises(ParameterError, match=r"names the column 'salry'.*Did you mean 'salary'"):
        sf.perturb({"salary": [1, 2, 3]}, operation)


@pytest.mark.parametrize(
    "operation",
    [
        sf.AddNoise("job", scale=1),
        sf.Swap("job", share=1, window=0.5),
        sf.Microaggregate(["age", "job"], size=2),
    ],
)
def test_columns_that_are_not_numbers(operation):
    data = {"age": ["1", "2", "3"], "job": ["smith", "7", "inf"]}
    with pytest.raises(DataError, match=r"'job' has 2 distinct value\(s\)") as caught:
        sf.perturb(data, operation)
    assert "smith" not in str(caught.value)


def test_numbers_too_large_for_exact_arithmetic():
    with pytest.raises(DataError, match=r"beyond 2\^53"):
        sf.perturb({"x": ["1", str(2**60)]}, sf.AddNoise("x", scale=1))


def test_relative_noise_needs_numbers():
    with pytest.raises(DataError, match="has no number"):
        sf.perturb({"x": ["", ""]}, sf.AddNoise("x", relative=1))
    with pytest.raises(DataError, match="at least two records"):
        sf.perturb(
            {"x": ["1", ""], "y": ["", "2"]}, sf.AddNoise(["x", "y"], relative=1, correlated=True)
        )
