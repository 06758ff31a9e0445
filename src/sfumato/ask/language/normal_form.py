"""Expressions in a normal form, as text.

Contract: :func:`normal_text` writes an expression so that expressions with one text have one value
on every row. The rewritings, each an identity of three-valued logic or of doubles:

* parts without columns are computed; numbers are written exactly, 0.5 and 1/2 alike, since a whole
  number is compared with a literal and not with the double next to it;
* NOT moves inwards: ¬(a < b) is a ≥ b, ¬(a ∧ b) is ¬a ∨ ¬b (NULL stays NULL in all of them);
* AND and OR are flat, sorted and without repetition; TRUE and FALSE are left out or decide;
* a > b is b < a; the sides of =, <>, + and * are sorted; IN is a list of equalities;
* LEAST, GREATEST and COALESCE are flat; the first two sorted.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.ask.language.analysis import LARGEST_PLAIN, kind_of
from sfumato.ask.language.evaluation import evaluate
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
from sfumato.ask.language.question_tree import (
    Call,
    CanonicalTerm,
    Literal,
    Name,
    Pair,
    number,
    quoted,
)
from sfumato.ask.language.walk import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.language.language import Bounds

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TURNED = {">": "<", ">=": "<="}
TRUE, FALSE = CanonicalTerm("true", Literal("TRUE")), CanonicalTerm("false", Literal("FALSE"))
_NULL = CanonicalTerm("null", Literal("NULL"))
_DIGITS = 1100  # of a decimal; a double has 767 at most, and other numbers are fractions beyond


@dataclass(frozen=True)
class Token:
    """How a column is written, and the bounds that follow from what it stands for."""

    text: CanonicalTerm
    bounds: Bounds | None = None


Names: TypeAlias = Mapping[str, Token]


def normal_text(expression: Expression, names: Names, *, positive: bool = True) -> CanonicalTerm:
    """Write an expression, or the opposite of a condition, as text and as a tree."""
    if not isinstance(expression, (Column, Constant)) and not columns_of(expression):
        expression = _computed(expression)
    match expression:
        case Column():
            return _signed(_column(expression, names), positive)
        case Constant(value, _):
            flipped = value if positive or value is None else not value
            return value_text(flipped)
        case Not(term):
            return normal_text(term, names, positive=not positive)
        case Compare():
            return _compared(expression, names, positive)
        case Logic():
            terms = normal_terms(expression, names, positive=positive)
            return _joined("and" if (expression.operator == "and") is positive else "or", terms)
        case OneOf(term, values):
            parts = [Compare("=", term, value) for value in values]
            return normal_text(Logic("or", tuple(parts)), names, positive=positive)
    return _signed(_written(expression, names), positive)


def normal_terms(
    expression: Logic, names: Names, *, positive: bool = True
) -> frozenset[CanonicalTerm]:
    """Write the terms of AND or OR as a set, with everything of the same word in it flattened."""
    word = expression.operator
    found: set[CanonicalTerm] = set()
    for term in expression.terms:
        inner, sign = term, positive
        while isinstance(inner, Not):
            inner, sign = inner.term, not sign
        if isinstance(inner, OneOf):
            inner = Logic("or", tuple(Compare("=", inner.term, value) for value in inner.values))
        if isinstance(inner, Logic) and (inner.operator == word) is (sign is positive):
            found |= normal_terms(inner, names, positive=sign)
        else:
            found.add(normal_text(inner, names, positive=sign))
    return frozenset(found)


def conjunct_texts(condition: Expression, names: Names) -> frozenset[CanonicalTerm]:
    """Write a condition as the set of what must all be true."""
    inner, sign = condition, True
    while isinstance(inner, Not):
        inner, sign = inner.term, not sign
    if isinstance(inner, Logic) and (inner.operator == "and") is sign:
        found = normal_terms(inner, names, positive=sign)
    else:
        found = frozenset({normal_text(inner, names, positive=sign)})
    return frozenset({FALSE}) if FALSE in found else found - {TRUE}


def _joined(word: str, terms: frozenset[CanonicalTerm]) -> CanonicalTerm:
    neutral, decisive = (TRUE, FALSE) if word == "and" else (FALSE, TRUE)
    if decisive in terms:
        return decisive
    rest = sorted(terms - {neutral})
    if not rest:
        return neutral
    return rest[0] if len(rest) == 1 else call(word, rest)


def _compared(expression: Compare, names: Names, positive: bool) -> CanonicalTerm:
    sign = expression.operator if positive else _OPPOSITE[expression.operator]
    truth = _against_truth(expression, sign, names)
    if truth is not None:
        return truth
    left, right = normal_text(expression.left, names), normal_text(expression.right, names)
    if sign in _TURNED:
        sign, left, right = _TURNED[sign], right, left
    if sign in {"=", "<>"}:
        left, right = sorted((left, right))
    return _pair(sign, left, right)


def _against_truth(expression: Compare, sign: str, names: Names) -> CanonicalTerm | None:
    """Write ``b = TRUE`` as b."""
    for term, truth in ((expression.left, expression.right), (expression.right, expression.left)):
        if isinstance(truth, Constant) and isinstance(truth.value, bool) and sign in {"=", "<>"}:
            return normal_text(term, names, positive=(sign == "=") is truth.value)
    return None


def _written(expression: Expression, names: Names) -> CanonicalTerm:
    match expression:
        case Arithmetic(sign, left, right):
            texts = [normal_text(left, names), normal_text(right, names)]
            first, second = sorted(texts) if sign in "+*" else texts
            return _pair(sign, first, second)
        case Apply(function, _):
            texts = _flat(expression, names)
            texts = sorted(set(texts)) if function in {"least", "greatest"} else texts
            return call(function, texts)
        case IsNull(term):
            return call("missing", [normal_text(term, names)])
        case Like(term, pattern):
            return call("like", [normal_text(term, names), value_text(pattern)])
        case Case(branches, default):
            return _case(branches, default, names)
    raise TypeError(f"{type(expression).__name__} is not an expression of the language.")


def _case(
    branches: Sequence[tuple[Expression, Expression]], default: Expression, names: Names
) -> CanonicalTerm:
    pairs = [(normal_text(test, names), normal_text(found, names)) for test, found in branches]
    tests = [
        CanonicalTerm(f"{test} -> {found}", Pair("->", test.term, found.term))
        for test, found in pairs
    ]
    other = normal_text(default, names)
    return call("case", [*tests, CanonicalTerm(f"else {other}", Call("else", (other.term,)))])


def call(word: str, texts: Sequence[CanonicalTerm]) -> CanonicalTerm:
    """Write a word with what it is applied to."""
    return CanonicalTerm(
        f"{word}({', '.join(texts)})", Call(word, tuple(text.term for text in texts))
    )


def _pair(sign: str, left: CanonicalTerm, right: CanonicalTerm) -> CanonicalTerm:
    return CanonicalTerm(f"({left} {sign} {right})", Pair(sign, left.term, right.term))


def _flat(expression: Apply, names: Names) -> list[CanonicalTerm]:
    found: list[CanonicalTerm] = []
    for argument in expression.arguments:
        same = isinstance(argument, Apply) and argument.function == expression.function
        if same and expression.function in {"least", "greatest", "coalesce"}:
            assert isinstance(argument, Apply)
            found += _flat(argument, names)
        else:
            found.append(normal_text(argument, names))
    return found


def _signed(text: CanonicalTerm, positive: bool) -> CanonicalTerm:
    return text if positive else call("not", [text])


def _column(column: Column, names: Names) -> CanonicalTerm:
    """Write a column; bounds are told where they are not those it has by itself."""
    token = names.get(column.name)
    if token is None:
        return column_text(column)
    if column.bounds == token.bounds:
        return token.text
    return CanonicalTerm(token.text + bounds_text(column.bounds), token.text.term)


def column_text(column: Column) -> CanonicalTerm:
    """Write a stored column; its kind and bounds are public facts, which no tree repeats."""
    text = f"{json.dumps(column.name)}:{column.kind}{bounds_text(column.bounds)}"
    return CanonicalTerm(text, Name(column.name))


def bounds_text(bounds: Bounds | None) -> str:
    """Write bounds."""
    if bounds is None:
        return ""
    return f"[{value_text(bounds[0])}, {value_text(bounds[1])}]"


def value_text(value: Any) -> CanonicalTerm:
    """Write a literal; one text has one value."""
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, str):
        return CanonicalTerm(json.dumps(value), quoted(value))
    if isinstance(value, dt.date):
        day = value.isoformat()
        return CanonicalTerm(f'date("{day}")', Call("date", (quoted(day),)))
    text = _number_text(Fraction(value))
    return CanonicalTerm(text, Literal(number(text)))


def _number_text(value: Fraction) -> str:
    """Write a number exactly: short as a double where that has its value, else with all digits."""
    if abs(value) <= LARGEST_PLAIN:
        short = repr(float(value))
        if Fraction(short) == value:
            return short
    above, below = Decimal(value.numerator), Decimal(value.denominator)
    with localcontext(Context(prec=_DIGITS, traps=[Inexact])):
        try:
            return f"{above / below:f}"
        except Inexact:
            return f"{above}/{below}"


def _computed(expression: Expression) -> Expression:
    """Compute an expression of literals."""
    value = evaluate(expression, {}, noisy=True)
    if isinstance(value, float):
        value = Fraction(value)
    return Constant(value, kind_of(expression))
