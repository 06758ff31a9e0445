"""The optimal search against brute force: plain Python over records, sharing no code with it."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato import compiled
from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.definition import Definition
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.definitions.presence import DeltaPresence, KMap
from sfumato.anonymize.definitions.risk import AverageRisk, UniqueShare
from sfumato.anonymize.loss.measures import separable
from sfumato.anonymize.tables.algorithms.full_domain.lattice import search
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import Unsatisfiable

TREES = (
    Hierarchy.from_rows([(f"v{i}", f"pair{i // 2}", "*") for i in range(4)]),
    Hierarchy.flat(["a", "b", "c"]),
    Hierarchy.from_rows([("p", "p", "*"), ("q", "Q", "*"), ("r", "Q", "*")]),
)
QUASI = ("q0", "q1", "q2")
ILLNESS = Hierarchy.from_rows(
    [("flu", "mild", "*"), ("cold", "mild", "*"), ("ulcer", "grave", "*")]
)


# -- what each definition means, from the books ------------------------------------------


def k_rule(k):
    return lambda rows, everyone, people: len(rows) >= k


def column(rows, s):
    return [row[1][s] for row in rows]


def distinct_rule(l, s=0):  # noqa: E741
    return lambda rows, everyone, people: len(set(column(rows, s))) >= l


def entropy_rule(l, s=0):  # noqa: E741
    def rule(rows, everyone, people):
        counts = Counter(column(rows, s)).values()
        n = sum(counts)
        return -sum(c / n * math.log(c / n) for c in counts) >= math.log(l) - 1e-9

    return rule


def recursive_rule(c, l, s=0):  # noqa: E741
    def rule(rows, everyone, people):
        ranked = sorted(Counter(column(rows, s)).values(), reverse=True)
        return ranked[0] < c * sum(ranked[l - 1 :])

    return rule


def shares_of(values, support):
    counts = Counter(values)
    return [Fraction(counts[v], len(values)) for v in support]


def equal_rule(t, s=0):
    def rule(rows, everyone, people):
        p, q = (shares_of(column(x, s), range(3)) for x in (rows, everyone))
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 <= Fraction(t) + Fraction(
            1, 10**9
        )

    return rule


def ordered_rule(t, s=0):
    def rule(rows, everyone, people):
        support = sorted(set(column(everyone, s)))
        p, q = (shares_of(column(x, s), support) for x in (rows, everyone))
        moved = sum(abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(len(support)))
        return moved <= (Fraction(t) + Fraction(1, 10**9)) * max(len(support) - 1, 1)

    return rule


def likeness_rule(beta, s=0):
    """Cao and Karras' enhanced form: no value gains more than min(β, −ln q)."""

    def rule(rows, everyone, people):
        p, q = (shares_of(column(x, s), range(3)) for x in (rows, everyone))
        return all(
            a / b - 1 <= min(beta, -math.log(b)) + 1e-9 for a, b in zip(p, q, strict=True) if b
        )

    return rule


def disclosure_rule(delta, s=0):
    def rule(rows, everyone, people):
        p, q = (shares_of(column(x, s), range(3)) for x in (rows, everyone))
        return all(
            a > 0 and abs(math.log(a / b)) < delta - 1e-9
            for a, b in zip(p, q, strict=True)
            if b > 0
        )

    return rule


def tree_rule(t, s=0):
    """Earth mover's distance on the tree of illnesses: half a step to a sibling, one else."""

    def rule(rows, everyone, people):
        p, q = (shares_of(column(x, s), range(3)) for x in (rows, everyone))
        surplus = [a - b for a, b in zip(p, q, strict=True)]
        # flu and cold are siblings: what they cannot settle between them comes from ulcer
        among = min(abs(surplus[0]), abs(surplus[1])) if surplus[0] * surplus[1] < 0 else 0
        return among / 2 + abs(surplus[2]) <= Fraction(t) + Fraction(1, 10**9)

    return rule


def divergence_rule(t, s=0):
    def rule(rows, everyone, people):
        p, q = (shares_of(column(x, s), range(3)) for x in (rows, everyone))
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a) <= t + 1e-9

    return rule


def basic_likeness_rule(beta, s=0):
    def rule(rows, everyone, people):
        p, q = (shares_of(column(x, s), range(3)) for x in (rows, everyone))
        return all(a / b - 1 <= beta + 1e-9 for a, b in zip(p, q, strict=True) if b)

    return rule


