"""Top-k of sets, trees, graphs and traces: what one unit changes, exact laws, charges, audits."""

from __future__ import annotations

from itertools import combinations, permutations
from math import exp

import numpy as np
import pytest
from chance import seeds

import sfumato as sf
from sfumato.ask.shaped.winners import _candidates, plan_winners
from sfumato.dp.neighbours import Neighbours
from sfumato.dp.publish.topk.baskets import baskets_of
from sfumato.errors import BudgetExceeded, ParameterError

ITEMS = ["a", "b", "c"]


def sets_of(lists):
    return sf.read([list(items) for items in lists], shape="sets")


def trees_of(lists):
    records = [{"n": str(i), "seen": [{"id": v} for v in values]} for i, values in enumerate(lists)]
    return sf.read(records, shape="trees")


def graph_of(edges, towns="aabcb"):
    return sf.read(list(edges), shape="graph", nodes={i: {"town": t} for i, t in enumerate(towns)})


def traces_of(lists):
    rows = [
        {"id": f"t{i}", "person": who, "t": t, "x": x, "y": 0.5}
        for i, (who, xs) in enumerate(lists) for t, x in enumerate(xs)
    ]  # fmt: skip
    columns = {name: [row[name] for row in rows] for name in ("id", "person", "t", "x", "y")}
    return sf.read(columns, shape="trajectories", bounds=(0, 3, 0, 1), trip="id", person="person",
                   time="t", x="x", y="y")  # fmt: skip


def supports(source, unit, people=None, **options):
    given = {"of": None, "among": None, "cells": None, **options}
    found = _candidates(source, people, sf.dp.Neighbours.of(unit).unit, **given)
    read = baskets_of(found.baskets(), domain=found.names, people=found.people)
    return read.supports()


def moves_by_one(more, fewer):
    change = supports(*more[0], **more[1]) - supports(*fewer[0], **fewer[1])
    return ((change == 0) | (change == 1)).all()


@seeds(25, few=5)
def test_what_a_unit_of_sets_changes(seed):
    chance = np.random.default_rng(seed)
    lists = [[x for x in "abc" if chance.random() < 0.6] or ["a"] for _ in range(5)]
    people = [int(p) for p in chance.integers(0, 3, 5)]
    options = {"among": ITEMS}
    for i in range(5):
        rest = lists[:i] + lists[i + 1 :]
        both = ((sets_of(lists), "transaction"), options), ((sets_of(rest), "transaction"), options)
        assert moves_by_one(*both)
        for item in lists[i] if len(lists[i]) > 1 else ():
            less = [*lists[:i], [x for x in lists[i] if x != item], *lists[i + 1 :]]
            assert moves_by_one(
                ((sets_of(lists), "item"), options), ((sets_of(less), "item"), options)
            )
    for who in set(people):
        kept = [i for i, p in enumerate(people) if p != who]
        if kept:
            less = (sets_of([lists[i] for i in kept]), "customer", [people[i] for i in kept])
            assert moves_by_one(((sets_of(lists), "customer", people), options), (less, options))


@seeds(15, few=4)
def test_what_a_unit_of_trees_changes(seed):
    chance = np.random.default_rng(seed)
    lists = [chance.choice(list("abc"), chance.integers(1, 4)).tolist() for _ in range(4)]
    options = {"of": "seen.id", "among": ITEMS}
    for i in range(4):
        fewer = [lists[:i] + lists[i + 1 :]] + [
            [*lists[:i], lists[i][:j] + lists[i][j + 1 :], *lists[i + 1 :]]
            for j in range(len(lists[i]))
        ]
        for unit, less in zip(("tree", *("vertex",) * 9), fewer, strict=False):
            pair = (trees_of(lists), unit), (trees_of(less), unit)
            assert moves_by_one((pair[0], options), (pair[1], options))
        assert moves_by_one(((trees_of(lists), "subtree"), options),
                            ((trees_of(fewer[-1]), "subtree"), options))  # fmt: skip


