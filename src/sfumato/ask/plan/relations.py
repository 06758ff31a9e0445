"""Relations of the language as sub-queries, each row with its person.

Contract: :meth:`Relations.rows` gives a sub-query whose rows for one person depend on that person's
rows and on public tables only, and that carries her id; rows without one are left out where a
table is scanned. What the guarantee rests on is checked here again, against the facts the owner
declared, and not taken from the question: which tables are private, who the person is, that nothing
multiplies rows where the unit is the row. How many rows of a public table agree was counted when it
was opened, and rows may have been added since: the statement itself joins no more than were found.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.ask.language.analysis import LARGEST_PLAIN, kind_of
from sfumato.ask.language.language import (
    Column,
    Filter,
    JoinPerson,
    JoinPublic,
    PerPerson,
    PersonAggregate,
    Project,
    Relation,
    Scan,
    TableFacts,
)
from sfumato.ask.language.multiplication import (
    DRAWN,
    MOST_JOINED,
    MOST_REPEATED,
    kinds,
    multiplied,
    public_repetition,
    single,
)
from sfumato.ask.plan.choice import sql_drawn
from sfumato.ask.plan.dialects import Bytewise, Floor, StoredTable
from sfumato.ask.plan.expressions import Names, Scope
from sfumato.ask.plan.forms import (
    BIGINT,
    DOUBLE,
    SQL,
    aliased,
    all_of,
    binary,
    case,
    cast,
    column,
    constant,
    derived,
    double,
    is_null,
    minus,
    negated,
    over,
    plus,
    select,
    times,
    whole,
    window,
)
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.language.language import Bounds, Expression, Kind

PERSON_KINDS = ("integer", "text", "date")
_FIRST_DAY, _LAST_DAY = dt.date(1, 1, 1), dt.date(9999, 12, 31)
_REACH = 60  # a person's sum is of whole numbers below 2⁶⁰, in two limbs
_LIMB = 2.0**30


@dataclass(frozen=True)
class Rows:
    """A sub-query, the SQL name of its person, and of each column of the language."""

    select: exp.Select
    person: str | None
    columns: Mapping[str, str]
    person_kind: Kind | None = None


def step_for(bounds: Bounds) -> Fraction:
    """Give the grid on which a person's values are summed: 2⁶⁰ of its steps reach every value."""
    reach = max(abs(float(end)) for end in bounds)
    return Fraction(2) ** (math.frexp(reach)[1] - _REACH) if reach else Fraction(1)


