"""The fictional visits: several rows per patient, the same for a seed, ready to be asked about."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError


@pytest.fixture(scope="module")
def many():
    return sf.examples.visits(3_000, seed=7)


def test_a_seed_decides_everything():
    one, two, other = (sf.examples.visits(200, seed=s) for s in (3, 3, 4))
    assert all((one.columns[c] == two.columns[c]).all() for c in one.columns)
    assert one.rows != other.rows or any(
        (one.columns[c] != other.columns[c]).any() for c in one.columns
    )


def test_people_come_several_times_and_some_very_often(many):
    each = Counter(many.columns["patient"].tolist())
    assert len(each) == 3_000
    assert 3 < many.rows / 3_000 < 6
    assert max(each.values()) > 15
    assert np.mean([count == 1 for count in each.values()]) > 0.1
    assert set(each) == set(sf.examples.patients(3_000, seed=7).columns["patient"].tolist())


def test_values_hang_together(many):
    c = many.columns
    stay = {d: np.median(c["minutes"][c["department"] == d]) for d in set(c["department"])}
    price = {d: np.median(c["cost"][c["department"] == d]) for d in set(c["department"])}
    assert stay["emergency"] > stay["psychology"] > stay["laboratory"]
    assert price["emergency"] > price["radiology"] > price["general practice"]
    days = Counter(dt.date.fromisoformat(day).weekday() for day in c["day"].tolist())
    assert days[6] < 0.3 * days[0]
    assert min(c["day"]) >= "2025-01-01"
    assert max(c["day"]) <= "2025-12-31"
    assert c["day"].tolist() == sorted(c["day"].tolist())
    homes = {p: set() for p in c["patient"]}
    for person, *home in zip(c["patient"], c["latitude"], c["longitude"], strict=True):
        homes[person].add(tuple(home))
    assert max(len(one) for one in homes.values()) == 1


def test_the_schema_names_the_person_and_public_facts(many):
    assert many.schema.unit == "patient"
    domain = many.schema.attributes["department"].domain
    assert set(many.columns["department"]) == set(domain)
    limits = many.schema.attributes["minutes"].domain
    assert int(limits.low) <= many.columns["minutes"].min()
    assert many.columns["minutes"].max() <= int(limits.high)
    assert many.schema.attributes["cost"].domain is None


@pytest.mark.parametrize("given", [{"n": 0}, {"n": True}, {"n": "5"}, {"seed": -1}, {"seed": 1.5}])
def test_bad_numbers_are_refused(given):
    with pytest.raises(ParameterError, match="whole number"):
        sf.examples.visits(**given)
