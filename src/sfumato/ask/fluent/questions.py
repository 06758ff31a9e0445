"""A question in the making: groups, measures, and what to do with the noisy numbers.

Contract: an :class:`Asking` is frozen; every method gives a new one. :attr:`Asking.question` shows
the keys first and then the measures, in the order they were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.fluent import aggregates, terms
from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.build import condition
from sfumato.ask.language.language import Column, Expression, Output, Question
from sfumato.ask.language.refusals import refuse
from sfumato.ask.plan.pruning import pruned
from sfumato.ask.scope.assembly import (
    AskedAggregate,
    GivenFacts,
    check_given,
    check_groups,
    key,
    read_bounds,
)
from sfumato.ask.scope.measure_register import MeasureRegister
from sfumato.ask.scope.scopes import Name, PersonName, Scope, fresh, short
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.fluent.aggregates import Aggregation
    from sfumato.ask.fluent.terms import Term
    from sfumato.ask.language.language import Key


@dataclass(frozen=True)
class RowNames:
    """Names of the columns of a scope."""

    scope: Scope

    def column(self, name: str) -> Expression:
        """Resolve ``column`` or ``table.column``."""
        of, _, last = name.rpartition(".")
        known = any(seen.name == name for seen in self.scope.seen)
        qualified = Name(of) if of and not known else None
        found = self.scope.find(Name(last if qualified else name), qualified)
        if isinstance(found, PersonName):
            raise refuse("person_shown", name=found.name)
        return found

    def aggregate(self, asked: Aggregation) -> Expression:
        """Refuse an aggregate among rows."""
        raise refuse("aggregate_place", what=asked.spelling, place="a term over rows")


def asked_for(wanted: Aggregation, names: RowNames) -> AskedAggregate:
    """Read an aggregate over the rows of a scope."""
    term = None if wanted.of is None else wanted.of.read(names)
    where = None if wanted.condition is None else condition(wanted.condition.read(names), "where")
    if wanted.kind == "people" and names.scope.person is None:
        raise refuse("no_person", name=names.scope.table, what="count")
    bounds = None if wanted.bounds is None else read_bounds(wanted.spelling, wanted.bounds)
    return AskedAggregate(wanted.kind, term, where, wanted.order, wanted.spelling, bounds)


class _GroupNames:
    """Names of keys, and of measures once they are known."""

    def __init__(self, scope: Scope, keys: Sequence[Key], register: MeasureRegister) -> None:
        self.rows = RowNames(scope)
        self.known: dict[str, Expression] = {
            key.name: Column(key.name, kind_of(key.expression)) for key in keys
        }
        self.register = register
        self.wanted: str | None = None

    def column(self, name: str) -> Expression:
        """Resolve a key or an output."""
        found = [term for known, term in self.known.items() if Name(name).matches(known)]
        if not found:
            self.rows.column(name)  # says so when there is no such column
            raise refuse("raw_column", what=name)
        return found[0]

    def aggregate(self, asked: Aggregation) -> Expression:
        """Register a measure."""
        wanted, self.wanted = self.wanted, None
        return self.register(asked_for(asked, self.rows), wanted, lambda: asked.spelling)


@dataclass(frozen=True, repr=False)
class AggregateMethods:
    """Numbers about groups of rows."""

    scope: Scope
    keys: tuple[tuple[str, Expression], ...] = ()
    values: tuple[tuple[str, Sequence[Any] | None], ...] = ()
    measures: tuple[tuple[str | None, Term], ...] = ()
    kept: Term | None = None
    sorting: tuple[tuple[Term, bool], ...] = ()
    most: int | None = None
    asker: Any = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        measures = [
            name or (what.spelling if isinstance(what, aggregates.Aggregation) else "a number")
            for name, what in self.measures
        ]
        groups = f" for each {', '.join(name for name, _ in self.keys)}" if self.keys else ""
        return f"<Question: {', '.join(measures) or 'no number yet'}{groups}; .ask(epsilon=…)>"

    def aggregate(self, **measures: object) -> AggregateMethods:
        """Ask for numbers, each under its name; arithmetic on aggregates is allowed."""
        new = tuple((short(name), _measure(name, what)) for name, what in measures.items())
        return replace(self, measures=self.measures + new)

    def _with(self, wanted: Aggregation) -> AggregateMethods:
        return replace(self, measures=(*self.measures, (None, wanted)))

    def count(self, of: object = None) -> AggregateMethods:
        """Count rows, or the values of a term."""
        return self._with(aggregates.count(of))

    def people(self) -> AggregateMethods:
        """Count different people."""
        return self._with(aggregates.people())

    def sum(self, of: object, *, low: Any = None, high: Any = None) -> AggregateMethods:
        """Add up, clamped to [low, high] where they are given."""
        return self._with(aggregates.sum_(of, bounds=_pair(low, high)))

    def avg(self, of: object, *, low: Any = None, high: Any = None) -> AggregateMethods:
        """Take the mean."""
        return self._with(aggregates.avg(of, bounds=_pair(low, high)))

    def variance(self, of: object, *, low: Any = None, high: Any = None) -> AggregateMethods:
        """Take the variance."""
        return self._with(aggregates.variance(of, bounds=_pair(low, high)))

    def stddev(self, of: object, *, low: Any = None, high: Any = None) -> AggregateMethods:
        """Take the standard deviation."""
        return self._with(aggregates.stddev(of, bounds=_pair(low, high)))

    def median(self, of: object, *, low: Any = None, high: Any = None) -> AggregateMethods:
        """Take the median."""
        return self._with(aggregates.median(of, bounds=_pair(low, high)))

    def quantile(
        self, of: object, order: float, *, low: Any = None, high: Any = None
    ) -> AggregateMethods:
        """Take a quantile."""
        return self._with(aggregates.quantile(of, order, bounds=_pair(low, high)))

    def having(self, kept: Term) -> AggregateMethods:
        """Show only groups whose noisy numbers satisfy a condition."""
        return replace(self, kept=kept if self.kept is None else self.kept & kept)

    def order_by(self, *what: object, descending: bool = False) -> AggregateMethods:
        """Sort the answer."""
        new = tuple((terms.named(term), descending) for term in what)
        return replace(self, sorting=self.sorting + new)

    def limit(self, most: int) -> AggregateMethods:
        """Show only the first groups."""
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise ParameterError(f"A limit is a whole number, and {most!r} was given.")
        return replace(self, most=most)

    def ask(self, **price: Any) -> Any:
        """Have the question answered by the session it began with.

        `price` is epsilon=, rho=, delta= or accuracy=, and blocks=, as for ``session.sql``.
        """
        return self._session().ask(self, **price)

    def estimate(self, **price: Any) -> Any:
        """Tell what the question would cost and how far off it would be; nothing is spent."""
        return self._session().estimate(self, **price)

    def _session(self) -> Any:
        if self.asker is None:
            raise ParameterError("Begin with session.table(…), so that there is one to ask.")
        return self.asker

    @property
    def question(self) -> Question:
        """The question, checked."""
        given = GivenFacts.read({}, dict(self.values))
        keys = [key(name, term, self.scope, given) for name, term in self.keys]
        check_groups(keys)
        register = MeasureRegister(self.scope, given, [key.name for key in keys])
        names = _GroupNames(self.scope, keys, register)
        outputs = [Output(name, term) for name, term in names.known.items()]
        for wanted, what in self.measures:
            names.wanted = wanted
            term = what.read(names)
            shown = term.name if wanted is None and isinstance(term, Column) else wanted
            taken = [output.name for output in outputs]
            outputs.append(Output(fresh(shown or f"column_{len(outputs) + 1}", taken), term))
        if not register.found:
            raise refuse("no_measure")
        names.known |= {output.name: output.expression for output in outputs}
        kept = None if self.kept is None else condition(self.kept.read(names), "having")
        order = tuple((what.read(names), descending) for what, descending in self.sorting)
        check_given(given)
        measures = tuple(register.found.values())
        return pruned(
            Question(
                self.scope.relation, measures, tuple(keys), tuple(outputs), kept, order, self.most
            )
        )


def _pair(low: Any, high: Any) -> tuple[Any, Any] | None:
    if low is None and high is None:
        return None
    return low, high


def _measure(name: str, what: object) -> Term:
    if not isinstance(what, terms.Term):
        raise ParameterError(
            f"The measure {name!r} is made of aggregates such as count() or sum_('column'), and "
            f"a value of type {type(what).__name__} was given."
        )
    return what