class Relations:
    """Builds the sub-queries of one plan."""

    def __init__(
        self,
        facts: Mapping[str, TableFacts],
        names: Names,
        *,
        by_person: bool,
        salt: bytes = b"",
    ) -> None:
        self._facts = facts
        self._names = names
        self._by_person = by_person
        self._salt = salt

    def scope(self, rows: Rows) -> Scope:
        """Open a sub-query for expressions."""
        return Scope(rows.select, rows.columns, self._names)

    def rows(self, relation: Relation) -> Rows:
        """Build the sub-query of a relation."""
        match relation:
            case Scan(table, columns):
                return self._scan(self._private(table), columns)
            case Filter(source, condition):
                return self._filter(self.rows(source), condition)
            case Project(source, outputs):
                return self._project(self.rows(source), outputs)
            case PerPerson():
                return self._per_person(self.rows(relation.source), relation)
            case JoinPublic():
                return self._join_public(self.rows(relation.source), relation)
            case JoinPerson():
                return self._join_person(relation)
        raise TypeError(f"{type(relation).__name__} is not a relation of the language.")

    # -- tables ---------------------------------------------------------------------------

    def _private(self, table: str) -> TableFacts:
        facts = self._facts.get(table)
        if facts is None or not facts.private:
            raise SchemaError(f"'{table}' is no private table of this session.")
        if self._by_person and facts.person is None:
            raise SchemaError(f"The table '{table}' names no person, so people cannot be bounded.")
        if not self._by_person and facts.person is not None:
            raise SchemaError(f"The table '{table}' names a person, so bounding rows hides nobody.")
        return facts

    def _scan(self, facts: TableFacts, columns: tuple[Column, ...]) -> Rows:
        known = {stored.name: stored.kind for stored in facts.columns}
        outputs, given = [], {}
        for wanted in columns:
            if known.get(wanted.name) != wanted.kind:
                raise SchemaError(
                    f"The table '{facts.name}' has no {wanted.kind} column '{wanted.name}'."
                )
            given[wanted.name] = self._names.fresh(wanted.name)
            outputs.append(aliased(_stored(wanted.name, wanted.kind), given[wanted.name]))
        table = StoredTable(this=facts.name)
        if not self._by_person or facts.person is None:
            return Rows(select(self._names.some(outputs), table), None, given)
        kind = known.get(facts.person)
        if kind not in PERSON_KINDS:
            raise SchemaError(
                f"The person '{facts.person}' of the table '{facts.name}' must be a whole number, "
                f"a text or a date, and is {kind or 'missing'}."
            )
        person = self._names.fresh("person")
        identity = column(facts.person) if kind == "integer" else _stored(facts.person, kind)
        present = negated(is_null(identity.copy()))
        query = select([aliased(identity, person), *outputs], table, present)
        return Rows(query, person, given, kind)

    def public(self, facts: TableFacts) -> Rows:
        """Build the sub-query of a public table, which has no person."""
        return self._scan(replace(facts, person=None), facts.columns)

    # -- one row stays one row ------------------------------------------------------------

    def _filter(self, rows: Rows, condition: Expression) -> Rows:
        scope = self.scope(rows)
        where = scope.sql(condition)
        return Rows(scope.select(_all(rows), where), rows.person, rows.columns, rows.person_kind)

    def _project(self, rows: Rows, outputs: tuple[tuple[str, Expression], ...]) -> Rows:
        scope = self.scope(rows)
        given = {name: self._names.fresh(name) for name, _ in outputs}
        sql = [aliased(scope.shown(term), given[name]) for name, term in outputs]
        return Rows(scope.select([*_person(rows), *sql]), rows.person, given, rows.person_kind)

    # -- numbers about a person -----------------------------------------------------------

    def _per_person(self, rows: Rows, relation: PerPerson) -> Rows:
        if rows.person is None:
            raise ParameterError(
                "The unit is the row, so rows of a person cannot be put together; declare the "
                "column that names the person."
            )
        scope = self.scope(rows)
        given = {name: self._names.fresh(name) for name, _ in (*relation.keys, *relation.named)}
        keys = [
            scope.keep(("key", name), scope.identity(term), name) for name, term in relation.keys
        ]
        outputs = [
            aliased(key.copy(), given[name])
            for key, (name, _) in zip(keys, relation.keys, strict=True)
        ]
        for name, aggregate in relation.named:
            outputs.append(aliased(self._person_number(scope, aggregate), given[name]))
        query = scope.select([*_person(rows), *outputs])
        query = query.group_by(column(rows.person), *keys, copy=False)
        return Rows(query, rows.person, given, rows.person_kind)

    def _person_number(self, scope: Scope, aggregate: PersonAggregate) -> SQL:
        term = aggregate.term
        if term is None:
            return cast(exp.Count(this=exp.Star()), BIGINT)
        if aggregate.function in {"sum", "avg"}:
            return self._person_sum(scope, aggregate.function, term, aggregate.bounds)
        whole_number = kind_of(term) == "integer"
        value = scope.whole(term) if whole_number else scope.value(term)
        if aggregate.function == "count":
            return cast(exp.Count(this=value), BIGINT)
        if kind_of(term) == "boolean":
            return _extreme_truth(aggregate.function, value)
        return (exp.Min if aggregate.function == "min" else exp.Max)(this=value)

    def _person_sum(
        self, scope: Scope, function: str, term: Expression, bounds: Bounds | None
    ) -> SQL:
        """Sum whole numbers in two limbs, so that neither order nor engine changes the double."""
        bounds = bounds or (-LARGEST_PLAIN, LARGEST_PLAIN)
        step, what = step_for(bounds), (term, bounds)
        value = scope.within(term, bounds)
        rounded = Floor(this=plus(over(value, double(step)), double(0.5)))
        scaled = scope.keep(("scaled", what), rounded, "scaled")
        above = Floor(this=over(scaled.copy(), double(_LIMB)))
        high = scope.keep(("high", what), above, "high")
        low = scope.keep(("low", what), minus(scaled, times(high.copy(), double(_LIMB))), "low")
        total = times(plus(times(_limb(high), double(_LIMB)), _limb(low)), double(step))
        if function == "sum":
            return total
        present = cast(exp.Count(this=value.copy()), DOUBLE)
        return over(total, exp.Nullif(this=present, expression=double(0)))

    # -- joins ----------------------------------------------------------------------------

    def _join_public(self, rows: Rows, relation: JoinPublic) -> Rows:
        facts = self._facts.get(relation.table)
        if facts is None or facts.private:
            raise SchemaError(f"'{relation.table}' is no public table of this session.")
        several = public_repetition(relation, self._facts)
        if not self._by_person and several != 1:
            raise ParameterError(
                f"The unit is the row, and the columns joined on do not name one row of "
                f"'{relation.table}', so one row would become several; declare them as unique."
            )
        if several is not None and several > MOST_REPEATED:
            raise ParameterError(
                f"{several} rows of '{relation.table}' agree on the columns joined on, and at most "
                f"{MOST_REPEATED} may."
            )
        if several != 1 and multiplied(relation.source, self._facts):
            rows = self._cut(rows, relation.source)
        public = self._at_most(several or MOST_REPEATED, self.public(facts), relation)
        return self._joined(rows, public, relation, people=False)

    def _at_most(self, most: int, public: Rows, relation: JoinPublic) -> Rows:
        """Let no more public rows agree than the facts say, though rows were added meanwhile."""
        scope = self.scope(public)
        on = [
            scope.keep(("on", i), scope.identity(other), "on")
            for i, (_, other) in enumerate(relation.on)
        ]
        shown = self._order(scope, {taken.name: taken.kind for _, taken in relation.named})
        return self._first(most, public, scope, on, shown or on)

    def _join_person(self, relation: JoinPerson) -> Rows:
        left, right = self.rows(relation.left), self.rows(relation.right)
        if left.person is None or right.person is None or left.person_kind != right.person_kind:
            raise SchemaError(
                "Rows are joined by their person only where both tables name the person, and in "
                "the same kind of column."
            )
        if not single(relation.left) and not single(relation.right):
            left, right = self._cut(left, relation.left), self._cut(right, relation.right)
        return self._joined(left, right, relation, people=True)

    def _cut(self, rows: Rows, relation: Relation) -> Rows:
        """Keep a person's rows with the smallest hashes; those alike in all columns may tie."""
        assert rows.person is not None
        assert rows.person_kind is not None
        scope, known = self.scope(rows), kinds(relation)
        drawn: list[tuple[exp.Column, Kind]] = [(column(rows.person), rows.person_kind)]
        for name, kind in known.items():
            shown, grid = Column(name, kind), DRAWN.get(kind)
            cell = scope.raw(name) if grid is None else scope.grid_number(shown, grid)
            drawn.append((cell, kind if grid is None else "integer"))
        order = [sql_drawn(self._salt, drawn), *self._order(scope, known)]
        return self._first(MOST_JOINED, rows, scope, _person(rows), order)

    def _order(self, scope: Scope, known: Mapping[str, Kind]) -> list[SQL]:
        """Give columns as every engine sorts them alike."""
        return [
            scope.keep(("order", name), scope.identity(Column(name, kind)), name)
            for name, kind in known.items()
        ]

    def _first(
        self,
        most: int,
        rows: Rows,
        scope: Scope,
        partition: Sequence[SQL],
        order: Sequence[SQL],
    ) -> Rows:
        """Keep the first rows of each part."""
        place = self._names.fresh("place")
        number = aliased(window("ROW_NUMBER", partition, order), place)
        numbered = derived(scope.select([*_all(rows), number]), self._names.fresh("numbered"))
        first = binary(exp.LTE, column(place), whole(most))
        return replace(rows, select=select(_all(rows), numbered, first))

    def _joined(
        self, left: Rows, right: Rows, relation: JoinPublic | JoinPerson, *, people: bool
    ) -> Rows:
        mine, theirs = self.scope(left), self.scope(right)
        pairs = [
            (
                mine.keep(("on", i), mine.identity(ours, other.kind), "on"),
                theirs.keep(("on", i), theirs.identity(other), "on"),
            )
            for i, (ours, other) in enumerate(relation.on)
        ]
        given = {name: self._names.fresh(name) for name, _ in relation.named}
        taken = [aliased(theirs.raw(shown.name), given[name]) for name, shown in relation.named]
        first = mine.select([*_all(left), *(ours for ours, _ in pairs)])
        second = theirs.select([*_person(right), *(other for _, other in pairs), *taken])
        names = [(ours.name, other.name) for ours, other in pairs]
        if people:
            assert left.person is not None
            assert right.person is not None
            names.append((left.person, right.person))
        return self._on(left, (first, second), names, given, outer=relation.outer)

    def _on(
        self,
        left: Rows,
        sides: tuple[exp.Select, exp.Select],
        pairs: list[tuple[str, str]],
        given: Mapping[str, str],
        *,
        outer: bool,
    ) -> Rows:
        mine, theirs = self._names.fresh("left"), self._names.fresh("right")
        equal = [binary(exp.EQ, column(a, mine), column(b, theirs)) for a, b in pairs]
        outputs = [column(output.name, mine) for output in _all(left)]
        outputs += [column(name, theirs) for name in given.values()]
        query = select(self._names.some(outputs), derived(sides[0], mine)).join(
            derived(sides[1], theirs),
            on=all_of(equal),
            join_type="left" if outer else "inner",
            copy=False,
        )
        return Rows(query, left.person, {**left.columns, **given}, left.person_kind)