def map_rule(k):
    return lambda rows, everyone, people: people >= k


def presence_rule(low, high):
    return lambda rows, everyone, people: (
        people > 0 and low - 1e-9 <= len(rows) / people <= high + 1e-9
    )


def both(*rules):
    return lambda *given: all(rule(*given) for rule in rules)


class Popular(Definition):
    """A user's own definition: an odd one, neither monotone nor union-closed."""

    def judge(self, classes):
        return classes.sizes % 3 != 1


PROMISES = {
    "k": (KAnonymity(3), k_rule(3)),
    "distinct": (DistinctLDiversity(2, "illness"), distinct_rule(2)),
    "entropy": (EntropyLDiversity(1.8, "illness"), entropy_rule(1.8)),
    "recursive": (RecursiveLDiversity(1.5, 2, "illness"), recursive_rule(1.5, 2)),
    "t-equal": (TCloseness(0.25, "illness"), equal_rule(0.25)),
    "t-ordered": (TCloseness(0.15, "illness", distance="ordered"), ordered_rule(0.15)),
    "beta": (BetaLikeness(0.8, "illness"), likeness_rule(0.8)),
    "t-hierarchical": (
        TCloseness(0.3, "illness", distance="hierarchical"),
        tree_rule(0.3),
    ),
    "t-kl and k": (
        KAnonymity(2) & TCloseness(0.4, "illness", distance="kl"),
        both(k_rule(2), divergence_rule(0.4)),
    ),
    "basic beta": (BetaLikeness(0.7, "illness", enhanced=False), basic_likeness_rule(0.7)),
    "delta": (DeltaDisclosure(1.0, "illness"), disclosure_rule(1.0)),
    "k and t": (
        KAnonymity(2) & TCloseness(0.3, "illness"),
        both(k_rule(2), equal_rule(0.3)),
    ),
    "k and two l": (
        KAnonymity(2) & DistinctLDiversity(2, "illness") & EntropyLDiversity(1.5, "wage"),
        both(k_rule(2), distinct_rule(2), entropy_rule(1.5, 1)),
    ),
    "own": (Popular(), lambda rows, everyone, people: len(rows) % 3 != 1),
    "own and k": (
        KAnonymity(2) & Popular(),
        both(k_rule(2), lambda rows, everyone, people: len(rows) % 3 != 1),
    ),
    "k-map": (KMap(4), map_rule(4)),
    "presence": (DeltaPresence(0.1, 0.6), presence_rule(0.1, 0.6)),
    "presence from 0": (DeltaPresence(0.0, 0.5), presence_rule(0.0, 0.5)),
    "k, presence and l": (
        KAnonymity(2) & DeltaPresence(0.0, 0.7) & DistinctLDiversity(2, "illness"),
        both(k_rule(2), presence_rule(0.0, 0.7), distinct_rule(2)),
    ),
    "recursive and t-ordered": (
        RecursiveLDiversity(2.0, 2, "wage") & TCloseness(0.3, "illness", distance="ordered"),
        both(recursive_rule(2.0, 2, 1), ordered_rule(0.3)),
    ),
}


# -- brute force --------------------------------------------------------------------------


def generalized(codes, node):
    return tuple(h.label(c, v) for h, c, v in zip(TREES, codes, node, strict=True))


def kept_classes(records, node, rule, population):
    """Suppress failing classes until all that are left hold against what is left."""
    classes = defaultdict(list)
    for codes, sensitive in records:
        classes[generalized(codes, node)].append((codes, sensitive))
    people = Counter(generalized(codes, node) for codes in population)
    while True:
        everyone = [row for rows in classes.values() for row in rows]
        bad = [key for key, rows in classes.items() if not rule(rows, everyone, people[key])]
        if not bad:
            return classes
        for key in bad:
            del classes[key]


def price(records, classes, node, objective):
    n = len(records)
    kept = sum(len(rows) for rows in classes.values())
    suppressed = n - kept
    if objective == "DM":
        return (sum(len(rows) ** 2 for rows in classes.values()) + suppressed * n) / n**2
    if objective == "AECS":
        return 1 / (len(classes) + (suppressed > 0))
    total = 0.0
    for rows in classes.values():
        for codes, _ in rows:
            for a, (h, code, level) in enumerate(zip(TREES, codes, node, strict=True)):
                total += cell_price(records, a, h, code, level, objective)
    for codes, _ in records_of(records, classes, node):
        for a, (h, code) in enumerate(zip(TREES, codes, strict=True)):
            total += suppressed_price(records, a, h, code, objective)
    return total / (n * len(TREES))


