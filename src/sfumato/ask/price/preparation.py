"""Everything about a question that is decided before data are touched.

Contract: :func:`prepare` chooses the bound, the noise and the cost of a question from the question,
the unit, the budget, what was spent of it, and the price. What it returns, and whether it refuses,
is the same for every data set.

Bounds that have to be found are unknown at this point. The *shares* of the price are not, and
noise is scaled to bounds afterwards, so the cost is what it will be; :meth:`Prepared.bounded`
scales the noise once bounds are found and checks that the cost did not rise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import interval_of
from sfumato.ask.language.refusals import refuse
from sfumato.ask.price.allocation import Allocation, Demand, allocate, counts_people
from sfumato.ask.price.bounds_search import ASSUMED
from sfumato.ask.price.contributions import Reach, bound_for
from sfumato.ask.price.key_discovery import people_needed
from sfumato.ask.price.measures import breakdown
from sfumato.ask.price.pricing import offers
from sfumato.ask.price.quantiles import grid_of, is_dated
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.ask.language.language import Bounds, Expression, Measure, Question
    from sfumato.ask.language.request import Bound
    from sfumato.ask.price.measures import Breakdown
    from sfumato.ask.price.pricing import Price
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.rounding import Stated
    from sfumato.govern.standing import Standing

_BOUNDED = {"sum", "avg", "variance", "stddev", "quantile"}


@dataclass(frozen=True)
class PreparedQuestion:
    """A question with its bound, its noise and its cost."""

    question: Question
    bound: Bound
    wanted: Demand
    allocation: Allocation
    searched: tuple[tuple[Expression, Expression | None], ...]

    @property
    def finds_keys(self) -> bool:
        """Whether groups are found privately."""
        return self.wanted.finds_keys

    @property
    def threshold(self) -> int | None:
        """The noisy number of people at which a found group is shown."""
        if not self.finds_keys:
            return None
        assert self.allocation.people is not None
        return people_needed(
            self.allocation.people,
            delta=self.allocation.price.delta,
            groups=self.wanted.reach.touched,
        )

    def bounded(
        self, found: Mapping[tuple[Expression, Expression | None], Bounds]
    ) -> PreparedQuestion:
        """Scale the noise to bounds that were found; the cost stays what was charged."""
        if not self.searched:
            return self
        measures = tuple(
            replace(m, bounds=found[_about(m)]) if _needs_search(m) else m
            for m in self.question.measures
        )
        question = replace(self.question, measures=measures)
        wanted = replace(self.wanted, parts=_parts(question, self.bound, self.question))
        scaled = allocate(wanted, self.allocation.price)
        paid, charged = scaled.cost, self.allocation.cost
        if (
            paid.epsilon > charged.epsilon
            or paid.epsilon_squared > charged.epsilon_squared
            or paid.mu_squared > charged.mu_squared
        ):
            raise AssertionError("noise for found bounds costs more than was charged")
        return replace(self, question=question, wanted=wanted, allocation=scaled)


def prepare(
    question: Question,
    unit: PrivacyUnit,
    budget: Guarantee,
    *,
    epsilon: Stated | None = None,
    rho: Stated | None = None,
    delta: Stated | None = None,
    standing: Standing | None = None,
) -> PreparedQuestion:
    """Choose the least noise that answers a question at a price and fits what is left.

    Where none fits it is the least noise of all, which the ledger then refuses.
    """
    if any(m.aggregate == "people" and m.where is not None for m in question.measures):
        raise refuse("people_filter", name=getattr(unit, "name", "person"))
    for measure in question.measures:
        if measure.aggregate == "quantile" and measure.bounds is None and is_dated(measure):
            raise refuse("date_bounds", what=measure.spelling or "A quantile")
        if measure.aggregate == "quantile" and measure.bounds is not None:
            grid_of(measure)  # bounds that make no points are refused before the charge
    finds_keys = any(key.values is None for key in question.keys)
    available = None if standing is None else standing.first_delta
    prices = offers(
        budget, epsilon=epsilon, rho=rho, delta=delta, finds_keys=finds_keys, available=available
    )
    prepare_at = _preparing(question, unit, budget)
    found = [prepare_at(price) for price in prices]
    fitting = [
        offer for offer in found if standing is None or standing.covers(offer.allocation.cost)
    ]
    chosen = _quietest(fitting or found)
    if chosen.allocation.cost.is_nothing and chosen.wanted.reach.bounded:
        raise ParameterError(
            "Where a unit is replaced by another (neighbours='bounded'), the number of all units "
            "is public, and nothing else is asked; read session.size."
        )
    if chosen.allocation.cost.is_nothing:
        raise refuse("nothing_asked")
    return chosen


def _quietest(prepared: list[PreparedQuestion]) -> PreparedQuestion:
    return min(prepared, key=lambda offer: offer.allocation.deviation)


def _preparing(
    question: Question, unit: PrivacyUnit, budget: Guarantee
) -> Callable[[Price], PreparedQuestion]:
    """Find what a question releases; give a function that prepares it at a price."""
    bound = bound_for(unit, question)
    question = replace(question, measures=tuple(_with_bounds(m) for m in question.measures))
    searched = tuple(dict.fromkeys(_about(m) for m in question.measures if _needs_search(m)))
    finds_keys = any(key.values is None for key in question.keys)
    assumed = replace(
        question,
        measures=tuple(
            replace(m, bounds=ASSUMED) if _needs_search(m) else m for m in question.measures
        ),
    )
    reach = Reach.of(question, bound, budget)
    wanted = Demand(_parts(assumed, bound, question), reach, finds_keys, len(searched))

    def prepared(price: Price) -> PreparedQuestion:
        return PreparedQuestion(question, bound, wanted, allocate(wanted, price), searched)

    return prepared


def _parts(question: Question, bound: Bound, asked: Question) -> Breakdown:
    """Break a question with all its bounds down; ``asked`` is the one that lacks some."""
    searched = frozenset(m.name for m in asked.measures if _needs_search(m))
    return breakdown(question, rows_are_people=counts_people(bound), searched=searched)


def _with_bounds(measure: Measure) -> Measure:
    """Take bounds from the term itself where the question gives none: LEAST, CASE, the schema."""
    if measure.aggregate not in _BOUNDED or measure.bounds is not None:
        return measure
    assert measure.term is not None
    return replace(measure, bounds=interval_of(measure.term))


def _needs_search(measure: Measure) -> bool:
    return measure.aggregate in _BOUNDED and measure.bounds is None


def _about(measure: Measure) -> tuple[Expression, Expression | None]:
    assert measure.term is not None
    return measure.term, measure.where
