"""The nearest question that can be answered, for one that was refused.

Contract: :func:`nearest` rewrites the syntax tree of a refused question, gives the first rewriting
that is answerable, as SQL, and None when there is none. A suggestion is never made unread: each was
parsed and accepted, by a session also for its unit and its kind of budget. It depends on the
question and on public facts alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from sfumato.ask.sql.nodes import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sfumato.ask.language.language import TableFacts

    Facts: TypeAlias = Mapping[str, TableFacts]
    Rule: TypeAlias = Callable[[Node, Facts], Iterator[Node]]


def nearest(
    tree: Node,
    facts: Facts,
    code: str,
    answerable: Callable[[str, Facts], bool],
) -> str | None:
    """Give the first rewriting that can be answered."""
    for rewritten in _rewritings(tree, facts, code):
        sql = str(
            rewritten.sql(dialect="duckdb", comments=False, unsupported_level=ErrorLevel.IGNORE)
        )
        if answerable(sql, facts):
            return sql
    return None


def _rewritings(tree: Node, facts: Facts, code: str) -> Iterator[Node]:
    rule = _RULES.get(code)
    if rule is not None:
        yield from rule(tree.copy(), facts)
    select = tree.find(exp.Select)
    counts = [exp.Count(this=exp.Star()), *map(_count_of, _persons(facts))]
    if select is not None:
        for count in counts:
            yield from _counted(select, count)
    tables = [node for node in tree.find_all(exp.Table) if isinstance(node.this, exp.Identifier)]
    for count in counts:
        for table in tables:
            yield exp.select(count.copy()).from_(exp.table_(table.this.copy()))


def _persons(facts: Facts) -> list[str]:
    return sorted({table.person for table in facts.values() if table.person})


def _count_of(person: str) -> Node:
    column = exp.column(exp.to_identifier(person, quoted=True))
    return exp.Count(this=exp.Distinct(expressions=[column]))


def _counted(select: exp.Select, count: Node) -> Iterator[Node]:
    """Ask the same rows for their number, or for that of their people."""
    plain = exp.Select(expressions=[count.copy()])
    for word in ("with", "with_", "from", "from_", "joins", "where"):
        value = select.args.get(word)
        if value:
            plain.set(word, [v.copy() for v in value] if isinstance(value, list) else value.copy())
    yield plain
    without = plain.copy()
    without.set("where", None)
    yield without


def _shown_columns(tree: Node, _: Facts) -> Iterator[Node]:
    """Group by the columns that were selected, and count."""
    select = tree.find(exp.Select)
    if select is None or has_star(select):
        return
    counted = select.copy()
    counted.set("distinct", None)
    counted.set("limit", None)
    counted.set("order", None)
    plain = [item.unalias() for item in counted.expressions if not item.find(exp.AggFunc)]
    if not any(item.find(exp.AggFunc) for item in counted.expressions):
        counted.append("expressions", exp.Count(this=exp.Star()))
    counted.set("group", exp.Group(expressions=[item.copy() for item in plain]))
    yield counted


def has_star(select: exp.Select) -> bool:
    """Tell whether a SELECT shows everything."""
    return any(isinstance(item, exp.Star) for item in select.expressions)


def _people(tree: Node, facts: Facts) -> Iterator[Node]:
    """Count people in place of values."""
    for person in _persons(facts):
        other = tree.copy()
        for count in list(other.find_all(exp.Distinct)):
            if isinstance(count.parent, exp.Count):
                count.set("expressions", [exp.column(exp.to_identifier(person, quoted=True))])
        yield other


def _grouped_people(tree: Node, facts: Facts) -> Iterator[Node]:
    """Group sub-queries by the person, too."""
    for person in _persons(facts):
        column = exp.column(exp.to_identifier(person, quoted=True))
        other = tree.copy()
        for select in list(other.find_all(exp.Select)):
            if select.parent is None:
                continue
            if select.args.get("distinct") is not None:
                select.set("expressions", [column.copy(), *select.expressions])
            elif select.args.get("group") is not None or select.find(exp.AggFunc):
                group = select.args.get("group") or exp.Group(expressions=[])
                group.set("expressions", [column.copy(), *group.expressions])
                select.set("group", group)
        yield other


def _ungrouped(tree: Node, _: Facts) -> Iterator[Node]:
    """Ask for the same numbers of all rows at once."""
    select = tree.copy().find(exp.Select)
    if select is None or select.args.get("group") is None:
        return
    numbers = [item for item in select.expressions if item.find(exp.AggFunc)]
    for word in ("group", "having", "order", "limit"):
        select.set(word, None)
    if numbers:
        select.set("expressions", numbers)
        yield select


def _years(tree: Node, _: Facts) -> Iterator[Node]:
    """Take the quantile of years in place of dates."""
    for call in list(tree.find_all(exp.Min, exp.Max, exp.Median, exp.Quantile)):
        if isinstance(call.this, exp.Column):
            call.set("this", exp.Year(this=call.this.copy()))
    yield tree


def _people_where(tree: Node, _: Facts) -> Iterator[Node]:
    """Put the FILTER of a number of people into WHERE, if nothing else is asked."""
    select = tree.copy().find(exp.Select)
    found = [] if select is None else list(select.find_all(exp.Filter))
    if select is None or len(found) != 1 or len(list(select.find_all(exp.AggFunc))) != 1:
        return
    condition = found[0].expression.this
    found[0].replace(found[0].this.copy())
    yield select.where(condition.copy())


def _finest(tree: Node, _: Facts) -> Iterator[Node]:
    """Group by everything that ROLLUP, CUBE or GROUPING SETS names, at once."""
    select = tree.find(exp.Select)
    group = select.args.get("group") if select is not None else None
    if select is None or group is None:
        return
    columns = {column.sql(): column.copy() for column in group.find_all(exp.Column, bfs=False)}
    select.set("group", exp.Group(expressions=list(columns.values())))
    yield tree


def _rounded(tree: Node, _: Facts) -> Iterator[Node]:
    """Group real numbers by tens."""
    select = tree.find(exp.Select)
    group = select.args.get("group") if select is not None else None
    if group is None:
        return
    for term in list(group.expressions):
        if isinstance(term, exp.Column):
            ten = exp.Literal.number(10)
            rounded = exp.Mul(this=exp.Floor(this=exp.Div(this=term.copy(), expression=ten)),
                              expression=ten.copy())  # fmt: skip
            yield tree.copy().transform(lambda n, t=term, r=rounded: r.copy() if n == t else n)


def _without(*words: str) -> Rule:
    """Leave out clauses of sub-queries."""

    def rule(tree: Node, _: Facts) -> Iterator[Node]:
        for select in tree.find_all(exp.Select):
            if select.parent is not None:
                for word in words:
                    select.set(word, None)
        yield tree

    return rule


def _first_of_union(tree: Node, _: Facts) -> Iterator[Node]:
    union = tree.find(exp.SetOperation)
    if union is not None and union is tree:
        yield union.this


def _left_joins(tree: Node, facts: Facts) -> Iterator[Node]:
    for join in tree.find_all(exp.Join):
        if join.args.get("on") or join.args.get("using"):
            join.set("side", None)
            join.set("kind", None)
    yield tree.copy()
    yield from _people_joined(tree, facts)


def _aggregates(tree: Node, _: Facts) -> Iterator[Node]:
    """Count the values whose aggregate is not answered, and take windows off."""
    for window in list(tree.find_all(exp.Window)):
        window.replace(window.this.copy())
    for counted in list(tree.find_all(exp.CountIf)):
        condition = exp.Where(this=counted.this.copy())
        counted.replace(exp.Filter(this=exp.Count(this=exp.Star()), expression=condition))
    yield tree.copy()
    for call in list(tree.find_all(exp.AggFunc)):
        if not isinstance(call, (exp.Count, exp.Sum, exp.Avg)) and isinstance(call.this, Node):
            call.replace(exp.Count(this=call.this.copy()))
    yield tree


def _clamped(tree: Node, _: Facts) -> Iterator[Node]:
    """Clamp what is added up per person."""
    for call in list(tree.find_all(exp.Sum, exp.Avg)):
        if call.find_ancestor(exp.Subquery, exp.CTE) is None:
            continue
        low, high = exp.Literal.number(0), exp.Literal.number(100)
        inner = exp.Anonymous(this="CLAMP", expressions=[call.this.copy(), low, high])
        call.set("this", inner)
    yield tree


def _means(tree: Node, _: Facts) -> Iterator[Node]:
    """Take the mean of each person in place of an aggregate that is not answered per person."""
    for call in list(tree.find_all(exp.AggFunc)):
        inside = call.find_ancestor(exp.Subquery, exp.CTE) is not None
        simple = isinstance(call, (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max))
        if inside and not simple and isinstance(call.this, exp.Column):
            call.replace(exp.Avg(this=call.this.copy()))
    yield tree


def _semi_joins(tree: Node, _: Facts) -> Iterator[Node]:
    """Join on the person in place of ``person IN (SELECT person …)``."""
    where = tree.args.get("where")
    if where is None or not isinstance(tree, exp.Select):
        return
    kept, joined = [], tree.copy()
    for term in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        query = term.args.get("query") if isinstance(term, exp.In) else None
        inner = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(inner, exp.Select) or not isinstance(term.this, exp.Column):
            kept.append(term)
            continue
        found = exp.Subquery(this=inner.copy().distinct(), alias=exp.TableAlias(
            this=exp.to_identifier("others")))  # fmt: skip
        using = [exp.to_identifier(term.this.name, quoted=True)]
        joined.append("joins", exp.Join(this=found, using=using))
    joined.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    yield joined


def _people_joined(tree: Node, facts: Facts) -> Iterator[Node]:
    """Join on the person."""
    for person in _persons(facts):
        other = tree.copy()
        for join in other.find_all(exp.Join):
            join.set("on", None)
            join.set("kind", None)
            join.set("using", [exp.to_identifier(person, quoted=True)])
        yield other


def _whole_division(tree: Node, _: Facts) -> Iterator[Node]:
    """Spell // and % with FLOOR."""

    def spell(node: Node) -> Node:
        if isinstance(node, (exp.IntDiv, exp.Mod)):
            over, under = exp.paren(node.this.copy()), exp.paren(node.expression.copy())
            floor = exp.Floor(this=exp.Div(this=over, expression=under))
            if isinstance(node, exp.IntDiv):
                return floor
            product = exp.Mul(this=exp.paren(node.expression.copy()), expression=floor)
            return exp.paren(exp.Sub(this=exp.paren(node.this.copy()), expression=product))
        return node

    yield tree.transform(spell)


_RULES: Mapping[str, Rule] = {
    "raw_column": _shown_columns,
    "distinct_top": _shown_columns,
    "no_measure": _shown_columns,
    "distinct_values": _people,
    "subquery_group": _grouped_people,
    "subquery_distinct": _grouped_people,
    "real_key": _rounded,
    "grouping_sets": _finest,
    "subquery_order": _without("order", "limit", "offset"),
    "set_operation": _first_of_union,
    "join_kind": _left_joins,
    "join_condition": _people_joined,
    "join_person": _people_joined,
    "not_aggregate": _aggregates,
    "window": _aggregates,
    "unsupported": _whole_division,
    "subquery_bounds": _clamped,
    "subquery_aggregate": _means,
    "subquery_where": _semi_joins,
    "unknown_keys": _ungrouped,
    "people_filter": _people_where,
    "date_bounds": _years,
}
