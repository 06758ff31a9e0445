"""Terms of the fluent API: columns, arithmetic, conditions and aggregates, as Python values.

Contract: a :class:`Term` is a recipe that is read against the names of a table when it is used. It
gives the same expressions as SQL, through the same checks (:mod:`sfumato.ask.language.build`).
``==`` and the other comparisons make conditions; conditions are joined by ``&``, ``|`` and ``~``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sfumato.ask.language import build
from sfumato.ask.language.casts import converted
from sfumato.ask.language.days import PARTS, STARTS
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import MOST_DEPTH
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.ask.fluent.aggregates import Aggregation
    from sfumato.ask.language.casts import Target
    from sfumato.ask.language.language import Expression


class Names(Protocol):
    """What a term is read against."""

    def column(self, name: str) -> Expression:
        """Resolve a column."""

    def aggregate(self, asked: Aggregation) -> Expression:
        """Resolve an aggregate."""


Recipe: TypeAlias = Callable[[Names], "Expression"]


class Term:
    """A value per row, or per group where aggregates are in it."""

    __hash__ = None  # type: ignore[assignment]  # as == makes a condition

    levels = 1

    def __init__(self, recipe: Recipe, *parts: Term) -> None:
        self._recipe = recipe
        self.levels = 1 + max((part.levels for part in parts), default=0)
        if self.levels > MOST_DEPTH:
            raise refuse("too_deep", most=MOST_DEPTH)

    def read(self, names: Names) -> Expression:
        """Read the term against the names of a table."""
        return self._recipe(names)

    def __bool__(self) -> bool:
        raise ParameterError("Conditions are joined by &, | and ~, not by and, or and not.")

    def __add__(self, other: object) -> Term:
        return _arithmetic("+", self, other)

    def __radd__(self, other: object) -> Term:
        return _arithmetic("+", other, self)

    def __sub__(self, other: object) -> Term:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: object) -> Term:
        return _arithmetic("-", other, self)

    def __mul__(self, other: object) -> Term:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: object) -> Term:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: object) -> Term:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: object) -> Term:
        return _arithmetic("/", other, self)

    def __neg__(self) -> Term:
        return Term(lambda names: build.negative(self.read(names)), self)

    def __lt__(self, other: object) -> Term:
        return _compared("<", self, other)

    def __le__(self, other: object) -> Term:
        return _compared("<=", self, other)

    def __gt__(self, other: object) -> Term:
        return _compared(">", self, other)

    def __ge__(self, other: object) -> Term:
        return _compared(">=", self, other)

    def __eq__(self, other: object) -> Term:  # type: ignore[override]  # a condition
        return _compared("=", self, other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return _compared("<>", self, other)

    def __and__(self, other: object) -> Term:
        return _joined("and", self, other)

    def __or__(self, other: object) -> Term:
        return _joined("or", self, other)

    def __invert__(self) -> Term:
        return Term(lambda names: build.negation(self.read(names)), self)

    def __abs__(self) -> Term:
        return self.apply("abs")

    def apply(self, function: str, *more: object) -> Term:
        """Apply a function of the language by its name: abs, floor, lower, year, …."""
        return applied(function, self, *more)

    def is_null(self) -> Term:
        """Tell whether there is no value."""
        return Term(lambda names: build.missing(self.read(names)), self)

    def is_in(self, values: Iterable[object]) -> Term:
        """Tell whether the value is among literals."""
        known = [build.literal(value) for value in values]
        return Term(lambda names: build.one_of(self.read(names), known), self)

    def between(self, low: object, high: object) -> Term:
        """Tell whether the value lies in an interval, ends included."""
        return (self >= low) & (self <= high)

    def like(self, pattern: str) -> Term:
        """Match a text with a pattern of ``%`` and ``_``."""
        return Term(lambda names: build.like(self.read(names), build.literal(pattern)), self)

    def clamp(self, low: object, high: object) -> Term:
        """Clamp a number to an interval."""
        return least(greatest(self, low), high)

    def floor(self) -> Term:
        """Round down."""
        return self.apply("floor")

    def cast(self, kind: Target) -> Term:
        """Convert to another kind, where that cannot fail."""
        return Term(lambda names: converted(self.read(names), kind), self)


def term(value: object) -> Term:
    """Make a term of a term or of a literal."""
    if isinstance(value, Term):
        return value
    constant = build.literal(value)
    return Term(lambda _: constant)


def col(name: str) -> Term:
    """Name a column; ``"table.column"`` after a join.

    >>> import sfumato as sf
    >>> adults = sf.col("age") >= 18
    """
    if not isinstance(name, str):
        raise ParameterError(f"A column is named by a text, and {name!r} was given.")
    return Term(lambda names: names.column(name))


def named(value: object) -> Term:
    """Take a term, or a text as the name of a column."""
    return col(value) if isinstance(value, str) else term(value)


def applied(function: str, *arguments: object) -> Term:
    """Apply a function of the language."""
    known = {"abs", "floor", "ceil", "round", "least", "greatest", "coalesce", "lower", "upper",
             "substring", "length", *PARTS, *STARTS.values()}  # fmt: skip
    if function not in known:
        raise ParameterError(f"{function!r} is no function of the language: {sorted(known)} are.")
    terms = [term(argument) for argument in arguments]
    return Term(
        lambda names: build.apply(function, *(argument.read(names) for argument in terms)), *terms
    )


def least(*terms: object) -> Term:
    """Give the smallest of several numbers."""
    return applied("least", *terms)


def greatest(*terms: object) -> Term:
    """Give the largest of several numbers."""
    return applied("greatest", *terms)


def coalesce(*terms: object) -> Term:
    """Give the first value that is not missing."""
    return applied("coalesce", *terms)


def case(*branches: tuple[Term, object], default: object = None) -> Term:
    """Choose the value of the first branch whose condition is true."""
    pairs = [(term(test), term(result)) for test, result in branches]
    otherwise = term(default)
    return Term(
        lambda names: build.case(
            [(test.read(names), result.read(names)) for test, result in pairs],
            otherwise.read(names),
        ),
        otherwise,
        *(part for pair in pairs for part in pair),
    )


def _arithmetic(operator: str, left: object, right: object) -> Term:
    first, second = term(left), term(right)
    return Term(
        lambda names: build.arithmetic(operator, first.read(names), second.read(names)),
        first,
        second,
    )


def _compared(operator: str, left: object, right: object) -> Term:
    first, second = term(left), term(right)
    return Term(
        lambda names: build.compare(operator, first.read(names), second.read(names)), first, second
    )


def _joined(word: str, left: object, right: object) -> Term:
    first, second = term(left), term(right)
    return Term(
        lambda names: build.logic(word, [first.read(names), second.read(names)]), first, second
    )
