"""Promises survive the way through JSON; what cannot be rebuilt says so."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato.anonymize.definitions.definition import Definition
from sfumato.audit.verification.checks import CHECKS
from sfumato.errors import ParameterError
from sfumato.promise import BUILT_IN, built_in, from_json, in_words, read_promise, to_json

EVERY = (
    sf.KAnonymity(5)
    & sf.KAnonymity(3, on=("age", "zip"))
    & sf.DistinctLDiversity(2, "d")
    & sf.EntropyLDiversity(2.5, "d")
    & sf.RecursiveLDiversity(3.5, 2, "d")
    & sf.TCloseness(0.2, "d", distance="ordered")
    & sf.BetaLikeness(1.5, "d", enhanced=False)
    & sf.DeltaDisclosure(0.7, "d")
    & sf.KMap(4)
    & sf.DeltaPresence(0.1, 0.9)
    & sf.AverageRisk(0.2)
    & sf.UniqueShare(0.05)
)


class Own(Definition):
    def judge(self, classes):
        return classes.sizes > 0

    def __str__(self):
        return "a rule of our own"


def test_every_built_in_survives():
    """Those that can be said of tables; tests of other shapes say it of theirs."""
    of_tables = {kind for kind in map(built_in, BUILT_IN) if "table" in (kind.shapes or {"table"})}
    assert {type(part) for part in EVERY.parts} == of_tables
    assert set(CHECKS) == of_tables
    back = from_json(json.loads(json.dumps(to_json(EVERY))))
    assert back.parts == EVERY.parts
    for part in EVERY.parts:
        assert from_json(json.loads(json.dumps(to_json(part)))) == part


def test_plain_form():
    assert to_json(sf.KAnonymity(5)) == [{"definition": "KAnonymity", "k": 5}]
    assert to_json(sf.TCloseness(0.2, "d")) == [
        {"definition": "TCloseness", "t": 0.2, "attribute": "d", "distance": "equal"}
    ]


def test_a_conjunction_in_one_mapping_gives_its_parts():
    assert from_json([EVERY.to_json()]).parts == EVERY.parts
    assert EVERY.in_words(["age"]) == " ".join(in_words(EVERY, ["age"]))


def test_guarantees_are_promises_too():
    promise = sf.PureDP(0.5)
    entries = json.loads(json.dumps(to_json(promise)))
    assert read_promise(entries).guarantees == (promise,)
    assert read_promise(entries).definition is None
    [sentence] = in_words(promise)
    assert sentence.startswith("Pure differential privacy with ε = 0.5")
    assert sentence.endswith(".")


def test_a_class_derived_from_a_built_in_is_not_taken_for_it():
    class KAnonymity(sf.KAnonymity):
        pass

    [entry] = to_json(KAnonymity(5))
    assert "k" not in entry
    assert read_promise([entry]).own == ("5-anonymity",)


def test_own_definitions_are_told_in_words():
    entries = to_json(sf.KAnonymity(2) & Own())
    assert entries[1]["text"] == "a rule of our own"
    assert entries[1]["definition"].endswith(":Own")
    stated = read_promise(entries)
    assert stated.definition == sf.KAnonymity(2)
    assert stated.own == ("a rule of our own",)
    with pytest.raises(ParameterError, match="'a rule of our own' is not built in"):
        from_json(entries)


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ("KAnonymity", "list of mappings"),
        ({"definition": "KAnonymity", "k": 5}, "list of mappings"),
        ([5], "list of mappings"),
        ([{"k": 5}], "list of mappings"),
        ([], "empty"),
        ([{"definition": "KAnonymity", "k": 0}], "k must be"),
        ([{"definition": "KAnonymity"}], "needs k"),
        ([{"definition": "KAnonymity", "k": 2, "x": 1}], "no parameter x"),
    ],
)
def test_what_is_not_a_promise(entries, match):
    with pytest.raises(ParameterError, match=match):
        from_json(entries)
