"""Attacks on the classes of one release: exact on the lecture's table, stopped by their remedy."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import duckdb
import numpy as np
import pandas as pd
import pytest
from chance import seeds

import sfumato as sf
from sfumato.cli import run
from sfumato.errors import HierarchyError, ParameterError, SchemaError


def random_release(seed, n=300, values="abcde"):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(len(values)) * 0.6)
    return pd.DataFrame(
        {
            "age": rng.choice([f"{d}0s" for d in range(2, 9)], n),
            "ill": rng.choice(list(values), n, p=shares),
        }
    )


SCHEMA = sf.Schema(
    quasi={"age": sf.Hierarchy.flat([f"{d}0s" for d in range(2, 9)])}, sensitive=["ill"]
)


def classes(frame):
    return {label: Counter(group["ill"]) for label, group in frame.groupby("age")}


# -- homogeneity ------------------------------------------------------------------------


def test_the_cancer_class_is_homogeneous(four_anonymous, schema):
    found = sf.attack.homogeneity(four_anonymous, schema=schema)
    assert (found.exposed, found.people) == (4, 12)
    (finding,) = found.findings
    assert finding.evidence["class"] == {"zip": "130**", "age": "[30,40)", "nationality": "*"}
    assert (finding.prior, finding.posterior) == (5 / 12, 1.0)
    assert finding.secret == ("Cancer",)
    assert "Cancer" not in str(found)
    assert "Cancer" in found.told(reveal=True)
    release = four_anonymous  # noqa: F841 - read by the query
    assert duckdb.sql(finding.evidence["replay"]).fetchall() == [("Cancer", 4)]


def test_two_values_stop_homogeneity(patients, schema, four_anonymous):
    found = sf.attack.homogeneity(four_anonymous, schema=schema)
    assert found.stopped_by == sf.DistinctLDiversity(2, "disease")
    safe = sf.anonymize(patients, sf.KAnonymity(4) & found.stopped_by, schema=schema)
    assert not sf.attack.homogeneity(safe).succeeds


# -- background knowledge ----------------------------------------------------------------


@pytest.mark.parametrize("facts", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_ruling_out_values_agrees_with_trying_all_sets(seed, facts):
    frame = random_release(seed, 60)
    limit = 0.8
    expected, worst = 0, 0.0
    for counts in classes(frame).values():
        for value, have in counts.items():
            others = [v for v in counts if v != value]
            best = max(
                have / (sum(counts.values()) - sum(counts[v] for v in gone))
                for width in range(facts + 1)
                for gone in combinations(others, min(width, len(others)))
            )
            worst = max(worst, best)
            expected += have if best >= limit - 1e-12 else 0
    found = sf.attack.background_knowledge(frame, facts=facts, confidence=limit, schema=SCHEMA)
    assert found.exposed == expected
    assert found.posterior == pytest.approx(worst)


def test_knowing_other_people_agrees_with_removing_them():
    frame = random_release(1, 40)
    for facts in (0, 1, 3, 100):
        expected = sum(
            have
            for counts in classes(frame).values()
            for have in counts.values()
            if have / (sum(counts.values()) - min(facts, sum(counts.values()) - have))
            >= 0.7 - 1e-12
        )
        found = sf.attack.background_knowledge(
            frame, facts=facts, about="people", confidence=0.7, schema=SCHEMA
        )
        assert found.exposed == expected
    assert found.exposed == 40  # everybody else is known


@pytest.mark.parametrize("facts", [1, 2])
def test_recursive_diversity_bounds_what_facts_reveal(facts):
    people = sf.examples.patients(800, seed=6)
    limit = 0.75
    schema = people.schema
    naive = sf.anonymize(people.columns, sf.KAnonymity(3), schema=schema, algorithm="mondrian")
    found = sf.attack.background_knowledge(
        naive, facts=facts, confidence=limit, attribute="diagnosis"
    )
    assert found.succeeds
    assert found.stopped_by == sf.RecursiveLDiversity(3.0, facts + 2, "diagnosis")
    safe = sf.anonymize(people.columns, found.stopped_by, schema=schema, algorithm="mondrian")
    after = sf.attack.background_knowledge(
        safe, facts=facts, confidence=limit, attribute="diagnosis"
    )
    assert not after.succeeds
    assert after.posterior < 3 / 4


def test_one_more_value_than_facts_stops_certainty():
    people = sf.examples.patients(800, seed=7)
    naive = sf.anonymize(
        people.columns, sf.KAnonymity(2), schema=people.schema, algorithm="mondrian"
    )
    found = sf.attack.background_knowledge(naive, facts=1, attribute="diagnosis")
    assert found.succeeds
    assert found.stopped_by == sf.DistinctLDiversity(3, "diagnosis")
    safe = sf.anonymize(
        people.columns, found.stopped_by, schema=people.schema, algorithm="mondrian"
    )
    assert not sf.attack.background_knowledge(safe, facts=1, attribute="diagnosis").succeeds


# -- probabilistic inference and skewness -----------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_frequent_values_and_gains_agree_with_counting(seed):
    frame = random_release(seed)
    overall = Counter(frame["ill"])
    likely = gained = raised = 0
    for counts in classes(frame).values():
        size = sum(counts.values())
        for value, have in counts.items():
            share, usual = have / size, overall[value] / len(frame)
            likely += have if share >= 0.5 - 1e-12 else 0
            gained += have if share - usual >= 0.05 - 1e-12 else 0
            raised += have if share / usual >= 1.3 - 1e-12 else 0
    assert sf.attack.probabilistic_inference(frame, confidence=0.5, schema=SCHEMA).exposed == likely
    assert sf.attack.skewness(frame, gain=0.05, schema=SCHEMA).exposed == gained
    assert sf.attack.skewness(frame, factor=1.3, schema=SCHEMA).exposed == raised


def test_recursive_diversity_stops_inference(patients, schema, four_anonymous):
    found = sf.attack.probabilistic_inference(four_anonymous, confidence=0.7, schema=schema)
    assert found.exposed == 4
    assert found.posterior == 1
    safe = sf.anonymize(patients, found.stopped_by, schema=schema)
    after = sf.attack.probabilistic_inference(safe, confidence=0.7)
    assert not after.succeeds
    assert after.posterior < 0.7


def test_nine_of_ten_is_not_below_nine_tenths():
    frame = pd.DataFrame({"age": ["20s"] * 10, "ill": ["a"] * 9 + ["b"]})
    found = sf.attack.probabilistic_inference(frame, confidence=0.9, schema=SCHEMA)
    assert found.exposed == 9
    assert not sf.verify(frame, SCHEMA, found.stopped_by).holds


def test_closeness_bounds_the_gain_and_likeness_the_factor():
    people = sf.examples.patients(1_000, seed=8)
    naive = sf.anonymize(
        people.columns, sf.KAnonymity(3), schema=people.schema, algorithm="mondrian"
    )
    for options in ({"gain": 0.25}, {"factor": 4.0}):
        found = sf.attack.skewness(naive, attribute="diagnosis", **options)
        assert found.succeeds
        safe = sf.anonymize(
            people.columns, found.stopped_by, schema=people.schema, algorithm="mondrian"
        )
        after = sf.attack.skewness(safe, attribute="diagnosis", **options)
        assert not after.succeeds
    close = sf.anonymize(people.columns, sf.TCloseness(0.2, "diagnosis"), schema=people.schema)
    assert sf.attack.skewness(close, attribute="diagnosis").figures["largest gain"] <= 0.2 + 1e-9
    like = sf.anonymize(people.columns, sf.BetaLikeness(2.0, "diagnosis"), schema=people.schema)
    assert sf.attack.skewness(like, attribute="diagnosis").figures["largest factor"] <= 3 + 1e-9


# -- similarity -------------------------------------------------------------------------

STOMACH = sf.Hierarchy.tree(
    {"*": {"stomach": ["gastritis", "ulcer", "cancer"], "lung": ["flu", "pneumonia", "bronchitis"],
           "skin": ["acne", "eczema"]}}
)  # fmt: skip


def test_three_stomach_diseases_tell_one_thing():
    frame = pd.DataFrame(
        {
            "age": ["20s"] * 3 + ["30s"] * 3 + ["40s"] * 4,
            "ill": [
                "gastritis",
                "ulcer",
                "cancer",
                "flu",
                "acne",
                "gastritis",
                "flu",
                "acne",
                "eczema",
                "bronchitis",
            ],
        }
    )
    schema = sf.Schema(quasi=["age"], sensitive={"ill": STOMACH})
    found = sf.attack.similarity(frame, narrow=0.5, schema=schema)
    assert found.exposed == 3
    (finding,) = found.findings
    assert finding.secret == ("stomach",)
    assert (finding.prior, finding.posterior) == (pytest.approx(0.4), 1.0)
    assert "stomach" not in str(finding)
    assert not sf.attack.homogeneity(frame, schema=schema).succeeds
    assert not sf.attack.similarity(frame, narrow=0.3, schema=schema).succeeds


def test_a_class_of_one_branch_of_three_is_found():
    """Thirty classes of ten, each of one branch of three that are equally common."""
    branches = {b: [f"{b}{i}" for i in range(5)] for b in ("heart", "lung", "skin")}
    rows = [
        {"age": f"class {c}", "ill": branches[b][i % 5]}
        for c, b in enumerate([*branches] * 10)
        for i in range(10)
    ]
    frame = pd.DataFrame(rows)
    tree = sf.Hierarchy.tree({"*": branches})
    schema = sf.Schema(quasi=["age"], sensitive={"ill": tree})
    tried = sf.audit.precheck(frame, schema=schema)
    assert tried.outcome("similarity of ill").exposed == 300
    rest = ("homogeneity of ill", "skewness of ill", "probabilistic inference of ill")
    assert not any(tried.outcome(name).succeeds for name in rest)
    mixed = frame.assign(age=[f"class {(i // 10 + i) % 30}" for i in range(300)])
    assert not sf.attack.similarity(mixed, schema=schema).succeeds


PAPER = {
    "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
    "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
    "salary": [3000, 4000, 5000, 6000, 11000, 8000, 7000, 9000, 10000],
    "disease": [
        "gastric ulcer", "gastritis", "stomach cancer", "gastritis", "flu", "bronchitis",
        "bronchitis", "pneumonia", "stomach cancer",
    ],
}  # fmt: skip
"""The 3-diverse table of the paper that proposes t-closeness (Li, Li, Venkatasubramanian, 2007)."""

PAPER_SCHEMA = sf.Schema(
    quasi=["zip", "age"],
    sensitive={
        "salary": None,
        "disease": sf.Hierarchy.tree(
            {"*": {
                "stomach diseases": ["gastric ulcer", "gastritis", "stomach cancer"],
                "respiratory infections": ["flu", "pneumonia", "bronchitis"],
            }}
        ),
    },
)  # fmt: skip


def test_the_three_diverse_table_of_the_closeness_paper_is_found(tmp_path, capsys):
    """Its first class has only stomach diseases and the three lowest salaries."""
    assert sf.verify(PAPER, PAPER_SCHEMA, sf.DistinctLDiversity(3, "disease")).holds
    tried = sf.audit.precheck(PAPER, schema=PAPER_SCHEMA)
    for name in ("similarity of disease", "similarity of salary"):
        findings = tried.outcome(name).findings
        assert {"zip": "476**", "age": "2*"} in [f.evidence["class"] for f in findings]
    assert tried.outcome("similarity of disease").exposed == 3
    pd.DataFrame(PAPER).to_csv(tmp_path / "paper.csv", index=False)
    PAPER_SCHEMA.write(tmp_path / "paper.yaml")
    asked = ["attack", str(tmp_path / "paper.csv"), "-s", str(tmp_path / "paper.yaml"), "--strict"]
    assert run(asked) == 1
    assert "• similarity of disease: all 3 people with zip = 476**" in capsys.readouterr().out


def brute_run(frame, order, limit, narrow):
    overall = frame["salary"].value_counts(normalize=True)
    people = 0
    for _, group in frame.groupby("age"):
        best = None
        for i, low in enumerate(order):
            for high in order[i:]:
                run = [v for v in order if low <= v <= high]
                inside = group["salary"].isin(run).sum()
                share = overall.reindex(run).fillna(0).sum()
                if inside / len(group) >= limit - 1e-12 and (
                    best is None or share < best[0] - 1e-12
                ):
                    best = (share, inside)
        if best is not None and best[0] <= narrow + 1e-12:
            people += best[1]
    return people


@seeds(4, few=2)
def test_runs_of_salaries_agree_with_trying_them_all(seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(2, 9, 60)
    frame = pd.DataFrame(
        {"age": [f"{a}0s" for a in age], "salary": (age + rng.integers(0, 4, 60)).astype(int)}
    )
    schema = sf.Schema(quasi=["age"], sensitive=["salary"])
    order = sorted(frame["salary"].unique())
    for limit, narrow in ((1.0, 0.5), (0.8, 0.3), (0.6, 0.2)):
        found = sf.attack.similarity(
            frame, by="order", confidence=limit, narrow=narrow, schema=schema
        )
        assert found.exposed == brute_run(frame, order, limit, narrow)


def test_closeness_stops_similarity_and_the_tree_bound_holds():
    people = sf.examples.patients(1_000, seed=9)
    naive = sf.anonymize(
        people.columns, sf.KAnonymity(2), schema=people.schema, algorithm="mondrian"
    )
    found = sf.attack.similarity(naive, attribute="diagnosis")
    assert found.succeeds
    safe = sf.anonymize(
        people.columns, found.stopped_by, schema=people.schema, algorithm="mondrian"
    )
    assert not sf.attack.similarity(safe, attribute="diagnosis").succeeds
    t = 0.15
    close = sf.anonymize(
        people.columns, sf.TCloseness(t, "diagnosis", distance="hierarchical"), schema=people.schema
    )
    # The root is on level 2: diagnoses (level 0) gain at most 2t, chapters (level 1) at most t.
    tight = sf.attack.similarity(
        close, confidence=0.05, gain=0.01, narrow=0.2, attribute="diagnosis"
    )
    chapters = set(people.schema.attribute("diagnosis").hierarchy.labels[1])
    assert tight.findings
    for finding in tight.findings:
        bound = t if finding.secret[0] in chapters else 2 * t
        assert finding.posterior - finding.prior <= bound + 1e-9


def test_refusals(four_anonymous, schema):
    with pytest.raises(HierarchyError, match="by='order'"):
        sf.attack.similarity(four_anonymous, by="tree", schema=schema)
    with pytest.raises(ParameterError, match="'tree' or 'order'"):
        sf.attack.similarity(four_anonymous, by="smell", schema=schema)
    with pytest.raises(SchemaError, match="no sensitive attribute"):
        sf.attack.homogeneity(four_anonymous, attribute="zip", schema=schema)
    with pytest.raises(ParameterError, match="factor"):
        sf.attack.skewness(four_anonymous, factor=1, schema=schema)
    two = sf.Schema(quasi=["zip"], sensitive=["age", "disease"])
    with pytest.raises(ParameterError, match="attribute="):
        sf.attack.homogeneity(four_anonymous, schema=two)
    with pytest.raises(ParameterError, match="facts"):
        sf.attack.background_knowledge(four_anonymous, facts=-1, schema=schema)
