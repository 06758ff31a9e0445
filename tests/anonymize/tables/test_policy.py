"""The next batch is treated as the first one was, or not released at all."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.definitions.definition import Definition
from sfumato.anonymize.tables.policy import Policy
from sfumato.data.hierarchies.pinned_hierarchy import PinnedHierarchy
from sfumato.errors import HierarchyError, ParameterError, SchemaError, Unsatisfiable

JOBS = {"engineer": "technical", "smith": "technical", "writer": "arts", "dancer": "arts"}
SCHEMA = sf.Schema(
    identifiers=["name"],
    quasi={
        "age": sf.Hierarchy.intervals(width=5, levels=3, low=0, high=100),
        "zip": sf.Hierarchy.mask(4),
        "job": sf.Hierarchy.from_rows([(job, branch, "*") for job, branch in JOBS.items()]),
    },
    sensitive=["illness"],
)


def batch(n, seed, *, ages=(20, 60)):
    generator = np.random.default_rng(seed)
    return {
        "name": [f"person {seed}-{i}" for i in range(n)],
        "age": [str(a) for a in generator.integers(*ages, n)],
        "zip": [f"{z:04}" for z in generator.integers(100, 140, n)],
        "job": [list(JOBS)[j] for j in generator.integers(0, 4, n)],
        "illness": [("flu", "cold", "ulcer")[i] for i in generator.integers(0, 3, n)],
    }


def released(release):
    table = release.rows.frame("columns")
    return Counter(zip(*table.values(), strict=True))


def by_hand(data, policy, k):
    """Generalise with arithmetic of our own, keep classes of at least k."""
    age, zip_, job = (policy.levels[name] for name in ("age", "zip", "job"))

    def interval(text):
        if age == 0:
            return text
        width = 5 * 2 ** (age - 1)
        low = int(text) // width * width
        return "*" if age == 4 else f"[{low},{min(low + width, 100)})"

    def code(text):
        return "*" if zip_ == 4 else text[: 4 - zip_] + "*" * zip_

    def branch(text):
        return (text, JOBS[text], "*")[job]

    rows = [
        (interval(a), code(z), branch(j), illness)
        for a, z, j, illness in zip(
            data["age"], data["zip"], data["job"], data["illness"], strict=True
        )
    ]
    sizes = Counter(row[:3] for row in rows)
    kept = [row for row in rows if sizes[row[:3]] >= k]
    return Counter(kept), len(rows) - len(kept)


@pytest.fixture(scope="module")
def first():
    return sf.anonymize(batch(600, 1), sf.KAnonymity(4), schema=SCHEMA, suppression=0.1)


@pytest.fixture(scope="module")
def policy(first, tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    Policy.of(first).write(path)
    return Policy.read(path)


def test_a_policy_reads_back_as_it_was(first, policy):
    made = Policy.of(first)
    assert dict(policy.levels) == dict(made.levels)
    assert tuple(policy.levels.values()) == first.decision.recoding.levels
    assert policy.promise == sf.KAnonymity(4)
    assert (policy.suppression, policy.objective) == (0.1, "LM")
    assert policy.schema.identifier_names == ("name",)
    for name, bound in zip(SCHEMA.quasi_names, first.decision.problem.hierarchies, strict=True):
        rule = policy.schema.attributes[name].hierarchy
        kept = rule.hierarchy if isinstance(rule, PinnedHierarchy) else rule
        assert kept.rows() == bound.rows()
        assert [s.tolist() for s in kept.spans] == [s.tolist() for s in bound.spans]
        assert kept.ordered == bound.ordered


def test_the_same_batch_gives_the_same_release(first, policy):
    assert released(policy.apply(batch(600, 1))) == released(first)


def test_the_next_batch_is_generalised_alike_and_judged_again(policy):
    data = batch(400, 2)
    expected, suppressed = by_hand(data, policy, 4)
    assert 0 < suppressed <= 40
    release = policy.apply(data)
    assert released(release) == expected
    assert release.suppressed == suppressed
    assert release.verify().holds
    assert release.decision.recoding.record.algorithm == "policy"
    assert "judged again" in release.decision.recoding.record.label
    assert release.settings["suppression"] == 0.1
    assert release.left_out == ("name",)


def test_a_batch_that_cannot_keep_the_promise_says_how_much_is_missing(policy):
    data = batch(60, 3)
    _, suppressed = by_hand(data, policy, 4)
    assert suppressed > 6
    with pytest.raises(Unsatisfiable, match=rf"{suppressed} of 60 records .* and 6 may be"):
        policy.apply(data)
    release = policy.apply(data, suppression=0.99)
    assert release.suppressed == suppressed
    assert len(release.rows) == 60 - suppressed


def test_new_values_are_placed_by_their_rule(policy):
    data = batch(900, 4)
    data["age"][:4] = ["61", "61", "62", "99"]
    data["zip"][:4] = ["0999", "0998", "0997", "0996"]
    expected, suppressed = by_hand(data, policy, 4)
    release = policy.apply(data)
    assert released(release) == expected
    assert release.suppressed == suppressed


def test_a_value_no_rule_can_place_is_an_error_that_does_not_quote_it(policy):
    data = batch(900, 4)
    data["job"][7] = "astronaut"
    with pytest.raises(
        HierarchyError, match=r"attribute 'job' .* does not cover 1 value"
    ) as caught:
        policy.apply(data)
    assert "astronaut" not in str(caught.value)


def test_missing_cells_have_a_branch_of_their_own(policy):
    data = batch(900, 4)
    for name in ("age", "zip", "job"):
        data[name][:20] = [""] * 20
    shown = Counter(row[:3] for row in released(policy.apply(data)).elements())
    level = {n: policy.levels[n] for n in ("age", "zip", "job")}
    tops = {"age": 4, "zip": 4, "job": 2}
    cells = tuple("*" if level[n] == tops[n] else None for n in ("age", "zip", "job"))
    assert shown[cells] >= 20


@pytest.mark.parametrize(
    "rule",
    [sf.Hierarchy.intervals(), sf.Hierarchy.automatic()],
)
def test_a_rule_that_would_move_old_values_is_refused(rule):
    schema = sf.Schema(quasi={"age": rule}, sensitive=["illness"])
    data = batch(300, 1)
    policy = Policy.of(sf.anonymize(data, sf.KAnonymity(5), schema=schema))
    assert released(policy.apply(batch(300, 1)))
    near = {**data, "age": [*data["age"][:-1], "21.5"]}
    assert len(policy.apply(near, suppression=0.1).rows) == 300
    far = {**data, "age": [*data["age"][:-1], "1000"]}
    with pytest.raises(HierarchyError, match=r"does not know 1 value.* 'width', 'low'"):
        policy.apply(far)


def test_rules_by_frequency_take_no_new_values():
    data = batch(400, 1)
    schema = sf.Schema(quasi={"zip": sf.Hierarchy.frequency()}, sensitive=["illness"])
    policy = Policy.of(sf.anonymize(data, sf.KAnonymity(5), schema=schema))
    fewer = {name: column[:200] for name, column in data.items()}
    was = {row[0]: row for row in policy.schema.attributes["zip"].hierarchy.rows()}
    labels = {row[0] for row in released(policy.apply(fewer, suppression=0.9))}
    assert labels <= {row[policy.levels["zip"]] for row in was.values()}
    with pytest.raises(HierarchyError, match="does not cover 1 value"):
        policy.apply({**data, "zip": ["9999", *data["zip"][1:]]})


def test_a_wider_range_keeps_the_levels_of_fixed_widths():
    rule = sf.Hierarchy.intervals(width=5)
    bound = rule.over(["20", "24", "33"], "age")
    grown = PinnedHierarchy(bound, rule).over(["20", "91", "-3"], "age")
    assert grown.height == bound.height
    rows = {row[0]: row for row in grown.rows()}
    assert all(rows[row[0]] == row for row in bound.rows())
    assert rows["91"][:3] == ("91", "[90,95)", "[90,100)")
    assert rows["-3"][:3] == ("-3", "[-5,0)", "[-10,0)")
    assert {row[-1] for row in rows.values()} == {"*"}
    assert len(grown.spans) == grown.height
    assert grown.spans[-1].tolist() == [grown.spans[-2].sum()]


def test_pinned_hierarchies_are_part_of_schema_files(tmp_path):
    rule = sf.Hierarchy.mask(3)
    bound = rule.over(["123", "124"], "code")
    schema = sf.Schema(quasi={"code": PinnedHierarchy(bound, rule)})
    schema.write(tmp_path / "schema.yaml")
    again = sf.Schema.read(tmp_path / "schema.yaml").attributes["code"].hierarchy
    assert isinstance(again, PinnedHierarchy)
    assert again.hierarchy.rows() == bound.rows()
    assert again.over(["999"], "code").rows()[-1] == ("999", "99*", "9**", "*")


STRANGE = (
    "plain",
    "a: b",
    "#x",
    'q"uote',
    "back\\slash",
    "línea",
    "日本",
    "😀",
    "tab\there",
    "nl\nx",
)


def test_any_character_survives_the_file(tmp_path):
    values = [*STRANGE, "\x85", "\u2028", "NO", "007", "~", " lead", "trail ", "- x", "\x7f"]
    data = {'job "title": 😀': values * 2, "s": ["a", "b"] * len(values)}
    schema = sf.Schema(quasi=list(data)[:1], sensitive=["s"])
    release = sf.anonymize(data, sf.KAnonymity(2), schema=schema)
    path = tmp_path / "p.yaml"
    Policy.of(release).write(path)
    again = Policy.read(path)
    assert released(again.apply(data)) == released(release)
    kept = again.schema.attributes['job "title": 😀'].hierarchy
    assert sorted(kept.leaves) == sorted(values)


def test_the_file_has_no_counts(tmp_path):
    """Two data sets with the same values but other counts give the same text."""
    texts = []
    for repeat in (3, 50):
        data = {"age": ["20", "30", "40"] * repeat, "s": ["a", "b", "c"] * repeat}
        schema = sf.Schema(quasi={"age": sf.Hierarchy.intervals(width=10)}, sensitive=["s"])
        release = sf.anonymize(data, sf.KAnonymity(3), schema=schema, suppression=0.2)
        Policy.of(release).write(tmp_path / f"{repeat}.yaml")
        texts.append((tmp_path / f"{repeat}.yaml").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert "suppression: 0.2" in texts[0]


def test_save_writes_a_policy_that_applies(first, tmp_path):
    first.save(tmp_path / "out", report=False)
    policy = Policy.read(tmp_path / "out" / "policy.yaml")
    second = policy.apply(batch(900, 2))
    second.save(tmp_path / "next", report=False)
    third = Policy.read(tmp_path / "next" / "policy.yaml")
    assert dict(third.levels) == dict(policy.levels)
    data = batch(900, 5)
    data["age"][0] = "77"
    assert released(third.apply(data)) == released(policy.apply(data))


def test_local_recodings_have_no_policy(tmp_path):
    local = sf.anonymize(batch(100, 1), sf.KAnonymity(4), schema=SCHEMA, algorithm="local")
    with pytest.raises(ParameterError, match="Only a full-domain release has a policy"):
        Policy.of(local)
    local.save(tmp_path / "out", report=False)
    assert not (tmp_path / "out" / "policy.yaml").exists()


def test_promises_keep_their_types(tmp_path):
    promise = sf.KAnonymity(3, on=("age", "zip")) & sf.TCloseness(0.45, "illness", "ordered")
    release = sf.anonymize(batch(500, 1), promise, schema=SCHEMA, suppression=0.3)
    Policy.of(release).write(tmp_path / "p.yaml")
    again = Policy.read(tmp_path / "p.yaml")
    assert again.promise == promise
    assert released(again.apply(batch(500, 1))) == released(release)


def test_promises_about_a_population():
    sample, people = batch(120, 1), batch(4_000, 2)
    release = sf.anonymize(sample, sf.KMap(3), schema=SCHEMA, population=people, suppression=0.2)
    policy = Policy.of(release)
    second = policy.apply(batch(120, 8), population=people, suppression=0.5)
    assert second.verify().holds
    with pytest.raises(ParameterError, match="population"):
        policy.apply(batch(120, 8))


class AtMostHalf(Definition):
    """A definition of one's own."""

    def judge(self, classes):
        return classes.sizes >= 2


