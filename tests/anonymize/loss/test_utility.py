"""Utility asked of a release: the same figures as from its parts, and clear refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import DataError

SCHEMA = sf.Schema(
    quasi={"age": sf.Hierarchy.intervals(width=10), "zip": sf.Hierarchy.mask(3)},
    sensitive=["ill"],
    insensitive=["car"],
)


def people(n=600):
    rng = np.random.default_rng(1)
    age = rng.integers(20, 60, n)
    return pd.DataFrame(
        {
            "age": age,
            "zip": rng.choice(["101", "102", "211", "212"], n),
            "ill": np.where(rng.random(n) < np.where(age < 40, 0.9, 0.1), "yes", "no"),
            "car": np.where(age < 30, "no", "yes"),
        }
    )


@pytest.fixture(scope="module")
def release():
    return sf.anonymize(people(), sf.KAnonymity(5), schema=SCHEMA)


def test_query_error_of_a_release(release):
    found = sf.query_error(release, [{"zip": ["101", "102", "211", "212"]}, {"age": "25"}])
    assert found.truths.tolist() == [600, int((people()["age"] == 25).sum())]
    assert found.estimates[0] == pytest.approx(600 - release.suppressed)
    assert sf.query_error(release, queries=50, seed=2).mean > 0


def test_model_loss_of_a_release(release):
    by_age = sf.model_loss(release, people(), "ill")
    assert by_age.accuracy_original == pytest.approx(0.9, abs=0.06)
    assert abs(by_age.accuracy_loss) < 0.1  # ages in tens still tell young from old
    assert sf.model_loss(release, people(), "car").accuracy_original > 0.97


def test_refusals(release):
    with pytest.raises(DataError, match="quasi-identifier"):
        sf.model_loss(release, people(), "age")
    with pytest.raises(DataError, match="not the data"):
        sf.model_loss(release, people(599), "ill")
    with pytest.raises(DataError, match="lacks the attribute"):
        sf.model_loss(release, people(), "height")
