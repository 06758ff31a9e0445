"""Set union: which items may be named at all, when there is no public list of them.

Promise: (ε, δ)-DP for a basket added or removed (Gopi, Gulhane, Kulkarni, Shen, Shokouhi and
Yekhanin, "Differentially private set union", ICML 2020: the policy Gaussian).

What it does. Every item has a height, 0 at first. Baskets, cut to m items each, small ones first
and those of one size in secret random order, move the heights of their items toward a goal
Γ = τ + α·σ by a step of Euclidean length at most 1. Then each height gets Gaussian noise, and items
above τ are named. A height need not grow beyond Γ, so what an item of many baskets does not need
goes to others; large baskets have the choice among most, so they come last.

Proof. For one basket the map h ↦ Γ − prox(Γ − h) on its items, prox(v) = v·max(0, 1 − 1/|v|), is
the proximal map of the Euclidean norm, hence never increases distances; all other items stay.
(Gaps that are closed are 0, and stay: heights never exceed Γ.) A basket's size is its own, and an
added one does not change the order of the others: whatever its place, heights differ by at most 1
after it, and by no more at the end: L2 sensitivity 1, for every order of the others. Rounding: a
step of m ≤ 50 items is computed with an error below (m + 8)·2⁻⁵³·Γ·√m in L2, so in both runs of n
baskets together below 2⁻¹⁰ as long as n·Γ ≤ 2³³; more baskets are refused. Heights are then put on
a grid of 2⁻³², an error below 2⁻¹¹ for up to 2⁴⁰ items. So Δ = 1 + 2⁻⁹ is used.
Items that only the added basket has start with the same gap Γ and get the same step, at most 1/√t
for t of them; the threshold then keeps all of them back but for δ/2, as in
:mod:`~sfumato.dp.publish.topk.weights`, and the noise is (ε, δ/2)-DP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import cells_of, label_order
from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Neighbours, PrivacyUnit
from sfumato.dp.noise.gaussian import rounded_gaussian
from sfumato.dp.noise.uniform import permutation
from sfumato.dp.normal import gaussian_sigma_up
from sfumato.dp.publish.numbers import NumberTable, release_numbers
from sfumato.dp.publish.purse import steps_of
from sfumato.dp.publish.topk import kernels
from sfumato.dp.publish.topk.baskets import baskets_of
from sfumato.dp.publish.topk.weights import cut
from sfumato.dp.rounding import stated_up
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_GRID = 32
_SLACK = Fraction(1, 1 << 9)
_MOST_ITEMS = 50
_MOST = 2.0**33


@dataclass(frozen=True, eq=False)
class SetUnion(Shown):
    """Items that may be named; ``needed`` is about how many baskets an item must be in."""

    items: tuple[Any, ...]
    guarantee: Guarantee
    deviation: float
    threshold: float

    @property
    def needed(self) -> float:
        """The height that noise does not hide: baskets of one item each, at least."""
        return self.threshold

    def release(self, name: str = "items") -> Release:
        """Hand the items over as a release: a row each."""
        rows = [(str(item),) for item in self.items]
        table = NumberTable(("item",), rows, self, {"needed": self.needed})
        return release_numbers(table, self.guarantee, name=name, mechanism="set union")

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Any:
        return iter(self.items)

    def __str__(self) -> str:
        return (
            f"{len(self.items):,} items that may be named; one that fewer than "
            f"{self.threshold:.3g} baskets have is rarely among them; {self.guarantee}"
        )


@dataclass(frozen=True)
class UnionPlan(Shown):
    """How many baskets an item needs to be named, told from public parameters alone.

    ``threshold`` and ``deviation`` are in baskets of one item; one of t items counts 1/√t for each.
    """

    threshold: float
    deviation: float
    at_most: int

    def __str__(self) -> str:
        seldom, surely = self.threshold, self.threshold + 4 * self.deviation
        return (
            f"an item that fewer than about {seldom:,.0f} baskets hold is rarely named, and one "
            f"that {surely:,.0f} hold nearly always is, where baskets have one item each; with t "
            "items each it takes up to √t times as many"
        )


def plan_union(*, epsilon: Stated, delta: Stated, at_most: int = _MOST_ITEMS) -> UnionPlan:
    """Tell how many baskets an item needs to be named by `set_union`; nothing is spent.

    >>> print(plan_union(epsilon=1, delta=1e-6).at_most)
    50
    """
    exact, failure = parameters.budget(epsilon), parameters.failure(delta)
    limit = _limit(at_most)
    sigma = gaussian_sigma_up(exact, failure / 2, 1 + _SLACK)
    return UnionPlan(cutoff(sigma, limit, failure / 2), sigma, limit)


def _limit(at_most: int) -> int:
    limit = parameters.count(at_most, "at_most, the items of one basket,")
    if limit is None or limit > _MOST_ITEMS:
        raise ParameterError(f"at_most is between 1 and {_MOST_ITEMS}.")
    return limit


def set_union(
    baskets: Any,
    *,
    epsilon: Stated,
    delta: Stated,
    at_most: int = _MOST_ITEMS,
    people: Any = None,
    neighbours: Neighbours | PrivacyUnit | str = "transaction",
) -> SetUnion:
    """Release which items, such as search words, occur in the baskets, as many as privacy allows.

    ``at_most`` items of each basket are used, chosen at random: m keywords per person. ``people``
    names the owner of each basket, whose baskets are then put together. ``neighbours`` says whose
    presence is hidden: a transaction, or a customer with all of hers when ``people`` is given.

    >>> words = [["flu", "fever"]] * 400 + [["a rare name"]]
    >>> set_union(words, epsilon=1, delta=1e-6).items
    ('fever', 'flu')
    """
    relation = Neighbours.of(neighbours)
    if steps_of(relation, together=people is not None) != 1:
        raise ParameterError(
            "Set union is proved for one basket added or removed; put the baskets of a person "
            "together with people=, and leave 'bounded' out."
        )
    exact, failure = parameters.budget(epsilon), parameters.failure(delta)
    plan = plan_union(epsilon=epsilon, delta=delta, at_most=at_most)
    sigma, tau, limit = plan.deviation, plan.threshold, plan.at_most
    goal = tau + (6.0 if exact <= Fraction(1, 5) else 4.5) * sigma
    read = cut(baskets_of(baskets, people=people), limit)
    if read.starts.size > _MOST / goal:
        raise DataError(f"At most {_MOST / goal:,.0f} baskets are taken; draw a sample of them.")
    heights = np.zeros(len(read.names))
    mixed = permutation(read.starts.size - 1)
    order = mixed[np.argsort(read.sizes[mixed], kind="stable")]
    kernels.move_toward(read.starts, read.items, order, goal, heights)
    named = _passing(heights, sigma, tau)
    names = tuple(sorted((read.names[place] for place in named), key=label_order))
    promised = ApproxDP(stated_up(exact), stated_up(failure), neighbours=relation)
    return SetUnion(names, promised, sigma, tau)


def select_partitions(
    keys: Any, *, epsilon: Stated, delta: Stated, people: Any = None, at_most: int = _MOST_ITEMS
) -> SetUnion:
    """Release which keys of a grouping occur, where they are not public beforehand.

    `keys` has a key per row; `people` names whose row it is, and without it every row is somebody's
    only one. It is `set_union` of each person's different keys, with its proof: (ε, δ)-DP for one
    person with all her rows added or removed.

    >>> select_partitions(["flu"] * 400 + ["a rare name"], epsilon=1, delta=1e-6).items
    ('flu',)
    """
    single = [[key] for key in cells_of(keys)]
    unit = "transaction" if people is None else "customer"
    return set_union(
        single, epsilon=epsilon, delta=delta, at_most=at_most, people=people, neighbours=unit
    )


def cutoff(sigma: float, most: int, failure: Fraction) -> float:
    """Give the τ that items of one basket alone pass with probability below ``failure``."""
    normal = NormalDist()
    tails = [(size, float(failure) / size * (1 - 1e-9)) for size in range(1, most + 1)]
    needed = max(1 / math.sqrt(size) - sigma * normal.inv_cdf(tail) for size, tail in tails)
    return needed * (1 + 1e-9) + float(_SLACK)


def _passing(heights: Any, sigma: float, tau: float) -> list[int]:
    """Add noise on the grid, and give the places of items above the threshold."""
    scaled = np.floor(np.ldexp(heights, _GRID)).astype(np.int64)
    variance = Fraction(sigma) ** 2 * (1 << 2 * _GRID)
    noisy = scaled + rounded_gaussian(variance, scaled.size)
    found: list[int] = np.flatnonzero(noisy > math.ceil(math.ldexp(tau, _GRID))).tolist()
    return found