def test_an_own_definition_is_given_again(tmp_path):
    release = sf.anonymize(batch(300, 1), sf.KAnonymity(3) & AtMostHalf(), schema=SCHEMA)
    Policy.of(release).write(tmp_path / "p.yaml")
    with pytest.raises(ParameterError, match=r"Policy .*p.yaml: .* promise=…"):
        Policy.read(tmp_path / "p.yaml")
    again = Policy.read(tmp_path / "p.yaml", promise=release.promise)
    assert released(again.apply(batch(300, 1))) == released(release)


def test_other_roles_for_the_next_batch(policy):
    roles = {"age": "quasi", "zip": "quasi", "job": "quasi", "name": "insensitive"}
    release = policy.apply(batch(900, 2), sf.Schema(attributes={**roles, "illness": "sensitive"}))
    assert release.rows.columns == ("name", "age", "zip", "job", "illness")
    with pytest.raises(SchemaError, match=r"The schema names age, zip as .* generalises age, job"):
        policy.apply(batch(900, 2), sf.Schema(attributes={**roles, "job": "insensitive"}))


def test_a_column_is_missing(policy):
    data = batch(900, 2)
    del data["job"]
    with pytest.raises(SchemaError, match="names the quasi attribute 'job'"):
        policy.apply(data)