def records_of(records, classes, node):
    return [r for r in records if generalized(r[0], node) not in classes]


def below(h, code, level):
    return [i for i in range(h.size) if h.label(i, level) == h.label(code, level)]


def cell_price(records, a, h, code, level, objective):
    if objective == "LM":
        return (len(below(h, code, level)) - 1) / (h.size - 1)
    if objective == "MD":
        # a branch that ends early repeats its label: the lowest level that says the same counts
        same = [v for v in range(level + 1) if below(h, code, v) == below(h, code, level)]
        return same[0] / (h.height - 1)
    counts = Counter(codes[a] for codes, _ in records)
    shared = sum(counts[i] for i in below(h, code, level))
    return math.log(shared / counts[code]) / entropy_scale(records, a)


def suppressed_price(records, a, h, code, objective):
    if objective in {"LM", "MD"} or len({codes[a] for codes, _ in records}) == 1:
        return 1.0
    counts = Counter(codes[a] for codes, _ in records)
    return math.log(len(records) / counts[code]) / entropy_scale(records, a)


def entropy_scale(records, a):
    counts = Counter(codes[a] for codes, _ in records)
    n = len(records)
    return sum(c / n * math.log(n / c) for c in counts.values()) or 1.0


def brute_force(records, rule, limit, objective, population):
    best = None
    for node in itertools.product(*(range(h.height) for h in TREES)):
        classes = kept_classes(records, node, rule, population)
        kept = sum(len(rows) for rows in classes.values())
        if kept == 0 or len(records) - kept > limit:
            continue
        loss = price(records, classes, node, objective)
        best = loss if best is None else min(best, loss)
    return best


def make_problem(records, promise, limit, objective, population):
    rows = np.array([(*codes, *sensitive) for codes, sensitive in records], dtype=np.int32)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    names = promise.sensitive
    keep = [3 + ("illness", "wage").index(name) for name in names]
    merged, index = np.unique(distinct[:, [0, 1, 2, *keep]], axis=0, return_inverse=True)
    weights = np.bincount(index.reshape(-1), weights=counts).astype(np.int64)
    values = {"illness": ILLNESS.leaves, "wage": ("1", "2", "3")}
    table = FrequencyTable(
        QUASI,
        names,
        np.ascontiguousarray(merged[:, :3]),
        np.ascontiguousarray(merged[:, 3:]),
        weights,
        tuple(values[name] for name in names),
    )
    costs, suppressed = separable(
        objective if objective in {"LM", "MD", "NUE"} else "LM", TREES, table
    )
    people = None
    if promise.needs_population:
        found, number = np.unique(np.array(population, dtype=np.int32), axis=0, return_counts=True)
        people = FrequencyTable(
            QUASI, (), found, np.zeros((len(found), 0), np.int32), number.astype(np.int64)
        )
    return Problem(
        table, TREES, promise, costs, suppressed, suppression_limit=limit, objective=objective,
        sensitive_hierarchies={"illness": ILLNESS}, population=people,
    )  # fmt: skip


record = st.tuples(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
)


OBJECTIVES = ["LM", "MD", "NUE", "DM", "AECS"]


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        pytest.param(name, objective, marks=() if (i + j) % 5 == 0 else pytest.mark.soak)
        for i, name in enumerate(PROMISES)
        for j, objective in enumerate(OBJECTIVES)
    ],
)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    records=st.lists(record, min_size=1, max_size=12),
    limit=st.integers(0, 5),
    others=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=12
    ),
    pays=st.booleans(),
)
def test_optimal_equals_brute_force(name, objective, records, limit, others, pays):
    promise, rule = PROMISES[name]
    # kernels in both their forms
    with (
        patch.object(compiled, "free", lambda: pays),
        patch.object(compiled.ACCOUNT, "worth", lambda _: pays),
    ):
        check_against_brute_force(promise, rule, objective, records, limit, others)


