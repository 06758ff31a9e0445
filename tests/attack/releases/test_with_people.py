"""Attacks that know who is in a class: membership, inference, minimality, de Finetti, two files."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hangs import usually

import sfumato as sf
from sfumato.attack.releases.composition import _known, _values
from sfumato.attack.releases.fit import fit
from sfumato.attack.releases.ways import after_violation
from sfumato.errors import ParameterError, SchemaError
from sfumato.released.view import see

AGES = sf.Hierarchy.from_rows(
    [(str(a), f"{a // 10 * 10}s", "*") for a in range(20, 50)], ordered=True
)
SCHEMA = sf.Schema(quasi={"age": AGES}, sensitive=["ill"])


# -- membership -------------------------------------------------------------------------


def test_whoever_alone_fits_a_class_is_in_it(patients, schema):
    inside = patients[:6]
    found = sf.attack.membership(inside, patients, schema=schema)
    assert found.exposed == 6
    assert found.prior == 0.5
    assert found.figures["people certainly not among the released records"] == 6


def test_presence_is_records_over_people_who_fit():
    release = pd.DataFrame({"age": ["20s"] * 3 + ["30s"] * 1, "ill": list("abab")})
    people = pd.DataFrame({"age": [str(a) for a in (20, 21, 22, 23, 30, 31, 32, 33, 34, 40)]})
    found = sf.attack.membership(release, people, confidence=0.7, schema=SCHEMA)
    assert found.exposed == 4
    assert found.posterior == pytest.approx(3 / 4)
    assert found.figures["people certainly not among the released records"] == 1
    assert not sf.attack.membership(release, people, confidence=0.8, schema=SCHEMA).succeeds


def test_delta_presence_bounds_membership():
    everybody = sf.examples.patients(1_000, seed=3)
    inside = {n: c[:200] for n, c in everybody.columns.items()}
    naive = sf.attack.membership(inside, everybody.columns, schema=everybody.schema)
    assert naive.exposed > 100
    stop = sf.DeltaPresence(0, 0.6)
    safe = sf.anonymize(
        inside, stop, schema=everybody.schema, population=everybody.columns, suppression=0.1
    )
    after = sf.attack.membership(safe, everybody.columns)
    assert not after.succeeds
    assert after.posterior <= 0.6 + 1e-9


# -- attribute inference -----------------------------------------------------------------


def test_guesses_agree_with_counting_candidates(patients, four_anonymous, schema):
    found = sf.attack.attribute_inference(four_anonymous, patients, schema=schema)
    assert found.exposed == 4
    # Classes: two Heart two Flu; one Cancer, one Heart, two Flu; four Cancer.
    assert found.figures["guesses that come true"] == pytest.approx((2 + 2 + 4) / 12)
    assert found.figures["always guessing the most frequent"] == pytest.approx(5 / 12)
    naive = sf.attack.attribute_inference(patients, patients, schema=schema)
    assert naive.figures["guesses that come true"] == 1
    assert naive.exposed == 12
    safe = sf.anonymize(patients, sf.RecursiveLDiversity(2, 2, "disease"), schema=schema)
    assert sf.attack.attribute_inference(safe, patients).posterior < 2 / 3 + 1e-9


# -- minimality --------------------------------------------------------------------------


def brute(sizes, held, keeps):
    """Hand out the values in every order; average over those in which some group breaks it."""
    values = [v for v, count in enumerate(held) for _ in range(count)]
    ways, sums = 0, [[0] * len(held) for _ in sizes]
    for order in set(permutations(values)):
        at, groups = 0, []
        for size in sizes:
            count = Counter(order[at : at + size])
            groups.append(tuple(count[v] for v in range(len(held))))
            at += size
        if all(keeps([g])[0] for g in groups):
            continue
        ways += 1
        for g, group in enumerate(groups):
            for v, count in enumerate(group):
                sums[g][v] += count
    return [[Fraction(s, ways * n) for s in row] for row, n in zip(sums, sizes, strict=True)]


@pytest.mark.parametrize(
    ("sizes", "held", "most"),
    [
        ([2, 2], (2, 2), 0.5),
        ([2, 4], (2, 4), 0.5),
        ([3, 3], (1, 2, 3), 0.67),
        ([2, 2, 3], (3, 2, 2), 0.5),
    ],
)
def test_ways_agree_with_trying_every_order(sizes, held, most):
    def keeps(histograms):
        return [max(h) <= most * sum(h) for h in histograms]

    found = after_violation(sizes, held, keeps)
    expected = brute(sizes, held, keeps)
    for got, wanted in zip(found, expected, strict=True):
        assert got == pytest.approx([float(w) for w in wanted])


def test_nothing_follows_where_nothing_or_everything_breaks_the_promise():
    assert after_violation([2, 2], (2, 2), lambda found: [True] * len(found)) is None
    found = after_violation([2, 2], (1, 3), lambda found: [False] * len(found))
    assert found == [[0.25, 0.75], [0.25, 0.75]]


def test_the_need_to_generalise_gives_a_group_away():
    """Wong et al.: two men and four women; two have HIV, and 2-diversity forced them together."""
    people = pd.DataFrame({"sex": ["m", "m", "f", "f", "f", "f"]})
    release = pd.DataFrame({"sex": ["*"] * 6, "ill": ["hiv"] * 2 + ["a", "b", "c", "d"]})
    schema = sf.Schema(quasi={"sex": sf.Hierarchy.flat(["m", "f"])}, sensitive=["ill"])
    promise = sf.KAnonymity(2) & sf.DistinctLDiversity(2, "ill")
    found = sf.attack.minimality(release, people, promise=promise, schema=schema)
    # Only two men with the same value break it, so both have HIV: the posterior is 1.
    assert found.posterior == pytest.approx(1.0)
    assert found.prior == pytest.approx(1 / 3)
    assert found.exposed == 2
    assert found.findings[0].secret == ("hiv",)
    assert "hiv" not in str(found)


def test_nothing_follows_from_generalising_for_k():
    people = pd.DataFrame({"sex": ["m", "m", "f", "f", "f", "f"]})
    release = pd.DataFrame({"sex": ["*"] * 6, "ill": ["hiv"] * 2 + ["a", "b", "c", "d"]})
    schema = sf.Schema(quasi={"sex": sf.Hierarchy.flat(["m", "f"])}, sensitive=["ill"])
    promise = sf.KAnonymity(3) & sf.DistinctLDiversity(2, "ill")
    found = sf.attack.minimality(release, people, promise=promise, schema=schema)
    assert not found.succeeds
    assert found.posterior == pytest.approx(found.prior)
    with pytest.raises(ParameterError, match="promise="):
        sf.attack.minimality(release, people, schema=schema)


def test_classes_left_alone_are_told():
    """One class can be counted, one is too large for it, and of one the people are not known."""
    sexes = sf.Hierarchy.flat(["m", "f"])
    towns = sf.Hierarchy.flat(["a", "b", "c"])
    schema = sf.Schema(quasi={"sex": sexes, "town": towns}, sensitive=["ill"])
    many = [f"v{i}" for i in range(40)]
    release = pd.DataFrame(
        {
            "sex": ["*"] * (6 + 40 + 4),
            "town": ["a"] * 6 + ["b"] * 40 + ["c"] * 4,
            "ill": ["hiv", "hiv", "v0", "v1", "v2", "v3", *many, "v0", "v1", "v2", "v3"],
        }
    )
    people = pd.DataFrame(
        {"sex": ["m", "m", "f", "f", "f", "f"] + ["m", "f"] * 20, "town": ["a"] * 6 + ["b"] * 40}
    )
    promise = sf.KAnonymity(2) & sf.DistinctLDiversity(2, "ill")
    found = sf.attack.minimality(release, people, promise=promise, schema=schema)
    assert found.exposed == 2
    assert found.figures["classes left alone: too large"] == 1
    assert found.figures["classes left alone: people not known"] == 1
    assert "1 class(es) with 40 people are too large" in found.notes[0]
    assert "who is in 1 class(es) with 4 people" in found.notes[1]
    assert found.notes[0] in str(found)


# -- de Finetti --------------------------------------------------------------------------


def smokers(seed, dependence):
    """People in classes of four with two values each; smokers tend to have cancer."""
    rng = np.random.default_rng(seed)
    n = 2_000
    smokes = rng.random(n) < 0.5
    ill = np.where(rng.random(n) < 0.5 + dependence * (smokes - 0.5), "cancer", "flu")
    people = pd.DataFrame(
        {"house": rng.permutation(n) // 4, "smokes": np.where(smokes, "yes", "no"), "ill": ill}
    )
    release = people.assign(smokes="*")
    release["house"] = release["house"].astype(str)
    people["house"] = people["house"].astype(str)
    schema = sf.Schema(
        quasi={
            "house": sf.Hierarchy.flat([str(i) for i in range(n // 4)]),
            "smokes": sf.Hierarchy.flat(["yes", "no"]),
        },
        sensitive=["ill"],
    )
    return release, people, schema


def test_a_model_over_all_classes_tells_inside_each():
    release, people, schema = smokers(1, 0.9)
    found = sf.attack.de_finetti(release, people, schema=schema)
    learnt, alone = found.figures.values()
    assert found.succeeds
    assert learnt > alone + 0.15
    assert learnt > 0.9


def test_nothing_is_learnt_from_what_is_independent():
    release, people, schema = smokers(2, 0.0)
    found = sf.attack.de_finetti(release, people, schema=schema)
    learnt, alone = found.figures.values()
    assert learnt < alone + 0.03


def test_nothing_is_learnt_inside_classes_from_generalised_people():
    release, people, schema = smokers(1, 0.9)
    hidden = people.drop(columns="smokes")  # the adversary does not know who smokes
    found = sf.attack.de_finetti(release, hidden, schema=schema)
    learnt, alone = found.figures.values()
    assert learnt == pytest.approx(alone, abs=0.01)
    assert not found.succeeds


# -- composition -------------------------------------------------------------------------


def test_two_releases_leave_one_value():
    first = pd.DataFrame({"age": ["20s"] * 3, "ill": ["flu", "flu", "hiv"]})
    second = pd.DataFrame({"age": ["[25,34]"] * 3, "ill": ["hiv", "cold", "cold"]})
    found = sf.attack.composition(first, second, schema=SCHEMA)
    assert found.exposed == 1
    assert found.findings[0].secret == ("hiv",)
    assert found.posterior == 1
    assert "hiv" not in str(found)
    known = sf.attack.composition(first, second, people={"age": ["27", "21"]}, schema=SCHEMA)
    assert (known.people, known.exposed) == (1, 1)  # the second is not in the second release
    assert known.findings[0].who == "age = 27"


def test_the_posterior_is_that_of_two_independent_looks():
    first = pd.DataFrame({"age": ["20s"] * 4, "ill": list("aabc")})
    second = pd.DataFrame({"age": ["20s"] * 4, "ill": list("abbb")})
    found = sf.attack.composition(first, second, confidence=0.1, schema=SCHEMA)
    q = {"a": Fraction(3, 8), "b": Fraction(4, 8)}
    weight = {
        "a": Fraction(2, 4) * Fraction(1, 4) / q["a"],
        "b": Fraction(1, 4) * Fraction(3, 4) / q["b"],
    }
    assert found.posterior == pytest.approx(float(max(weight.values()) / sum(weight.values())))


def test_one_release_made_of_the_classes_of_the_other_tells_nothing_new():
    first = pd.DataFrame({"age": ["20s"] * 3 + ["30s"] * 3, "ill": list("aabbba")})
    found = sf.attack.composition(first, first, schema=SCHEMA)
    assert not found.succeeds
    with pytest.raises(SchemaError, match="nothing to intersect"):
        sf.attack.composition(first, first[["age"]], schema=SCHEMA)


def test_people_in_two_releases_agree_with_brute_force_and_take_little_time():
    people = sf.examples.patients(600, seed=12)
    schema = people.schema
    first, second = (
        sf.anonymize(people.columns, sf.KAnonymity(k), schema=schema, algorithm=algorithm)
        for k, algorithm in ((5, "mondrian"), (4, "local"))
    )
    with usually(1):
        found = sf.attack.composition(first, second, people=people.columns, attribute="diagnosis")
    assert found.unit == "people"
    assert found.succeeds
    one, two = see(first), see(second)
    values = _values(one, two, "diagnosis")
    fits = [fit(sight, people.columns) for sight in (one, two)]
    for kind in range(0, fits[0].kinds, 40):
        mixed = []
        for sight, fitting, share in zip(
            (one, two), fits, (values.first, values.second), strict=True
        ):
            inside = [c for c in range(len(share)) if fitting.group[c] in fitting.groups_of(kind)]
            sizes = sight.evidence.sizes[inside]
            mixed.append((share[inside] * sizes[:, None]).sum(axis=0) / sizes.sum())
        weight = mixed[0] * mixed[1] / values.overall
        case = next(
            iter(_known(one, two, values, {n: [v] for n, v in fits[0].person(kind).items()}))
        )
        assert case.posterior == pytest.approx(weight.max() / weight.sum())
    assert found.people == 600


def test_pairs_of_classes_are_not_called_people():
    first = pd.DataFrame({"age": ["20s"] * 3, "ill": ["flu", "flu", "hiv"]})
    second = pd.DataFrame({"age": ["[25,34]"] * 3, "ill": ["hiv", "cold", "cold"]})
    found = sf.attack.composition(first, second, schema=SCHEMA)
    assert found.unit == "pairs of classes"
    assert "1 of 1 pairs of classes exposed" in str(found)
    assert "1 pairs of classes" in str(sf.audit.precheck(first, other=second, schema=SCHEMA))
