"""Aggregates in a syntax tree: which one, of what, over which rows.

Contract: :func:`read_aggregate` gives an :class:`Asked`, or None for a node that is no aggregate.
MIN and MAX are quantiles of order 0 and 1; the spelling is kept, so that answers can say so.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.ask.language import build
from sfumato.ask.language.language import Constant, Expression
from sfumato.ask.language.refusals import refuse
from sfumato.ask.scope.assembly import AskedAggregate
from sfumato.ask.scope.pairs import AskedPair
from sfumato.ask.scope.scopes import PersonName
from sfumato.ask.sql.expressions import RowReader
from sfumato.ask.sql.nodes import Node, bare, identifier, only, part, shown

if TYPE_CHECKING:
    from sfumato.ask.language.language import Aggregate
    from sfumato.ask.scope.scopes import Scope

_PLAIN: dict[type, tuple[Aggregate, str]] = {
    exp.Sum: ("sum", "SUM"), exp.Avg: ("avg", "AVG"),
    exp.Variance: ("variance", "VARIANCE"), exp.VariancePop: ("variance", "VAR_POP"),
    exp.Stddev: ("stddev", "STDDEV"), exp.StddevSamp: ("stddev", "STDDEV"),
    exp.StddevPop: ("stddev", "STDDEV_POP"),
}  # fmt: skip
_PAIRS: dict[type, str] = {
    exp.CovarPop: "COVAR_POP", exp.CovarSamp: "COVAR_SAMP", exp.Corr: "CORR",
}  # fmt: skip
_ORDERS: dict[type, tuple[Fraction, str]] = {
    exp.Min: (Fraction(0), "MIN"), exp.Max: (Fraction(1), "MAX"),
    exp.Median: (Fraction(1, 2), "MEDIAN"),
}  # fmt: skip
_QUANTILES: set[type] = {exp.Quantile, exp.PercentileCont}  # not their approximate kin
_AGGREGATES = (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.Window)


def has_aggregate(node: Node) -> bool:
    """Tell whether there is an aggregate in a tree."""
    return node.find(*_AGGREGATES) is not None


def read_aggregate(node: Node, scope: Scope) -> AskedAggregate | None:
    """Read an aggregate over the rows of a scope."""
    rows = RowReader(scope, "an aggregate")
    if isinstance(node, exp.Filter):
        return _filtered(node, scope)
    if isinstance(node, exp.Count):
        return _count(node, rows)
    if type(node) in _PLAIN:
        aggregate, spelling = _PLAIN[type(node)]
        only(node, "this")
        return AskedAggregate(aggregate, _term(node.this, rows), spelling=spelling)
    if type(node) in _ORDERS:
        order, spelling = _ORDERS[type(node)]
        only(node, "this")
        return AskedAggregate("quantile", _term(node.this, rows), order=order, spelling=spelling)
    if type(node) in _QUANTILES:
        only(node, "this", "quantile", "expression")
        asked = part(node, "quantile") or part(node, "expression")
        return AskedAggregate("quantile", _term(node.this, rows), order=_order(asked, rows),
                     spelling="QUANTILE")  # fmt: skip
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, rows)
    return None


def read_pair(node: Node, scope: Scope) -> AskedPair | None:
    """Read an aggregate of two terms, perhaps with a FILTER."""
    if isinstance(node, exp.Filter):
        only(node, "this", "expression")
        inner = read_pair(node.this, scope)
        return inner and replace(inner, where=_condition(node, scope))
    if type(node) not in _PAIRS:
        return None
    only(node, "this", "expression", "null_on_zero_variance")
    rows = RowReader(scope, "an aggregate")
    left, right = _term(node.this, rows), _term(node.expression, rows)
    return AskedPair(_PAIRS[type(node)], left, right)


def _term(node: Node, rows: RowReader) -> Expression:
    if isinstance(node, exp.Distinct):
        raise refuse("distinct_values", what=f"An aggregate of {shown(node)}")
    return rows.read(node)


def _filtered(node: exp.Filter, scope: Scope) -> AskedAggregate:
    only(node, "this", "expression")
    inner = read_aggregate(node.this, scope)
    if inner is None:
        raise refuse("not_aggregate", what=shown(node))
    return replace(inner, where=_condition(node, scope))


def _condition(node: exp.Filter, scope: Scope) -> Expression:
    if not isinstance(node.expression, exp.Where):
        raise refuse("not_aggregate", what=shown(node))
    where = RowReader(scope, "FILTER").read(only(node.expression, "this").this)
    return build.condition(where, "FILTER")


def _count(node: exp.Count, rows: RowReader) -> AskedAggregate:
    only(node, "this", "big_int")
    what = bare(node.this) if isinstance(node.this, exp.Paren) else node.this
    if isinstance(what, exp.Star):
        only(what)
        return AskedAggregate("count", spelling="COUNT")
    if isinstance(what, exp.Distinct):
        only(what, "expressions")
        terms = [bare(inner) for inner in what.expressions]
        if len(terms) == 1 and person_named(terms[0], rows.scope):
            return AskedAggregate("people", spelling="COUNT")
        if rows.scope.person is None:
            raise refuse("no_person", name=rows.scope.table, what="count")
        raise refuse("distinct_values", what=shown(node))
    if not isinstance(what, exp.Expression):
        raise refuse("unsupported", what=shown(node))
    if person_named(what, rows.scope):  # rows without a person are left out
        return AskedAggregate("count", spelling="COUNT")
    return AskedAggregate("count", rows.read(what), spelling="COUNT")


def person_named(node: Node, scope: Scope) -> PersonName | None:
    """Give the person's column when a node names it."""
    node = bare(node)
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    only(node, "this", "table")
    table = part(node, "table")
    found = scope.find(identifier(node.this), identifier(table) if table else None)
    return found if isinstance(found, PersonName) else None


def _within_group(node: exp.WithinGroup, rows: RowReader) -> AskedAggregate:
    only(node, "this", "expression")
    inner, order = node.this, node.expression
    if not isinstance(inner, exp.PercentileCont) or not isinstance(order, exp.Order):
        raise refuse("not_aggregate", what=shown(node))
    only(inner, "this")
    ordered = order.expressions
    if len(ordered) != 1 or not isinstance(ordered[0], exp.Ordered):
        raise refuse("not_aggregate", what=shown(node))
    only(ordered[0], "this", "desc", "nulls_first")
    share = _order(inner.this, rows)
    share = 1 - share if ordered[0].args.get("desc") else share
    return AskedAggregate(
        "quantile", _term(ordered[0].this, rows), order=share, spelling="PERCENTILE_CONT"
    )


def _order(node: Node | None, rows: RowReader) -> Fraction:
    found = None if node is None else rows.read(node)
    value = found.value if isinstance(found, Constant) else None
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise refuse("bad_order")
    if not 0 <= value <= 1:
        raise refuse("bad_order")
    return Fraction(value)
