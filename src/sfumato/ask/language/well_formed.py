"""Questions that did not come through SQL are typed again, from the leaves up.

Contract: :func:`check_well_formed` raises a refusal unless every expression of a question could
have been built by :mod:`sfumato.ask.language.build`: kinds fit, literals are of the kind they say,
functions are known, magnitudes are safe. Then it is total on every engine, as the guarantee needs;
an ill-typed comparison would make an engine raise or not, depending on cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.ask.language import build as building
from sfumato.ask.language.analysis import kind_of, range_of
from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    Filter,
    IsNull,
    JoinPerson,
    JoinPublic,
    Like,
    Logic,
    Not,
    OneOf,
    PerPerson,
    Project,
    Question,
    Relation,
    Scan,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS = {"integer", "real"}


def check_well_formed(question: Question) -> None:
    """Refuse a question whose expressions are not well typed, or whose keys repeat a value."""
    for condition in _conditions(question.relation):
        building.condition(_typed(condition), "a condition")
    for expression in _expressions(question.relation):
        _typed(expression)
    for key in question.keys:
        _typed(key.expression)
        if key.values is not None and len(set(key.values)) < len(key.values):
            raise ParameterError(
                f"The public values of the key {key.name!r} are listed once each; one is repeated."
            )
    for measure in question.measures:
        if measure.term is not None:
            _typed(measure.term)
        if measure.where is not None:
            building.condition(_typed(measure.where), "a condition")


def _relations(relation: Relation) -> Iterator[Relation]:
    yield relation
    match relation:
        case Scan():
            return
        case JoinPerson(left, right):
            yield from _relations(left)
            yield from _relations(right)
        case Filter() | Project() | PerPerson() | JoinPublic():
            yield from _relations(relation.source)
        case _:
            raise ParameterError(f"{type(relation).__name__} is not a relation of the language.")


def _conditions(relation: Relation) -> Iterator[Expression]:
    for inner in _relations(relation):
        if isinstance(inner, Filter):
            yield inner.condition


def _expressions(relation: Relation) -> Iterator[Expression]:
    for inner in _relations(relation):
        match inner:
            case Project():
                yield from (term for _, term in inner.named)
            case PerPerson():
                yield from (term for _, term in inner.keys)
                yield from (a.term for _, a in inner.named if a.term is not None)
            case JoinPublic() | JoinPerson():
                for ours, theirs in inner.on:
                    yield building.compare("=", _typed(ours), theirs)


def _typed(expression: Expression) -> Expression:
    """Build an expression again, which refuses what does not fit together."""
    built = _built(expression)
    if kind_of(built) in _NUMBERS:
        range_of(built)  # refuses what may become too large or too small
    return built


def _built(expression: Expression) -> Expression:  # noqa: C901 - one case per class
    match expression:
        case Column():
            return expression
        case Constant(value, kind):
            return expression if value is None else _literal(expression, kind)
        case Arithmetic(operator, left, right):
            return building.arithmetic(operator, _typed(left), _typed(right))
        case Compare(operator, left, right):
            return building.compare(operator, _typed(left), _typed(right))
        case Apply(function, arguments):
            return building.apply(function, *(_typed(argument) for argument in arguments))
        case Logic(word, terms):
            return building.logic(word, [_typed(part) for part in terms])
        case Not(term):
            return building.negation(_typed(term))
        case IsNull(term):
            return building.missing(_typed(term))
        case OneOf(term, values):
            return building.one_of(_typed(term), [_typed(literal) for literal in values])
        case Like(term, pattern):
            return building.like(_typed(term), Constant(pattern, "text"))
        case Case(branches, default):
            pairs = [(_typed(when), _typed(then)) for when, then in branches]
            return building.case(pairs, _typed(default))
    raise ParameterError(f"{type(expression).__name__} is not an expression of the language.")


def _literal(constant: Constant, kind: str) -> Expression:
    built = building.literal(constant.value)
    if built.kind != kind and not {built.kind, kind} <= _NUMBERS:
        raise ParameterError(f"A literal of the question says it is {kind}, and is {built.kind}.")
    return constant
