"""What is spent, and that nothing but released numbers decides anything."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.dp.noise.stream import _SeededStream
from sfumato.dp.publish.synthesis import currencies, engine, particles
from sfumato.dp.publish.synthesis.coarsening import group, smooth_all
from sfumato.dp.publish.synthesis.curator import GRAIN, CodeArray, Curator, NoisyCounts
from sfumato.dp.publish.synthesis.currencies import ConcentratedCurrency, Contribution, Pure
from sfumato.dp.publish.synthesis.domain import CodedColumn, Domain
from sfumato.dp.publish.synthesis.engine import SynthesisSettings, fit
from sfumato.errors import ParameterError

RHO = Fraction(1, 60)


def curator_of(chain, currency=None, budget=RHO):
    codes, domain = chain
    return Curator(
        CodeArray(codes), domain, currency or ConcentratedCurrency(Contribution()), budget
    )


# -- the book ---------------------------------------------------------------------------


class Adversary(ConcentratedCurrency):
    """Noise that an adversary chose: huge, one-sided, or none, to drive the prices about."""

    kind = "huge"

    def noise(self, size, price):
        sigma = int(float(self.variance(price)) ** 0.5)
        made = {"huge": 50 * sigma, "negative": -50 * sigma, "none": 0}[self.kind]
        return np.full(size, made, dtype=np.int64)


@pytest.mark.parametrize("kind", ["huge", "negative", "none"])
@pytest.mark.parametrize("budget", [RHO, Fraction(3, 7), Fraction(1, 10**6)])
def test_the_book_adds_up_to_the_budget_whatever_the_noise_is(chain, kind, budget):
    currency = Adversary(Contribution())
    object.__setattr__(currency, "kind", kind)
    curator = curator_of(chain, currency, budget)
    fit(curator, chain[1])
    assert curator.spent == budget == sum(charge.price for charge in curator.book)
    assert all(charge.price > 0 for charge in curator.book)


def test_a_pure_budget_is_spent_exactly_too(chain):
    curator = curator_of(chain, Pure(Contribution(2)), Fraction(5, 3))
    fit(curator, chain[1], settings=SynthesisSettings(rounds_per_column=2))
    assert curator.spent == Fraction(5, 3)


def test_nothing_is_released_beyond_the_budget(chain):
    curator = curator_of(chain)
    with pytest.raises(ParameterError, match="does not cover"):
        curator.histogram(0, RHO + Fraction(1, 10**9))
    with pytest.raises(ParameterError, match="does not cover"):
        curator.histogram(0, Fraction(0))
    assert curator.book == []


def test_a_choice_and_its_table_cost_the_round_to_the_last_digit():
    currency = ConcentratedCurrency(Contribution(3))
    for wanted in (Fraction(1, 7), Fraction(1, 10**7), Fraction(12345, 999)):
        price = currency.price_of_choice(wanted)
        assert 0 < price <= wanted
        assert price > wanted * (1 - Fraction(1, 10**6))
        assert currency.price_of_choice(price) == price  # paid exactly: ε₀ is rational


# -- only released numbers decide ---------------------------------------------------------


class Recorder:
    """A curator that keeps what it released, to be told again without the data."""

    def __init__(self, curator):
        self.curator, self.told = curator, []
        self.currency, self.budget = curator.currency, curator.budget

    @property
    def left(self):
        return self.curator.left

    def _tell(self, value):
        self.told.append(value)
        return value

    def histogram(self, column, price):
        return self._tell(self.curator.histogram(column, price))

    def count(self, atoms, grouping):
        self.curator.count(atoms, grouping)

    def choose(self, *given):
        return self._tell(self.curator.choose(*given))

    def table(self, candidate, price):
        return self._tell(self.curator.table(candidate, price))


class Parrot:
    """Tells again what was released; it has never seen the data."""

    def __init__(self, recorder):
        self.told, self.left = list(recorder.told), recorder.budget
        self.currency, self.budget = recorder.currency, recorder.budget

    def histogram(self, column, price):
        self.left -= price
        return self.told.pop(0)

    def count(self, atoms, grouping):
        pass

    def choose(self, model, weights, price, error):
        self.left -= price
        return self.told.pop(0)

    def table(self, candidate, price):
        return self.histogram(0, price)


def test_the_synthetic_rows_are_a_function_of_what_was_released(chain):
    recorder = Recorder(curator_of(chain))
    first = fit(recorder, chain[1], source=_SeededStream(7))
    parrot = Parrot(recorder)
    again = fit(parrot, chain[1], source=_SeededStream(7))
    assert parrot.told == []
    assert parrot.left == 0
    assert np.array_equal(first.sample(500, _SeededStream(8)), again.sample(500, _SeededStream(8)))
    assert first.measured == again.measured


class Tainted(np.ndarray):
    """Exact numbers: any use outside the three places, or the counting, is an error."""

    open = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self._look()
        plain = [np.asarray(x).view(np.ndarray) if isinstance(x, Tainted) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        self._look()
        return func(
            *[np.asarray(a).view(np.ndarray) if isinstance(a, Tainted) else a for a in args],
            **kwargs,
        )

    def __getitem__(self, key):
        self._look()
        return np.asarray(self).view(np.ndarray)[key]

    def _look(self):
        if not Tainted.open:
            raise AssertionError("an exact number was read outside the three places")


class Watched(Curator):
    """A curator whose exact tables are tainted, and opened in the three places only."""

    def _opened(self, method, *given):
        Tainted.open += 1
        try:
            value = method(*given)
        finally:
            Tainted.open -= 1
        if self._ones is not None:
            self._ones = [part.view(Tainted) for part in self._ones]
        if self._pairs is not None:
            self._pairs = self._pairs.view(Tainted)
        return value

    def histogram(self, *given):
        return self._opened(super().histogram, *given)

    def choose(self, *given):
        return self._opened(super().choose, *given)

    def table(self, *given):
        return self._opened(super().table, *given)

    def count(self, *given):
        return self._opened(super().count, *given)


def watched(chain):
    codes, domain = chain
    return Watched(CodeArray(codes), domain, ConcentratedCurrency(Contribution()), RHO)


def test_exact_tables_are_read_in_the_three_places_only(chain):
    curator = watched(chain)
    made = fit(curator, chain[1])
    assert made.total > 3000
    assert isinstance(curator._pairs, Tainted)
    assert not isinstance(made.measured[0].distance, Tainted)


def test_a_copy_that_looks_at_exact_tables_to_set_its_prices_is_caught(chain, monkeypatch):
    def leaking(cloud, measurement, rakes, honest=engine._learn):
        honest(cloud, measurement, rakes)
        return float(np.abs(curator._pairs * 1.0).sum())  # an annealing rule on the true tables

    curator = watched(chain)
    monkeypatch.setattr(engine, "_learn", leaking)
    with pytest.raises(AssertionError, match="outside the three places"):
        fit(curator, chain[1])


def test_no_module_but_the_curator_names_its_exact_tables():
    from pathlib import Path

    folder = Path(engine.__file__).parent
    for path in folder.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "curator.py":
            assert "._pairs" not in text, path.name
            assert "._ones" not in text, path.name


# -- sensitivities, by enumeration of neighbours ------------------------------------------


SMALL = Domain((CodedColumn("a", 2), CodedColumn("b", 3), CodedColumn("c", 2)))
ROWS = list(product(range(2), range(3), range(2)))


def exact_tables(rows):
    """All one-way and two-way tables, by plain counting."""
    tables = [
        [sum(r[i] == v for r in rows) for v in range(size)] for i, size in enumerate(SMALL.sizes)
    ]
    for i, j in SMALL.pairs():
        tables.append(
            [
                sum((r[i], r[j]) == cell for r in rows)
                for cell in product(range(SMALL.sizes[i]), range(SMALL.sizes[j]))
            ]
        )
    return [np.array(table) for table in tables]


@pytest.mark.parametrize(
    "unit",
    [
        Contribution(1),
        Contribution(2),
        Contribution(1, replaced=True),
        Contribution(2, replaced=True),
    ],
)
def test_tables_move_by_their_stated_sensitivity_and_reach_it(unit):
    base = [(0, 0, 0), (1, 2, 1), (1, 2, 1)]
    worst_one, worst_two = 0, 0
    owned = list(product(ROWS, repeat=unit.rows))
    for mine in owned[:: max(1, len(owned) // 25)]:
        for yours in owned[:: max(1, len(owned) // 25)] if unit.replaced else [()]:
            before, after = exact_tables([*base, *yours]), exact_tables([*base, *mine])
            for x, y in zip(before, after, strict=True):
                worst_one = max(worst_one, int(np.abs(x - y).sum()))
                worst_two = max(worst_two, int(((x - y) ** 2).sum()))
    assert worst_one == unit.l1
    assert worst_two == unit.l2_squared


def scores_of(rows, model, weights, monkeypatch):
    """The scores that a curator of these rows chooses by."""
    seen = {}

    class Spy(ConcentratedCurrency):
        def choose(self, scores, scale, price):
            seen["scores"], seen["scale"] = scores.copy(), scale
            return 0

    codes = np.array(rows, dtype=np.uint32).T.reshape(3, -1)
    curator = Curator(CodeArray(codes), SMALL, Spy(Contribution()), RHO)
    noisy = [NoisyCounts(np.full(size, 5), 1.0, Fraction(1)) for size in SMALL.sizes]
    columns = smooth_all(SMALL, noisy, 10.0, most=16)
    grouping = group(columns)
    curator.count([column.atoms for column in columns], grouping)
    curator.choose(model, weights, Fraction(1, 1000), 0.37)
    return seen["scores"], seen["scale"]


def test_scores_move_by_at_most_the_weight_of_a_row_and_reach_it(monkeypatch):
    rng = np.random.default_rng(0)
    weights = np.array([1, 3, 3])
    base = [ROWS[k] for k in rng.integers(0, len(ROWS), 6)]
    model = rng.integers(0, 3 * GRAIN, 6 + 4 + 6)
    old, scale = scores_of(base, model, weights, monkeypatch)
    worst = max(
        int(np.abs(scores_of([*base, row], model, weights, monkeypatch)[0] - old).max())
        for row in ROWS
    )
    assert scale == 3 * GRAIN
    assert worst <= scale
    empty = np.zeros_like(model)
    old, _ = scores_of(base, empty, weights, monkeypatch)
    reached = [
        np.abs(scores_of([*base, row], empty, weights, monkeypatch)[0] - old).max() for row in ROWS
    ]
    assert max(reached) == scale


# -- a black-box audit of one round --------------------------------------------------------


COLUMNS = smooth_all(
    SMALL, [NoisyCounts(np.full(size, 5), 1.0, Fraction(1)) for size in SMALL.sizes], 10.0, most=16
)
GROUPING = group(COLUMNS)
MODEL = np.zeros(16, dtype=np.int64)
MODEL[3] = 6 * GRAIN  # a fourth row of ones brings the first pair nearer, and the others farther


def one_round(budget, currency=None):
    """A function of a list of records: the choice of a table and a cell of it."""

    def func(records):
        codes = np.array([[r, 1 - r, 0] for r in records], dtype=np.uint32).reshape(-1, 3).T
        rows = CodeArray(np.ascontiguousarray(codes))
        curator = Curator(rows, SMALL, currency or Pure(Contribution()), budget)
        curator.count([column.atoms for column in COLUMNS], GROUPING)
        chosen = curator.choose(MODEL, np.ones(3, dtype=np.int64), budget / 5, 0.0)
        table = curator.table([0, 0, 1, 0, 0], budget * 4 / 5)
        return chosen, int(table.counts[1, 0])

    return func


PAIRS = [([1] * 3, [1] * 4), ([], [1])]


@audited
def test_one_round_is_not_refuted(refuted):
    assert not refuted(one_round(Fraction(1)), sf.PureDP(1), PAIRS, samples=2_000)


class Careless(Pure):
    """Noise for a fifth of the sensitivity."""

    def noise(self, size, price):
        return super().noise(size, 5 * price)


@audited
def test_a_round_with_too_little_noise_is_refuted(refuted):
    broken = one_round(Fraction(1), Careless(Contribution()))
    assert refuted(broken, sf.PureDP(1), PAIRS, samples=2_000)


class Sharp(Pure):
    """A choice that is far sharper than it pays for."""

    def choose(self, scores, scale, price):
        return super().choose(scores, scale, 1000 * price)


@audited
def test_a_round_that_chooses_too_sharply_is_refuted(refuted):
    broken = one_round(Fraction(1), Sharp(Contribution()))
    assert refuted(broken, sf.PureDP(1), PAIRS[:1], samples=2_000, runs=1_500)


def test_post_processing_may_not_draw_from_numpy():
    from pathlib import Path

    for module in (engine, particles, currencies):
        assert "np.random" not in Path(module.__file__).read_text(encoding="utf-8")
