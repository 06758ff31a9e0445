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
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Any

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
    TRUE,
    Names,
    Token,
    bounds_text,
    call,
    column_text,
    conjunct_texts,
    normal_text,
    value_text,
)
from sfumato.ask.language.question_tree import (
    Call,
    CanonicalTerm,
    Name,
    Pair,
    ReadMeasure,
    ReadQuestion,
    number,
)

if TYPE_CHECKING:
    from sfumato.ask.language.language import (
        Bounds,
        Expression,
        Key,
        Measure,
        PersonAggregate,
        Question,
        Relation,
    )
    from sfumato.ask.language.question_tree import Term

_LONG = 400


def canonical(question: Question) -> str:
    """Write a question in its canonical form."""
    return write(question)[0]


def write(question: Question) -> tuple[str, ReadQuestion]:
    """Write a question in its canonical form: the text by which it is known, and as a tree."""
    source = _relation(question.relation, 0)
    names = source.names
    keys = {key.name: _key(key, names) for key in question.keys}
    measures = {measure.name: _measure(measure, names) for measure in question.measures}
    sorted_keys = sorted({text for text, _ in keys.values()})
    sorted_measures = sorted({text for text, _ in measures.values()})
    shown = {name: _place("k", sorted_keys.index(key[0])) for name, key in keys.items()}
    shown |= {
        name: _place("m", sorted_measures.index(measure[0])) for name, measure in measures.items()
    }
    outputs = [normal_text(output.expression, shown) for output in question.outputs]
    tree = ReadQuestion(
        source.term,
        [found for _, found in sorted(dict(keys.values()).items(), key=itemgetter(0))],
        [found for _, found in sorted(dict(measures.values()).items(), key=itemgetter(0))],
        [output.term for output in outputs],
    )
    fields = [
        f"from: {source}",
        f"keys: [{', '.join(sorted_keys)}]",
        f"measures: [{', '.join(sorted_measures)}]",
        f"show: [{', '.join(outputs)}]",
    ]
    if question.having is not None:
        having = normal_text(question.having, shown)
        fields.append(f"having: {having}")
        tree.having = having.term
    if question.order:
        order = [(normal_text(term, shown), down) for term, down in question.order]
        listed = [text + (" down" if down else " up") for text, down in order]
        fields.append(f"order: [{', '.join(listed)}]")
        tree.order = [(text.term, bool(down)) for text, down in order]
    if question.limit is not None:
        fields.append(f"limit: {question.limit}")
        tree.limit = str(question.limit)
    return "{" + "; ".join(fields) + "}", tree


def _place(letter: str, index: int) -> Token:
    """Write a key or a measure by its place."""
    return Token(CanonicalTerm(f"{letter}{index}", Call(f"{letter}{index}", ())))


def canonical_condition(relation: Relation, condition: Expression | None) -> str:
    """Write a condition on the rows of a relation in its canonical form."""
    return "true" if condition is None else normal_text(condition, _relation(relation, 0).names)


@dataclass(frozen=True)
class _Rows:
    """A relation as text: what it is, the conditions on its rows, how its columns are written."""

    base: CanonicalTerm
    conditions: frozenset[CanonicalTerm]
    names: Names

    @property
    def term(self) -> Term:
        """The relation as a tree."""
        if not self.conditions:
            return self.base.term
        return Call(
            "filter", (self.base.term, *(condition.term for condition in sorted(self.conditions)))
        )

    @property
    def whole(self) -> CanonicalTerm:
        """The relation as text and as a tree."""
        return CanonicalTerm(str(self), self.term)

    def __str__(self) -> str:
        if not self.conditions:
            return self.base
        return f"filter({self.base}, {', '.join(sorted(self.conditions))})"


def _relation(relation: Relation, joins: int) -> _Rows:
    """Write a relation; ``joins`` counts those above it, so that each has a number."""
    match relation:
        case Scan(table, _):
            return _Rows(call("scan", [value_text(table)]), frozenset(), {})
        case Filter(source, condition):
            below = _relation(source, joins)
            found = below.conditions | conjunct_texts(condition, below.names)
            return _Rows(below.base, found, below.names)
        case Project(source, named):
            below = _relation(source, joins)
            names = {name: _token(term, below.names) for name, term in named}
            return _Rows(below.base, below.conditions, names)
        case PerPerson():
            return _per_person(relation)
        case JoinPublic():
            return _join_public(relation, joins)
        case JoinPerson():
            return _join_person(relation, joins)
    raise TypeError(f"{type(relation).__name__} is not a relation of the language.")


