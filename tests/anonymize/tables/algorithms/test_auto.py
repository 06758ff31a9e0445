"""The best of what is cheap, chosen by counting; and options that are refused in a sentence."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from chance import seeds

import sfumato as sf
from sfumato.anonymize.tables.release import AUTO, _candidates
from sfumato.errors import ParameterError, Unsatisfiable

SCHEMA = sf.Schema(
    quasi={"age": sf.Hierarchy.intervals(width=10, low=20, high=60), "zip": "mask"},
    sensitive=["diagnosis"],
)
OTHERS = [
    ("optimal", {}), ("local", {}), ("cluster", {}), ("topdown", {}), ("mondrian", {}),
    ("mondrian", {"strict": False}),
]  # fmt: skip


def patients(seed, count=None):
    rng = random.Random(seed)
    count = count or rng.randint(10, 30)
    return {
        "age": [rng.randint(20, 60) for _ in range(count)],
        "zip": [str(rng.randint(100, 130)) for _ in range(count)],
        "diagnosis": [rng.choice(["flu", "cold", "ulcer"]) for _ in range(count)],
    }


def released(table, algorithm, promise=None, **options):
    promise = promise or sf.KAnonymity(3)
    return sf.anonymize(table, promise, schema=SCHEMA, algorithm=algorithm, seed=1, **options)


@seeds(3, few=2)
def test_auto_loses_no_more_than_any_of_the_others(seed):
    table = patients(seed)
    best = released(table, AUTO)
    assert best.verify().holds
    found = [released(table, name, **options).loss["LM"] for name, options in OTHERS]
    assert best.loss["LM"] <= min(found) + 1e-12


def test_no_algorithm_is_the_best_of_all_tables():
    codes = sf.Schema(quasi={"zip": "mask", "code": "mask"})
    winners = {released(patients(0), AUTO).settings["algorithm"]}
    for seed in range(8):
        rng = random.Random(seed)
        table = {name: [str(rng.randint(10, 30)) for _ in range(20)] for name in ("zip", "code")}
        found = sf.anonymize(table, sf.KAnonymity(4), schema=codes, algorithm=AUTO, seed=1)
        winners.add(found.settings["algorithm"])
    assert len(winners) > 1


def test_the_choice_is_recorded_and_repeated_to_the_byte():
    table = patients(3)
    first, again = released(table, AUTO), released(table, AUTO)
    assert str(first.data) == str(again.data)
    facts = first.provenance.record.facts
    assert "auto" in facts["chosen"]
    assert facts["tried"].count(";") == len(OTHERS) - 1
    assert first.settings["algorithm"] == first.provenance.record.algorithm
    told = dict(first.settings)
    for name in ("suppression", "objective", "order"):
        told.pop(name)
    alone = released(table, told.pop("algorithm"), **told)
    assert alone.loss == first.loss


@pytest.mark.parametrize(
    ("distinct", "heights", "objective", "chosen"),
    [
        (100, (3, 4), "LM", {"optimal", "mondrian", "topdown", "local", "cluster"}),
        (100, (3, 4), "AECS", {"optimal"}),
        (150_000, (3, 4), "LM", {"optimal", "mondrian", "topdown", "local"}),
        (10**6, (3, 4), "LM", {"optimal", "mondrian", "topdown"}),
        (10**6, (9,) * 8, "LM", {"mondrian", "topdown"}),
    ],
)
def test_work_is_estimated_from_the_frequency_table(distinct, heights, objective, chosen):
    problem = SimpleNamespace(
        table=SimpleNamespace(distinct=distinct), attributes=len(heights), heights=heights,
        objective=objective,
    )  # fmt: skip
    assert {name for name, _ in _candidates(problem)} == chosen


def test_auto_with_people_other_objectives_and_what_cannot_be():
    table = patients(5, 40)
    assert released(table, AUTO, objective="AECS").settings["algorithm"] == "optimal"
    people = {**table, "who": [i // 2 for i in range(40)]}
    people.pop("zip")
    schema = sf.Schema(
        identifiers=["who"],
        quasi={"age": sf.Hierarchy.intervals(width=10, low=20, high=60)},
        sensitive=["diagnosis"],
        unit="who",
    )
    release = sf.anonymize(people, sf.KAnonymity(2), schema=schema, algorithm=AUTO, seed=1)
    assert release.verify().holds
    with pytest.raises(Unsatisfiable):
        released(table, AUTO, sf.DistinctLDiversity(4, "diagnosis"))
    with pytest.raises(ParameterError, match="chooses algorithms and their options"):
        released(table, AUTO, strict=False)


# -- options ------------------------------------------------------------------------------------


def test_levels_are_a_mapping_and_one_level_will_do():
    table = patients(2, 40)
    fixed = released(table, "optimal", levels={"zip": 2})
    assert fixed.settings["levels"] == {"zip": 2}
    assert fixed.levels["zip"] == 2
    assert fixed.levels == released(table, "optimal", levels={"zip": (2, 2)}).levels
    for wrong in ((2, 1, 1), [1], 2, "zip"):
        with pytest.raises(ParameterError, match="levels="):
            released(table, "optimal", levels=wrong)
    for wrong in (
        {"zip": (1, 2, 3)},
        {"zip": "2"},
        {"zip": (0, 1.5)},
        {"zip": True},
        {"zip": None},
    ):
        with pytest.raises(ParameterError, match="levels of 'zip'"):
            released(table, "optimal", levels=wrong)
    with pytest.raises(ParameterError, match="is not within"):
        released(table, "optimal", levels={"zip": 9})


def test_information_gain_takes_a_target_that_the_promise_does_not_name():
    table = patients(4, 60)
    options = {"steps": "information-gain", "target": "diagnosis"}
    found = released(table, "topdown", **options)
    named = released(
        table, "topdown", sf.KAnonymity(3) & sf.DistinctLDiversity(1, "diagnosis"), **options
    )
    assert found.loss == named.loss
    assert str(found.promise) == str(sf.KAnonymity(3))
    assert found.verify().holds
    with pytest.raises(ParameterError, match="sensitive"):
        released(table, "topdown", steps="information-gain", target="zip")
