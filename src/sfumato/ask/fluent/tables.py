"""Questions in Python: the same language as SQL, written as chained calls.

Contract: :func:`table` gives the :class:`Rows` of a private table; methods give new values and
change none. :attr:`Asking.question` is the same :class:`Question` that SQL gives, made by the same
scopes, joins and checks::

    rows = table(facts, "visits").where(col("age") >= 65)
    asking = rows.group_by("ward").aggregate(n=count(), total=sum_("cost", bounds=(0, 1000)))
    asking.having(col("n") > 10).order_by("n", descending=True).limit(3).question
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.fluent.aggregates import count
from sfumato.ask.fluent.questions import AggregateMethods, RowNames, asked_for
from sfumato.ask.fluent.terms import named
from sfumato.ask.language.build import clamp
from sfumato.ask.language.language import Column, Constant, Expression, PersonAggregate
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.assembly import GivenFacts, narrowed
from sfumato.ask.scope.joins import join_person, join_public, per_person, person_aggregate
from sfumato.ask.scope.scopes import Name, Scope, VisibleName, checked, scan, short, table_named
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.fluent.aggregates import Aggregation
    from sfumato.ask.fluent.terms import Term
    from sfumato.ask.language.language import TableFacts


def begin(session: Any, name: str) -> Rows:
    """Begin a question of a session; ``Asking.ask(epsilon=…)`` then answers it there."""
    return replace(table(session.desk.opened.facts, name), asker=session)


def table(facts: Mapping[str, TableFacts], name: str) -> Rows:
    """Begin with the rows of a private table."""
    found = table_named(Name(name, quoted=True), facts)
    if not found.private:
        raise refuse("public_only", name=name)
    return Rows(facts, scan(found, name), name)


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows of people: filter, compute, join, and then aggregate."""

    facts: Mapping[str, TableFacts]
    scope: Scope
    alias: str
    asker: Any = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        names = ", ".join(seen.name for seen in self.scope.seen)
        return f"<Rows of {self.alias}: {names}>"

    def _term(self, what: object) -> Expression:
        return checked(named(what).read(RowNames(self.scope)))

    def where(self, *conditions: Term) -> Rows:
        """Keep the rows for which all conditions are true."""
        scope = self.scope
        for condition in conditions:
            scope = scope.filtered(condition.read(RowNames(scope)))
        return replace(self, scope=scope)

    def with_columns(self, **terms: object) -> Rows:
        """Add columns, or replace those of the same name."""
        new = tuple(
            VisibleName(self.alias, short(name), self._term(what)) for name, what in terms.items()
        )
        kept = tuple(seen for seen in self.scope.seen if seen.name not in terms)
        return replace(self, scope=replace(self.scope, seen=kept + new))

    def select(self, *columns: str, **terms: object) -> Rows:
        """Show these columns only; the rows still belong to their people."""
        wanted: dict[str, object] = {name: name for name in columns} | terms
        seen = tuple(
            VisibleName(self.alias, short(name), self._term(what)) for name, what in wanted.items()
        )
        return replace(self, scope=replace(self.scope, seen=seen))

    def join_public(
        self, name: str, *, on: str | Sequence[str] | Mapping[str, str], outer: bool = False
    ) -> Rows:
        """Join a public table; ``on`` names columns of both, or maps ours to its."""
        found = table_named(Name(name, quoted=True), self.facts)
        if found.private:
            raise ParameterError(f"{name!r} is a private table: join it with join_person.")
        known = {column.name: column for column in found.columns}
        pairs = []
        for ours, theirs in _pairs(on).items():
            if theirs not in known:
                raise refuse("unknown_column", name=theirs, hint="")
            pairs.append((self._term(ours), known[theirs]))
        joined = join_public(self.scope, found, name, pairs, outer=outer)
        return replace(self, scope=_hidden(joined, len(self.scope.seen), _shared(on)))

    def join_person(
        self,
        other: Rows,
        *,
        on: str | Sequence[str] | Mapping[str, str] = (),
        outer: bool = False,
        alias: str = "",
    ) -> Rows:
        """Pair the rows of each person with her rows of another relation."""
        pairs = [(self._term(a), other._term(b)) for a, b in _pairs(on).items()]
        name = alias or other.alias
        seen = tuple(replace(shown, table=name) for shown in other.scope.seen)
        right = replace(other.scope, seen=seen)
        joined = join_person(self.scope, right, pairs, outer=outer)
        return replace(self, scope=_hidden(joined, len(self.scope.seen), _shared(on)))

    def per_person(self, *keys: str, **aggregates: Aggregation) -> Rows:
        """Make one row per person, or per person and key, with numbers about her rows."""
        _check_names([*keys, *aggregates, self.scope.person or ""])
        listed = [(name, self._term(name)) for name in keys]
        numbers = [(short(name), self._number(name, wanted)) for name, wanted in aggregates.items()]
        made, columns = per_person(self.scope, listed, numbers)
        seen = tuple(VisibleName(self.alias, name, column) for name, column in columns.items())
        return replace(self, scope=replace(made, seen=seen))

    def _number(self, name: str, wanted: Aggregation) -> PersonAggregate:
        asked = asked_for(wanted, RowNames(self.scope))
        function = wanted.spelling.lower() if wanted.spelling in {"MIN", "MAX"} else wanted.kind
        if function not in {"count", "sum", "avg", "min", "max"}:
            raise refuse("subquery_aggregate", what=wanted.spelling)
        term = asked.filtered()
        if term is not None and wanted.bounds is not None:
            term = _bounded(term, name, wanted.bounds)
        return person_aggregate(function, term, wanted.spelling)

    def group_by(
        self,
        *columns: str,
        keys: Mapping[str, Sequence[Any] | None] | None = None,
        **terms: object,
    ) -> AggregateMethods:
        """Group by columns or terms; ``keys`` gives the values each may have."""
        wanted: dict[str, object] = {name: name for name in columns} | terms
        _check_names([*columns, *terms])
        grouped = tuple((short(name), self._term(what)) for name, what in wanted.items())
        return AggregateMethods(self.scope, grouped, tuple((keys or {}).items()), asker=self.asker)

    def aggregate(self, **measures: object) -> AggregateMethods:
        """Ask for numbers about all rows."""
        return AggregateMethods(self.scope, asker=self.asker).aggregate(**measures)

    def count(self) -> AggregateMethods:
        """Count the rows."""
        return self.aggregate(count=count())