def _join_public(relation: JoinPublic, joins: int) -> _Rows:
    below = _relation(relation.source, joins + 1)
    new = {
        name: Token(call(f"public{joins}", [column_text(column)]), column.bounds)
        for name, column in relation.named
    }
    pairs = {
        _equal(normal_text(term, below.names), column_text(column)) for term, column in relation.on
    }
    word = "left_join_public" if relation.outer else "join_public"
    parts = [below.whole, value_text(relation.table), *sorted(pairs)]
    return _Rows(call(f"{word}{joins}", parts), frozenset(), {**below.names, **new})


def _equal(left: CanonicalTerm, right: CanonicalTerm) -> CanonicalTerm:
    """Write what a join is made by."""
    return CanonicalTerm(f"{left} = {right}", Pair("=", left.term, right.term))


def _join_person(relation: JoinPerson, joins: int) -> _Rows:
    left, right = _relation(relation.left, joins + 1), _relation(relation.right, 0)
    new = {
        name: Token(
            _short(call(f"other{joins}", [normal_text(column, right.names)])), column.bounds
        )
        for name, column in relation.named
    }
    pairs = {
        _equal(normal_text(term, left.names), normal_text(column, right.names))
        for term, column in relation.on
    }
    word = "left_join_person" if relation.outer else "join_person"
    parts = [left.whole, right.whole, *sorted(pairs)]
    return _Rows(call(f"{word}{joins}", parts), frozenset(), {**left.names, **new})


def _per_person(relation: PerPerson) -> _Rows:
    """Write rows per person; numbers about them are written where they are used."""
    below = _relation(relation.source, 0)
    names: dict[str, Token] = {}
    for name, term in relation.keys:
        key = call("key", [normal_text(term, below.names)])
        names[name] = Token(_short(key), _bounds(term))
    for name, aggregate in relation.named:
        names[name] = Token(
            _short(_person_number(aggregate, below.names)), _shown_bounds(aggregate)
        )
    keys = sorted({names[name].text for name, _ in relation.keys})
    return _Rows(call("people", [below.whole, *keys]), frozenset(), names)


def _person_number(aggregate: PersonAggregate, names: Names) -> CanonicalTerm:
    inner = call(
        aggregate.function, [] if aggregate.term is None else [normal_text(aggregate.term, names)]
    )
    return call("each", [CanonicalTerm(inner + bounds_text(aggregate.bounds), inner.term)])


def _shown_bounds(aggregate: PersonAggregate) -> Bounds | None:
    return None if aggregate.function in {"count", "sum"} else aggregate.bounds


def _token(term: Expression, names: Names) -> Token:
    """Write a projected column as what it stands for."""
    text = normal_text(term, names)
    if _changed(term):
        text = call("column", [text])
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


def _short(text: CanonicalTerm) -> CanonicalTerm:
    """Keep names short: a long one is replaced by its digest, as repetition can multiply it."""
    if len(text) <= _LONG:
        return text
    return CanonicalTerm(f"sha256({hashlib.sha256(text.encode()).hexdigest()})", Name("…"))


def _key(key: Key, names: Names) -> tuple[str, tuple[Term, tuple[Term, ...] | None]]:
    term = normal_text(key.expression, names)
    if key.values is None:
        return f"{term} in found", (term.term, None)
    values = sorted({value_text(value) for value in key.values})
    text = f"{term} in {{{', '.join(values)}}}"
    return text, (term.term, tuple(value.term for value in values))


def _measure(measure: Measure, names: Names) -> tuple[str, ReadMeasure]:
    parts: list[str] = [measure.aggregate]
    tree: dict[str, Any] = {"aggregate": measure.aggregate}
    if measure.aggregate in {"variance", "stddev"}:
        whole = measure.spelling.upper().endswith("_POP")
        parts.append("population" if whole else "sample")
        tree["aggregate"] += "_pop" if whole else ""
    if measure.term is not None:
        term = normal_text(measure.term, names)
        parts.append(f"of {term}")
        tree["of"] = term.term
    if measure.bounds is not None:
        parts.append(f"within {bounds_text(measure.bounds)}")
        tree["within"] = tuple(number(value_text(end)) for end in measure.bounds)
    if measure.order is not None:
        parts.append(f"order {measure.order}")
        tree["order"] = _rank(measure.order)
    if measure.where is not None:
        conditions = sorted(conjunct_texts(measure.where, names)) or [TRUE]
        parts.append(f"where {', '.join(conditions)}")
        tree["where"] = tuple(condition.term for condition in conditions)
    return f"({' '.join(parts)})", ReadMeasure(**tree)


def _rank(order: Fraction | float) -> str:
    """Write which quantile is meant, as people do."""
    exact = Fraction(order)
    return number(str(order)) if exact.denominator == 1 else f"{float(exact):.6g}"
