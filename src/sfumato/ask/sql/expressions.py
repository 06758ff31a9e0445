"""Expressions over the rows of a scope, from a syntax tree.

Contract: :class:`RowReader` turns a tree into an expression of the language or refuses it. A column
becomes what its name stands for; an aggregate is refused here, and read by
:mod:`sfumato.ask.sql.groups`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from sfumato.ask.language import build
from sfumato.ask.language.casts import converted
from sfumato.ask.language.days import PARTS, STARTS
from sfumato.ask.language.language import Column, Constant, Expression
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import MOST_DEPTH, MOST_NODES, size_and_depth
from sfumato.ask.scope.scopes import PersonName
from sfumato.ask.sql.nodes import Node, bare, identifier, number, only, part, shown, unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.scope.scopes import Scope
    from sfumato.errors import Refused

_ARITHMETIC: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_COMPARE: dict[type, str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_UNARY: dict[type, str] = {
    exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Lower: "lower", exp.Upper: "upper",
    exp.Length: "length", exp.Year: "year", exp.Month: "month", exp.Day: "day",
    exp.Quarter: "quarter", exp.DayOfWeek: "weekday",
}  # fmt: skip
_DATE_PARTS = {**{name: name for name in PARTS if name != "weekday"}, "dow": "weekday",
               "dayofweek": "weekday"}  # fmt: skip
_TIMES = ("hour", "minute", "second", "millisecond", "microsecond")
_SEVERAL: dict[type, str] = {exp.Least: "least", exp.Greatest: "greatest", exp.Coalesce: "coalesce"}
_TYPES = {
    "integer": {"TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "UBIGINT"},
    "real": {"DOUBLE", "FLOAT"},
    "text": {"TEXT", "VARCHAR"},
    "boolean": {"BOOLEAN"},
    "date": {"DATE"},
}
NULL = Constant(None, "text")


class RowReader:
    """Reads expressions over the rows of one scope."""

    def __init__(self, scope: Scope, place: str) -> None:
        self.scope = scope
        self.place = place
        self.level = 0
        self.parts = 0

    def read(self, node: Node) -> Expression:
        """Read an expression, or refuse it."""
        if not hasattr(node, "args"):  # an argument that was left out
            raise refuse("unsupported", what="A function without its arguments")
        self.level += 1
        self.parts += 1
        if self.level > MOST_DEPTH:
            raise refuse("too_deep", most=MOST_DEPTH)
        if self.parts > MOST_NODES:
            raise refuse("too_long", what=f"more than {MOST_NODES} parts")
        try:
            return self.dispatch(node)
        finally:
            self.level -= 1

    def dispatch(self, node: Node) -> Expression:
        """Read by the kind of node."""
        reader = self.READERS.get(type(node))
        if reader is not None:
            return reader(self, node)
        if type(node) in _ARITHMETIC:
            only(node, "this", "expression", "typed", "safe")
            sign = _ARITHMETIC[type(node)]
            return build.arithmetic(sign, self.read(node.this), self.read(node.expression))
        if type(node) in _COMPARE:
            only(node, "this", "expression")
            sign = _COMPARE[type(node)]
            return build.compare(sign, self.read(node.this), self.read(node.expression))
        if type(node) in _UNARY:
            only(node, "this")
            return build.apply(_UNARY[type(node)], self.read(node.this))
        if type(node) in _SEVERAL:
            only(node, "this", "expressions", "ignore_nulls")
            terms = [self.read(inner) for inner in (node.this, *node.expressions)]
            return build.apply(_SEVERAL[type(node)], *terms)
        if isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup)):
            raise self.misplaced(node)
        raise unsupported(node)

    def misplaced(self, node: Node) -> Refused:
        """Say why an aggregate cannot stand here."""
        if self.place == "an aggregate":
            return refuse("nested_aggregate", what=shown(node))
        return refuse("aggregate_place", what=shown(node), place=self.place)

    def column(self, node: Node) -> Expression:
        """Resolve a column; the person's is no value."""
        if isinstance(node.this, exp.Star):
            raise refuse("raw_column", what=shown(node))
        only(node, "this", "table")
        table = part(node, "table")
        found = self.scope.find(identifier(node.this), identifier(table) if table else None)
        if isinstance(found, PersonName):
            raise refuse("person_shown", name=found.name)
        self.parts += 0 if isinstance(found, Column) else size_and_depth(found)[0]
        return found

    def _paren(self, node: Node) -> Expression:
        return self.read(bare(node))

    def _literal(self, node: Node) -> Expression:
        assert isinstance(node, exp.Literal)
        only(node, "this", "is_string")
        if not node.is_string:
            return number(node)
        return build.literal(str(node.this))

    def _boolean(self, node: Node) -> Expression:
        return build.literal(bool(node.this))

    def _null(self, node: Node) -> Expression:
        only(node)
        return NULL

    def _negative(self, node: Node) -> Expression:
        return build.negative(self.read(only(node, "this").this))

    def _negation(self, node: Node) -> Expression:
        return build.negation(self.read(only(node, "this").this))

    def _logic(self, node: Node) -> Expression:
        """Read a chain of AND or OR without nesting, however long."""
        kind = type(node)
        terms, stack = [], [node]
        while stack:
            inner = bare(stack.pop())
            if type(inner) is kind:
                only(inner, "this", "expression")
                stack += [inner.expression, inner.this]
            else:
                terms.append(self.read(inner))
        return build.logic("and" if kind is exp.And else "or", terms)

    def _between(self, node: Node) -> Expression:
        only(node, "this", "low", "high")
        term = self.read(node.this)
        low = build.compare(">=", term, self.read(node.args["low"]))
        return build.logic("and", [low, build.compare("<=", term, self.read(node.args["high"]))])

    def _membership(self, node: Node) -> Expression:
        if node.args.get("query") or node.args.get("unnest"):
            raise refuse("subquery_where")
        only(node, "this", "expressions")
        values = [self.read(value) for value in node.expressions]
        return build.one_of(self.read(node.this), values)

    def _identity(self, node: Node) -> Expression:
        """Read IS NULL, IS TRUE and IS FALSE."""
        only(node, "this", "expression", "negate")
        term, what = self.read(node.this), bare(node.expression)
        if isinstance(what, exp.Null):
            found = build.missing(term)
        elif isinstance(what, exp.Boolean):
            wanted = term if what.this else build.negation(term)
            found = build.apply("coalesce", build.condition(wanted, "IS"), build.literal(False))
        else:
            raise unsupported(node)
        return build.negation(found) if node.args.get("negate") else found

    def _like(self, node: Node) -> Expression:
        only(node, "this", "expression", "negate")
        term, pattern = self.read(node.this), self.read(node.expression)
        if isinstance(node, exp.ILike):
            lowered = pattern.value if isinstance(pattern, Constant) else None
            if not isinstance(lowered, str) or not lowered.isascii():
                raise refuse("literal", what="ILIKE: a pattern of ASCII letters; it")
            term, pattern = build.apply("lower", term), build.literal(lowered.lower())
        found = build.like(term, pattern)
        return build.negation(found) if node.args.get("negate") else found

    def _case(self, node: Node) -> Expression:
        only(node, "this", "ifs", "default")
        branches = []
        for branch in node.args["ifs"]:
            only(branch, "this", "true")
            test = self.read(branch.this)
            if node.this is not None:
                test = build.compare("=", self.read(node.this), test)
            branches.append((test, self.read(branch.args["true"])))
        default = node.args.get("default")
        return build.case(branches, NULL if default is None else self.read(default))

    def _choice(self, node: Node) -> Expression:
        only(node, "this", "true", "false")
        otherwise = node.args.get("false")
        default = NULL if otherwise is None else self.read(otherwise)
        return build.case([(self.read(node.this), self.read(node.args["true"]))], default)

    def _null_if(self, node: Node) -> Expression:
        only(node, "this", "expression")
        term = self.read(node.this)
        return build.case([(build.compare("=", term, self.read(node.expression)), NULL)], term)

    def _rounded(self, node: Node) -> Expression:
        """Read ROUND(x) and ROUND(x, digits) = ROUND(x · 10^digits) / 10^digits."""
        only(node, "this", "decimals")
        term, digits = self.read(node.this), node.args.get("decimals")
        if digits is None:
            return build.apply("round", term)
        places = self.read(digits)
        count = places.value if isinstance(places, Constant) else None
        if not isinstance(count, int) or not 1 <= count <= 9:
            raise refuse("literal", what="ROUND(x, digits): 1 to 9 digits; it")
        scale = build.literal(10**count)
        return build.arithmetic(
            "/", build.apply("round", build.arithmetic("*", term, scale)), scale
        )

    def _substring(self, node: Node) -> Expression:
        only(node, "this", "start", "length")
        if node.args.get("start") is None or node.args.get("length") is None:
            raise refuse("literal", what="SUBSTRING(text, first, length)")
        terms = (node.this, node.args["start"], node.args["length"])
        return build.apply("substring", *(self.read(term) for term in terms))

    def _extract(self, node: Node) -> Expression:
        only(node, "this", "expression")
        unit = str(node.this.this).lower() if isinstance(node.this, exp.Var) else ""
        return self._date_part(unit, node, node.expression)

    def _date_part(self, unit: str, node: Node, date: Node) -> Expression:
        if unit.rstrip("s") in _TIMES:
            raise refuse("time_of_day", what=shown(node))
        if unit not in _DATE_PARTS:
            raise refuse("function", what=shown(node))
        return build.apply(_DATE_PARTS[unit], self.read(date))

    def _time(self, node: Node) -> Expression:
        raise refuse("time_of_day", what=shown(node))

    def _truncated(self, node: Node) -> Expression:
        """Read DATE_TRUNC('month', day); a date is its own day."""
        only(node, "this", "unit", "input_type_preserved")
        unit = node.args.get("unit")
        period = str(unit.this).lower() if isinstance(unit, (exp.Var, exp.Literal)) else ""
        if period.rstrip("s") in _TIMES:
            raise refuse("time_of_day", what=shown(node))
        if period == "day":
            return build.dated(self.read(node.this), "DATE_TRUNC")
        if period not in STARTS:
            raise refuse("function", what=shown(node))
        return build.apply(STARTS[period], self.read(node.this))

    def _cast(self, node: Node) -> Expression:
        only(node, "this", "to", "safe")
        to = node.args["to"]
        name = str(getattr(to.this, "value", to.this)).upper()
        only(to, "this", "nested")
        for kind, names in _TYPES.items():
            if name in names:
                return converted(self.read(node.this), kind)  # type: ignore[arg-type]
        raise refuse("cast", given=shown(node.this), wanted=name)

    def _date(self, node: Node) -> Expression:
        return converted(self.read(only(node, "this").this), "date")

    def _anonymous(self, node: Node) -> Expression:
        """Read functions that the parser has no class for: CLAMP is ours."""
        name = str(node.this).lower()
        terms = node.expressions
        if name == "clamp" and len(terms) == 3:
            return build.clamp(*(self.read(term) for term in terms))
        if name in {"date_part", "datepart"} and len(terms) == 2:
            unit = bare(terms[0])
            if isinstance(unit, exp.Literal):
                return self._date_part(str(unit.this).lower(), node, terms[1])
        raise unsupported(node)

    READERS: ClassVar[dict[type, Callable[[Any, Node], Expression]]] = {
        exp.Column: column, exp.Paren: _paren, exp.Literal: _literal, exp.Boolean: _boolean,
        exp.Null: _null, exp.Neg: _negative, exp.Not: _negation, exp.And: _logic, exp.Or: _logic,
        exp.Between: _between, exp.In: _membership, exp.Is: _identity, exp.Like: _like,
        exp.ILike: _like, exp.Case: _case, exp.If: _choice, exp.Nullif: _null_if,
        exp.Round: _rounded, exp.Substring: _substring, exp.Extract: _extract, exp.Cast: _cast,
        exp.Date: _date, exp.Anonymous: _anonymous, exp.TimestampTrunc: _truncated,
        exp.DateTrunc: _truncated, exp.Hour: _time, exp.Minute: _time, exp.Second: _time,
    }  # fmt: skip