def _stored(name: str, kind: Kind) -> SQL:
    """Give a stored cell as every engine compares it alike."""
    if kind == "text":
        return Bytewise(this=column(name))
    if kind == "date":
        first, last = (constant(day, "date") for day in (_FIRST_DAY, _LAST_DAY))
        within = exp.Between(this=column(name), low=first, high=last)
        return case([(within, column(name))])
    return cast(column(name), BIGINT) if kind == "integer" else column(name)


def _person(rows: Rows) -> list[exp.Column]:
    return [] if rows.person is None else [column(rows.person)]


def _all(rows: Rows) -> list[exp.Column]:
    return [*_person(rows), *(column(name) for name in rows.columns.values())]


def _limb(limb: exp.Column) -> SQL:
    """Sum whole numbers below 2³¹ of fewer than 2³² rows, and round once, to a double."""
    return cast(cast(exp.Sum(this=cast(limb, BIGINT)), BIGINT), DOUBLE)


def _extreme_truth(function: str, value: exp.Column) -> SQL:
    """Give the least or greatest truth value, for engines without MIN of booleans."""
    digit = case([(value, whole(1)), (negated(value.copy()), whole(0))])
    extreme = (exp.Min if function == "min" else exp.Max)(this=digit)
    return binary(exp.EQ, extreme, whole(1))