@seeds(15, few=4)
def test_what_a_unit_of_graphs_changes(seed):
    chance = np.random.default_rng(seed)
    edges = [pair for pair in combinations(range(5), 2) if chance.random() < 0.6] or [(0, 1)]
    for i in range(len(edges)):
        less = edges[:i] + edges[i + 1 :]
        for options in ({}, {"of": "town", "among": ITEMS}):
            assert moves_by_one(
                ((graph_of(edges), "edge"), options), ((graph_of(less), "edge"), options)
            )
    options = {"of": "town", "among": ITEMS}
    less = [edge for edge in edges if 4 not in edge]
    pair = (graph_of(edges), "node"), (graph_of(less, "aabc"), "node")
    assert moves_by_one((pair[0], options), (pair[1], options))


def test_what_a_unit_of_traces_changes():
    lists = [("p", [0.5, 1.5]), ("p", [1.5, 1.6]), ("q", [2.5, 0.5, 1.5])]
    options = {"cells": 3}
    for i in range(3):
        rest = lists[:i] + lists[i + 1 :]
        assert moves_by_one(
            ((traces_of(lists), "trip"), options), ((traces_of(rest), "trip"), options)
        )
    person = sf.dp.Unit("person")
    less = [trace for trace in lists if trace[0] != "p"]
    assert moves_by_one(((traces_of(lists), person), options), ((traces_of(less), person), options))
    assert supports(traces_of(lists), "trip", cells=3)[3:6].tolist() == [2, 3, 1]
    assert supports(traces_of(lists), person, cells=3)[3:6].tolist() == [2, 2, 1]


def law(counts, k, rate):
    """The probability of every list of winners, from the definition of peeling."""
    found = {}
    for order in permutations(range(len(counts)), k):
        chance, left = 1.0, list(range(len(counts)))
        for place in order:
            chance *= exp(rate * counts[place]) / sum(exp(rate * counts[i]) for i in left)
            left.remove(place)
        found[order] = chance
    return found


@seeds(10, few=3)
def test_exact_laws_of_neighbours(seed):
    chance = np.random.default_rng(seed)
    lists = [[x for x in "abc" if chance.random() < 0.7] or ["c"] for _ in range(6)]
    people = [0, 0, 1, 1, 2, 2]
    mine = law(supports(sets_of(lists), "customer", people, among=ITEMS), 2, 0.5)
    less = law(supports(sets_of(lists[2:]), "customer", people[2:], among=ITEMS), 2, 0.5)
    for order, likely in mine.items():
        assert exp(-1.0) * (1 - 1e-9) <= likely / less[order] <= exp(1.0) * (1 + 1e-9)


def test_charged_once_and_given_again():
    lists = [["a", "b"], ["a"], ["a", "c"]] * 40
    with sf.Session(sets_of(lists), unit="transaction", budget=sf.PureDP(20)) as session:
        told = session.predict_top_k(1, among=ITEMS, epsilon=8)
        assert "peeling" in str(told)
        assert session.remaining.epsilon == 20
        first = session.top_k(1, among=ITEMS, epsilon=8)
        assert (
            first.data.rows[0][1] == "a" if hasattr(first.data, "rows") else "a" in str(first.data)
        )
        assert session.remaining.epsilon == 12
        again = session.top_k(1, among=ITEMS, epsilon=8)
        assert str(again.data) == str(first.data)
        assert session.remaining.epsilon == 12
        assert "one transaction added or removed" in str(first.promise)
        with pytest.raises(BudgetExceeded):
            session.top_k(2, among=ITEMS, epsilon=13)
        session.top_k(2, among=ITEMS, epsilon=6, counts=True)
        assert session.ledger.verify().ok


