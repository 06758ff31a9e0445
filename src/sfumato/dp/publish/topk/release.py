"""``top_k``: the k most frequent items, words or itemsets, with the price that is named.

Promise: ε-DP, (ε, δ)-DP or ρ-zCDP for a basket added or removed (a transaction; or a customer,
whose baskets are put together with ``people=``). The ways and their proofs are in
:mod:`.peeling`, :mod:`.weights`, :mod:`.itemsets`; they are chosen in :mod:`.choice_of_way`.

Counts of winners, where they are wanted beside a peeled list, take a fifth of the budget: a basket
moves each of the k counts by at most 1, so k in L1 and √k in L2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Neighbours
from sfumato.dp.noise.gaussian import rounded_gaussian
from sfumato.dp.normal import gaussian_sigma_up
from sfumato.dp.publish.numbers import ERRORS, NumberTable, release_numbers
from sfumato.dp.publish.purse import Price, Purse, PurseEntry, price_of, steps_of
from sfumato.dp.publish.topk import itemsets as sets
from sfumato.dp.publish.topk.baskets import Baskets, baskets_of
from sfumato.dp.publish.topk.choice_of_way import TopKPlan, Way, plan_way
from sfumato.dp.publish.topk.peeling import peel
from sfumato.dp.publish.topk.weights import UNIT, cut, threshold, weigh
from sfumato.dp.rounding import Stated, sqrt_down
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.release import Release

_WAYS = ("peeling", "gaussian")
_TYPICAL = 5
_MOST_PER_BASKET = 50
_COUNTS = Fraction(1, 5)
_FIRST = Fraction(2, 5)


@dataclass(frozen=True, eq=False)
class TopK(Shown):
    """The winners in order; ``counts`` are noisy, or None where only names were paid for.

    ``deviation`` is the standard deviation that noise gives a count. Counts of the weighted
    Gaussian are *weights*: an item of large baskets is weighed below its count.
    """

    items: tuple[Any, ...]
    counts: NDArray[np.float64] | None
    deviation: float | None
    plan: TopKPlan
    guarantee: Guarantee
    entries: tuple[PurseEntry, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Any:
        return iter(self.items)

    def release(self, name: str = "top-k") -> Release:
        """Hand the winners over as a release: a row each, in their order."""
        rows = [
            (place + 1, _written(item), *self._count(place))
            for place, item in enumerate(self.items)
        ]
        shown = ("rank", "item") if self.counts is None else ("rank", "item", "count", "count ±")
        facts = {"plan": str(self.plan), "notes": list(self.notes), "errors": ERRORS}
        table = NumberTable(shown, rows, self, facts)
        mechanism = f"top-k by {self.plan.algorithm}"
        return release_numbers(table, self.guarantee, name=name, mechanism=mechanism)

    def _count(self, place: int) -> tuple[float, ...]:
        if self.counts is None or self.deviation is None:
            return ()
        return float(self.counts[place]), self.deviation

    def picture(self) -> str:
        """Draw the winners as bars, with intervals where there are counts."""
        from sfumato.dp.publish.pictures.winners import draw_winners  # noqa: PLC0415 - loaded when shown

        return draw_winners(self)

    def __str__(self) -> str:
        shown = [
            str(item) if self.counts is None else f"{item} ({self.counts[i]:,.0f})"
            for i, item in enumerate(self.items[:10])
        ]
        more = f" and {len(self.items) - 10} more" if len(self.items) > 10 else ""
        return f"{', '.join(shown)}{more}; {self.guarantee}"


def _written(item: Any) -> str:
    return " ".join(map(str, item)) if isinstance(item, tuple) else str(item)


def plan_top_k(
    k: int,
    *,
    items: int | None,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    algorithm: Way | None = None,
    basket_size: int = _TYPICAL,
    set_size: int = 1,
    counts: bool = False,
    neighbours: Neighbours | PrivacyUnit | str = "transaction",
) -> TopKPlan:
    """Tell which way `top_k` will go and what it can tell apart; nothing is read or spent."""
    unit = Neighbours.of(neighbours).unit  # a customer without a limit is one with people=
    price = price_of(
        epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours, together=unit.parts is None
    )
    _check(k, algorithm, basket_size, set_size)
    if set_size > 1:
        among = sum(math.comb(_candidates(k, items), size) for size in range(1, set_size + 1))
        plan = plan_way(
            k=k, price=price, items=among, typical=basket_size, wanted="peeling", share=0.6
        )
        reason = "first the frequent items, then the sets of them"
        return TopKPlan("two stages", reason, plan.resolution, k, among)
    share = 1 - float(_COUNTS) if counts else 1.0
    return plan_way(
        k=k, price=price, items=items, typical=basket_size, wanted=algorithm, share=share
    )


def top_k(
    baskets: Any,
    k: int,
    *,
    items: Any = None,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    algorithm: Way | None = None,
    set_size: int = 1,
    counts: bool = False,
    basket_size: int = _TYPICAL,
    at_most: int = _MOST_PER_BASKET,
    people: Any = None,
    neighbours: Neighbours | PrivacyUnit | str = "transaction",
) -> TopK:
    """Release the k most frequent items of baskets, or itemsets of up to ``set_size`` items.

    ``items`` is the public domain: a list, or a number n for the items 0 … n−1. Without it the
    domain is unknown, δ is needed, and each basket is cut to ``at_most`` items: m keywords per
    person. ``people`` names the owner of each basket, whose baskets are then put together: the way
    to hide a customer; ``Customer(transactions=5)`` without it has five baskets, and pays for
    them. ``algorithm`` is "peeling" (k picks, each of ε/k in the pure case) or "gaussian"; left
    out, `plan_top_k` tells which is taken and why. ``counts=True`` pays for noisy counts beside
    the names. ``basket_size`` is a public guess of how many items a basket has.

    >>> sold = [["bread", "milk"], ["bread"]] * 500
    >>> top_k(sold, 1, items=["bread", "milk", "eggs"], epsilon=1).items
    ('bread',)
    """
    _check(k, algorithm, basket_size, set_size)
    price = price_of(
        epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours, together=people is not None
    )
    if items is None:
        if set_size > 1:
            raise ParameterError(
                "Itemsets need a public list of items; find one with sf.dp.set_union first, and "
                "give it as items=."
            )
        return _unknown(baskets, k, price, basket_size, at_most, people, algorithm)
    read = baskets_of(baskets, domain=items, people=people)
    if k > len(read.names) and set_size == 1:
        raise ParameterError(f"k is at most the number of items, {len(read.names):,}.")
    purse = Purse(price)
    if set_size > 1:
        return _itemsets(read, k, purse, basket_size, set_size, counts=counts)
    plan = plan_way(
        k=k, price=price, items=len(read.names), typical=basket_size, wanted=algorithm,
        share=1 - float(_COUNTS) if counts else 1.0,
    )  # fmt: skip
    if plan.algorithm == "gaussian":
        weights, deviation = _weights(read, purse, Fraction(1), basket_size)
        first = np.argsort(-weights, kind="stable")[:k]
        named = tuple(read.names[place] for place in first.tolist())
        return _handed(named, weights[first], deviation, plan, purse)
    supports = read.supports()
    first = _peeled(supports, k, purse, 1 - _COUNTS if counts else Fraction(1))
    named = tuple(read.names[place] for place in first.tolist())
    if not counts:
        return _handed(named, None, None, plan, purse)
    noisy = purse.measure("counts", _COUNTS, supports[first], l1=k, l2_squared=k)
    return _handed(named, noisy.values.astype(np.float64), noisy.deviation, plan, purse)


def _peeled(
    supports: NDArray[np.int64], k: int, purse: Purse, share: Fraction, what: str = "picks"
) -> NDArray[np.int64]:
    cost = purse.enter(what, share, k)
    rate = cost / k if purse.pure else Fraction(sqrt_down(8 * cost / k))
    return peel(supports, k, rate)


def _weights(
    read: Baskets, purse: Purse, share: Fraction, typical: int
) -> tuple[NDArray[np.float64], float]:
    """Release the weight of every item; for pure ε a basket's weights are bounded in L1."""
    if purse.pure:
        raise ParameterError("The weighted Gaussian needs delta= or rho=; peeling does without.")
    noisy = purse.measure("weights", share, weigh(read, typical), l2_squared=typical * UNIT * UNIT)
    return noisy.values.astype(np.float64) / UNIT, noisy.deviation / UNIT


