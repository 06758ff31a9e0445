"""Synthetic sets, trajectories and graphs: what they keep, their sensitivities, what is refused."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.dp.publish.synthesis import graphs, sets
from sfumato.dp.publish.synthesis.currencies import Contribution
from sfumato.dp.publish.synthesis.graphs import neighbours_of, smooth_degrees
from sfumato.dp.publish.synthesis.ladder import count_triangles, ladder, noisy_triangles
from sfumato.dp.publish.synthesis.sets import (
    _GRID,
    _frequencies,
    _of_customers,
    _threshold,
    read_sets_budget,
)
from sfumato.dp.publish.synthesis.trajectories import Box, code_trips, decode_trips
from sfumato.errors import ParameterError

# -- sets -----------------------------------------------------------------------------------


def baskets(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        basket = {f"i{k}" for k in np.flatnonzero(rng.random(12) < 0.15)}
        if rng.random() < 0.4:
            basket |= {"bread", "butter"}
        made.append(basket)
    return made


def test_sets_keep_items_that_go_together():
    given = baskets()
    made = sf.dp.synthesize_sets(given, epsilon=3, delta=1e-6, items=set().union(*given), top=6)
    assert made.promise == sf.ApproxDP(
        3, 1e-6, neighbours=sf.dp.Neighbours("unbounded", "transaction")
    )
    assert abs(len(made.sets) - 4000) < 100
    both = sum({"bread", "butter"} <= set(basket) for basket in made.sets) / len(made.sets)
    assert abs(both - 0.4) < 0.04
    alone = sum(("bread" in b) != ("butter" in b) for b in made.sets) / len(made.sets)
    assert alone < 0.05
    sizes = [np.mean([len(b) for b in group]) for group in (given, made.sets)]
    assert abs(sizes[0] - sizes[1]) < 0.3
    assert made.spent == sum(charge.price for charge in made.book)


def test_items_of_nobody_else_are_not_shown(tmp_path):
    given = [*baskets(), {"only mine", "bread"}]
    made = sf.dp.synthesize_sets(given, epsilon=2, delta=1e-6, top=5)
    assert "only mine" not in set().union(*made.sets)
    path = made.save(tmp_path / "out")
    assert path.name == "release.dat"
    assert sf.verify(path).holds


class _Budget:
    def __init__(self, unit):
        self.currency = type("Currency", (), {"unit": unit})
        self.failures = Fraction(1, 10**6)


def test_the_weights_of_a_basket_have_the_norm_that_is_stated(monkeypatch):
    import sfumato.dp.publish.synthesis.sets as module

    monkeypatch.setattr(module, "discrete_gaussian", lambda _, size: np.zeros(size, dtype=int))
    items = [f"x{k}" for k in range(60)]
    for size in (1, 4, 5, 6, 17, 60):
        found = _frequencies(
            [tuple(items[:size])], items, _Budget(Contribution()), Fraction(1), 5, 100
        )
        assert (found.weights**2).sum() <= 5
        assert found.weights.max() <= 1
        assert size < 5 or (found.weights**2).sum() > 4.99


def test_customers_keep_their_own_baskets_whoever_else_is_there():
    given = [(f"a{k}",) for k in range(9)] + [(f"b{k}",) for k in range(4)]
    owners = ["ann"] * 9 + ["bob"] * 4
    kept = Counter(_of_customers(given, owners, 3))
    alone = Counter(_of_customers(given[:9], owners[:9], 3))
    assert sum(kept.values()) == 6
    assert not alone - kept


def test_the_threshold_is_above_what_one_customer_can_write():
    assert _threshold(Contribution(2), Fraction(_GRID**2), Fraction(1, 10**6), 50) > 2 * _GRID


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delta": None}, "need epsilon= with delta="),
        ({"neighbours": "customer"}, "by transaction"),
        ({"top": 0}, "at least 1"),
    ],
)
@pytest.mark.filterwarnings("ignore:Pure")
def test_bad_sets_get_a_clear_message(changed, message):
    given = {"epsilon": 1, "delta": 1e-6, "items": ["bread"], **changed}
    with pytest.raises(ParameterError, match=message):
        sf.dp.synthesize_sets([{"bread"}], **given)


# -- trajectories -----------------------------------------------------------------------------

SQUARE = (0.0, 10.0, 0.0, 10.0)


def trips(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        start = rng.normal((2, 2), 0.5)
        end = rng.normal((8, 8), 0.5)
        share = np.linspace(0, 1, rng.integers(4, 12))[:, None]
        made.append(
            np.clip(start + share * (end - start) + rng.normal(0, 0.1, (share.size, 2)), 0, 10)
        )
    return made


def test_trips_keep_where_they_start_and_end_and_how_long_they_are():
    made = sf.dp.synthesize_trajectories(trips(), box=SQUARE, degrees=False, epsilon=3, delta=1e-6)
    assert abs(len(made.trips) - 1500) < 60
    starts = np.array([trip[0] for trip in made.trips])
    ends = np.array([trip[-1] for trip in made.trips])
    assert np.hypot(*(np.median(starts, axis=0) - 2)) < 0.6
    assert np.hypot(*(np.median(ends, axis=0) - 8)) < 0.6
    lengths = [
        [np.hypot(*np.diff(t, axis=0).T).sum() for t in group] for group in (trips(), made.trips)
    ]
    assert abs(np.median(lengths[0]) - np.median(lengths[1])) < 1.0
    for trip in made.trips:
        assert trip.min() >= 0
        assert trip.max() <= 10


def test_a_decoded_trip_has_about_the_code_it_came_from():
    box = Box.read(SQUARE, degrees=False)
    codes = code_trips(box, trips(400))
    again = code_trips(box, decode_trips(box, codes))
    assert (again[[0, 1, 4, 5]] == codes[[0, 1, 4, 5]]).mean() > 0.99  # start and end
    assert (again[6] == codes[6]).all()  # points
    assert (np.abs(again[7].astype(int) - codes[7]) <= 1).mean() > 0.8  # length


def test_trips_that_are_none_are_left_out_without_a_word(tmp_path):
    strange = [
        *trips(300),
        np.zeros((1, 2)),
        np.full((3, 2), np.nan),
        np.full((4, 2), 1e9),
        [],
        "words",
        [(1, 2), (3,)],
    ]
    made = sf.dp.synthesize_trajectories(strange, box=SQUARE, degrees=False, epsilon=2, delta=1e-6)
    assert sf.verify(made.save(tmp_path / "out")).promises


def test_people_keep_some_of_their_trips():
    owners = ["ann"] * 1000 + [f"p{k}" for k in range(500)]
    made = sf.dp.synthesize_trajectories(
        trips(), box=SQUARE, degrees=False, epsilon=4, delta=1e-6, people=owners,
        neighbours=sf.Unit("person", rows=2),
    )  # fmt: skip
    assert abs(made.estimated - 502) < 60
    with pytest.raises(ParameterError, match="people="):
        sf.dp.synthesize_trajectories(
            trips(5), box=SQUARE, epsilon=1, delta=1e-6, neighbours=sf.Unit("person", rows=2)
        )
    with pytest.raises(ParameterError, match="four public numbers"):
        sf.dp.synthesize_trajectories(trips(5), box=(1, 0, 0, 1), epsilon=1, delta=1e-6)


def test_where_single_trips_are_protected_all_trips_of_a_person_count():
    """One trip more must not push another one of the same person out."""
    made = sf.dp.synthesize_trajectories(
        trips(), box=SQUARE, degrees=False, epsilon=4, delta=1e-6, people=["ann"] * 1500
    )
    assert abs(made.estimated - 1500) < 100
    given = baskets(1000)
    copied = sf.dp.synthesize_sets(
        given, items=sorted({i for b in given for i in b}), epsilon=4, delta=1e-6,
        customers=["ann"] * 1000,
    )  # fmt: skip
    assert abs(copied.estimated - 1000) < 100


def test_an_analyst_cannot_say_whose_data_are_whose():
    sets = sf.read([["x", "y"]] * 50, shape="sets")
    unit = sf.dp.Customer(transactions=2)
    with sf.Session(sets, people=[0] * 50, unit=unit, budget=sf.PureDP(5)) as session:
        for option in ("people", "customers", "neighbours"):
            with pytest.raises(ParameterError, match="the owner's to say"):
                session.synthesize(epsilon=1, delta=1e-6, **{option: list(range(50))})
        assert session.remaining.epsilon == 5


# -- graphs ------------------------------------------------------------------------------------


def graph(n, chance, seed):
    rng = np.random.default_rng(seed)
    return [pair for pair in combinations(range(n), 2) if rng.random() < chance]


def brute_triangles(edges, n):
    joined = set(edges)
    return sum(
        all(pair in joined for pair in combinations(three, 2))
        for three in combinations(range(n), 3)
    )


def arrays(edges, n):
    return neighbours_of(np.array(edges, dtype=np.int64).reshape(-1, 2), n)


def test_triangles_are_counted():
    for seed in range(8):
        edges = graph(9, 0.4, seed)
        assert count_triangles(*arrays(edges, 9)) == brute_triangles(edges, 9)


def test_the_ladder_is_one_by_enumeration_of_neighbours():
    """I_0 is the local sensitivity, and I_t(G) ≤ I_{t+1}(G′) for all neighbours."""
    n = 6
    for seed in range(12):
        edges = graph(n, 0.5, seed)
        mine = ladder(*arrays(edges, n), 6)
        moved = []
        for pair in combinations(range(n), 2):
            other = [e for e in edges if e != pair] if pair in edges else [*edges, pair]
            moved.append(abs(brute_triangles(other, n) - brute_triangles(edges, n)))
            yours = ladder(*arrays(other, n), 6)
            assert (mine[:-1] <= yours[1:]).all()
        assert mine[0] >= max(moved)


def test_noisy_triangles_follow_the_ladder():
    edges = graph(7, 0.5, 3)
    starts, ends = arrays(edges, 7)
    exact = brute_triangles(edges, 7)
    widths = ladder(starts, ends, 14).tolist()
    epsilon = Fraction(1, 2)
    weights = {}
    for value in range(36):  # C(7, 3) = 35 and 0
        rung, reach = 0, 0
        while abs(value - exact) > reach:
            reach += widths[rung] if rung < len(widths) else 5
            rung += 1
        weights[value] = np.exp(-rung / 4)
    total = sum(weights.values())
    drawn = Counter(noisy_triangles(starts, ends, epsilon) for _ in range(3000))
    assert set(drawn) <= set(weights)
    for value, weight in weights.items():
        share = weight / total
        assert abs(drawn[value] / 3000 - share) < 5 * np.sqrt(share / 3000) + 1e-3


def test_sorted_degrees_move_by_two():
    edges = graph(8, 0.4, 1)
    before = np.sort(np.diff(arrays(edges, 8)[0]))
    for pair in combinations(range(8), 2):
        if pair not in edges:
            after = np.sort(np.diff(arrays([*edges, pair], 8)[0]))
            assert np.abs(after - before).sum() == 2


def test_smooth_degrees_rise_and_keep_their_sum():
    rng = np.random.default_rng(0)
    true = np.sort(rng.geometric(0.1, 2000))
    noisy = true + np.rint(rng.laplace(0, 3, 2000)).astype(int)
    made = smooth_degrees(noisy)
    assert abs(made.sum() / true.sum() - 1) < 0.03
    assert np.abs(np.sort(made) - true).mean() < 1.5


def test_a_graph_keeps_degrees_and_triangles(tmp_path):
    blocks = [(10 * b + u, 10 * b + v) for b in range(40) for u, v in combinations(range(10), 2)]
    made = sf.dp.synthesize_graph(blocks, vertices=400, epsilon=3)
    starts, ends = arrays(list(made.edges), 400)
    assert abs(len(made.edges) / len(blocks) - 1) < 0.1
    degrees = np.diff(starts)
    closed = 3 * count_triangles(starts, ends) / (degrees * (degrees - 1) / 2).sum()
    assert closed > 0.7
    assert made.spent == 3
    assert made.promise.neighbours.unit == sf.dp.Edge(vertices=400)
    assert sf.verify(made.save(tmp_path / "out")).holds
    with pytest.raises(ParameterError, match="two vertices"):
        sf.dp.synthesize_graph([], vertices=1, epsilon=1)


def test_what_is_no_edge_is_left_out_and_tiny_budgets_are_said_to_be_so():
    made = sf.dp.synthesize_graph([(0, 0), (0, 1, 2), (0, 1)], vertices=9, epsilon=1e-6)
    assert "noise hides the degrees" in made.notes[0]
    ring = [(k, (k + j) % 60) for k in range(60) for j in (1, 2, 3)]
    assert sf.dp.synthesize_graph(ring, vertices=60, epsilon=1).notes == ()
    drawn = sf.dp.synthesize_trajectories(trips(20), box=SQUARE, degrees=False, rho=1e-6)
    assert "noise hides" in drawn.notes[0]
    unnamed = sf.dp.synthesize_sets([{"bread"}], epsilon=1, delta=1e-6)
    assert any("none is named" in note for note in unnamed.notes)


def test_an_empty_graph_is_no_error():
    assert len(sf.dp.synthesize_graph([], vertices=20, epsilon=1).edges) < 60


# -- in a session ---------------------------------------------------------------------------------


def test_a_session_charges_once_and_gives_it_again():
    rng = np.random.default_rng(0)
    given = {"age": rng.integers(0, 50, 800), "job": rng.choice(["a", "b"], 800)}
    session = sf.Session(
        given,
        unit="row",
        budget=sf.ApproxDP(3, 1e-6),
        bounds={"age": (0, 49)},
        keys={"job": ["a", "b"]},
    )
    first = session.synthesize(epsilon=2, delta=1e-7, target="job")
    left = session.remaining
    assert left.epsilon == 1
    again = session.synthesize(epsilon=2, delta=1e-7, target="job")
    assert session.remaining == left
    assert again.table.equals(first.table)
    with pytest.raises(sf.BudgetExceeded):
        session.synthesize(epsilon=2, delta=1e-8)
    with pytest.raises(ParameterError, match="not among the columns"):
        session.synthesize(epsilon=1, delta=1e-8, target="jbo")
    assert session.remaining == left


# -- by one call, and in a ledger -----------------------------------------------------------------


@pytest.fixture
def read_shapes(tmp_path):
    """Sets, traces with bounds, and a graph, as sf.read brings them in."""
    lines = [" ".join(sorted(basket)) for basket in baskets(1200)]
    (tmp_path / "b.dat").write_text("\n".join(lines), encoding="utf-8")
    made = {
        "sets": sf.read(tmp_path / "b.dat", shape="sets"),
        "graph": sf.read(graph(60, 0.2, 1), shape="graph", nodes="named"),
    }
    points = [(t % 200, t, k, x, y) for t, trip in enumerate(trips(700)) for k, (x, y) in enumerate(trip)]  # fmt: skip  # noqa: E501
    columns = dict(
        zip(("person", "trip", "time", "x", "y"), zip(*points, strict=True), strict=True)
    )
    made["trajectories"] = sf.read(
        {name: list(cells) for name, cells in columns.items()}, shape="trajectories", bounds=SQUARE
    )
    return made


PRICES = {
    "sets": {"epsilon": 2, "delta": 1e-6}, "trajectories": {"epsilon": 2, "delta": 1e-6},
    "graph": {"epsilon": 2},
}  # fmt: skip
UNITS = {"sets": "transaction", "trajectories": "trip", "graph": "edge"}


@pytest.mark.parametrize("shape", PRICES)
def test_one_call_copies_every_shape(read_shapes, shape, tmp_path):
    data = read_shapes[shape]
    told = sf.dp.predict_synthesis(data, rows=1000, **PRICES[shape])
    assert told.useful
    made = sf.dp.synthesize(data, **PRICES[shape])
    assert len(made.artefact) > 0
    assert type(made.promise.neighbours.unit).__name__.lower() == UNITS[shape]
    assert sf.verify(made.save(tmp_path / "out")).promises
    poor = sf.dp.predict_synthesis(data, rows=10, **{**PRICES[shape], "epsilon": 0.001})
    assert not poor.useful
    with pytest.raises(ParameterError, match="There is no option"):
        sf.dp.synthesize(data, **PRICES[shape], tpo=3)


def test_traces_are_protected_by_person_and_need_public_bounds(read_shapes):
    data = read_shapes["trajectories"]
    near = sf.Unit("person", rows=2)
    made = sf.dp.synthesize(data, epsilon=6, delta=1e-6, neighbours=near)
    assert abs(made.estimated - 400) < 60  # 200 people, two trips of each
    with pytest.raises(ParameterError, match="bounds="):
        sf.dp.synthesize(
            replace(data, frame=replace(data.frame, bounds=None)), epsilon=1, delta=1e-6
        )


def test_a_hierarchy_that_was_given_makes_items_public(tmp_path):
    lines = [" ".join(sorted(basket)) for basket in baskets(800)]
    (tmp_path / "b.dat").write_text("\n".join(lines), encoding="utf-8")
    items = sorted({item for line in lines for item in line.split()})
    tree = "".join(f"{item},all\n" for item in [*items, "never bought"])
    (tmp_path / "items.csv").write_text(tree, encoding="utf-8")
    data = sf.read(tmp_path / "b.dat", shape="sets", hierarchy=str(tmp_path / "items.csv"))
    made = sf.dp.synthesize(data, rho="0.5")  # without δ: the list is public
    assert {item for basket in made.data for item in basket} <= {*items, "never bought"}
    with pytest.raises(ParameterError, match="public list of items"):
        sf.dp.synthesize(sf.read(tmp_path / "b.dat", shape="sets"), rho="0.5")


@pytest.mark.parametrize("shape", PRICES)
def test_a_copy_of_any_shape_is_charged_once_and_given_again(read_shapes, shape):
    from sfumato.ask.session.shaped_copies import buy_copy
    from sfumato.dp.neighbours import unit_of
    from sfumato.govern import Ledger, Limits, Registration, Spending

    ledger = Ledger(None)
    ledger.register(Registration("data", Limits(sf.ApproxDP(3, 1e-5))))
    spending = Spending(ledger, "data", analyst="ann", fingerprint="x", unit=unit_of(UNITS[shape]))
    first = buy_copy(spending, read_shapes[shape], **PRICES[shape])
    left = spending.remaining
    assert left.epsilon == 1
    again = buy_copy(spending, read_shapes[shape], **PRICES[shape])
    assert spending.remaining == left
    pairs = zip(first.data, again.data, strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)
    assert again.promise == first.promise
    assert again.artefact.book == first.artefact.book
    with pytest.raises(sf.BudgetExceeded):
        buy_copy(spending, read_shapes[shape], **{**PRICES[shape], "epsilon": 1.5})


def test_a_graph_hides_edges_and_nothing_else():
    for unit in ("node", "row", sf.dp.Neighbours("bounded", "edge")):
        with pytest.raises(ParameterError, match="hides one edge"):
            sf.dp.synthesize_graph([(0, 1)], vertices=4, epsilon=1, neighbours=unit)
    told = sf.dp.predict_graph(1000, vertices=200, epsilon=1)
    assert told.useful
    assert not sf.dp.predict_graph(1000, vertices=200, epsilon=0.01).useful


def test_data_of_other_shapes_are_refused():
    class Trees:
        shape = "trees"

    with pytest.raises(ParameterError, match="not of data of the shape 'trees'"):
        sf.dp.synthesize(Trees(), epsilon=1)


# -- audits of the numbers that copies are made of -------------------------------------------------

SQUARE_OF_FRIENDS = [(0, 1), (1, 2), (2, 3), (3, 0)]


def graph_numbers(epsilon, scale=1):
    """A function of a list of edges: all that a synthetic graph is made of."""

    def func(records):
        degrees, triangles = graphs.measure(records, [0, 1, 2, 3], Fraction(epsilon * scale))
        return triangles, int(degrees.sum())

    return func


@audited
def test_the_numbers_of_a_graph_are_not_refuted_and_those_of_a_broken_copy_are(refuted):
    pairs = [(SQUARE_OF_FRIENDS, [*SQUARE_OF_FRIENDS, (0, 2)])]
    assert not refuted(graph_numbers(1), sf.PureDP(1), pairs, samples=2_000)
    assert refuted(graph_numbers(1, scale=12), sf.PureDP(1), pairs, samples=2_000)


def weights(factor):
    """A function of a list of baskets: the noisy weight of bread, as sets are made of."""

    def func(records):
        budget = read_sets_budget(2, 1e-6, None, "transaction", unknown=False)
        price = budget.amount * factor
        found = sets._frequencies(list(records), ["bread"], budget, price, 1, 10)
        return float(np.round(found.weights[0], 2))

    return func


@audited
def test_the_weights_of_items_are_not_refuted_and_those_of_a_broken_copy_are(refuted):
    pairs = [([("bread",)] * 2, [("bread",)] * 3)]
    claim = sf.ApproxDP(2, 1e-6)
    assert not refuted(weights(1), claim, pairs)
    assert refuted(weights(60), claim, pairs, runs=600)


@pytest.mark.parametrize("shape", PRICES)
def test_a_session_on_any_shape_makes_copies(read_shapes, shape):
    with sf.Session(read_shapes[shape], name=shape, budget=sf.ApproxDP(3, 1e-5)) as session:
        first = session.synthesize(**PRICES[shape])
        assert session.remaining.epsilon == 1
        again = session.synthesize(**PRICES[shape])
        assert session.remaining.epsilon == 1
        assert len(again.artefact) == len(first.artefact)
        with pytest.raises(sf.BudgetExceeded):
            session.synthesize(**{**PRICES[shape], "epsilon": 1.5})


def test_customers_are_protected_in_a_session_and_not_named_in_the_ledger(read_shapes):
    data = read_shapes["sets"]
    people = [f"customer-{k % 300}" for k in range(len(data))]
    unit = sf.dp.Customer(transactions=2)
    with sf.Session(
        data, name="shop", unit=unit, people=people, budget=sf.ApproxDP(9, 1e-5)
    ) as session:
        made = session.synthesize(epsilon=8, delta=1e-6)
        assert made.promise.neighbours.unit == unit
        assert abs(made.estimated - 600) < 60  # 300 customers, two baskets of each
        assert all("customer-7" not in str(entry) for entry in session.ledger.entries())
