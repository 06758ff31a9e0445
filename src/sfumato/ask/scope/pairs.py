"""Covariance and correlation of two terms, made of counts and sums the language has already.

Contract: :func:`pair_of` registers the measures that COVAR_POP, COVAR_SAMP or CORR are made of and
gives the expression over their noisy values, which is post-processing. So the sensitivities, the
price and the intervals are those of the sums, and several of them about the same columns share
what they have in common: 4 numbers for a covariance, 6 for a correlation.

Let u = clamp(x) − c and v = clamp(y) − d with c and d in the middle of the bounds, over the rows in
which both have a value, as SQL demands. Then cov = Σuv/n − (Σu/n)(Σv/n), var(x) = Σu²/n − (Σu/n)²,
and |u| is at most half the width w of its bounds, |uv| at most a quarter of w·w′: about the middle
a person moves the sums least.

What the truth cannot be is cut off: |cov| ≤ w·w′/4 (Popoviciu and Cauchy–Schwarz), twice that when
divided by n − 1 ≥ n/2, and |corr| ≤ 1. There is no value where the noisy n is below 1, or below 2
for a sample, nor a correlation where a noisy variance is not positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import double, interval_of, kind_of
from sfumato.ask.language.build import (
    arithmetic,
    case,
    clamp,
    compare,
    literal,
    logic,
    missing,
    negation,
    number,
)
from sfumato.ask.language.language import Apply, Column, Constant, Expression
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.assembly import AskedAggregate, narrowed
from sfumato.ask.scope.scopes import checked

if TYPE_CHECKING:
    from sfumato.ask.language.language import Bounds
    from sfumato.ask.scope.measure_register import MeasureRegister

_NOTHING = Constant(None, "real")


@dataclass(frozen=True)
class AskedPair:
    """COVAR_POP, COVAR_SAMP or CORR of two terms, over the rows where a condition is true."""

    spelling: str
    left: Expression
    right: Expression
    where: Expression | None = None


def pair_of(asked: AskedPair, wanted: str | None, register: MeasureRegister) -> Expression:
    """Register what a covariance or correlation is made of, and write it in terms of that."""
    sums = _Sums(asked, wanted, register)
    count, covariance = sums.count, sums.covariance()
    if asked.spelling == "CORR":
        spreads = sums.spread(sums.left, "x"), sums.spread(sums.right, "y")
        root = Apply("sqrt", (arithmetic("*", *spreads),))
        positive = [compare(">", spread, literal(0)) for spread in spreads]
        found = clamp(arithmetic("/", covariance, root), literal(-1), literal(1))
        enough = compare(">=", count, literal(2))
        return case([(logic("and", [enough, *positive]), found)], _NOTHING)
    most, least = sums.most, 1
    if asked.spelling == "COVAR_SAMP":
        rest = arithmetic("-", count, literal(1))
        covariance = arithmetic("/", arithmetic("*", covariance, count), rest)
        most, least = 2 * most, 2
    found = clamp(covariance, literal(-most), literal(most))
    return case([(compare(">=", count, literal(least)), found)], _NOTHING)


class _Sums:
    """The noisy sums about two terms, over the rows in which both have a value."""

    def __init__(self, asked: AskedPair, wanted: str | None, register: MeasureRegister) -> None:
        self._register = register
        self._label = (wanted or asked.spelling.lower())[:40]
        tight = [_bounded(term, asked.spelling, register) for term in (asked.left, asked.right)]
        self.left, self.right = (_centred(term, bounds) for term, bounds in tight)
        present = [negation(missing(term)) for term, _ in tight]
        self._where = logic("and", [*([] if asked.where is None else [asked.where]), *present])
        widths = [high - low for _, (low, high) in tight]
        self.most = widths[0] * widths[1] / 4
        self.count = self._number("n", "count", None)

    def covariance(self) -> Expression:
        product = self._mean("xy", arithmetic("*", self.left, self.right))
        means = self._mean("x", self.left), self._mean("y", self.right)
        return arithmetic("-", product, arithmetic("*", *means))

    def spread(self, term: Expression, name: str) -> Expression:
        squares, mean = self._mean(2 * name, arithmetic("*", term, term)), self._mean(name, term)
        return arithmetic("-", squares, arithmetic("*", mean, mean))

    def _mean(self, name: str, term: Expression) -> Expression:
        return arithmetic("/", self._number(name, "sum", term), self.count)

    def _number(self, name: str, aggregate: str, term: Expression | None) -> Column:
        asked = AskedAggregate(
            "sum" if aggregate == "sum" else "count",
            term,
            self._where,
            spelling=aggregate.upper(),
        )
        return self._register(asked, f"{self._label}_{name}", lambda: asked.spelling)


def _bounded(
    term: Expression, spelling: str, register: MeasureRegister
) -> tuple[Expression, Bounds]:
    """Put the bounds that the question gives on a term, and find those that it has."""
    tight = narrowed(number(term, spelling), register.given, register.scope)
    bounds = interval_of(checked(tight))
    if bounds is None or bounds[0] >= bounds[1]:
        raise refuse("pair_bounds", what=spelling)
    return tight, bounds


def _centred(term: Expression, bounds: Bounds) -> Expression:
    """Clamp a term and take the middle of its bounds away; whole numbers stay whole."""
    low, high = bounds
    middle = (low + high) / 2
    whole = kind_of(term) == "integer"
    middle = Fraction(math.floor(middle)) if whole else double(middle)
    ends = (literal(int(end) if whole else end) for end in bounds)
    return arithmetic("-", clamp(term, *ends), literal(int(middle) if whole else middle))