def _itemsets(
    read: Baskets, k: int, purse: Purse, typical: int, size: int, *, counts: bool
) -> TopK:
    plan = plan_top_k(
        k, items=len(read.names), epsilon=None, rho=1, basket_size=typical, set_size=size
    )
    wide = _candidates(k, len(read.names))
    second = 1 - _FIRST - (_COUNTS if counts else 0)
    chosen, largest = _stage(read, wide, purse, typical)
    rate = _rate(purse, second, k)
    if largest is not None and size > 2 and largest < 20 / rate:
        size = 2  # among so many triples noise would win; the supports of stage 1 tell
    found = sets.combine(read, chosen, size)
    k = min(k, found.supports.size)
    picked = _peeled(found.supports, k, purse, second)
    named = [found.members(number) for number in picked.tolist()]
    values, deviation = None, None
    if counts:
        noisy = purse.measure("counts", _COUNTS, found.supports[picked], l1=k, l2_squared=k)
        values = sets.settle_supports(named, noisy.values.astype(np.float64))
        deviation = noisy.deviation
    winners = tuple(tuple(read.names[place] for place in items) for items in named)
    resolution = math.log(found.supports.size) / rate
    plan = TopKPlan(plan.algorithm, plan.reason, resolution, k, found.supports.size)
    return _handed(winners, values, deviation, plan, purse)


