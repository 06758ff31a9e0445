"""How a price is divided among the numbers of a question, and what noise each gets.

Contract: :func:`allocate` is a function of the question, the unit and the price. Nothing in it
has seen data, so its cost can be charged before data are touched, and its errors can be told to
the analyst for nothing.

Proof of the cost. Let a question release, for every group, noisy totals T₁ … T_j and, where
asked, the noisy number of people. Each T_i as a vector over groups has sensitivities Δ₁(i) and
Δ₂(i) for one unit (:mod:`sfumato.ask.price.contributions`).

* *Pure.* T_i gets geometric noise of scale Δ₁(i)/ε_i, so it is ε_i-private, and together they
  cost Σ ε_i, which is the price.
* *Gaussian.* T_i gets rounded normal noise of variance Δ₂(i)²/m_i. All of it is one Gaussian
  mechanism on the vector (T_i·√m_i/Δ₂(i))_i, whose L2 sensitivity is at most √(Σ m_i): so the
  numbers asked together cost √(Σ m_i)-GDP, and not the sum of separate (ε, δ)s.
* A quantile of a group is picked by the exponential mechanism with ε′ for the rows that one unit
  has there; a unit touches at most t groups, so all groups cost t·ε′ (and t·ε′²/2 of ρ). One unit
  that is replaced by another touches at most 2t.
* Keys found privately cost δ more (:mod:`sfumato.ask.price.key_discovery`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ask.language.request import GroupsBound, RowBound, Total
from sfumato.ask.price.contributions import Reach, rows_in_group, sensitivity_of
from sfumato.ask.price.measures import PEOPLE, Breakdown
from sfumato.ask.price.noise import Noise, gaussian, geometric
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.rounding import stated_up

if TYPE_CHECKING:
    from sfumato.ask.language.request import Bound
    from sfumato.ask.price.pricing import Price
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours
    from sfumato.dp.queries.base import Sensitivity

_PEOPLE_SHARE = Fraction(1, 20)  # of μ², for the number of people that only finds keys
_PURE_PEOPLE_SHARE = Fraction(1, 5)  # of ε, for the same
_SEARCH_SHARE = Fraction(1, 5)  # for bounds that are found privately


@dataclass(frozen=True)
class Allocation:
    """The noise of every number of a question, and what it costs.

    ``noises[i]`` belongs to the i-th total and is None for a total that never moves; ``people`` is
    that of the number of people. ``quantile_epsilon`` is spent on each quantile in each group,
    ``search`` on each bound that has to be found.
    """

    price: Price
    noises: tuple[Noise | None, ...]
    people: Noise | None
    quantile_epsilon: Fraction | None
    search: Noise | None
    cost: Cost

    def guarantee(self, neighbours: Neighbours, budget: Guarantee) -> Guarantee:
        """State what the answer alone promises: what its price says, since it costs no more."""
        price = self.price
        if isinstance(budget, ZCDP):
            return ZCDP(stated_up(self.cost.rho), neighbours=neighbours)
        assert price.epsilon is not None
        delta = price.delta + (price.calibration or 0)
        if not delta:
            return PureDP(stated_up(price.epsilon), neighbours=neighbours)
        return ApproxDP(stated_up(price.epsilon), stated_up(delta), neighbours=neighbours)

    def noise(self, place: int) -> Noise | None:
        """Give the noise of a total by its place."""
        return self.people if place == PEOPLE else self.noises[place]

    @property
    def deviation(self) -> float:
        """How noisy it is: the product of all deviations, to compare allocations by."""
        whole = 1.0
        for noise in (*self.noises, self.people):
            whole *= noise.deviation if noise is not None else 1.0
        return whole


@dataclass(frozen=True)
class Demand:
    """What a question releases: its totals, and what else it takes to answer it."""

    parts: Breakdown
    reach: Reach
    finds_keys: bool
    searches: int  # terms whose bounds have to be found

    @property
    def bound(self) -> Bound:
        """What is kept of one unit."""
        return self.reach.bound

    @property
    def people(self) -> bool:
        """Whether the number of people is needed."""
        return self.parts.people or self.finds_keys

    @property
    def asks_people(self) -> bool:
        """Whether the number of people is an answer that gets noise."""
        return self.parts.people and self.moves(None)

    def moves(self, total: Total | None) -> bool:
        """Tell whether one unit moves a total at all; what it does not costs nothing."""
        return sensitivity_of(total, self.reach).l1 > 0


def allocate(wanted: Demand, price: Price) -> Allocation:
    """Divide a price among the numbers of a question."""
    shares = _Shares.of(wanted, price.kind)
    picks = len(wanted.parts.quantiles) * wanted.reach.touched
    epsilon = price.pure_epsilon(shares.picks, picks) if picks else None
    noises, people, search, cost = _additive(wanted, price, shares)
    if epsilon is not None:
        cost += Cost.of_equal(epsilon, picks)
    if price.delta:
        cost += Cost(delta=price.delta)
    return Allocation(price, noises, people, epsilon, search, cost)


@dataclass(frozen=True)
class _Shares:
    """Parts of the price, together 1: equal for the numbers asked for, less for what helps.

    Normal noise is divided in two steps. First, in proportion to how many numbers each gives,
    between everything that gets normal noise and the quantiles, since both pay in ε; then, in
    μ², among the numbers with normal noise. A small part of μ² goes far: noise shrinks with its
    root. A part of ε does not, so the helpers of pure noise get more.
    """

    each: Fraction  # of every total
    people: Fraction
    picks: Fraction  # of all quantiles together
    search: Fraction  # of all searches together

    @classmethod
    def of(cls, wanted: Demand, kind: str) -> _Shares:
        moving = [total for total in wanted.parts.totals if wanted.moves(total)]
        totals, picks = len(moving), len(wanted.parts.quantiles)
        asked = totals + wanted.asks_people
        if kind == "gaussian":
            block = max(asked, int(wanted.finds_keys or wanted.searches > 0))
            normal = Fraction(block, (block + picks) or 1)  # a sum that is 0 whatever data are
            inside = cls._inside(wanted, totals, _PEOPLE_SHARE)
            each, people, search = (part * normal for part in inside)
            return cls(each, people, 1 - normal, search)
        each, people, search = cls._inside(wanted, totals + picks, _PURE_PEOPLE_SHARE)
        return cls(each, people, picks * each, search)

    @staticmethod
    def _inside(
        wanted: Demand, asked: int, helping: Fraction
    ) -> tuple[Fraction, Fraction, Fraction]:
        """Divide 1 among ``asked`` equal numbers, the people and the searches."""
        if wanted.asks_people:
            weight = Fraction(1)
        elif wanted.finds_keys:
            weight = asked * helping / (1 - helping) if asked else Fraction(1)
        else:
            weight = Fraction(0)
        whole = asked + weight
        search = Fraction(0)
        if wanted.searches:
            search = _SEARCH_SHARE if whole else Fraction(1)
        each = (1 - search) / whole if whole else Fraction(0)
        return each, weight * each, search


def _additive(
    wanted: Demand, price: Price, shares: _Shares
) -> tuple[tuple[Noise | None, ...], Noise | None, Noise | None, Cost]:
    """Give the noise of totals, of people and of searches for bounds, and what it costs."""
    parts = [(sensitivity_of(total, wanted.reach), shares.each) for total in wanted.parts.totals]
    if wanted.people:
        parts.append((sensitivity_of(None, wanted.reach), shares.people))
    bins = Reach(GroupsBound(1, rows_in_group(wanted.bound)), wanted.reach.relation)
    for _ in range(wanted.searches):
        size = sensitivity_of(_ROWS, bins)
        parts.append((size, shares.search / wanted.searches))
    whole = sum((share for _, share in parts), Fraction(0))
    if not whole:
        return (), None, None, Cost()
    bought = price.mu_squared(whole) / whole if price.kind == "gaussian" else None
    noises: list[Noise | None] = []
    cost = Cost()
    for size, share in parts:
        noise, paid = _noise(size, share, price, bought)
        noises.append(noise)
        cost += paid
    search = noises[-1] if wanted.searches else None
    del noises[len(noises) - wanted.searches :]
    people = noises.pop() if wanted.people else None
    return tuple(noises), people, search, cost


def _noise(
    size: Sensitivity, share: Fraction, price: Price, bought: Fraction | None
) -> tuple[Noise | None, Cost]:
    if not size.l1:
        return None, Cost()  # the total is 0 whatever the data
    if bought is not None:
        return gaussian(size.l2, bought * share), Cost(mu_squared=bought * share)
    epsilon = price.pure_epsilon(share, 1)
    return geometric(size.l1, epsilon), Cost(epsilon=epsilon)


_ROWS = Total("rows")


def counts_people(bound: Bound) -> bool:
    """Tell whether kept rows of a group are different people, so that rows count people."""
    return isinstance(bound, RowBound) or (isinstance(bound, GroupsBound) and bound.rows == 1)
