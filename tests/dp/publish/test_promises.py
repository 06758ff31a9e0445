"""Each mechanism of publish/, held against the same three rules; what its own tests leave open.

The cost that is logged is the budget, for noise that an adversary chose. Other data with the same
noisy numbers give the same release. Small instances pass a black-box audit, and broken
copies of them do not. (k-means, tables and most of top-k and ranges: in their own tests.)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.dp.neighbours import Neighbours
from sfumato.dp.noise import insecure_seeded
from sfumato.dp.publish.purse import Purse
from sfumato.dp.publish.synthesis import currencies, graphs, ladder, sets, trajectories
from sfumato.dp.publish.synthesis.curator import Curator, NoisyCounts
from sfumato.dp.publish.synthesis.domain import Domain
from sfumato.dp.publish.topk import release as winners
from sfumato.dp.publish.topk.release import top_k
from sfumato.errors import ParameterError

RNG = np.random.default_rng(12)
BASKETS = [tuple(f"i{k}" for k in np.flatnonzero(RNG.random(8) < 0.3)) for _ in range(400)]
TRIPS = [RNG.random((RNG.integers(3, 9), 2)) * 10 for _ in range(300)]
EDGES = [(int(a), int(b)) for a, b in RNG.integers(0, 40, (150, 2))]

COPIES = {
    "sets": lambda data=BASKETS: sf.dp.synthesize_sets(
        data, items=[f"i{k}" for k in range(8)], rho=0.3, top=5
    ),
    "trajectories": lambda data=TRIPS: sf.dp.synthesize_trajectories(
        data, box=(0, 10, 0, 10), degrees=False, rho=0.3
    ),
    "graph": lambda data=EDGES: sf.dp.synthesize_graph(data, vertices=40, epsilon=0.3),
}

# -- the cost that is logged -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "huge", "negative"])
@pytest.mark.parametrize("shape", COPIES)
def test_the_book_of_a_copy_is_the_budget_whatever_the_noise(monkeypatch, shape, kind):
    times = {"none": 0, "huge": 50, "negative": -50}[kind]

    def chosen(spread, size):
        return np.full(size, times * max(math.isqrt(math.ceil(spread)), 1), dtype=np.int64)

    for module in (currencies, sets):
        monkeypatch.setattr(module, "discrete_gaussian", chosen)
    monkeypatch.setattr(graphs, "discrete_laplace", lambda scale, size: chosen(scale**2, size))
    made = COPIES[shape]()
    assert made.spent == Fraction(3, 10) == sum(charge.price for charge in made.book)
    assert all(charge.price > 0 for charge in made.book)


@pytest.mark.parametrize("baskets", [[], [("a",)] * 3, [("a", "b")] * 900])
def test_set_union_has_the_noise_and_the_threshold_that_were_planned(baskets):
    plan = sf.dp.plan_union(epsilon=0.7, delta=1e-5, at_most=9)
    found = sf.dp.set_union(baskets, epsilon=0.7, delta=1e-5, at_most=9)
    assert (found.deviation, found.threshold) == (plan.deviation, plan.threshold)


# -- the unit ----------------------------------------------------------------------------------

FIVE = sf.dp.Customer(transactions=5)
ONE_EACH = [["a"]] * 60


def spent(found):
    return sum(entry.cost for entry in getattr(found, "entries_", None) or found.entries)


UNIT_ASKS = {
    "kmeans": lambda **near: sf.dp.KMeans(2, bounds=[(0, 1)] * 2, **near).fit([(0.1, 0.2)] * 60),
    "ordered": lambda **near: sf.dp.ordered_histogram([0.1], bounds=(0, 1), cells=16, **near),
    "map": lambda **near: sf.dp.spatial_histogram(
        [(0.1, 0.1)], bounds=[(0, 1)] * 2, side=16, **near
    ),
    "winners": lambda **near: sf.dp.top_k(ONE_EACH, 1, items=["a", "b"], **near),
    "sets": lambda **near: sf.dp.top_k(ONE_EACH, 1, items=["a", "b"], set_size=2, **near),
}


@pytest.mark.parametrize("ask", UNIT_ASKS.values(), ids=UNIT_ASKS)
def test_a_customer_costs_all_her_transactions(ask):
    assert spent(ask(epsilon=1)) == 1
    assert spent(ask(epsilon=1, neighbours=FIVE)) == Fraction(1, 5)
    assert spent(ask(epsilon=1, neighbours=sf.dp.Neighbours("bounded", FIVE))) == Fraction(1, 10)
    assert spent(ask(rho=1, neighbours=FIVE)) == Fraction(1, 25)
    for unlimited in ("customer", sf.dp.Customer(items=3), sf.dp.Unit("who")):
        with pytest.raises(ParameterError, match="is not limited"):
            ask(epsilon=1, neighbours=unlimited)


def test_a_customer_whose_baskets_are_put_together_costs_one():
    people = [k % 30 for k in range(60)]
    for unit in ("customer", FIVE):
        listed = {"items": ["a", "b"], "people": people, "neighbours": unit}
        assert spent(sf.dp.top_k(ONE_EACH, 1, epsilon=1, **listed)) == 1
        unlisted = {"epsilon": 1, "delta": 1e-6, "neighbours": unit}
        for ask in (lambda **o: sf.dp.top_k(ONE_EACH, 1, **o), lambda **o: sf.dp.set_union(ONE_EACH, **o)):  # fmt: skip  # noqa: E501
            assert ask(people=people, **unlisted).guarantee.neighbours.unit == Neighbours.of(unit).unit  # fmt: skip  # noqa: E501
            with pytest.raises(ParameterError, match=r"people=|is not limited"):
                ask(**unlisted)


# -- nothing but noisy numbers decides ---------------------------------------------------------


def test_how_many_values_nobody_listed_is_told_nowhere():
    many, more = ([["a"]] * 800 + rare for rare in ([], [["HIV"]]))
    asked = {"epsilon": 1, "delta": 1e-6}
    entries = [sf.dp.top_k(data, 1, **asked).entries for data in (many, more)]
    assert entries[0] == entries[1]


def test_equal_weights_follow_the_names_and_never_the_rows(monkeypatch):
    """One basket that is put first would else bring its items before others of the same count."""
    monkeypatch.setattr(winners, "rounded_gaussian", lambda _, size: np.zeros(size, dtype=int))
    monkeypatch.setattr(winners, "threshold", lambda *_: 0)
    words = [f"w{k}" for k in range(20)]
    for first in (words, words[::-1], words[7:9]):
        data = [[word] for word in first] + [[w] for w in words if w not in first]
        assert top_k(data, 5, epsilon=1, delta=1e-6).items == tuple(sorted(words)[:5])


def tell(patch):
    """Give numbers that no data made wherever noisy ones are released; charges as always."""

    def histogram(self, column, price):
        self._pay("histogram", price)
        return NoisyCounts(30 + 7 * np.arange(self.domain.columns[column].size), 4.0, price)

    def choose(self, model, weights, price, error):
        self._pay("choice", price)
        return len(self.book) * 5 % len(self._grouping.candidates())

    def table(self, candidate, price):
        self._pay("table", price)
        _, i, j, a, b = candidate
        shape = (self._grouping.widths[i, a], self._grouping.widths[j, b])
        return NoisyCounts(np.add.outer(np.arange(shape[0]) * 20, np.arange(shape[1])), 4.0, price)

    for name, told in (("histogram", histogram), ("choose", choose), ("table", table)):
        patch.setattr(Curator, name, told)
    names = tuple(f"i{k}" for k in range(8))
    weights = sets._Frequencies(names, np.arange(80.0, 0.0, -10.0))
    patch.setattr(sets, "_frequencies", lambda *_: weights)
    patch.setattr(graphs, "smooth_degrees", lambda noisy: np.arange(noisy.size) % 9)
    patch.setattr(graphs, "discrete_laplace", lambda _, size: np.zeros(size, dtype=np.int64))
    patch.setattr(ladder, "noisy_triangles", lambda *_: 12)


OTHERS = {"sets": [("i7",)] * 2, "trajectories": [np.full((4, 2), 9.0)], "graph": [(0, 1)]}


@pytest.mark.parametrize("shape", COPIES)
def test_a_copy_is_a_function_of_the_noisy_numbers(monkeypatch, shape):
    made = []
    tell(monkeypatch)
    for data in ([], [OTHERS[shape]]):
        with insecure_seeded(3):
            made.append(COPIES[shape](*data))
    assert made[0].book == made[1].book
    assert len(made[0].data) == len(made[1].data) > 0
    for first, second in zip(made[0].data, made[1].data, strict=True):
        assert np.array_equal(first, second)


def test_itemsets_follow_from_items_that_were_released(recorded, replayed, monkeypatch):
    """The sets that compete are those of the noisy items; peeling sees the supports alone."""
    monkeypatch.setattr(winners, "peel", lambda counts, k, _: np.arange(k))
    first = [tuple(np.flatnonzero(RNG.random(60) < 0.1).tolist()) for _ in range(400)]
    second = [(1, 2)] * 3
    ask = {"items": 60, "rho": 0.5, "set_size": 2}
    with recorded() as kept:
        once = top_k(first, 45, **ask)
    with replayed(kept):
        again = top_k(second, 45, **ask)
    assert len(kept) == 1
    assert once.items == again.items


# -- sensitivities, by enumeration of neighbours -------------------------------------------------


def test_one_trip_is_one_coded_row_whatever_the_others_are():
    box = trajectories.Box.read((0, 10, 0, 10), degrees=False)
    whole = trajectories.code_trips(box, TRIPS[:20])
    domain = trajectories.domain_of_trips()
    assert isinstance(domain, Domain)
    assert (whole.max(axis=1) < domain.sizes).all()
    for k in range(20):
        less = trajectories.code_trips(box, TRIPS[:k] + TRIPS[k + 1 : 20])
        assert np.array_equal(less, np.delete(whole, k, axis=1))


def test_one_basket_is_one_coded_row_whatever_the_others_are():
    frequent = ("i1", "i4", "i6")
    whole, _ = sets._coded(BASKETS[:20], frequent)
    for k in range(20):
        less, _ = sets._coded(BASKETS[:k] + BASKETS[k + 1 : 20], frequent)
        assert np.array_equal(less, np.delete(whole, k, axis=1))


# -- looked at from outside ------------------------------------------------------------------------


def weights_of_winners(records):
    found = sf.dp.top_k(records, 2, items=["a", "b"], rho=0.5, algorithm="gaussian")
    return tuple(found.items), float(np.round(found.counts[0], 1))


def sets_of_winners(records):
    return sf.dp.top_k(records, 2, items=["a", "b", "c"], epsilon=1, set_size=2).items


def a_corner_of_the_map(records):
    points = np.array(records, dtype=np.float64).reshape(-1, 2)
    found = sf.dp.spatial_histogram(points, bounds=[(0, 1), (0, 1)], side=16, epsilon=1)
    return float(np.round(found.counts[:2, :2].sum(), 2))


def coded_trips(records):
    """The noisy counts of where trips start, as the engine buys them."""
    box = trajectories.Box.read((0, 10, 0, 10), degrees=False)
    trips = [np.array([[x, x], [x, x]]) for x in records]
    rows = trajectories.CodeArray(trajectories.code_trips(box, trips))
    currency = currencies.Pure(currencies.Contribution())
    curator = Curator(rows, trajectories.domain_of_trips(), currency, Fraction(1))
    return int(curator.histogram(0, Fraction(1)).counts[0])


ASKED = {
    "weights": (weights_of_winners, sf.ZCDP(0.5, neighbours="transaction"),
                [([["a"]] * 2, [["a"]] * 3)]),
    "itemsets": (sets_of_winners, sf.PureDP(1.0, neighbours="transaction"),
                 [([], [["a", "b", "c"]]), ([["c"]], [["c"], ["a", "b"]])]),
    "map": (a_corner_of_the_map, sf.PureDP(1.0), [([(0.0, 0.0)], [(0.0, 0.0)] * 2)]),
    "trips": (coded_trips, sf.PureDP(1.0, neighbours="trip"), [([0.0], [0.0, 0.0])]),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
@audited
def test_the_claim_is_not_refuted(name, refuted):
    assert not refuted(*ASKED[name])


@pytest.mark.parametrize("name", ASKED)
@audited
def test_a_copy_with_a_tenth_of_the_noise_is_refuted(monkeypatch, name, refuted):
    measure, laplace, noise = Purse.measure, Purse.laplace, currencies.Pure.noise
    monkeypatch.setattr(
        Purse, "measure",
        lambda self, what, share, exact, **_: measure(self, what, share, exact * 10),
    )  # fmt: skip
    monkeypatch.setattr(Purse, "laplace", lambda self, x, scale: laplace(self, x, scale / 10))
    monkeypatch.setattr(currencies.Pure, "noise", lambda self, n, price: noise(self, n, 10 * price))
    peel = winners.peel
    monkeypatch.setattr(winners, "peel", lambda counts, k, loss: peel(counts, k, 30 * loss))
    assert refuted(*ASKED[name])