def _rate(purse: Purse, share: Fraction, k: int) -> float:
    amount = float(purse.price.amount * share)
    return amount / k if purse.pure else math.sqrt(8 * amount / k)


def _stage(
    read: Baskets, wide: int, purse: Purse, typical: int
) -> tuple[NDArray[np.int64], float | None]:
    """Release candidate items, and the weight of the fourth of them where weights are released."""
    if purse.pure or wide < 40:
        return _peeled(read.supports(), wide, purse, _FIRST, "candidates"), None
    weights, deviation = _weights(read, purse, _FIRST, typical)
    order = np.argsort(-weights, kind="stable")[:wide]
    kept = order[weights[order] > 4 * deviation]
    if kept.size < 3:
        kept = order[:3]
    return kept, float(weights[order[min(3, order.size - 1)]])


def _candidates(k: int, items: int | None) -> int:
    return min(k + 10, sets.MOST, items or sets.MOST)


def _unknown(
    baskets: Any, k: int, price: Price, typical: int, at_most: int, people: Any, wanted: Any
) -> TopK:
    """Release the k largest of the weights that pass the threshold."""
    promised = price.guarantee
    if not isinstance(promised, ApproxDP):
        raise ParameterError(
            "Without items=, the public list of items, delta= is needed: naming an item that one "
            "basket alone has cannot be ruled out, only made improbable."
        )
    if steps_of(promised.neighbours, together=people is not None) != 1:
        raise ParameterError(
            "An unknown domain is proved for one basket added or removed; put the baskets of a "
            "person together with people=, and leave 'bounded' out."
        )
    if wanted == "peeling":
        raise ParameterError("Peeling needs items=, the public list of candidates.")
    limit = parameters.count(at_most, "at_most, the items of one basket,") or 1
    half = promised.exact_delta / 2
    squared = Fraction(gaussian_sigma_up(promised.exact_epsilon, half)) ** 2 * typical
    read = cut(baskets_of(baskets, people=people), limit)
    exact = weigh(read, typical)
    noisy = exact + rounded_gaussian(squared * UNIT * UNIT, exact.size)
    deviation = math.sqrt(squared)
    tau = threshold(deviation * UNIT, limit, typical, half)
    passing = np.flatnonzero(noisy > math.ceil(tau)).tolist()
    # Equal weights follow the order of names, which is public; that of the baskets is not.
    first = np.array(sorted(passing, key=lambda at: -noisy[at])[:k], int)
    plan = plan_way(k=k, price=price, items=None, typical=typical)
    told = (
        f"Only {first.size} items pass the threshold of {tau / UNIT:.3g}; the others may not be "
        "named at this price."
    )
    notes = () if first.size == k else (told,)
    named = tuple(read.names[place] for place in first.tolist())
    values = noisy[first].astype(np.float64) / UNIT
    entries = (PurseEntry("weights and threshold", price.amount),)  # how many there are is private
    return TopK(named, values, deviation, plan, promised, entries, notes)


def _handed(
    named: tuple[Any, ...],
    values: NDArray[np.float64] | None,
    deviation: float | None,
    plan: TopKPlan,
    purse: Purse,
) -> TopK:
    notes: tuple[str, ...] = ()
    if values is not None and values.size and values[-1] < plan.needed:
        told = (
            f"The last counts are below {plan.needed:.3g}, where noise decides: the end of the "
            "list tells little; use a larger ε or a smaller k."
        )
        notes = (told,)
    return TopK(named, values, deviation, plan, purse.price.guarantee, purse.close(), notes)


def _check(k: int, algorithm: Any, basket_size: int, set_size: int) -> None:
    if parameters.count(k, "k") is None:
        raise ParameterError("k is a whole number of at least 1.")
    parameters.count(basket_size, "basket_size, the typical number of items of a basket,")
    if algorithm is not None and algorithm not in _WAYS:
        raise ParameterError(f"algorithm= is 'peeling' or 'gaussian', and {algorithm!r} was given.")
    if set_size not in {1, 2, 3}:
        raise ParameterError(f"set_size= is 1, 2 or 3, and {set_size!r} was given.")
