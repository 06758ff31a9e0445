"""Sessions on graphs, trees and sets: charged, remembered, refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

import sfumato as sf
from sfumato.dp.neighbours import Neighbours
from sfumato.dp.queries.base import sensitivity
from sfumato.dp.queries.graphs import DegreeCount, EdgeCount
from sfumato.errors import BudgetExceeded, GovernanceError, ParameterError

ASK = sf.dp.queries
FRIENDS = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]


def friends(**options):
    return sf.Session(
        sf.read(FRIENDS, shape="graph", nodes=range(6)),
        **{"unit": "edge", "budget": sf.PureDP(1), **options},
    )


def test_a_question_is_charged_once_and_given_again():
    with friends() as session:
        first = session.ask(ASK.Edges(), epsilon=0.5)
        assert session.remaining.epsilon == 0.5
        assert session.ask(ASK.Edges(), epsilon=0.5) == first
        assert session.remaining.epsilon == 0.5
        assert "one edge added or removed" in str(first.guarantee)
        session.ask(ASK.Triangles(), epsilon=0.5)
        with pytest.raises(BudgetExceeded):
            session.ask(ASK.Nodes(), epsilon=0.1)
        assert session.ledger.verify().ok


def test_the_ledger_keeps_the_budget_and_the_unit(tmp_path):
    place = str(tmp_path / "friends.sqlite")
    with friends(ledger=place, unit="node") as session:
        answer = session.ask(ASK.DegreeDistribution(), epsilon=0.6)
        assert "node" in str(answer)
        assert answer.details["limit"] >= 2
    with friends(ledger=place, unit="node", budget=None) as session:
        assert session.remaining.epsilon == pytest.approx(0.4)
        assert session.ask(ASK.DegreeDistribution(), epsilon=0.6).value == answer.value
    with pytest.raises(GovernanceError, match="registered for"):
        friends(ledger=place, unit="edge", budget=None)


def test_another_analyst_pays():
    ledger = sf.Ledger(None)
    with friends(ledger=ledger, analyst="ann") as session:
        session.ask(ASK.Edges(), epsilon=0.5)
    with friends(ledger=ledger, analyst="bob", budget=None) as session:
        session.ask(ASK.Edges(), epsilon=0.5)
        assert session.remaining.epsilon == 0


def test_estimates_cost_nothing():
    with friends() as session:
        told = session.estimate(ASK.Edges(), epsilon=0.1, guess=5)
        assert told.useful is False
        assert session.remaining.epsilon == 1
        assert "not known before" in str(session.estimate(ASK.Triangles(), epsilon=1))


def test_trees_and_sets():
    trees = sf.read([{"courses": [{"id": "a"}, {"id": "b"}]}] * 9, shape="trees")
    with sf.Session(trees, unit=sf.dp.Tree(vertices=2), budget=sf.PureDP(50)) as session:
        found = session.ask(ASK.LabelCounts("courses.id", ["a", "b"]), epsilon=40).value
        assert found == {"a": 9, "b": 9}
        assert session.ask(ASK.Enrolments("courses.id", "a"), epsilon=10).margin == 0
    sets = sf.read([["x", "y"], ["x"]] * 5, shape="sets")
    options = {"unit": sf.dp.Customer(transactions=1), "budget": sf.PureDP(50)}
    with sf.Session(sets, people=[0, 0, *range(1, 9)], **options) as session:
        assert session.ask(ASK.SetsWith(["x"]), epsilon=40).value == 9
    with sf.Session(sets, budget=sf.PureDP(1)) as session:
        assert str(session.unit) == "one transaction"


def test_who_is_there_must_be_known_apart_from_the_edges(tmp_path):
    """Without a list of nodes, an edge to somebody without other friends would tell of itself."""
    star = [(0, i) for i in range(1, 6)]
    for unit in ("edge", "node"):
        with pytest.raises(ParameterError, match="edges alone"):
            sf.Session(sf.read(star, shape="graph"), unit=unit, budget=sf.PureDP(1))
        partly = sf.read(star, shape="graph", nodes=[0, 1])
        with pytest.raises(ParameterError, match="edges alone"):
            sf.Session(partly, unit=unit, budget=sf.PureDP(1))
        named = sf.read(star, shape="graph", nodes="named")
        sf.Session(named, unit=unit, budget=sf.PureDP(1)).close()
    with pytest.raises(ParameterError, match="edges alone"):
        sf.dp.synthesize(sf.read(star, shape="graph"), epsilon=1)
    path = tmp_path / "star.edges"
    path.write_text("# nodes 8\n0 1\n0 2\n")
    with sf.Session(sf.read(path, shape="graph"), unit="edge", budget=sf.PureDP(1)) as session:
        assert session.ask(ASK.Nodes(), epsilon=0.1).value == 8
    with pytest.raises(ParameterError, match="'named'"):
        sf.read(star, shape="graph", nodes="everybody")


def test_a_declared_degree_is_kept_to_or_refused():
    star = sf.read([(0, i) for i in range(1, 6)], shape="graph", nodes=range(7))
    for unit in (sf.dp.Node(degree=4), sf.dp.Edge(degree=4), sf.dp.Edge(vertices=6)):
        with pytest.raises(ParameterError, match="declares") as caught:
            sf.Session(star, unit=unit, budget=sf.PureDP(1))
        assert "5" not in str(caught.value)  # what the graph has is not told
    with pytest.raises(ParameterError, match="declares"):
        ASK.Triangles().measure(star, sf.dp.Node(degree=4), 1)
    with sf.Session(star, unit=sf.dp.Node(degree=5), budget=sf.PureDP(1)) as session:
        assert session.ask(ASK.Triangles(), epsilon=1).margin > 0


def test_refusals():
    with friends() as session:
        with pytest.raises(ParameterError, match="not SQL"):
            session.ask("SELECT COUNT(*) FROM friends", epsilon=1)
        with pytest.raises(ParameterError, match="shape 'trees'"):
            session.ask(ASK.TreesWith("born", "1996"), epsilon=1)
    with friends(unit="node") as session, pytest.raises(ParameterError, match="declare"):
        session.ask(ASK.Triangles(), epsilon=1)
    with pytest.raises(ParameterError, match="how much"):
        friends(budget=None)
    with pytest.raises(ParameterError, match="one name per set"):
        sf.Session(sf.read([["x"]], shape="sets"), budget=sf.PureDP(1), people=[1, 2])


OTHERS = {
    "graph": lambda: sf.read(FRIENDS, shape="graph", nodes=range(6)),
    "sets": lambda: sf.read([["x", "y"], ["x"]] * 5, shape="sets"),
    "trees": lambda: sf.read([{"courses": [{"id": "a"}]}] * 9, shape="trees"),
    "trajectories": lambda: sf.read(
        {"person": [1, 1, 2, 2], "x": [0, 1, 0, 1], "y": [0, 1, 1, 0], "time": [0, 1, 0, 1]},
        shape="trajectories",
    ),
}


@pytest.mark.parametrize("shape", OTHERS)
def test_the_same_data_have_one_name_and_one_budget_in_a_ledger(shape):
    ledger = sf.Ledger(None)
    options = {"ledger": ledger, "budget": sf.PureDP(1)}
    people = {"people": ["ann"] * 10, "unit": sf.dp.Customer(transactions=10)}
    more = people if shape == "sets" else {}
    sf.Session(OTHERS[shape](), name="first", **options, **more).close()
    for again in ({}, more):
        with pytest.raises(GovernanceError, match="'first'"):
            sf.Session(OTHERS[shape](), name="second", **options, **again)
    sf.Session(OTHERS[shape](), name="first", ledger=ledger, **more).close()


def test_data_that_have_changed_since_are_known_by_their_charges():
    ledger = sf.Ledger(None)
    with friends(ledger=ledger, name="first"):
        pass
    grown = sf.read([*FRIENDS, (4, 5)], shape="graph", nodes=range(6))
    with sf.Session(grown, name="first", ledger=ledger, unit="edge") as session:
        session.ask(ASK.Edges(), epsilon=0.5)
    with pytest.raises(GovernanceError, match="'first'"):
        sf.Session(grown, name="second", ledger=ledger, budget=sf.PureDP(1))


def test_what_was_bought_for_one_purpose_is_no_answer_for_another():
    ledger = sf.Ledger(None)
    few = sf.ZCDP("0.01")
    limits = sf.Limits(sf.ZCDP(9), purposes={"b": few})
    sets = sf.read([["x", "y"], ["x"]] * 5, shape="sets")
    options = {"name": "baskets", "ledger": ledger, "limits": limits, "purposes": ("a", "b")}
    bought = [
        lambda one: one.ask(ASK.SetsWith(["x"]), epsilon=1),
        lambda one: one.top_k(1, among=["x", "y"], epsilon=1),
        lambda one: one.synthesize(rho="0.1", items=["x", "y"]),
    ]
    with (
        sf.Session(sets, purpose="a", **options) as one,
        sf.Session(sets, purpose="b", **options) as two,
    ):
        for buy in bought:
            buy(one)
            spent = one.remaining
            buy(one)
            assert one.remaining == spent
            with pytest.raises(BudgetExceeded, match="purpose 'b'"):
                buy(two)
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("unit", "joined"),
    [
        (sf.dp.Node(degree=4), 4),
        (sf.dp.Node(vertices=20), 20),
        (sf.dp.Node(vertices=20, degree=4), 4),
        (sf.dp.Node(vertices=3, degree=9), 3),
    ],
    ids=str,
)
def test_node_privacy_uses_what_is_declared_of_the_graph(unit, joined):
    near = Neighbours("unbounded", unit)
    for asked, query in ((ASK.Edges(), EdgeCount()), (ASK.DegreeAtLeast(2), DegreeCount(2))):
        assert asked.sensitivity(unit) == sensitivity(query, near).l1
    assert ASK.Edges().sensitivity(unit) == joined
    assert ASK.DegreeAtLeast(2).sensitivity(unit) == joined + 1
    path = sf.read([(0, 1), (1, 2), (2, 3)], shape="graph", nodes=range(4))
    found = ASK.Edges().measure(path, unit, Fraction(1))
    assert found.margin == pytest.approx(3 * joined, rel=0.2)  # ln 20 = 3.0 of Lap(joined)
    assert "limit" not in found.details


def test_declared_sensitivities_of_nodes_hold_for_all_small_graphs():
    pairs = list(combinations(range(4), 2))
    unit, ask = sf.dp.Node(vertices=4, degree=2), (ASK.Edges(), ASK.DegreeAtLeast(1))
    worst = [0, 0, 0]
    asked = (*ask, ASK.DegreeAtLeast(2))
    for chosen in range(2 ** len(pairs)):
        edges = [pair for i, pair in enumerate(pairs) if chosen >> i & 1]
        for friends_of_new in range(16):
            more = [(4, v) for v in range(4) if friends_of_new >> v & 1]
            degrees = [sum(v in e for e in [*edges, *more]) for v in range(5)]
            if max(degrees) > 2:
                continue
            old = [sum(v in e for e in edges) for v in range(4)]
            moved = [len(more), *(abs(sum(d >= k for d in degrees) - sum(d >= k for d in old))
                                  for k in (1, 2))]  # fmt: skip
            worst = [max(a, b) for a, b in zip(worst, moved, strict=True)]
    assert all(w <= one.sensitivity(unit) for w, one in zip(worst, asked, strict=True))
    assert worst[0] == ASK.Edges().sensitivity(unit)
