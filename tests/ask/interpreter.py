"""What a question means, without privacy: exact numbers, computed in plain Python.

It shares :func:`evaluate` with the product and nothing else, and is slow and obvious on purpose.
"""

from __future__ import annotations

import math
import statistics
from itertools import groupby

from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Filter, JoinPerson, JoinPublic, PerPerson, Project, Scan


def answer(question, tables, facts):
    """Give the rows of the exact answer, of groups that exist."""
    rows = rows_of(question.relation, tables, facts)
    groups = {}
    for person, row in rows:
        values = tuple(evaluate(key.expression, row) for key in question.keys)
        groups.setdefault(values, []).append((person, row))
    if not question.keys:
        groups = groups or {(): []}
    shown = []
    for values, members in groups.items():
        kept = [
            key.values is None or value in key.values
            for key, value in zip(question.keys, values, strict=True)
        ]
        assert all(kept), "a row has a key that is not among its public values"
        named = {key.name: value for key, value in zip(question.keys, values, strict=True)}
        named |= {one.name: measured(one, members) for one in question.measures}
        if question.having is None or evaluate(question.having, named, noisy=True) is True:
            shown.append(tuple(evaluate(o.expression, named, noisy=True) for o in question.outputs))
    return shown


def measured(measure, members):
    """Compute one number of a group."""
    if measure.where is not None:
        members = [(p, row) for p, row in members if evaluate(measure.where, row) is True]
    if measure.aggregate == "people":
        return len({person for person, _ in members})
    if measure.term is None:
        return len(members)
    found = [evaluate(measure.term, row) for _, row in members]
    values = [value for value in found if value is not None]
    if measure.aggregate == "count":
        return len(values)
    if not values:
        return None
    match measure.aggregate:
        case "sum":
            return math.fsum(values)
        case "avg":
            return statistics.fmean(values)
        case "quantile":
            return _quantile(sorted(values), float(measure.order))
    spread = _variance(values, population=measure.spelling.endswith("_POP"))
    return spread if measure.aggregate == "variance" or spread is None else math.sqrt(spread)


def _variance(values, *, population):
    if population:
        return statistics.pvariance(values)
    return statistics.variance(values) if len(values) > 1 else None


def _quantile(values, order):
    place = order * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def rows_of(relation, tables, facts):
    """Give the rows of a relation, each with its person."""
    match relation:
        case Scan(table, columns):
            person = facts[table].person
            return [
                (number if person is None else row[person], {c.name: row[c.name] for c in columns})
                for number, row in enumerate(tables[table])
            ]
        case Filter(source, condition):
            rows = rows_of(source, tables, facts)
            return [(p, row) for p, row in rows if evaluate(condition, row) is True]
        case Project(source, named):
            rows = rows_of(source, tables, facts)
            return [(p, {name: evaluate(term, row) for name, term in named}) for p, row in rows]
        case PerPerson(source, keys, named):
            return _per_person(rows_of(source, tables, facts), keys, named)
        case JoinPublic(source, table, on, named, outer, _):
            right = [(None, row) for row in tables[table]]
            return _joined(rows_of(source, tables, facts), right, on, named, outer, people=False)
        case JoinPerson(left, right, on, named, outer):
            others = rows_of(right, tables, facts)
            return _joined(rows_of(left, tables, facts), others, on, named, outer, people=True)
    raise TypeError(relation)


def _per_person(rows, keys, named):
    def about(one):
        person, row = one
        return (person, *(evaluate(term, row) for _, term in keys))

    found = []
    for group, members in groupby(sorted(rows, key=lambda r: repr(about(r))), key=about):
        shown = {name: value for (name, _), value in zip(keys, group[1:], strict=True)}
        listed = [row for _, row in members]
        shown |= {name: _number(one, listed) for name, one in named}
        found.append((group[0], shown))
    return found


def _number(one, rows):
    if one.term is None:
        return len(rows)
    values = [v for v in (evaluate(one.term, row) for row in rows) if v is not None]
    if one.function == "count":
        return len(values)
    if not values:
        return None
    by_name = {"sum": math.fsum, "avg": statistics.fmean, "min": min, "max": max}
    return by_name[one.function](values)


def _joined(left, right, on, named, outer, *, people):
    found = []
    for person, row in left:
        mine = [evaluate(term, row) for term, _ in on]
        partners = [
            other
            for them, other in right
            if (not people or them == person)
            and all(
                a is not None and a == evaluate(column, other)
                for a, (_, column) in zip(mine, on, strict=True)
            )
        ]
        if outer and not partners:
            partners = [{}]
        for other in partners:
            shown = {name: evaluate(column, other) for name, column in named}
            found.append((person, row | shown))
    return found
