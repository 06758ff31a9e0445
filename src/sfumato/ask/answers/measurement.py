"""From exact totals to noisy numbers: the only place where both are in reach.

Contract: :func:`measure` asks the engine, adds the noise that was prepared, and gives back noisy
numbers alone; exact totals do not leave this module. It is called after the charge.

Groups whose values are public are answered whether or not they exist in the data. Found groups
are those whose noisy number of people reaches the threshold. Either way they are put in the order
of their keys, so that nothing of the engine's order remains.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.language.request import Request
from sfumato.ask.price.bounds_search import UNKNOWN, found_bounds, search_request
from sfumato.ask.price.measures import PEOPLE
from sfumato.ask.price.quantiles import pick, points_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.language.language import Bounds, Expression, Question, Value
    from sfumato.ask.language.request import Aggregates
    from sfumato.ask.price.noise import Noise
    from sfumato.ask.price.preparation import PreparedQuestion


@dataclass(frozen=True)
class Numbers:
    """Noisy numbers per group; ``totals`` by place, ``quantiles`` by measure name.

    ``prepared`` is the question with the bounds it was answered with; ``unfound`` names the
    measures for which no bounds stood out, whose numbers therefore say nothing.
    """

    prepared: PreparedQuestion
    keys: tuple[tuple[Value, ...], ...]
    totals: dict[int, list[int]]
    quantiles: dict[str, list[float]]
    unfound: frozenset[str] = frozenset()


def measure(prepared: PreparedQuestion, engine: Engine, salt: bytes) -> Numbers:
    """Answer a prepared question with noisy numbers."""
    found, unfound = _find_bounds(prepared, engine, salt)
    ready = prepared.bounded(found)
    question, allocation = ready.question, ready.allocation
    parts = ready.wanted.parts
    keys, totals = public_keys(question), dict[int, list[int]]()
    if parts.totals or ready.wanted.people:
        request = Request(question.relation, question.keys, parts.totals, ready.bound, salt)
        exact = engine.aggregate(request)
        keys, totals = _noised(ready, exact, keys)
    assert keys is not None
    quantiles = {}
    for measure in parts.quantiles:
        counted = engine.aggregate(points_request(question, measure, ready.bound, salt))
        assert allocation.quantile_epsilon is not None
        quantiles[measure.name] = pick(
            measure, counted, keys, ready.wanted.reach, allocation.quantile_epsilon
        )
    lost = frozenset(m.name for m in prepared.question.measures if (m.term, m.where) in unfound)
    return Numbers(ready, keys, totals, quantiles, lost)


def _find_bounds(
    prepared: PreparedQuestion, engine: Engine, salt: bytes
) -> tuple[dict[tuple[Expression, Expression | None], Bounds], set[Any]]:
    """Find bounds privately; name the terms for which none stood out."""
    found: dict[tuple[Expression, Expression | None], Bounds] = {}
    unfound = set()
    for term, where in prepared.searched:
        request = search_request(
            prepared.question.relation, term, where, bound=prepared.bound, salt=salt
        )
        assert prepared.allocation.search is not None
        bounds = found_bounds(engine.aggregate(request), prepared.allocation.search)
        if bounds is None:
            unfound.add((term, where))
        found[term, where] = bounds or UNKNOWN
    return found, unfound


def public_keys(question: Question) -> tuple[tuple[Value, ...], ...] | None:
    """List all groups when every key has public values; None when groups are to be found."""
    values = [key.values for key in question.keys]
    if any(listed is None for listed in values):
        return None
    if any(len(set(listed)) < len(listed) for listed in values if listed is not None):
        raise AssertionError("a group that is listed twice would be answered twice for one price")
    return tuple(product(*(listed for listed in values if listed is not None)))


def _noised(
    ready: PreparedQuestion, exact: Aggregates, keys: tuple[tuple[Value, ...], ...] | None
) -> tuple[tuple[tuple[Value, ...], ...], dict[int, list[int]]]:
    """Add noise to the totals of all groups; keep the groups that may be shown."""
    threshold = ready.threshold
    groups = tuple(sorted(exact.keys, key=sort_key)) if keys is None else keys
    place = {key: i for i, key in enumerate(exact.keys)}
    order = [place.get(key) for key in groups]
    allocation = ready.allocation
    totals = {
        i: _with_noise(_aligned(total, order), allocation.noises[i])
        for i, total in enumerate(exact.totals)
    }
    if ready.wanted.people:
        totals[PEOPLE] = _with_noise(_aligned(exact.people, order), allocation.people)
    if threshold is None:
        return groups, totals
    shown = [i for i, people in enumerate(totals[PEOPLE]) if people >= threshold]
    kept = {name: [column[i] for i in shown] for name, column in totals.items()}
    return tuple(groups[i] for i in shown), kept


def _aligned(total: Any, order: Sequence[int | None]) -> list[int]:
    return [0 if at is None else int(total[at]) for at in order]


def _with_noise(exact: list[int], noise: Noise | None) -> list[int]:
    if noise is None or not exact:
        return exact
    drawn: list[int] = np.asarray(noise.draw(len(exact))).tolist()
    return [value + extra for value, extra in zip(exact, drawn, strict=True)]


def sort_key(key: Sequence[Value]) -> tuple[tuple[int, Any], ...]:
    """Order keys by kind and value, NULL last."""
    return tuple(_rank(value) for value in key)


def _rank(value: Value) -> tuple[int, Any]:
    if value is None:
        return 9, 0
    if isinstance(value, (bool, int, float)):
        return 0, value
    return (1, value.isoformat()) if isinstance(value, dt.date) else (2, value)
