"""Leave out what a question does not read.

Contract: :func:`pruned` gives a question with the same answer whose scans, projections and joins
show only columns that something above them reads, so that an engine reads no more than that and
two questions do not differ by columns neither uses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.ask.language.language import (
    Filter,
    JoinPerson,
    JoinPublic,
    PerPerson,
    Project,
    Question,
    Relation,
    Scan,
)
from sfumato.ask.language.walk import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.ask.language.language import Expression


def pruned(question: Question) -> Question:
    """Leave out the columns that a question does not read."""
    terms: list[Expression] = [key.expression for key in question.keys]
    for measure in question.measures:
        terms += [term for term in (measure.term, measure.where) if term is not None]
    return replace(question, relation=_pruned(question.relation, names_in(terms)))


def names_in(terms: Iterable[Expression]) -> frozenset[str]:
    """List the names of the columns that some expressions read."""
    return frozenset(column.name for term in terms for column in columns_of(term))


def _pruned(relation: Relation, used: frozenset[str]) -> Relation:
    match relation:
        case Scan(_, columns):
            kept = tuple(column for column in columns if column.name in used)
            return replace(relation, columns=kept)
        case Filter(source, condition):
            return Filter(_pruned(source, used | names_in([condition])), condition)
        case Project(source, named):
            shown = tuple((name, term) for name, term in named if name in used)
            return Project(_pruned(source, names_in(term for _, term in shown)), shown)
        case PerPerson(source, keys, named):
            numbers = tuple((name, aggregate) for name, aggregate in named if name in used)
            terms = [term for _, term in keys]
            terms += [aggregate.term for _, aggregate in numbers if aggregate.term is not None]
            return PerPerson(_pruned(source, names_in(terms)), keys, numbers)
        case JoinPublic(source, _, on, named):
            below = used - {name for name, _ in named} | names_in(term for term, _ in on)
            columns_shown = tuple((name, column) for name, column in named if name in used)
            return replace(relation, source=_pruned(source, below), named=columns_shown)
        case JoinPerson(left, right, on, named):
            below = used - {name for name, _ in named} | names_in(term for term, _ in on)
            columns_shown = tuple((name, column) for name, column in named if name in used)
            there = {column.name for _, column in (*columns_shown, *on)}
            return replace(
                relation,
                left=_pruned(left, below),
                right=_pruned(right, frozenset(there)),
                named=columns_shown,
            )
    raise TypeError(f"{type(relation).__name__} is not a relation of the language.")
