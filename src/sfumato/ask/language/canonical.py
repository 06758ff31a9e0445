"""One text for all ways to write a question.

Contract: :func:`canonical` gives the same text for questions that differ only in how they are
written: the order of AND, OR and IN, ``a < b`` or ``b > a``, BETWEEN or two comparisons, arithmetic
on literals, aliases, sub-queries that only filter or project, the order of keys and measures. Two
questions with one text have one answer: every rewriting used is an identity of the language
(:mod:`sfumato.ask.language.normal_form`), names and texts are quoted as JSON, and everything else
is delimited, so the text can be read back in one way.

Names of output columns are not part of it: an answer that is given again takes its names from the
question at hand. The order of output columns is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import (
    LARGEST_LEAF,
    LARGEST_PLAIN,
    SMALLEST_LEAF,
    interval_of,
    kind_of,
    range_of,
)
from sfumato.ask.language.exactness import exact
from sfumato.ask.language.language import (
    Column,
    Filter,
    JoinPerson,
    JoinPublic,
    PerPerson,
    Project,
    Scan,
)
from sfumato.ask.language.normal_form import (
    Names,
    Token,
    bounds_text,
    conjunct_texts,
    normal_text,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.ask.language.language import (
        Bounds,
        Expression,
        Key,
        Measure,
        PersonAggregate,
        Question,
        Relation,
        Value,
    )

_LONG = 400


def canonical(question: Question) -> str:
    """Write a question in its canonical form."""
    source = _relation(question.relation, 0)
    names = source.names
    keys = {key.name: _key(key, names) for key in question.keys}
    measures = {one.name: _measure(one, names) for one in question.measures}
    sorted_keys, sorted_measures = sorted(set(keys.values())), sorted(set(measures.values()))
    shown = {name: Token(f"k{sorted_keys.index(text)}") for name, text in keys.items()}
    shown |= {name: Token(f"m{sorted_measures.index(text)}") for name, text in measures.items()}
    fields = [
        f"from: {source}",
        f"keys: [{', '.join(sorted_keys)}]",
        f"measures: [{', '.join(sorted_measures)}]",
        f"show: [{', '.join(normal_text(one.expression, shown) for one in question.outputs)}]",
    ]
    if question.having is not None:
        fields.append(f"having: {normal_text(question.having, shown)}")
    if question.order:
        order = [
            normal_text(term, shown) + (" down" if descending else " up")
            for term, descending in question.order
        ]
        fields.append(f"order: [{', '.join(order)}]")
    if question.limit is not None:
        fields.append(f"limit: {question.limit}")
    return "{" + "; ".join(fields) + "}"


def canonical_condition(relation: Relation, condition: Expression | None) -> str:
    """Write a condition on the rows of a relation in its canonical form."""
    return "true" if condition is None else normal_text(condition, _relation(relation, 0).names)


@dataclass(frozen=True)
class _Written:
    """A relation as text: what it is, the conditions on its rows, how its columns are written."""

    base: str
    conditions: frozenset[str]
    names: Names

    def __str__(self) -> str:
        if not self.conditions:
            return self.base
        return f"filter({self.base}, {', '.join(sorted(self.conditions))})"


def _relation(relation: Relation, joins: int) -> _Written:
    """Write a relation; ``joins`` counts those above it, so that each has a number."""
    match relation:
        case Scan(table, _):
            return _Written(f"scan({json.dumps(table)})", frozenset(), {})
        case Filter(source, condition):
            below = _relation(source, joins)
            found = below.conditions | conjunct_texts(condition, below.names)
            return _Written(below.base, found, below.names)
        case Project(source, named):
            below = _relation(source, joins)
            names = {name: _token(term, below.names) for name, term in named}
            return _Written(below.base, below.conditions, names)
        case PerPerson():
            return _per_person(relation)
        case JoinPublic():
            return _join_public(relation, joins)
        case JoinPerson():
            return _join_person(relation, joins)
    raise TypeError(f"{type(relation).__name__} is not a relation of the language.")


def _join_public(relation: JoinPublic, joins: int) -> _Written:
    below = _relation(relation.source, joins + 1)
    new = {
        name: Token(f"public{joins}({_whole_column(column)})", column.bounds)
        for name, column in relation.named
    }
    pairs = [
        f"{normal_text(term, below.names)} = {_whole_column(column)}"
        for term, column in relation.on
    ]
    word = "left_join_public" if relation.outer else "join_public"
    inner = f"{below}, {json.dumps(relation.table)}, {', '.join(sorted(set(pairs)))}"
    return _Written(f"{word}{joins}({inner})", frozenset(), {**below.names, **new})


def _join_person(relation: JoinPerson, joins: int) -> _Written:
    left, right = _relation(relation.left, joins + 1), _relation(relation.right, 0)
    new = {
        name: Token(_short(f"other{joins}({normal_text(column, right.names)})"), column.bounds)
        for name, column in relation.named
    }
    pairs = [
        f"{normal_text(term, left.names)} = {normal_text(column, right.names)}"
        for term, column in relation.on
    ]
    word = "left_join_person" if relation.outer else "join_person"
    inner = ", ".join([str(left), str(right), *sorted(set(pairs))])
    return _Written(f"{word}{joins}({inner})", frozenset(), {**left.names, **new})


def _per_person(relation: PerPerson) -> _Written:
    """Write rows per person; numbers about them are written where they are used."""
    below = _relation(relation.source, 0)
    names: dict[str, Token] = {}
    for name, term in relation.keys:
        names[name] = Token(_short(f"key({normal_text(term, below.names)})"), _bounds(term))
    for name, one in relation.named:
        names[name] = Token(_short(_person_number(one, below.names)), _shown_bounds(one))
    keys = sorted({names[name].text for name, _ in relation.keys})
    return _Written(f"people({', '.join([str(below), *keys])})", frozenset(), names)


def _person_number(one: PersonAggregate, names: Names) -> str:
    term = "" if one.term is None else normal_text(one.term, names)
    return f"each({one.function}({term}){bounds_text(one.bounds)})"


def _shown_bounds(one: PersonAggregate) -> Bounds | None:
    return None if one.function in {"count", "sum"} else one.bounds


def _token(term: Expression, names: Names) -> Token:
    """Write a projected column as what it stands for."""
    text = normal_text(term, names)
    if _changed(term):
        text = f"column({text})"
    return Token(_short(text), _bounds(term))


def _changed(term: Expression) -> bool:
    """Tell whether a value may be another once it is a column, and so a leaf: flushed or rounded.

    A whole number that was computed is compared exactly from then on.
    """
    found = range_of(term)
    if found is None or exact(term):
        return False
    most = LARGEST_PLAIN if kind_of(term) == "integer" else LARGEST_LEAF
    return found.least < SMALLEST_LEAF or found.most > most


def _bounds(term: Expression) -> Bounds | None:
    return term.bounds if isinstance(term, Column) else interval_of(term)


def _whole_column(column: Column) -> str:
    return f"{json.dumps(column.name)}:{column.kind}{bounds_text(column.bounds)}"


def _short(text: str) -> str:
    """Keep names short: a long one is replaced by its digest, as repetition can multiply it."""
    return text if len(text) <= _LONG else f"sha256({hashlib.sha256(text.encode()).hexdigest()})"


def _key(key: Key, names: Names) -> str:
    values = "found" if key.values is None else "{" + ", ".join(_sorted_values(key.values)) + "}"
    return f"{normal_text(key.expression, names)} in {values}"


def _sorted_values(values: Iterable[Value]) -> list[str]:
    return sorted({value_text(value) for value in values})


def _measure(one: Measure, names: Names) -> str:
    parts: list[str] = [one.aggregate]
    if one.aggregate in {"variance", "stddev"}:
        parts.append("population" if one.spelling.upper().endswith("_POP") else "sample")
    if one.term is not None:
        parts.append(f"of {normal_text(one.term, names)}")
    if one.bounds is not None:
        parts.append(f"within {bounds_text(one.bounds)}")
    if one.order is not None:
        parts.append(f"order {one.order}")
    if one.where is not None:
        conditions = sorted(conjunct_texts(one.where, names))
        parts.append(f"where {', '.join(conditions) or 'true'}")
    return f"({' '.join(parts)})"
