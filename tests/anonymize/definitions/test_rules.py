"""Claims, names and parameter checks of every definition; and that the kit can fail."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.anonymize.definitions.definition import Definition, SensitiveDefinition
from sfumato.errors import ParameterError
from sfumato.testing import check_definition

ALL = [
    KAnonymity(5),
    sf.DistinctLDiversity(3, "d"),
    sf.EntropyLDiversity(2.5, "d"),
    sf.EntropyLDiversity(3, "d"),
    sf.RecursiveLDiversity(2.0, 3, "d"),
    sf.RecursiveLDiversity(0.8, 2, "d"),
    sf.TCloseness(0.3, "d"),
    sf.TCloseness(0.2, "d", distance="kl"),
    sf.TCloseness(0.15, "d", distance="ordered"),
    sf.TCloseness(0.3, "d", distance="hierarchical"),
    sf.BetaLikeness(1.0, "d"),
    sf.BetaLikeness(1.5, "d", enhanced=False),
    sf.DeltaDisclosure(1.2, "d"),
    sf.KMap(20),
    sf.DeltaPresence(0.3, 0.7),
    sf.DeltaPresence(0, 0.6),
    sf.AverageRisk(0.15),
    sf.UniqueShare(0.1),
    KAnonymity(4) & sf.EntropyLDiversity(2, "d") & sf.TCloseness(0.5, "other"),
    KAnonymity(3) & sf.DistinctLDiversity(2, "d"),
]


@pytest.mark.parametrize("definition", ALL, ids=str)
def test_every_definition_keeps_the_rules(definition):
    seen = check_definition(definition)
    assert min(seen.holding, seen.failing) > 20
    assert seen.unions > 20 or not definition.union_closed


def test_claims_are_as_documented():
    monotone = {str(d) for d in ALL if d.monotone}
    assert monotone == {
        "5-anonymity",
        "distinct 3-diversity of d",
        "20-map",
        "average risk of at most 0.15",
        "at most 0.1 of the records unique",
        "3-anonymity and distinct 2-diversity of d",
    }
    assert [str(d) for d in ALL if not d.union_closed] == ["(0.3, 0.7)-presence"]


@pytest.mark.parametrize("definition", [d for d in ALL if not d.monotone], ids=str)
def test_what_is_not_claimed_is_false(definition):
    """A definition that is not called monotone has a counterexample: nothing is given away."""

    class Claimed(Definition):
        monotone: ClassVar[bool] = True
        needs_population = definition.needs_population
        sensitive = definition.sensitive

        def judge(self, classes):
            return definition.judge(classes)

        def shortfall(self, classes):
            return definition.shortfall(classes)

        def __str__(self):
            return "claimed"

    with pytest.raises(AssertionError, match="not monotone"):
        check_definition(Claimed(), batches=300)


def test_presence_with_a_lower_bound_is_not_union_closed():
    class Claimed(sf.DeltaPresence):
        union_closed: ClassVar[bool] = True

    with pytest.raises(AssertionError, match="not union-closed"):
        check_definition(Claimed(0.3, 0.7))


# -- minimum_size is exact: some class of that size holds, none smaller does -----------


def all_histograms(size, n_values):
    for chosen in combinations_with_replacement(range(n_values), size):
        yield np.bincount(chosen, minlength=n_values)


@pytest.mark.parametrize(
    "definition",
    [
        sf.DistinctLDiversity(3, "d"),
        sf.EntropyLDiversity(3, "d"),
        sf.EntropyLDiversity(2.2, "d"),
        sf.RecursiveLDiversity(1, 2, "d"),
        sf.RecursiveLDiversity(1.5, 3, "d"),
        sf.RecursiveLDiversity(0.4, 1, "d"),
        sf.RecursiveLDiversity(1 / 3, 2, "d"),
    ],
    ids=str,
)
def test_minimum_size_is_exact(definition):
    def some_class_holds(size):
        counts = np.array(list(all_histograms(size, 6)))
        view = SensitiveHistogram(counts, counts.sum(axis=0))
        return bool(definition.judge(Classes(counts.sum(axis=1), {"d": view})).any())

    assert some_class_holds(definition.minimum_size)
    assert not any(some_class_holds(size) for size in range(1, definition.minimum_size))


# -- parameters -----------------------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(2.5),
        lambda: KAnonymity(True),
        lambda: sf.DistinctLDiversity(0, "d"),
        lambda: sf.DistinctLDiversity(NAN, "d"),
        lambda: sf.DistinctLDiversity(2, ""),
        lambda: sf.DistinctLDiversity(2, ["d", "e"]),
        lambda: sf.EntropyLDiversity(0.9, "d"),
        lambda: sf.EntropyLDiversity(NAN, "d"),
        lambda: sf.EntropyLDiversity(float("inf"), "d"),
        lambda: sf.EntropyLDiversity("3", "d"),
        lambda: sf.RecursiveLDiversity(0, 2, "d"),
        lambda: sf.RecursiveLDiversity(-1, 2, "d"),
        lambda: sf.RecursiveLDiversity(NAN, 2, "d"),
        lambda: sf.RecursiveLDiversity(2, 0, "d"),
        lambda: sf.TCloseness(-0.1, "d"),
        lambda: sf.TCloseness(1.1, "d"),
        lambda: sf.TCloseness(NAN, "d"),
        lambda: sf.TCloseness(-0.1, "d", distance="kl"),
        lambda: sf.TCloseness(0.1, "d", distance="euclid"),
        lambda: sf.BetaLikeness(0, "d"),
        lambda: sf.BetaLikeness(NAN, "d"),
        lambda: sf.BetaLikeness(1, "d", enhanced="no"),
        lambda: sf.DeltaDisclosure(0, "d"),
        lambda: sf.DeltaDisclosure(NAN, "d"),
        lambda: sf.KMap(0),
        lambda: sf.AverageRisk(0),
        lambda: sf.AverageRisk(1.1),
        lambda: sf.UniqueShare(-0.1),
        lambda: sf.UniqueShare(NAN),
        lambda: sf.DeltaPresence(-0.1, 0.5),
        lambda: sf.DeltaPresence(0.1, 1.5),
        lambda: sf.DeltaPresence(0.6, 0.5),
        lambda: sf.DeltaPresence(NAN, 0.5),
    ],
)
def test_parameters_outside_the_allowed_range_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_kullback_leibler_may_exceed_one():
    assert sf.TCloseness(1.7, "d", distance="kl").t == 1.7


def test_an_absent_attribute_is_named():
    classes = Classes(np.array([3]), {})
    with pytest.raises(ParameterError, match="sensitive attribute 'd'"):
        sf.EntropyLDiversity(2, "d").judge(classes)


# -- the kit finds what is wrong ------------------------------------------------------


@dataclass(frozen=True)
class Odd(SensitiveDefinition):
    """Definitions with one fault each."""

    fault: str
    attribute: str = "d"
    union_closed: ClassVar[bool] = True

    @property
    def minimum_size(self):
        return 10 if self.fault == "minimum" else 1

    def judge(self, classes):
        counts = self.histogram(classes).counts
        if self.fault == "writes":
            classes.sizes[:] = 0
        if self.fault == "order":
            return np.arange(len(classes)) % 2 == 0
        if self.fault == "batch":
            return classes.sizes >= classes.sizes.mean() if len(classes) else classes.sizes > 0
        if self.fault == "union":
            return classes.sizes <= 6
        if self.fault == "shape":
            return np.array([True])
        return counts[:, 0] > 0

    def shortfall(self, classes):
        if self.fault == "shortfall":
            return np.zeros(len(classes))
        return super().shortfall(classes)


@pytest.mark.parametrize(
    ("fault", "error", "match"),
    [
        ("none", None, ""),
        ("minimum", AssertionError, "minimum_size"),
        ("writes", ValueError, "read-only"),
        ("order", AssertionError, "order"),
        ("batch", AssertionError, "on its own"),
        ("union", AssertionError, "not union-closed"),
        ("shape", AssertionError, "shape"),
        ("shortfall", AssertionError, "shortfall"),
    ],
)
def test_the_kit_finds_each_fault(fault, error, match):
    if error is None:
        assert check_definition(Odd(fault)).holding > 0
    else:
        with pytest.raises(error, match=match):
            check_definition(Odd(fault))