def test_every_shape_and_unit():
    trees = trees_of([["a", "a", "b"]] * 30 + [["a"]] * 20 + [["c"]])
    graph = graph_of([(0, i) for i in range(1, 5)] + [(1, 2)])
    traces = traces_of([("p", [1.5])] * 20 + [("q", [0.5, 1.5])] * 9)
    cases = [
        (trees, "tree", {"of": "seen.id", "among": ITEMS}, "a"),
        (trees, "vertex", {"of": "seen.id", "among": ITEMS}, "a"),
        (trees, "subtree", {"of": "seen.id", "among": ITEMS}, "a"),
        (graph, "edge", {}, "0"),
        (graph, "edge", {"of": "town", "among": ITEMS}, "a"),
        (graph, "node", {"of": "town", "among": ["a", "c"]}, "a"),
        (traces, "trip", {"cells": 3}, "1…2"),
        (traces, sf.dp.Unit("person"), {"cells": 3}, "1…2"),
    ]
    for number, (data, unit, options, expected) in enumerate(cases):
        with sf.Session(data, unit=unit, budget=sf.PureDP(99), name=f"d{number}") as session:
            release = session.top_k(1, epsilon=90, **options)
            assert expected in str(release.data), (unit, options)
            assert str(session.unit) in str(release.promise)


def test_unlisted_items_need_delta():
    data = sets_of([["x", "y"], ["x"]] * 300)
    budget = sf.ApproxDP(9, 1e-5)
    with sf.Session(data, unit="transaction", budget=budget) as session:
        assert "x" in str(session.top_k(1, epsilon=4, delta=1e-6).data)
        with pytest.raises(ParameterError, match="delta"):
            session.top_k(1, epsilon=4)


def test_refusals():
    graph = graph_of([(0, 1)])
    with sf.Session(graph, unit="node", budget=sf.PureDP(1)) as session:
        with pytest.raises(ParameterError, match="whose presence is hidden"):
            session.top_k(1, epsilon=1)
        with pytest.raises(ParameterError, match="among="):
            session.top_k(1, of="town", epsilon=1)
        with pytest.raises(ParameterError, match="cells="):
            session.top_k(1, of="town", among=ITEMS, cells=3, epsilon=1)
        with pytest.raises(ParameterError, match="at most the number"):
            session.top_k(4, of="town", among=ITEMS, epsilon=1)
        assert session.remaining.epsilon == 1
    refused = [
        (sets_of(["ab"]), "customer", {"among": ITEMS}, "people="),
        (sets_of(["ab"]), "item", {"among": ITEMS, "set_size": 2}, "set_size"),
        (sets_of(["ab"]), "item", {}, "among="),
        (trees_of(["a"]), "tree", {"among": ITEMS}, "which label"),
        (trees_of(["a"]), "tree", {"of": "seen.id", "among": "a"}, "list of texts"),
        (traces_of([("p", [0.5])]), "trip", {"cells": 5000}, "at most 1,024"),
    ]
    for data, unit, options, words in refused:
        with sf.Session(data, unit=unit, budget=sf.PureDP(1), name=words) as session:
            with pytest.raises(ParameterError, match=words):
                session.top_k(1, epsilon=1, **options)
            assert session.remaining.epsilon == 1


def test_units_that_nothing_was_proved_of_are_refused():
    one, several = sf.dp.Unit("customer"), sf.dp.Group
    sets, trees, graph = sets_of(["ab"]), trees_of(["a"]), graph_of([(0, 1)])
    cases = [
        (sets, several("transaction", 5), {"among": ITEMS}),
        (sets, several("customer", 2), {"among": ITEMS}),
        (sets, one, {"among": ITEMS}),
        (sets, "row", {"among": ITEMS}),
        (trees, several("tree", 3), {"of": "seen.id", "among": ITEMS}),
        (trees, one, {"of": "seen.id", "among": ITEMS}),
        (graph, several("edge", 2), {}),
        (graph, several("node", 2), {}),
        (graph, several("node", 2), {"of": "town", "among": ITEMS}),
        (traces_of([("p", [0.5])]), several("trip", 2), {"cells": 3}),
    ]
    for data, unit, options in cases:
        with sf.Session(data, unit=unit, budget=sf.PureDP(1)) as session:
            with pytest.raises(ParameterError, match="hidden, not"):
                session.top_k(1, epsilon=1, **options)
            assert session.remaining.epsilon == 1


def test_other_attributes_are_other_data(tmp_path):
    ledger = str(tmp_path / "ledger.db")
    named = {"unit": "node", "budget": sf.PureDP(200), "ledger": ledger, "name": "towns"}
    for towns, expected in (("aaaab", "a"), ("bbbba", "b")):
        with sf.Session(graph_of([(0, 1)], towns), **named) as session:
            release = session.top_k(1, of="town", among=["a", "b"], epsilon=90)
            assert expected in str(release.data)


