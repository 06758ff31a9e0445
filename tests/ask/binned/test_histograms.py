"""Histograms and maps of sessions against NumPy, and what they cost against the mechanisms."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import sfumato as sf
from sfumato.ask.binned.bin_labels import (
    number_text,
    read_edges,
    read_label,
    real_labels,
    whole_labels,
)
from sfumato.ask.session.session import Session
from sfumato.errors import GovernanceError, ParameterError, Refused

SURE = 2000  # an ε at which noise is 0, also of sums: but for one chance in e^66 where Δ is 15
PEOPLE = 400


def frame():
    rng = np.random.default_rng(5)
    ages = rng.integers(0, 100, PEOPLE).astype(object)
    ages[:7] = None
    return {
        "age": ages,
        "bmi": np.round(rng.normal(25, 4, PEOPLE), 2),
        "sex": rng.choice(["female", "male", "other"], PEOPLE).astype(object),
        "visits": rng.integers(0, 15, PEOPLE),
        "member": rng.random(PEOPLE) < 0.3,
        "lat": 46.5 + 0.1 * rng.standard_normal(PEOPLE),
        "lon": 11.3 + 0.2 * rng.standard_normal(PEOPLE),
    }


DATA = frame()
AGES = np.array([math.nan if age is None else age for age in DATA["age"]], dtype=float)


def session(budget=None, **more):
    budget = budget or sf.PureDP(100_000.0)
    return Session(
        sf.read(DATA, name="people"), public_types=True, unit="row", budget=budget, **more
    )


def test_labels_are_read_back():
    from fractions import Fraction

    edges = [Fraction(-5), Fraction("0.1"), Fraction(10**9), Fraction(10**22)]
    labels = real_labels(edges)
    assert read_edges(labels) == tuple(float(edge) for edge in edges)
    assert labels[-1].endswith("]")
    assert labels[0] == "[-5, 0.1)"
    assert whole_labels([-3, -1, 0, 18, 65]) == ("-3–-2", "-1", "0–17", "18–64")
    assert read_edges(whole_labels([-3, -1, 0, 18, 65])) == (-3, -1, 0, 18, 65)
    assert read_label("20–29") == (20, 30)
    assert read_label("20-29") is read_label("female") is read_label(None) is None
    assert read_edges(["[0, 1)", "[2, 3]"]) is None
    assert float(number_text(Fraction(1, 3))) == 1 / 3


def test_counts_in_given_edges_are_those_of_numpy():
    edges = [0, 18, 40, 65, 99]
    answer = session().histogram("age", bins=edges, epsilon=SURE)
    assert answer.columns == ("age", "count")
    assert answer.column("age") == ["0–17", "18–39", "40–64", "65–99"]
    assert answer.column("count") == np.histogram(AGES[7:], edges)[0].tolist()
    assert "missing ones, are in no bin" in answer.notes[-1]


def test_rows_beyond_the_edges_and_without_a_value_are_left_out_or_have_a_bin():
    answer = session().histogram("age", bins=[20, 30], missing=True, epsilon=SURE)
    inside = int(((AGES >= 20) & (AGES <= 30)).sum())
    assert answer.rows == (("20–30", inside), ("(missing)", 7))


def test_equal_bins_are_rounded_and_the_label_says_what_is_counted():
    answer = session().histogram("bmi", bins=7, bounds=(15, 35), epsilon=SURE)
    edges = read_edges(answer.column("bmi"))
    assert edges is not None
    assert (edges[0], edges[-1], len(edges)) == (15, 35, 8)
    assert all(len(f"{edge:g}") <= 6 for edge in edges)
    assert max(b - a for a, b in pairwise(edges)) - 20 / 7 < 0.01
    assert answer.column("count") == np.histogram(DATA["bmi"], edges)[0].tolist()


@pytest.mark.parametrize(
    ("low", "high", "bins", "labels"),
    [
        (0, 99, 10, ["0–9", "10–19"]),
        (0, 100, 10, ["0–9", "10–19"]),
        (18, 20, 10, ["18", "19"]),
        (5, 5.5, 3, ["5"]),
    ],
)
def test_equal_bins_of_whole_numbers(low, high, bins, labels):
    answer = session().histogram("age", bins=bins, bounds=(low, high), epsilon=SURE)
    shown = answer.column("age")
    assert shown[: len(labels)] == labels
    ends = read_edges(shown)
    assert ends is not None
    assert ends[-1] == math.floor(high) + 1
    wanted = np.histogram(AGES[7:], [*ends[:-1], math.floor(high) + 0.5])[0]
    assert answer.column("count") == wanted.tolist()


def test_bins_from_declared_bounds_and_values_beyond_are_in_none():
    answer = session(bounds={"age": (20, 79)}).histogram("age", bins=6, epsilon=SURE)
    wanted = np.histogram(AGES[7:], [20, 30, 40, 50, 60, 70, 79.5])[0]
    assert answer.column("age")[-1] == "70–79"
    assert answer.column("count") == wanted.tolist()
    assert wanted.sum() < len(AGES[7:])
    assert "outside 20 … 79, and missing ones, are in no bin" in answer.notes[-1]


def test_an_owner_s_bounds_and_categories_stay():
    owned = session(bounds={"age": (0, 99)}, keys={"sex": ["female", "male", "unheard of"]})
    with pytest.raises(GovernanceError):
        owned.histogram("age", bins=5, bounds=(0, 50), epsilon=1)
    with pytest.raises(ParameterError, match="choose bins among them"):
        owned.histogram("sex", bins=["female", "x"], epsilon=1)
    empty = owned.histogram("sex", epsilon=SURE)
    assert empty.rows[2] == ("unheard of", 0)
    assert owned.histogram("sex", bins=["male"], epsilon=SURE).column("sex") == ["male"]


def test_categories_and_truth_values():
    answer = session().histogram("sex", bins=["male", "female", "nobody"], epsilon=SURE)
    wanted = [(name, int((DATA["sex"] == name).sum())) for name in ("male", "female", "nobody")]
    assert list(answer.rows) == wanted
    member = session().histogram("member", epsilon=SURE)
    assert member.rows == ((False, int((~DATA["member"]).sum())), (True, int(DATA["member"].sum())))


def test_several_columns_give_the_cross_product_with_sums():
    answer = session().histogram(
        ["bmi", "sex"], bins={"bmi": [10, 25, 40], "sex": ["female", "male"]},
        sums="visits", bounds={"visits": (0, 10)}, where="age >= 30", epsilon=SURE,
    )  # fmt: skip
    assert answer.keys == ("bmi", "sex")
    assert len(answer.rows) == 4
    visits = np.minimum(DATA["visits"], 10)
    for label, sex, count, total in answer.rows:
        low, high = read_label(label)
        rows = (DATA["bmi"] >= low) & (DATA["sex"] == sex) & (AGES >= 30)
        rows &= DATA["bmi"] <= high if label.endswith("]") else DATA["bmi"] < high
        assert (count, total) == (int(rows.sum()), int(visits[rows].sum()))


def test_sums_alone_and_their_own_sensitivity():
    asked = {"bins": [0, 50, 99], "sums": "visits", "bounds": {"visits": (0, 10)}}
    answer = session().histogram("age", counts=False, epsilon=1, **asked)
    assert answer.columns == ("age", "visits")
    (width,) = {high - low for low, high in answer.intervals(0.95)["visits"]}
    (counted,) = {
        high - low
        for low, high in session()
        .histogram("age", bins=[0, 50, 99], epsilon=1)
        .intervals()["count"]
    }
    scale = 10 / 1
    assert width / 2 == pytest.approx(scale * math.log(1 / 0.05), rel=0.05)
    assert counted / 2 == pytest.approx(math.log(1 / 0.05), abs=1.01)


def test_counts_of_all_bins_cost_one_epsilon_and_are_stored():
    one = session(sf.PureDP(1.0))
    first = one.histogram("age", bins=[0, 20, 40, 99], epsilon=0.25)
    again = one.histogram("AGE", bins=[0.0, 20, "40", 99], epsilon=0.25)
    assert first.rows == again.rows
    assert again.stored
    assert again.notes == first.notes
    assert one.remaining.epsilon == 0.75
    scale = one.histogram("age", bins=[0, 20, 40, 99], accuracy=20.0).epsilon
    assert scale == pytest.approx(math.log(20) / 20, rel=0.05)


def test_dates_have_bins_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day\n2024-01-05\n2024-02-01\n2024-06-30\n2024-07-01\n")
    one = Session(sf.read(path), public_types=True, unit="row", budget=sf.PureDP(10_000.0))
    answer = one.histogram("day", bins=["2024-01-01", "2024-02-01", "2024-07-01"], epsilon=SURE)
    assert answer.rows == (
        ("2024-01-01 … 2024-01-31", 1),
        ("2024-02-01 … 2024-07-01", 3),
    )


def test_people_with_many_rows_are_bounded():
    rows = {"id": [1] * 50 + [2, 3], "x": [*range(50), 0, 49]}
    unit = sf.Unit("id", groups=2, rows_per_group=1)
    one = Session(sf.read(rows, name="t"), public_types=True, unit=unit, budget=sf.PureDP(10_000.0))
    answer = one.histogram("x", bins=[0, 10, 20, 30, 40, 49], epsilon=SURE)
    assert sum(answer.column("count")) == 4  # two of the first, one of each other
    with pytest.raises(Refused, match="names people"):
        one.histogram("id", bins=[0, 5], epsilon=1)


def test_a_map_counts_the_cells_of_its_box():
    box = (46.3, 10.9, 46.7, 11.7)
    answer = session().map(
        latitude="lat", longitude="lon", box=box, rows=4, columns=5, sums="visits",
        bounds={"visits": (0, 14)}, epsilon=SURE,
    )  # fmt: skip
    assert answer.keys == ("latitude", "longitude")
    lat = read_edges(list(dict.fromkeys(answer.column("latitude"))))
    lon = read_edges(list(dict.fromkeys(answer.column("longitude"))))
    assert (lat[0], lat[-1], lon[0], lon[-1]) == (46.3, 46.7, 10.9, 11.7)
    wanted, *_ = np.histogram2d(DATA["lat"], DATA["lon"], bins=[lat, lon])
    assert answer.column("count") == wanted.ravel().astype(int).tolist()
    visits, *_ = np.histogram2d(DATA["lat"], DATA["lon"], bins=[lat, lon], weights=DATA["visits"])
    assert answer.column("visits") == visits.ravel().astype(int).tolist()
    assert "46.4" in answer.picture()


BAD = {
    "no bounds": lambda s: s.histogram("age", bins=10, epsilon=1),
    "no categories": lambda s: s.histogram("sex", epsilon=1),
    "number of categories": lambda s: s.histogram("sex", bins=3, epsilon=1),
    "a word": lambda s: s.histogram("age", bins="auto", epsilon=1),
    "falling": lambda s: s.histogram("age", bins=[3, 2], epsilon=1),
    "one edge": lambda s: s.histogram("age", bins=[3], epsilon=1),
    "texts as edges": lambda s: s.histogram("age", bins=["a", "b"], epsilon=1),
    "infinite": lambda s: s.histogram("age", bins=[0, math.inf], epsilon=1),
    "nothing": lambda s: s.histogram([], epsilon=1),
    "twice": lambda s: s.histogram(["age", "AGE"], bins=3, bounds={"age": (0, 9)}, epsilon=1),
    "edges of two": lambda s: s.histogram(["age", "bmi"], bins=[0, 9], epsilon=1),
    "strange bounds": lambda s: s.histogram("age", bins=[0, 9], bounds={"bmi": (0, 9)}, epsilon=1),
    "no numbers": lambda s: s.histogram("age", bins=[0, 9], counts=False, epsilon=1),
    "sums of texts": lambda s: s.histogram("age", bins=[0, 9], sums="sex", epsilon=1),
    "too many": lambda s: s.histogram("age", bins=5000, bounds=(0, 9), epsilon=1),
    "no column": lambda s: s.histogram("agee", bins=[0, 9], epsilon=1),
    "box of three": lambda s: s.map(latitude="lat", longitude="lon", box=(1, 2, 3), epsilon=1),
    "date line": lambda s: s.map(latitude="lat", longitude="lon", box=(1, 170, 2, -170), epsilon=1),
    "texts on a map": lambda s: s.map(latitude="sex", longitude="lon", box=(1, 1, 2, 2), epsilon=1),
    "grouped where": lambda s: s.histogram(
        "age", bins=[0, 9], where="1 = 1) GROUP BY sex HAVING (1 = 1", epsilon=1
    ),
    "union": lambda s: s.histogram("age", bins=[0, 9], where="1 = 1) UNION SELECT (1", epsilon=1),
    "sub-query": lambda s: s.histogram(
        "age", bins=[0, 9], where="age IN (SELECT age FROM people)", epsilon=1
    ),
    "no condition": lambda s: s.histogram("age", bins=[0, 9], where="age + 1", epsilon=1),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_before_anything_is_charged(case):
    one = session(sf.PureDP(1.0))
    with pytest.raises((ParameterError, Refused)) as caught:
        BAD[case](one)
    assert str(caught.value).endswith((".", "?"))
    assert one.remaining.epsilon == 1.0
