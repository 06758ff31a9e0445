"""From noisy numbers to the columns and rows the analyst asked for: post-processing.

Contract: sees noisy numbers, the question and public facts; nothing here can cost privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.intervals import DerivedColumn, formula_of, names_in
from sfumato.ask.answers.measurement import sort_key
from sfumato.ask.answers.noisy_column import NoisyColumn
from sfumato.ask.answers.note import Note
from sfumato.ask.language.analysis import LARGEST_PLAIN, kind_of
from sfumato.ask.language.days import date_of
from sfumato.ask.language.domains import bounded_key
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Column, Output
from sfumato.ask.language.request import RowBound, RowsBound
from sfumato.ask.price.quantiles import is_dated, mechanism, moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.ask.answers.measurement import Numbers
    from sfumato.ask.language.language import Measure, Question
    from sfumato.ask.price.preparation import PreparedQuestion


def noisy_columns(found: Numbers) -> dict[str, NoisyColumn]:
    """Give every measure but quantiles as a column of noisy numbers."""
    columns = {}
    allocation = found.prepared.allocation
    for recipe in found.prepared.wanted.parts.recipes:
        parts = tuple(zip(*(found.totals[place] for place in recipe.places), strict=True))
        noises = tuple(allocation.noise(place) for place in recipe.places)
        columns[recipe.name] = NoisyColumn(recipe, noises, parts)
    return columns


def compose_answer(found: Numbers) -> dict[str, Any]:
    """Give columns, rows, intervals and notes of the answer, by the names of ``Answer``."""
    question = found.prepared.question
    columns = noisy_columns(found)
    rows = [_row(question, columns, found, i) for i in range(len(found.keys))]
    kept = [i for i, row in enumerate(rows) if _passes(question, row)]
    for expression, descending in reversed(question.order):
        kept.sort(key=lambda i: sort_key((evaluate(expression, rows[i], noisy=True),)),
                  reverse=descending)  # fmt: skip
    kept = kept[: question.limit] if question.limit is not None else kept
    outputs = outputs_of(question)
    shown = [(o.name, o.expression.name) for o in outputs if isinstance(o.expression, Column)]
    picked = found.prepared.wanted.parts.quantiles
    ranges = {m.name: _range(m) for m in picked if not is_dated(m)}
    keyed = {key.name for key in question.keys}
    return {
        "columns": tuple(output.name for output in outputs),
        "rows": tuple(
            tuple(evaluate(output.expression, rows[i], noisy=True) for output in outputs)
            for i in kept
        ),
        "keys": tuple(name for name, inner in shown if inner in keyed),
        "places": tuple(kept),
        "measures": {
            name: columns[inner]
            for name, inner in shown
            if inner in columns and inner not in found.unfound
        },
        "ranges": {
            name: ranges[inner]
            for name, inner in shown
            if inner in ranges and inner not in found.unfound
        },
        "derived": _derived(outputs, columns, ranges, found),
        "notes": (*bounding_notes(found.prepared), *_bounds_notes(found)),
    }


def _derived(
    outputs: tuple[Output, ...],
    columns: dict[str, NoisyColumn],
    ranges: dict[str, tuple[float, float]],
    found: Numbers,
) -> dict[str, DerivedColumn]:
    """Keep what the intervals of computed columns need; what keys alone give is exact."""
    derived = {}
    names = [key.name for key in found.prepared.question.keys]
    for output in outputs:
        formula = None if isinstance(output.expression, Column) else formula_of(output.expression)
        used = set() if formula is None else names_in(formula)
        if formula is not None and not used <= {*names} and not used & found.unfound:
            derived[output.name] = DerivedColumn(
                formula,
                {name: column for name, column in columns.items() if name in used},
                {name: pair for name, pair in ranges.items() if name in used},
                {n: [key[i] for key in found.keys] for i, n in enumerate(names) if n in used},
            )
    return derived


def _range(measure: Measure) -> tuple[float, float]:
    assert measure.bounds is not None
    return float(measure.bounds[0]), float(measure.bounds[1])


def _row(
    question: Question, columns: dict[str, NoisyColumn], found: Numbers, place: int
) -> dict[str, Any]:
    row: dict[str, Any] = {
        key.name: value for key, value in zip(question.keys, found.keys[place], strict=True)
    }
    row |= {name: column.value(place) for name, column in columns.items()}
    dated = {m.name for m in question.measures if is_dated(m)}
    for name, picked in found.quantiles.items():
        row[name] = date_of(picked[place]) if name in dated else picked[place]
    return row | dict.fromkeys(found.unfound)


def _passes(question: Question, row: dict[str, Any]) -> bool:
    return question.having is None or evaluate(question.having, row, noisy=True) is True


def outputs_of(question: Question) -> tuple[Output, ...]:
    """Give the columns of the answer; keys and measures where none are named."""
    if question.outputs:
        return question.outputs
    keys = [Output(k.name, Column(k.name, kind_of(k.expression))) for k in question.keys]
    return (*keys, *(Output(m.name, Column(m.name, "real")) for m in question.measures))


def bounding_notes(prepared: PreparedQuestion) -> tuple[Note, ...]:
    """Say what was done to contributions and groups: true whatever the data are."""
    notes = [Note(told) for told in _kept(prepared)]
    notes += [
        Note(": rows beyond declared bounds are in no group; how many is not measured", key.name)
        for key in prepared.question.keys
        if bounded_key(key)
    ]
    if prepared.threshold is not None:
        delta = float(prepared.allocation.price.delta)
        told = (
            "groups were found privately: one is shown if its noisy number of people is at least "
            f"{prepared.threshold}, which costs δ = {delta:.3g}"
        )
        notes.append(Note(told))
    return (*notes, *_quantile_notes(prepared))


def _kept(prepared: PreparedQuestion) -> Iterator[str]:
    bound = prepared.bound
    if isinstance(bound, RowBound):
        return
    if isinstance(bound, RowsBound) or not prepared.question.keys:
        yield f"of each person at most {_rows(bound.rows)} {_CHOSEN}"
    else:
        groups = "1 group" if bound.groups == 1 else f"{bound.groups} groups"
        yield f"of each person at most {groups} and {_rows(bound.rows)} in each {_CHOSEN}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


_RANGE = "its interval is the range in which it was looked for"
_CHOSEN = "count, chosen by a keyed hash; how many were left out is not measured"


def _quantile_notes(prepared: PreparedQuestion) -> list[Note]:
    notes = []
    for measure in prepared.wanted.parts.quantiles:
        epsilon = prepared.allocation.quantile_epsilon
        assert epsilon is not None
        chooser = mechanism(measure, prepared.wanted.reach, epsilon)
        if chooser is None:
            continue
        reach = chooser.error.beyond(0.05)
        spelled = measure.spelling or "QUANTILE"
        extreme = (
            f" ({spelled} itself would be one person's value)"
            if spelled.upper() in {"MIN", "MAX"}
            else ""
        )
        away = f"at most {_at_least(reach)} ranks away among the rows that count"
        off = f"a number within {_at_least(moved(measure))} of it is" if moved(measure) else "it is"
        notes.append(
            Note(
                f" is the quantile of order {float(measure.order or 0):g}{extreme}; with 95 % "
                f"confidence {off} {away}; how far that is in values "
                f"depends on the data, so {'it has no interval' if is_dated(measure) else _RANGE}",
                measure.name,
            )
        )
    return notes


def _at_least(number: float) -> str:
    """Write a number with three digits, as one that is not smaller."""
    shown = f"{number:.3g}"
    return shown if float(shown) >= number else f"{1.01 * number:.3g}"


def _bounds_notes(found: Numbers) -> tuple[Note, ...]:
    notes = []
    given = found.prepared.searched
    for measure in found.prepared.question.measures:
        if measure.bounds is None or measure.aggregate in {"count", "people"}:
            continue
        if measure.name in found.unfound:
            notes.append(
                Note(
                    " has no value: bounds for it were not declared, and none stood out of the "
                    "noise; declare bounds, or spend more",
                    measure.name,
                )
            )
            continue
        low, high = (
            str(date_of(float(end))) if is_dated(measure) else f"{float(end):g}"
            for end in measure.bounds
        )
        how = "found privately with a share of the price" if (
            measure.term, measure.where) in given else _stated(measure)  # fmt: skip
        notes.append(
            Note(
                f": values were clamped to [{low}, {high}], {how}; how many were outside is not "
                "measured",
                measure.name,
            )
        )
    return tuple(notes)


def _stated(measure: Measure) -> str:
    """Say where bounds come from that were known beforehand."""
    assert measure.bounds is not None
    if max(map(abs, measure.bounds)) >= LARGEST_PLAIN:
        return "as far as numbers of its kind are computed with"
    return "as declared, or as the question implies"
