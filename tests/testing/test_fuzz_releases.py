"""The fuzzer of releases finds nothing in the system as it is, and every mutant of it."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.tables import pose, release
from sfumato.anonymize.tables.apply import recode
from sfumato.anonymize.tables.people import exact, rows, search
from sfumato.released import evidence
from sfumato.testing import fuzz_releases


def test_every_release_keeps_its_promise_among_people():
    found = fuzz_releases(cases=18, seed=21)
    assert found.released > 12
    assert found.several_rows > 5
    assert min(found.algorithms.values()) > 1


@pytest.mark.soak
def test_every_release_of_many_keeps_its_promise():
    found = fuzz_releases(seconds=240, seed=201)
    assert found.released > 60
    print(found)


def people_counted_as_records(patch):
    patch.setattr(exact.ExactJudge, "people", exact.ExactJudge.records)


def units_taken_for_rows(patch):
    patch.setattr(release, "person_column", lambda _: None)


def one_person_too_few(patch):
    def judge(part, classes):
        return classes.sizes >= part.k - 1

    patch.setattr(KAnonymity, "judge", judge)


def a_value_that_all_have(patch):
    patch.setattr(exact, "judge_people", lambda part, classes: part.judge(classes))


def absent_people_forgotten(patch):
    patch.setattr(exact.ExactJudge, "uncovered", lambda *_: np.zeros(0, dtype=np.int64))


def too_much_left_out(patch):
    honest = pose._limit
    patch.setattr(pose, "_limit", lambda *given: honest(*given) + 2)


def numbers_that_name_people(patch):
    patch.setattr(rows, "_numbers", lambda _, person, __: person + 1)


def numbers_of_two_people(patch):
    honest = rows._numbers
    patch.setattr(rows, "_numbers", lambda *given: np.maximum(honest(*given) - 1, 1))


def labels_of_another_value(patch):
    honest = recode._text

    def wrong(h, level, first, last):
        if level == 1 and len(h.labels) > 3:
            return h.labels[1][(first + 1) % len(h.labels[1])]
        return honest(h, level, first, last)

    patch.setattr(recode, "_text", wrong)


def classes_left_as_they_are(patch):
    patch.setattr(search, "settle_classes", lambda _, placement: placement)
    patch.setattr(search, "_recheck", lambda *_: None)


def records_in_the_eyes_of_verify(patch):
    patch.setattr(
        evidence, "_people", lambda group, groups, _: np.bincount(group, minlength=groups)
    )


MUTANTS = {
    people_counted_as_records: 13,
    units_taken_for_rows: 1,
    one_person_too_few: 13,
    a_value_that_all_have: 65,
    absent_people_forgotten: 10,
    too_much_left_out: 1,
    numbers_that_name_people: 9,
    numbers_of_two_people: 1,
    labels_of_another_value: 2,
    classes_left_as_they_are: 25,
    records_in_the_eyes_of_verify: 1,
}
"""Ways to break what counts people, each with a seed that finds it soon."""


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutants_are_caught(mutate, monkeypatch):
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        fuzz_releases(cases=120, seed=MUTANTS[mutate])
