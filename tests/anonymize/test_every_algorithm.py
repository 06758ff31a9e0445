"""Every algorithm with every definition: the release is verified from its file alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.tables.algorithms.full_domain import lattice
from sfumato.anonymize.tables.recoding import FullDomain
from sfumato.errors import Unsatisfiable
from sfumato.testing import check_algorithm

ALGORITHMS = ("optimal", "local", "mondrian", "cluster", "topdown", "cells")


@dataclass(frozen=True)
class AtMostHalf(sf.Definition):
    """A user's own definition: no value of an attribute is shared by more than half of a class."""

    attribute: str

    @property
    def sensitive(self):
        return (self.attribute,)

    def judge(self, classes):
        return classes.sensitive[self.attribute].shares.max(axis=1) <= 0.5

    def __str__(self):
        return f"at most half of a class share one {self.attribute}"


PROMISES = {
    "k": sf.KAnonymity(3),
    "k on combinations": sf.KAnonymity(4, on=("age",)) & sf.KAnonymity(3, on=("job", "sex")),
    "distinct l": sf.KAnonymity(2) & sf.DistinctLDiversity(2, "disease"),
    "entropy l": sf.EntropyLDiversity(1.7, "disease"),
    "recursive": sf.RecursiveLDiversity(3, 2, "disease"),
    "t equal": sf.KAnonymity(2) & sf.TCloseness(0.35, "disease"),
    "t kl": sf.TCloseness(0.6, "disease", distance="kl"),
    "t ordered": sf.TCloseness(0.25, "wage", distance="ordered"),
    "t hierarchical": sf.TCloseness(0.3, "disease", distance="hierarchical"),
    "two attributes": sf.DistinctLDiversity(2, "disease") & sf.TCloseness(0.4, "wage"),
    "likeness": sf.BetaLikeness(1.5, "disease"),
    "disclosure": sf.DeltaDisclosure(2.0, "wage"),
    "k-map": sf.KMap(4),
    "average risk": sf.AverageRisk(0.25),
    "unique share": sf.UniqueShare(0.02),
    "presence": sf.DeltaPresence(0, 0.8),
    "own": sf.KAnonymity(2) & AtMostHalf("disease"),
}


def table(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(25, 70))
    people = {
        "age": generator.integers(20, 36, n).tolist(),
        "job": generator.choice(["nurse", "cook", "smith", ""], n).tolist(),
        "sex": generator.choice(["f", "m"], n).tolist(),
        "disease": generator.choice(["flu", "acne", "ulcer"], n, p=[0.5, 0.3, 0.2]).tolist(),
        "wage": generator.integers(1, 5, n).tolist(),
    }
    schema = sf.Schema(
        quasi={
            "age": sf.Hierarchy.intervals(width=4, fanout=2, low=20, high=36),
            "job": sf.Hierarchy.tree({"*": {"care": ["nurse"], "craft": ["cook", "smith"]}}),
            "sex": None,
        },
        sensitive={
            "disease": sf.Hierarchy.tree({"*": {"mild": ["flu", "acne"], "grave": ["ulcer"]}}),
            "wage": None,
        },
    )  # fmt: skip
    return sf.read(people, schema=schema), {k: v * 2 for k, v in people.items()}


def cases():
    """Every algorithm and every promise meet both tables and both shares; a soak tries all."""
    for i, (algorithm, name) in enumerate(product(ALGORITHMS, PROMISES)):
        for j, (seed, share) in enumerate(product((1, 2), (0.0, 0.2))):
            marks = () if i % 4 == j else pytest.mark.soak
            yield pytest.param(algorithm, name, seed, share, marks=marks)


@pytest.mark.parametrize(("algorithm", "name", "seed", "share"), cases())
def test_the_release_keeps_its_promise(algorithm, name, seed, share):
    promise = PROMISES[name]
    people, everybody = table(seed)
    options = {"population": everybody} if promise.needs_population else {}
    try:
        release = sf.anonymize(people, promise, algorithm=algorithm, suppression=share, **options)
    except Unsatisfiable:
        # Only allowed where the whole table as one class does not hold either.
        with pytest.raises(Unsatisfiable):
            whole(people, promise, **options)
        return
    checked = release.verify()
    assert checked.holds, str(checked)
    assert release.suppressed <= share * release.records
    assert len(release.rows) == release.records - release.suppressed


def whole(people, promise, **options):
    """Release everything as one class."""
    flat = {name: sf.Hierarchy.tree({"*": values}) for name, values in VALUES.items()}
    schema = sf.Schema(quasi=flat, sensitive=["disease", "wage"])
    constant = sf.KAnonymity(people.rows)
    return sf.anonymize(people.with_schema(schema), promise & constant, **options)


VALUES = {
    "age": [str(a) for a in range(20, 36)],
    "job": ["nurse", "cook", "smith", ""],
    "sex": ["f", "m"],
}


def test_the_kit_accepts_our_search():
    check_algorithm(lattice.search, promises=[sf.KAnonymity(3), sf.TCloseness(0.35, "disease")])


def test_the_kit_catches_an_algorithm_that_does_not_look():
    def careless(problem):
        found = lattice.search(problem)
        return FullDomain((0, 0, 0), np.zeros_like(found.suppressed), found.record)

    with pytest.raises(AssertionError, match="3-anonymity"):
        check_algorithm(careless, promises=[sf.KAnonymity(3)])


def test_the_kit_catches_an_algorithm_that_gives_up():
    def lazy(problem):
        raise Unsatisfiable("too much work")

    with pytest.raises(AssertionError, match="gave up"):
        check_algorithm(lazy, promises=[sf.KAnonymity(3)])