def test_row_settings_reach_the_release(policy):
    one, two = (policy.apply(batch(900, 2), seed=4).rows.frame("columns") for _ in range(2))
    assert one == two
    keyed = policy.apply(batch(900, 2), pseudonym_key=bytes(32))
    assert "name" in keyed.rows.columns
    with pytest.raises(ParameterError, match="order"):
        policy.apply(batch(900, 2), order="sorted")
    with pytest.raises(ParameterError, match="suppression"):
        policy.apply(batch(900, 2), suppression=2)


BAD = [
    ("attributes:\n  age: quasi\n", "is not a policy"),
    ("- 1\n", "is not a policy"),
    (("policy: 1", "policy: 2"), "of version '2'"),
    (("objective: LM", "objectve: LM"), "'objectve' is unknown.*Did you mean 'objective'"),
    (("objective: LM\n", ""), "'objective' is missing"),
    (("objective: LM", "objective: XY"), "The objective must be one of"),
    (("suppression: 0.1", "suppression: 3"), "suppression must be"),
    (("suppression: 0.1", "suppression: some"), "'suppression' must be a number"),
    (("levels:\n", "levels:\n  sex: 0\n"), "needs a level for each quasi-identifier"),
    (("levels:\n  age: ", "levels:\n  age: 9"), "level of 'age' must be from 0 to 4"),
    (("levels:\n  age: ", "levels:\n  age: x"), "level of 'age' must be a whole number"),
    (("definition: KAnonymity", "definition: KAnonimity"), "definition of your own"),
    (("k: 4", "k: 0"), "k must be a whole number of at least 1"),
    (('["engineer", ', '["engineer"; '), "rows of the hierarchy of 'job' must be lines of JSON"),
    (('["engineer", "technical", "*"]', '["engineer", "*"]'), "every row must name a node"),
    (("hierarchies:\n", "hierarchies: none\n#"), "not valid YAML|must be a mapping"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_files(first, tmp_path, change, message):
    path = tmp_path / "policy.yaml"
    Policy.of(first).write(path)
    text = path.read_text(encoding="utf-8")
    if isinstance(change, tuple):
        assert change[0] in text
        text = text.replace(*change, 1)
    path.write_text(text if isinstance(change, tuple) else change, encoding="utf-8")
    with pytest.raises((SchemaError, ParameterError, HierarchyError), match=message) as caught:
        Policy.read(path)
    assert str(path) in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(SchemaError, match="cannot be read"):
        Policy.read(tmp_path / "absent.yaml")


def test_values_without_a_place_are_listed_for_the_owner():
    policy = Policy.of(sf.anonymize(sf.read(batch(300, 1), schema=SCHEMA), sf.KAnonymity(3)))
    assert policy.uncovered(batch(50, 2), SCHEMA) == {}
    later = batch(50, 3)
    later["job"][7] = "astronaut"
    assert policy.uncovered(later, SCHEMA) == {"job": ("astronaut",)}