class Held:
    """Data of a shape with whose they are: nothing that the checker could take for records."""

    def __init__(self, source, people=None):
        self.source, self.people = source, people


def audit(first, second, unit, claimed=None, samples=1000, **options):
    near = Neighbours("unbounded", unit)

    def pick(held):
        wanted = plan_winners(held.source, held.people, near, 2, **options)
        return " ".join(map(str, wanted.make({"epsilon": 1}).items))

    claim = sf.PureDP(1, neighbours=Neighbours("unbounded", claimed or unit))
    return sf.audit.check(
        pick, claim, pairs=[(first, second)], samples=samples, seconds=20, processes=1, seed=1
    )


LISTED, LABELLED = {"among": ITEMS}, {"of": "seen.id", "among": ITEMS}
TOWNS = {"of": "town", "among": ITEMS}
MANY = Held(sets_of(["ab"] * 6 + ["c"]), [0] * 6 + [1])
TRIPS = [("p", [0.5]), ("p", [0.6]), ("q", [1.5])]
WORST = [
    ("item", Held(sets_of(["ab", "c"])), Held(sets_of(["a", "c"])), LISTED),
    ("transaction", Held(sets_of(["ab", "c"])), Held(sets_of(["c"])), LISTED),
    ("customer", MANY, Held(sets_of(["c"]), [1]), LISTED),
    ("tree", Held(trees_of(["ab", "c"])), Held(trees_of(["c"])), LABELLED),
    ("vertex", Held(trees_of(["ab", "c"])), Held(trees_of(["a", "c"])), LABELLED),
    ("subtree", Held(trees_of(["ab", "c"])), Held(trees_of(["a", "c"])), LABELLED),
    ("edge", Held(graph_of([(0, 1), (2, 3)])), Held(graph_of([(2, 3)])), {}),
    ("node", Held(graph_of([], "abc")), Held(graph_of([], "bc")), TOWNS),
    ("trip", Held(traces_of(TRIPS)), Held(traces_of(TRIPS[1:])), {"cells": 2}),
    (sf.dp.Unit("person"), Held(traces_of(TRIPS)), Held(traces_of(TRIPS[2:])), {"cells": 2}),
]


@pytest.mark.parametrize("samples", [1000, pytest.param(4000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("case", WORST, ids=lambda case: str(case[0]))
def test_worst_pairs(case, samples):
    unit, first, second, options = case
    assert not audit(first, second, unit, samples=samples, **options).refuted


def test_a_copy_that_counts_sets_instead_of_customers_is_refuted():
    other = Held(sets_of(["c"]), [1])
    assert audit(MANY, other, "transaction", "customer", samples=1000, **LISTED).refuted


def test_a_copy_that_counts_trips_instead_of_people_is_refuted():
    trips = [("p", [0.5])] * 6 + [("q", [1.5])]
    pair = Held(traces_of(trips)), Held(traces_of(trips[6:]))
    assert audit(*pair, "trip", sf.dp.Unit("person"), samples=1000, cells=2).refuted


def test_what_wins_may_be_named_as_in_a_table(tmp_path):
    baskets = sf.read([["a"], ["a", "b"]] * 20, shape="sets")
    options = {"unit": "transaction", "budget": sf.PureDP(99), "ledger": tmp_path / "l.sqlite"}
    with sf.Session(baskets, name="shop", **options) as session:
        first = session.top_k("item", k=1, among=ITEMS, epsilon=40)
        spent = session.remaining.epsilon
        again = session.top_k(1, among=ITEMS, epsilon=40)  # the same question, for nothing
        assert str(first.data) == str(again.data)
        assert session.remaining.epsilon == spent
        session.predict_top_k("item", 1, among=ITEMS, epsilon=40)
        with pytest.raises(ParameterError, match="how many"):
            session.top_k("item", among=ITEMS, epsilon=1)
        with pytest.raises(ParameterError, match="items only"):
            session.top_k("colour", k=1, among=ITEMS, epsilon=1)
