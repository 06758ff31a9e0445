"""What anonymising returns, its own verification accepts: every shape, with hostile values."""

from __future__ import annotations

import random

import pytest
from chance import seeds

import sfumato as sf
from sfumato.errors import Unsatisfiable

HOSTILE = (
    ["hiv", "HIV", "flu"],
    ["*", "a", "b"],
    ["", " ", "x"],
    ["a", "A", "b", "B"],
    ["a\u200b", "a", "ﬁ", "fi"],
    ["[1,2)", "{a, b}", "1"],
)


def released(data, promise, **options):
    """Return the release, or None where it is said that there is none."""
    try:
        return sf.anonymize(data, promise, **options)
    except Unsatisfiable:
        return None


def accepted(release):
    return release is None or release.verify().holds


def table(seed):
    dice = random.Random(seed)
    n, values = dice.randint(6, 14), HOSTILE[seed % len(HOSTILE)]
    return {
        "age": [str(dice.randint(20, 30)) for _ in range(n)],
        "ill": [dice.choice(values) for _ in range(n)],
    }


ROWS = sf.Schema(quasi=["age"], sensitive=["ill"])
JUDGES = (
    sf.KAnonymity(2) & sf.DistinctLDiversity(2, "ill"),
    sf.EntropyLDiversity(2, "ill"),
    sf.RecursiveLDiversity(2, 2, "ill"),
    sf.TCloseness(0.3, "ill"),
    sf.BetaLikeness(1, "ill"),
)


ALGORITHMS = ("optimal", "local", "mondrian", "topdown", "cluster", "cells")


@pytest.mark.parametrize(
    ("algorithm", "seed"),
    [
        pytest.param(algorithm, seed, marks=() if (seed - i) % 6 in {0, 1} else pytest.mark.soak)
        for i, algorithm in enumerate(ALGORITHMS)
        for seed in range(len(HOSTILE))
    ],
)
def test_tables(algorithm, seed):
    data = sf.read(table(seed), schema=ROWS)
    promise = JUDGES[seed % len(JUDGES)]
    assert accepted(released(data, promise, algorithm=algorithm, suppression=0.3))


def test_values_that_look_alike_are_taken_as_one_and_apart():
    """Two classes of `hiv` and `HIV` have one value to a reader, and are joined with the others."""
    rows = {"age": ["20", "20", "30", "30"], "ill": ["hiv", "HIV", "flu", "cold"]}
    data = sf.read(rows, schema=ROWS)
    release = sf.anonymize(data, sf.KAnonymity(2) & sf.DistinctLDiversity(2, "ill"))
    assert release.verify().holds
    assert release.verify().classes == 1
    same = sf.read({"age": ["20", "20"], "ill": ["hiv", "HIV"]}, schema=ROWS)
    assert released(same, sf.DistinctLDiversity(2, "ill")) is None


SETS = sf.Schema(
    sensitive=["ill"], attributes={"age": "quasi", "items": {"role": "quasi", "type": "set"}}
)


@seeds(12, few=6)
def test_hybrid_records(seed):
    dice = random.Random(seed)
    rows = table(seed)
    rows["items"] = ["|".join(dice.sample("abcd", dice.randint(1, 3))) for _ in rows["age"]]
    data = sf.read(rows, schema=SETS)
    judge = (sf.DistinctLDiversity(2, "ill"), sf.TCloseness(0.2, "ill"))[seed % 2]
    promise = sf.KAnonymity(2) & judge & sf.KmAnonymity(2, 2, "items")
    assert accepted(released(data, promise))


def test_hybrid_records_of_one_value_are_refused():
    rows = {"age": ["20"] * 4, "items": ["a"] * 4, "ill": ["flu"] * 4}
    promise = sf.KAnonymity(2) & sf.DistinctLDiversity(2, "ill") & sf.KmAnonymity(2, 2, "items")
    with pytest.raises(Unsatisfiable):
        sf.anonymize(sf.read(rows, schema=SETS), promise)


@seeds(12, few=6)
def test_trees(seed):
    dice = random.Random(seed)
    values = HOSTILE[seed % len(HOSTILE)]
    records = [
        {
            "age": dice.choice("12"),
            "visits": [{"ill": dice.choice(values)} for _ in range(dice.randint(0, 3))],
        }
        for _ in range(12)
    ]
    rules = sf.Schema(quasi=["age"], sensitive=["visits.ill"])
    data = sf.read(records, shape="trees", schema=rules)
    judge = (sf.VertexDiversity(2, "visits.ill"), sf.DistinctLDiversity(2, "visits.ill"))[seed % 2]
    assert accepted(released(data, sf.KAnonymity(3) & judge))


@pytest.mark.parametrize("seed", range(6))
def test_sets(seed):
    dice = random.Random(seed)
    items = [*HOSTILE[seed % len(HOSTILE)], "c", "d"]
    items = [item for item in items if item.strip() and item != "*"]  # a root is refused
    baskets = [dice.sample(items, dice.randint(1, 3)) for _ in range(12)]
    assert accepted(released(sf.read(baskets, shape="sets"), sf.KmAnonymity(3, 2)))