WHOLE = {
    "average": (AverageRisk(0.3), lambda sizes: 10 * len(sizes) <= 3 * sum(sizes)),
    "uniques": (UniqueShare(0.2), lambda sizes: 5 * sizes.count(1) <= sum(sizes)),
    "k and both": (
        KAnonymity(1) & AverageRisk(0.5) & UniqueShare(0.1),
        lambda sizes: 2 * len(sizes) <= sum(sizes) and 10 * sizes.count(1) <= sum(sizes),
    ),
}


@pytest.mark.parametrize("objective", ["LM", "DM"])
@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=st.lists(record, min_size=1, max_size=12))
def test_promises_about_the_whole_release_equal_brute_force(name, objective, records):
    promise, holds = WHOLE[name]
    best = None
    for node in itertools.product(*(range(h.height) for h in TREES)):
        classes = kept_classes(records, node, k_rule(1), [])
        if holds([len(rows) for rows in classes.values()]):
            loss = price(records, classes, node, objective)
            best = loss if best is None else min(best, loss)
    problem = make_problem(records, promise, 0, objective, [])
    if best is None:
        with pytest.raises(Unsatisfiable):
            search(problem)
        return
    found = search(problem)
    assert found.record.proven_optimal
    assert found.record.facts["loss"] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("objective", ["DM", "AECS"])
@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=st.lists(record, min_size=1, max_size=14), share=st.sampled_from([0.1, 0.4, 1.0]))
def test_promises_about_the_whole_release_equal_brute_force_with_suppression(
    name, objective, records, share
):
    promise, holds = WHOLE[name]
    n, best = len(records), None
    for node in itertools.product(*(range(h.height) for h in TREES)):
        sizes = sorted(map(len, kept_classes(records, node, k_rule(1), []).values()))[::-1]
        row = max((m for m in range(n + 1) if holds(sizes[:m])), default=0)
        out = n - sum(sizes[:row])
        if not sizes[:row] or out > int(share * n):
            continue
        dm = (sum(size**2 for size in sizes[:row]) + out * n) / n**2
        loss = dm if objective == "DM" else 1 / (len(sizes[:row]) + (out > 0))
        best = loss if best is None else min(best, loss)
    problem = make_problem(records, promise, int(share * n), objective, [])
    if best is None:
        with pytest.raises(Unsatisfiable):
            search(problem)
        return
    found = search(problem)
    assert found.record.proven_optimal
    assert found.record.facts["loss"] == pytest.approx(best, abs=1e-9)


def check_against_brute_force(promise, rule, objective, records, limit, others):
    population = [codes for codes, _ in records] + others
    problem = make_problem(records, promise, limit, objective, population)
    best = brute_force(records, rule, limit, objective, population)
    if best is None:
        with pytest.raises(Unsatisfiable):
            search(problem)
        return
    found = search(problem)
    assert found.record.proven_optimal
    classes = kept_classes(records, found.levels, rule, population)
    kept = {codes for rows in classes.values() for codes, _ in rows}
    assert len(records) - sum(len(rows) for rows in classes.values()) <= limit
    assert price(records, classes, found.levels, objective) == pytest.approx(best, abs=1e-9)
    assert found.record.facts["loss"] == pytest.approx(best, abs=1e-9)
    for i, codes in enumerate(problem.table.quasi):
        assert found.suppressed[i] == (tuple(int(c) for c in codes) not in kept)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=st.lists(record, min_size=2, max_size=14), limit=st.integers(0, 4))
def test_key_combinations_have_their_own_k(records, limit):
    promise = KAnonymity(3, ("q0",)) & KAnonymity(2, ("q1", "q2"))
    problem = make_problem(records, promise, limit, "LM", [])

    def survivors(node):
        left = list(records)
        while True:
            first = Counter(generalized(c, node)[0] for c, _ in left)
            second = Counter(generalized(c, node)[1:] for c, _ in left)
            kept = [
                r
                for r in left
                if first[generalized(r[0], node)[0]] >= 3
                and second[generalized(r[0], node)[1:]] >= 2
            ]
            if len(kept) == len(left):
                return left
            left = kept

    best = None
    for node in itertools.product(*(range(h.height) for h in TREES)):
        left = survivors(node)
        if left and len(records) - len(left) <= limit:
            keys = {generalized(c, node) for c, _ in left}
            classes = {key: [r for r in left if generalized(r[0], node) == key] for key in keys}
            loss = price(records, classes, node, "LM")
            best = loss if best is None else min(best, loss)
    if best is None:
        with pytest.raises(Unsatisfiable):
            search(problem)
    else:
        assert search(problem).record.facts["loss"] == pytest.approx(best, abs=1e-9)


