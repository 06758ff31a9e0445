"""Expressions of the language as SQL that is total on every engine.

Contract: :class:`Scope` turns expressions over the columns of one relation into SQL whose value is
that of :func:`sfumato.ask.language.evaluation.evaluate`, bit for bit, on every engine, and which
cannot raise for any row. Arithmetic is in doubles; whole numbers that are chosen and not computed
are compared and grouped by as BIGINT, and every column of whole numbers is one. What an expression
repeats (a clamp repeats its operand) is first given a name in a sub-query below, so that SQL grows
with the question and not exponentially, and so that a term shared by several totals is computed
once.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.ask.language.analysis import SMALLEST_LEAF, kind_of, reach_of
from sfumato.ask.language.days import STARTS
from sfumato.ask.language.exactness import COMPUTED, exact, exactly
from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    IsNull,
    Like,
    Logic,
    Not,
    OneOf,
)
from sfumato.ask.plan.dialects import Ceiling, Fenced, Floor, NaN, PeriodStart, Weekday
from sfumato.ask.plan.forms import (
    BIGINT,
    DOUBLE,
    SQL,
    again,
    aliased,
    all_of,
    any_of,
    big,
    binary,
    case,
    cast,
    clamped,
    column,
    column_names,
    constant,
    derived,
    double,
    is_null,
    minus,
    negated,
    over,
    plus,
    select,
    text,
    whole,
)
from sfumato.ask.plan.nodes import nodes_of
from sfumato.ask.plan.wholes import COMPARISONS, TURNED, among, compared_with, whole_or_null
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from sfumato.ask.language.language import Bounds, Kind
    from sfumato.ask.language.request import Grid

_CAPITALS, _SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_SHALLOW = 2  # layers below which expressions may be written out where they are used
_SHORT = 100  # nodes of an expression that may be repeated
_ARITHMETIC = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


class Names:
    """Gives every column and sub-query of a plan a name of its own."""

    def __init__(self) -> None:
        self._given = 0

    def fresh(self, stem: str) -> str:
        """Return a new name that still tells where it comes from."""
        self._given += 1
        plain = re.sub(r"[^a-z0-9]+", "_", stem.lower())[:24].strip("_")
        return f"r{self._given}_{plain or 'column'}"

    def some(self, outputs: Sequence[SQL]) -> Sequence[SQL]:
        """Give outputs, or one constant where there are none: a SELECT needs something."""
        return outputs or [aliased(whole(1), self.fresh("one"))]


class Scope:
    """SQL over the columns of a sub-query, and what had to be named below it."""

    def __init__(self, source: exp.Select, columns: Mapping[str, str], names: Names) -> None:
        self._source = source
        self._columns = columns
        self._names = names
        self._layers: list[list[SQL]] = []
        self._depth: dict[str, int] = {}
        self._known: dict[Hashable, str] = {}

    # -- what stands below ----------------------------------------------------------------

    def keep(self, what: Hashable, sql: SQL, stem: str) -> exp.Column:
        """Give an expression a name below, once for everything that equals ``what``."""
        if what not in self._known:
            depth = max([self._depth.get(name, 0) for name in column_names(sql)], default=0)
            name = self._names.fresh(stem)
            if depth == len(self._layers):
                self._layers.append([])
            self._layers[depth].append(aliased(sql, name))
            self._depth[name] = depth + 1
            self._known[what] = name
        return column(self._known[what])

    def value(self, term: Expression) -> exp.Column:
        """Give an expression as a column, so that it can be repeated."""
        sql = self.sql(term)
        return sql if isinstance(sql, exp.Column) else self.keep(("value", term), sql, "term")

    def _repeatable(self, term: Expression) -> SQL:
        """Give an expression to be written twice: as it is while it is short, else as a column.

        Every column of its own is a layer below, and Spark resolves no more than 100 of them.
        """
        sql = self.sql(term)
        short = len(nodes_of(sql)) <= _SHORT
        return sql if short else self.keep(("value", term), sql, "term")

    def select(self, outputs: Sequence[SQL], where: SQL | None = None) -> exp.Select:
        """Select outputs from the relation and everything that was named below, once."""
        source = derived(self._source, self._names.fresh("rows"))
        for depth, layer in enumerate(self._layers):
            query, name = select([exp.Star(), *layer], source), self._names.fresh("rows")
            deep = depth >= _SHALLOW
            source = Fenced(this=query, alias=name) if deep else derived(query, name)
        return select(self._names.some(outputs), source, where)

    def raw(self, name: str) -> exp.Column:
        """Give a column as it is stored."""
        if name not in self._columns:
            raise SchemaError(f"The relation of the question has no column '{name}'.")
        return column(self._columns[name])

    # -- numbers --------------------------------------------------------------------------

    def _tamed(self, leaf: Column, bounds: Bounds | None = None) -> SQL:
        """Give a numeric column as the analysis states, clamped to bounds that it can reach."""
        value = self.raw(leaf.name)
        if leaf.kind == "integer":
            number = cast(value, DOUBLE)
            if bounds is None:
                return number
            return self.keep(
                ("leaf", leaf, bounds), case(clamped(number, bounds), number), leaf.name
            )
        if bounds is None:
            reach = reach_of(leaf)
            bounds = -reach, reach
        tiny = binary(exp.LT, exp.Abs(this=again(value)), double(SMALLEST_LEAF))
        nothing = cast(exp.Null(), DOUBLE)
        branches = [(NaN(this=again(value)), nothing), *clamped(value, bounds), (tiny, double(0))]
        return self.keep(("leaf", leaf, bounds), case(branches, value), leaf.name)

    def within(self, term: Expression, bounds: Bounds) -> exp.Column:
        """Clamp a term; a plain column is clamped once, not twice.

        Clamping to wider and then to narrower bounds is clamping to the narrower ones, unless a
        bound is so small that a value is flushed to 0 between the two.
        """
        if isinstance(term, Column):
            reach = reach_of(term)
            apart = all(not end or abs(end) >= SMALLEST_LEAF for end in bounds)
            if apart and -reach <= bounds[0] <= bounds[1] <= reach:
                tamed = self._tamed(term, bounds)
                assert isinstance(tamed, exp.Column)
                return tamed
        value = self.value(term)
        return self.keep(("within", term, bounds), case(clamped(value, bounds), value), "clamped")

    def grid_number(self, term: Expression, grid: Grid) -> exp.Column:
        """Give the number of a term's grid point; NULL where the term has no value."""
        number: SQL = self.within(term, grid.bounds)
        if grid.centre:
            number = minus(number, double(grid.centre))
        if grid.step != 1:
            number = over(number, double(grid.step))
        rounded = Floor(this=plus(number, double(0.5)))
        return self.keep(("grid", term, grid), cast(rounded, BIGINT), "number")

    def whole(self, term: Expression) -> exp.Column:
        """Give a whole number as a BIGINT: as it is, or clamped so that the cast cannot fail."""
        if exact(term):
            chosen = self._chosen(term)
            return chosen if isinstance(chosen, exp.Column) else self.keep(
                ("whole", term), chosen, "whole")  # fmt: skip
        value = self.within(term, COMPUTED)
        return self.keep(("whole", term), cast(Floor(this=value), BIGINT), "whole")

    def shown(self, term: Expression) -> SQL:
        """Give an expression as the column of a relation."""
        return self.whole(term) if kind_of(term) == "integer" else self.sql(term)

    def identity(self, term: Expression, kind: Kind | None = None) -> SQL:
        """Give a value that is grouped by or joined on: whole numbers as BIGINT, and −0 as 0.

        ``kind`` is that of the column joined to: what is no BIGINT equals none.
        """
        own = kind_of(term)
        if own not in {"integer", "real"}:
            return self.sql(term)
        if (kind or own) == "integer":
            always = kind is None or exact(term)
            return self.whole(term) if always else whole_or_null(self.value(term))
        value = self.value(term)
        return case([(binary(exp.EQ, value, double(0)), double(0))], value.copy())

    def _chosen(self, term: Expression) -> SQL:
        """Give a whole number that is chosen and not computed."""
        match term:
            case Column(name, _, _):
                return self.raw(name)
            case Constant(value, _):
                return cast(exp.Null(), BIGINT) if value is None else big(int(value))  # type: ignore[arg-type]
            case Case(branches, default):
                chosen = [(self.sql(when), self._chosen(result)) for when, result in branches]
                return case(chosen, self._chosen(default))
            case Apply("coalesce", arguments):
                values = [self._chosen(argument) for argument in arguments]
                return exp.Coalesce(this=values[0], expressions=values[1:])
            case Apply(function, arguments):
                wholes = [
                    self._chosen(argument)
                    if isinstance(argument, Constant)
                    else self.whole(argument)
                    for argument in arguments
                ]
                return self._extreme(function, arguments, wholes)
        raise TypeError(f"{type(term).__name__} is not a whole number that is chosen.")

    # -- expressions ----------------------------------------------------------------------

    def sql(self, expression: Expression) -> SQL:
        """Give the SQL of an expression."""
        match expression:
            case Column(name, kind, _):
                numeric = kind in {"integer", "real"}
                return self._tamed(expression) if numeric else self.raw(name)
            case Constant(value, kind):
                return constant(value, kind)
            case Arithmetic("/", left, right):
                divisor = exp.Nullif(this=self.sql(right), expression=double(0))
                return over(self.sql(left), divisor)
            case Arithmetic(operator, left, right):
                return binary(_ARITHMETIC[operator], self.sql(left), self.sql(right))
            case Apply(function, arguments):
                return self._applied(function, arguments)
            case Case(branches, default):
                chosen = [(self.sql(condition), self.sql(result)) for condition, result in branches]
                return case(chosen, self.sql(default))
        return self._condition(expression)

    def _condition(self, expression: Expression) -> SQL:
        match expression:
            case Compare(operator, left, right) if exactly(left, right):
                return self._compared(operator, left, right)
            case Compare(operator, left, right):
                return binary(COMPARISONS[operator], self.sql(left), self.sql(right))
            case Logic("and", terms):
                return all_of([self.sql(term) for term in terms])
            case Logic(_, terms):
                return any_of([self.sql(term) for term in terms])
            case Not(term):
                return negated(self.sql(term))
            case IsNull(term):
                return is_null(self._chosen(term) if exact(term) else self.sql(term))
            case OneOf(term, values) if exact(term):
                return among(self.whole(term), [Fraction(value.value) for value in values])  # type: ignore[arg-type]
            case OneOf(term, values):
                literals = [constant(value.value, value.kind) for value in values]
                return exp.In(this=self.value(term), expressions=literals)
            case Like(term, pattern):
                return binary(exp.Like, self.sql(term), text(pattern))
        raise TypeError(f"{type(expression).__name__} is not an expression of the language.")

    def _compared(self, operator: str, left: Expression, right: Expression) -> SQL:
        """Compare whole numbers, one of them perhaps with a literal that is none."""
        if isinstance(left, Constant) and not isinstance(right, Constant):
            operator, left, right = TURNED.get(operator, operator), right, left
        if isinstance(right, Constant):
            return compared_with(operator, self._chosen(left), Fraction(right.value))  # type: ignore[arg-type]
        return binary(COMPARISONS[operator], self._chosen(left), self._chosen(right))

    def _applied(self, function: str, arguments: Sequence[Expression]) -> SQL:
        if function in {"least", "greatest"}:
            return self._extreme(function, arguments, [*map(self._repeatable, arguments)])
        if function == "substring":
            return self._substring(arguments)
        if function in {"floor", "ceil", "round"}:
            return self._rounded(function, arguments[0])
        values = [self.sql(argument) for argument in arguments]
        match function:
            case "abs":
                return exp.Abs(this=values[0])
            case "coalesce":
                return exp.Coalesce(this=values[0], expressions=values[1:])
            case "lower" | "upper":
                letters = (_CAPITALS, _SMALL) if function == "lower" else (_SMALL, _CAPITALS)
                replaced = [text(some) for some in letters]
                return exp.Anonymous(this="TRANSLATE", expressions=[values[0], *replaced])
            case "length":
                return cast(exp.Length(this=values[0]), DOUBLE)
            case "weekday":
                return cast(Weekday(this=values[0]), DOUBLE)
        if function in STARTS.values():
            return PeriodStart(this=values[0], period=function.removesuffix("_start"))
        part = exp.Extract(this=exp.Var(this=function.upper()), expression=values[0])
        return cast(part, DOUBLE)

    def _rounded(self, function: str, argument: Expression) -> SQL:
        """Round something short, since an engine may have to repeat it."""
        value = self._repeatable(argument)
        if function == "round":
            value = plus(value, double(0.5))
        return (Ceiling if function == "ceil" else Floor)(this=value)

    def _extreme(
        self, function: str, arguments: Sequence[Expression], values: Sequence[SQL]
    ) -> SQL:
        """Give the least or greatest argument, and NULL when one is: engines pass over NULL."""
        doubtful = [
            is_null(value.copy())
            for value, argument in zip(values, arguments, strict=True)
            if not isinstance(argument, Constant) or argument.value is None
        ]
        present = negated(any_of(doubtful))
        node = exp.Least if function == "least" else exp.Greatest
        return case([(present, node(this=values[0], expressions=values[1:]))])

    def _substring(self, arguments: Sequence[Expression]) -> SQL:
        """Cut a text; the part before its first character is empty, as in the standard."""
        cut, start, length = arguments
        assert isinstance(start, Constant)
        assert isinstance(length, Constant)
        begin = int(start.value)  # type: ignore[arg-type]
        end = begin + int(length.value)  # type: ignore[arg-type]
        first = max(begin, 1)
        return exp.Substring(
            this=self.sql(cut), start=whole(first), length=whole(max(end - first, 0))
        )
