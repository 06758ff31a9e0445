"""Everything about a definition is in its class: shapes, schema, words, option, suppression."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import sfumato as sf
from sfumato.anonymize.definitions.anonymity import k_of, with_k
from sfumato.errors import ParameterError, SchemaError
from sfumato.promise import BUILT_IN, built_in, to_json
from sfumato.testing import check_definition

SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive=["d"])


class Even(sf.Definition):
    def judge(self, classes):
        return classes.sizes % 2 == 0


@dataclass(frozen=True)
class Pairs(sf.Definition):
    """Records that agree on zip come in pairs or more."""

    name: str = "zip"

    @property
    def combination(self):
        return (self.name,)

    def judge(self, classes):
        return classes.sizes >= 2


def test_one_method_is_enough():
    own = Even()
    assert check_definition(own).holding
    assert own.in_words(["age"]) == "Even holds in every class."
    assert own.shapes == {"table", "hybrid"}
    assert own.option is None
    assert own.per_class
    assert own.allows_suppression
    assert own.to_json()["text"] == "Even"
    own.check_schema(SCHEMA)


def test_shapes_are_refused_with_the_reason():
    sf.KAnonymity(2).check_shape("sets")
    with pytest.raises(ParameterError, match=r"about data of the shape 'sets'.*KAnonymity"):
        (sf.KAnonymity(2) & sf.TCloseness(0.1, "d")).check_shape("sets")
    assert (sf.KAnonymity(2) & sf.KMap(2)).shapes == {"table"}


@pytest.mark.parametrize(
    ("promise", "match"),
    [
        (sf.KAnonymity(2, on=["agee"]), "2-anonymity on agee is about 'agee'.*Did you mean 'age'"),
        (Pairs("d"), "is about 'd', which is not a quasi-identifier"),
        (sf.KAnonymity(2) & sf.DistinctLDiversity(2, "zip"), "distinct .* protects 'zip'"),
    ],
)
def test_schemas_are_refused_by_the_part_that_is_at_fault(promise, match):
    with pytest.raises(SchemaError, match=match):
        promise.check_schema(SCHEMA)


def test_a_tree_that_changes_with_the_values_is_refused():
    attributes = {"d": {"role": "sensitive", "hierarchy": {"intervals": {"width": 5}}}}
    schema = sf.Schema(attributes=attributes)
    sf.TCloseness(0.1, "d").check_schema(schema)
    with pytest.raises(SchemaError, match="gives as a rule"):
        sf.TCloseness(0.1, "d", distance="hierarchical").check_schema(schema)


def test_where_nobody_may_be_left_out():
    assert sf.DeltaPresence(0, 0.5).allows_suppression
    assert not (sf.KAnonymity(2) & sf.DeltaPresence(0.1, 0.5)).allows_suppression


def test_a_combination_of_a_users_own_is_found_and_verified(tmp_path):
    rows = {"age": ["1", "2", "3", "4"], "zip": ["a", "a", "b", "b"]}
    schema = sf.Schema(quasi=["age", "zip"])
    release = sf.anonymize(sf.read(rows, schema=schema), Pairs())
    assert release.loss["LM"] == 0  # groups of zip have two records, classes have one
    assert release.verify().holds
    broken = {"age": ["1", "2"], "zip": ["a", "b"]}
    assert not sf.verify(broken, schema, Pairs()).holds


def test_k_of_the_whole():
    promise = sf.KAnonymity(3, on=["zip"]) & sf.KAnonymity(5)
    assert k_of(promise) == 5
    assert k_of(sf.KMap(3)) is None
    assert with_k(promise, 7) == sf.KAnonymity(3, on=["zip"]) & sf.KAnonymity(7)
    assert with_k(sf.KMap(3), 2) == sf.KAnonymity(2) & sf.KMap(3)


TEXTS = {
    "k": ("age,zip:5", sf.KAnonymity(5, on=("age", "zip"))),
    "diversity": ("2:d:recursive=3", sf.RecursiveLDiversity(3, 2, "d")),
    "closeness": ("0.2:d:ordered", sf.TCloseness(0.2, "d", distance="ordered")),
    "likeness": ("1.5:d", sf.BetaLikeness(1.5, "d")),
    "disclosure": ("0.5:d", sf.DeltaDisclosure(0.5, "d")),
    "k_map": ("4", sf.KMap(4)),
    "average_risk": ("0.2", sf.AverageRisk(0.2)),
    "unique_share": ("0.05", sf.UniqueShare(0.05)),
    "presence": ("0.1,0.9", sf.DeltaPresence(0.1, 0.9)),
    "km": ("5:2", sf.KmAnonymity(5, m=2)),
    "k_degree": ("3", sf.KDegreeAnonymity(3)),
    "kmn": ("5:2:1", sf.KmnAnonymity(5, m=2, n=1)),
    "vertex_diversity": ("3:d", sf.VertexDiversity(3, "d")),
    "node_k": ("3:neighbour-degrees", sf.NodeKAnonymity(3, query="neighbour-degrees")),
}


def test_every_built_in_has_an_option_that_makes_one():
    without = [name for name in BUILT_IN if built_in(name).option is None]
    assert not without, "these can be asked for in Python alone"
    options = {option.name: option for option in (built_in(name).option for name in BUILT_IN)}
    for name, (text, expected) in TEXTS.items():
        assert options[name].read(text) == expected
        with pytest.raises(ParameterError, match=f"{options[name].flags[0]} wants"):
            options[name].read("many:d" if ":" in text else "many")
    assert built_in("EntropyLDiversity").option.read("2.5:d:entropy") == sf.EntropyLDiversity(
        2.5, "d"
    )
    assert built_in("DistinctLDiversity").option.read("2:a:b") == sf.DistinctLDiversity(2, "a:b")
    assert to_json(sf.KAnonymity(2)) == [{"definition": "KAnonymity", "k": 2}]