def test_lattice_of_the_worked_example_has_twelve_nodes():
    trees = (
        Hierarchy.from_rows([("a", "A", "*"), ("b", "A", "*")]),
        Hierarchy.flat(["x", "y"]),
        Hierarchy.flat(["m", "n"]),
    )
    table = FrequencyTable(
        QUASI, (), np.array([[0, 0, 0], [1, 1, 1]], np.int32), np.zeros((2, 0), np.int32),
        np.array([1, 1]),
    )  # fmt: skip
    costs, suppressed = separable("LM", trees, table)
    found = search(Problem(table, trees, KAnonymity(2), costs, suppressed))
    assert found.record.facts["nodes"] == 12
    assert found.levels == (1, 1, 1)


def test_ctrl_c_gives_the_best_found_marked_not_proven():
    rng = np.random.default_rng(5)
    tree = Hierarchy.from_rows([(str(i), str(i // 2), str(i // 4), "*") for i in range(16)])
    quasi = np.unique(rng.integers(0, 16, (300, 4)), axis=0).astype(np.int32)
    table = FrequencyTable(
        ("a", "b", "c", "d"), (), quasi, np.zeros((len(quasi), 0), np.int32),
        np.ones(len(quasi), np.int64),
    )  # fmt: skip
    trees = (tree,) * 4
    costs, suppressed = separable("LM", trees, table)
    problem = Problem(table, trees, KAnonymity(3), costs, suppressed)
    calls = 0

    def interrupt(done, best, words):
        nonlocal calls
        calls += 1
        assert 0 <= done <= 1
        if calls == 3 and best < math.inf:
            raise KeyboardInterrupt

    stopped = search(problem, progress=interrupt)
    finished = search(problem)
    assert not stopped.record.proven_optimal
    assert "not proven" in stopped.record.label
    assert finished.record.proven_optimal
    assert finished.record.facts["loss"] <= stopped.record.facts["loss"]


@pytest.mark.parametrize("name", ["k and two l", "t-ordered", "delta"])
def test_judging_in_batches_changes_nothing(name, monkeypatch):
    """With room for a handful of cells every class is judged in a batch of its own."""
    rng = np.random.default_rng(3)
    records = [
        (tuple(rng.integers(0, [4, 3, 3]).tolist()), tuple(rng.integers(0, 3, 2).tolist()))
        for _ in range(40)
    ]
    problem = make_problem(records, PROMISES[name][0], 12, "LM", [])
    at_once = search(problem)
    monkeypatch.setattr("sfumato.anonymize.definitions.classes.DENSE_CELLS", 4)
    in_batches = search(problem)
    assert in_batches.levels == at_once.levels
    assert (in_batches.suppressed == at_once.suppressed).all()
    groups = problem.table.quasi[:, 0].astype(np.int64)
    small = problem.judge(groups, 4)
    monkeypatch.undo()
    assert (problem.judge(groups, 4) == small).all()


def test_what_a_promise_allows_is_not_added_to_what_suppression_costs():
    """The fewest classes of an average risk count a class of what is suppressed already."""
    sizes = [111] * 8 + [110, 2] + [1] * 400
    ages = [(f"{i:03}", "many" if i in (0, 9) else f"={i}", "*") for i in range(len(sizes))]
    trees = (Hierarchy.from_rows(ages), Hierarchy.from_rows([("f", "*"), ("m", "*")]))
    lines = [(a, b, (s + 1 - b) // 2) for a, s in enumerate(sizes) for b in (0, 1) if s + 1 - b > 1]
    quasi = np.array([line[:2] for line in lines], dtype=np.int32)
    counts = np.array([line[2] for line in lines], dtype=np.int64)
    table = FrequencyTable(("a", "b"), (), quasi, np.empty((len(quasi), 0), np.int32), counts, ())
    costs, out = separable("LM", trees, table)
    promise = KAnonymity(2) & AverageRisk(0.01)
    found = search(Problem(table, trees, promise, costs, out, 420, objective="DM"))
    assert tuple(found.levels) == (0, 1)
    expected = (8 * 111**2 + 110**2 + 2**2 + 400 * 1400) / 1400**2
    assert found.record.facts["loss"] == pytest.approx(expected)