def _check_names(names: Sequence[str]) -> None:
    lowered = [name.lower() for name in names]
    twice = [name for name in names if lowered.count(name.lower()) > 1]
    if twice:
        raise ParameterError(
            f"The name {twice[0]!r} is given twice; names differ in more than case."
        )


def _pairs(on: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(on, str):
        return {on: on}
    return dict(on) if isinstance(on, Mapping) else {name: name for name in on}


def _shared(on: str | Sequence[str] | Mapping[str, str]) -> set[str]:
    return {ours for ours, theirs in _pairs(on).items() if ours == theirs}


def _hidden(scope: Scope, ours: int, shared: set[str]) -> Scope:
    """Let a shared name mean the left column, as its right one equals it."""
    seen = [
        replace(shown, bare=False) if position >= ours and shown.name in shared else shown
        for position, shown in enumerate(scope.seen)
    ]
    return replace(scope, seen=tuple(seen))


def _bounded(term: Expression, name: str, bounds: tuple[Any, Any]) -> Expression:
    """Clamp a term: a plain column by its bounds, another by LEAST and GREATEST."""
    given = GivenFacts.read({name: bounds}, {})
    if isinstance(term, Column):
        return narrowed(term, GivenFacts.read({term.name: bounds}, {}))
    low, high = given.bounds[name.lower()]
    return clamp(term, Constant(low, "real"), Constant(high, "real"))
