"""Tables: count → bind → decide → recheck → apply → measure.

`decide` turns a table and a promise into a `TableDecision`; `apply` makes rows of it; `measure`
says what that cost. `algorithm_named` finds the function behind a public name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from sfumato.anonymize.definitions.definition import Definition, number_between
from sfumato.anonymize.definitions.diversity import DistinctLDiversity
from sfumato.anonymize.loss.measures import OBJECTIVES, check_objective, losses
from sfumato.anonymize.tables.apply.recheck import recheck
from sfumato.anonymize.tables.apply.recode import labelled_shares
from sfumato.anonymize.tables.apply.rows import RowSettings, release_rows, released_columns
from sfumato.anonymize.tables.artefact import TableArtefact
from sfumato.anonymize.tables.decision import TableDecision
from sfumato.anonymize.tables.pose import pose
from sfumato.data.tables.permutation import RandomWords
from sfumato.data.tables.unit import person_column, repeats
from sfumato.data.wording import check_options, did_you_mean, listed
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.people.release import PeopleSource
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table


def decide(
    table: Table,
    promise: Definition,
    *,
    algorithm: str = "optimal",
    suppression: float = 0.0,
    objective: str = "LM",
    population: Any = None,
    pseudonym_key: bytes | None = None,
    order: Literal["shuffle", "keep"] = "shuffle",
    seed: int | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> TableDecision:
    """Decide how to release a table so that a promise is kept, at as little loss as is found.

    `suppression` is the largest share of records that may be left out. `objective` is the loss
    to minimise. `population` is the table of everybody who could be in the data, for k-map and
    δ-presence. `pseudonym_key` releases identifiers as keyed pseudonyms instead of dropping
    them. `seed` repeats the row order of a release; leave it out for anything you publish.
    Further options go to the algorithm, for instance `strict=False` for Mondrian. "auto" runs all
    algorithms that are cheap for so many distinct records, and keeps what lost least.
    """
    if order not in {"shuffle", "keep"}:
        raise ParameterError(f"The order must be 'shuffle' or 'keep', not {order!r}.")
    settings = RowSettings(pseudonym_key, order, seed)
    share = number_between("suppression", suppression, 0, 1)
    _check_settings(pseudonym_key, seed)
    if algorithm == AUTO and options:
        raise ParameterError(
            f"algorithm='auto' chooses algorithms and their options itself; name one of "
            f"{listed(ALGORITHMS)} to give it {listed(tuple(options))}."
        )
    search = None if algorithm == AUTO else algorithm_named(algorithm, time_limit, options)
    check_objective(objective)
    if algorithm not in {"optimal", AUTO} and objective not in {"LM", "MD", "NUE"}:
        raise ParameterError(
            f"Only algorithm='optimal' can minimise {objective}; the others minimise a sum over "
            f"cells: LM, MD or NUE (of {', '.join(OBJECTIVES)})."
        )
    asked = {"suppression": share, "objective": objective, "order": order}
    if options.get("steps") == "information-gain" and options.get("target") is not None:
        promise = _with_target(table, promise, options["target"])
    prepared = prepare(table, promise, settings, population, objective, share)
    if search is None:
        return _decide_best(prepared, settings, asked, progress, time_limit)
    searching = partial(search, progress=progress)
    return _decide_by(prepared, algorithm, options, searching, settings, asked)


def _decide_by(
    prepared: PreparedTable,
    algorithm: str,
    options: dict[str, Any],
    search: Callable[..., Recoding],
    settings: RowSettings,
    asked: dict[str, Any],
) -> TableDecision:
    """Let one algorithm decide, and look at what it decided."""
    levels = decides_levels(algorithm, options)
    recoding = _find_recoding(prepared, search, algorithm, settings.seed, levels=levels)
    return settle_decision(
        prepared, recoding, settings, {"algorithm": algorithm, **asked, **options}
    )


def _with_target(table: Table, promise: Definition, target: str) -> Definition:
    """Have the values of a target counted, by a promise that every class meets, if none names it.

    Where a person may have several records no class meets it for certain, and the promise has to
    name the target.
    """
    if target in promise.sensitive or target not in table.schema.sensitive_names:
        return promise
    unit = person_column(table)
    return (
        promise
        if unit is not None and repeats(table, unit)
        else promise & DistinctLDiversity(1, target)
    )


# -- the best of what is cheap ----------------------------------------------------------------


_CANDIDATES: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("optimal", {}, math.inf),
    ("mondrian", {"strict": True}, math.inf),
    ("mondrian", {"strict": False}, math.inf),
    ("topdown", {}, math.inf),
    ("local", {}, 600_000),
    ("cluster", {}, 200_000),
)
"""What "auto" tries, and up to how many cells of distinct records; of equals the first is kept."""

_MOST_CHECKS = 1_000_000_000
"""Nodes of the lattice times distinct records up to which "auto" searches the lattice."""


def _candidates(problem: Problem) -> list[tuple[str, dict[str, Any]]]:
    """Choose algorithms by the work they would be, from the frequency table alone.

    No clock is asked, so the same table and seed give the same release on every machine.
    """
    cells = problem.table.distinct * problem.attributes
    nodes = math.prod(int(height) for height in problem.heights)
    if problem.objective not in {"LM", "MD", "NUE"}:
        return [("optimal", {})]
    chosen = [(name, options) for name, options, most in _CANDIDATES if cells <= most]
    return chosen if nodes * problem.table.distinct <= _MOST_CHECKS else chosen[1:]


def _decide_best(
    prepared: PreparedTable,
    settings: RowSettings,
    asked: dict[str, Any],
    progress: Progress | None,
    time_limit: float | None,
) -> TableDecision:
    """Let every cheap algorithm decide, and keep what loses least; what was tried is recorded."""
    candidates = _candidates(prepared.problem)
    limit = None if time_limit is None else time_limit / len(candidates)
    best: tuple[float, TableDecision] | None = None
    tried, refused = [], None
    for place, (name, options) in enumerate(candidates):
        search = partial(
            algorithm_named(name, limit, dict(options)), progress=_part(progress, place, candidates)
        )
        try:
            found = _decide_by(prepared, name, options, search, settings, asked)
        except Unsatisfiable as error:
            refused = refused or error
            continue
        loss = measure(prepared.table, found)[prepared.problem.objective]
        tried.append(f"{' '.join([name, *map(_said, options.items())])} {loss:.4f}")
        if best is None or loss < best[0]:
            best = loss, found
    if best is None:
        assert refused is not None
        raise refused
    facts = {**best[1].record.facts, "chosen": "by auto, as the least loss of what is cheap here"}
    record = replace(best[1].record, facts={**facts, "tried": "; ".join(tried)})
    return replace(best[1], record=record)


def _said(option: tuple[str, Any]) -> str:
    return f"({option[0]}={option[1]})"


def _part(progress: Progress | None, place: int, candidates: list[Any]) -> Progress | None:
    """Tell of one algorithm as a part of all."""
    if progress is None:
        return None
    name, whole = candidates[place][0], len(candidates)

    def told(done: float, loss: float, words: str) -> None:
        progress((place + done) / whole, loss, f"{name}: {words}")

    return told


def _find_recoding(
    prepared: PreparedTable,
    search: Callable[..., Recoding],
    algorithm: str,
    seed: int | None,
    *,
    levels: bool,
) -> Recoding:
    """Let an algorithm decide; where people or a population are counted, it may be too hasty."""
    problem, source = prepared.problem, prepared.source
    if source is None and not problem.definition.needs_population:
        return search(problem)
    from sfumato.anonymize.tables.people import search as exact  # noqa: PLC0415 - rarely needed

    if source is None:
        words = RandomWords(seed)
        return exact.find_population_recoding(problem, search, algorithm, words, levels=levels)
    return exact.find_people_recoding(source.people, problem, search, algorithm, levels=levels)


def settle_decision(
    prepared: PreparedTable,
    recoding: Recoding,
    settings: RowSettings,
    asked: dict[str, Any],
    *,
    fixed: bool = False,
) -> TableDecision:
    """Look at a recoding once more, as it will be shown, before it becomes a decision.

    `fixed` says that its levels must stay as they are.
    """
    if prepared.source is not None:
        from sfumato.anonymize.tables.people.release import settle_people  # noqa: PLC0415 - rarely needed

        return settle_people(prepared.source, recoding, settings, asked, fixed=fixed)
    problem = prepared.problem
    if problem.definition.needs_population:
        from sfumato.anonymize.tables.people.search import reach_everybody  # noqa: PLC0415 - rarely needed

        recoding = reach_everybody(problem, recoding, RandomWords(settings.seed), fixed=fixed)
    recheck(problem, recoding)
    shares = labelled_shares(problem.table, problem.hierarchies, recoding)
    return TableDecision(
        record=recoding.record,
        content=recoding,
        records=problem.rows,
        suppressed=problem.rows - int(shares.count.sum()),
        allowed=problem.suppression_limit,
        settings=asked,
        problem=problem,
        rows=prepared.rows,
        row_settings=settings,
        shares=shares,
    )


def apply(table: Table, decision: TableDecision) -> TableArtefact:
    """Make the rows of a release."""
    settings, schema = decision.row_settings, table.schema
    columns = released_columns(table, settings)
    levels = getattr(decision.recoding, "levels", None)
    return TableArtefact(
        rows=decision.rows(decision.problem.table, decision.shares, decision.recoding),
        quasi=tuple(name for name in schema.quasi_names if name in columns),
        sensitive=tuple(name for name in schema.sensitive_names if name in columns),
        kind=table.kind,
        delimiter=table.delimiter,
        left_out=tuple(column for column in table.columns if column not in columns),
        pseudonyms=() if settings.pseudonym_key is None else schema.identifier_names,
        insensitive=tuple(name for name in schema.insensitive_names if name in columns),
        linkable={n: why for n, why in schema.accepted.items() if n in columns},
        unit=schema.unit,
        home=table.engine,
        numbers=decision.numbers,
        levels=None
        if levels is None
        else dict(zip(schema.quasi_names, (int(v) for v in levels), strict=True)),
    )


def measure(table: Table, decision: TableDecision) -> dict[str, float]:
    """Return what a decision costs, in the ways of the field, the one that was minimised first."""
    problem = decision.problem
    found = losses(problem.table, problem.hierarchies, decision.recoding, table.schema.weights)
    return {problem.objective: found[problem.objective], **found}


def _check_settings(pseudonym_key: object, seed: object) -> None:
    if pseudonym_key is not None and not isinstance(pseudonym_key, bytes):
        raise ParameterError(
            "The pseudonym key must be bytes, as sfumato.data.tables.pseudonyms.read_key returns "
            f"them, not a {type(pseudonym_key).__name__}."
        )
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError(f"The seed must be a whole number of at least 0, not {seed!r}.")


_FUNCTIONS = {
    "optimal": ("full_domain.lattice", "search"),
    "local": ("local.local", "recode"),
    "mondrian": ("top_down.mondrian", "partition"),
    "cluster": ("bottom_up.clustering", "cluster"),
    "topdown": ("top_down.specialization", "specialize"),
    "cells": ("cell_suppression", "suppress_cells"),
}
ALGORITHMS = tuple(_FUNCTIONS)
AUTO = "auto"
"""All algorithms that are cheap for a table, of which the best release is kept."""


def algorithm_named(
    name: str, time_limit: float | None, options: dict[str, Any]
) -> Callable[..., Recoding]:
    """Return the function behind an algorithm's public name, its options checked."""
    if name not in _FUNCTIONS:
        raise ParameterError(
            f"There is no algorithm '{name}'; there are {listed(ALGORITHMS)}."
            f"{did_you_mean(name, ALGORITHMS)}"
        )
    module, function = _FUNCTIONS[name]
    search = getattr(import_module(f"sfumato.anonymize.tables.algorithms.{module}"), function)
    given = dict(options)
    if time_limit is not None:
        if not (isinstance(time_limit, int | float) and 0 < time_limit < math.inf):
            raise ParameterError(
                f"The time limit must be a finite number of seconds above 0, not {time_limit!r}."
            )
        given["time_limit"] = float(time_limit)
    also = [p for p in signature(decide).parameters if p not in {"table", "promise", "options"}]
    check_options(f"Algorithm '{name}'", search, given, also)
    return partial(search, **given)


def decides_levels(algorithm: str, options: dict[str, Any]) -> bool:
    """Tell whether an algorithm gives one level per attribute, not classes of their own."""
    return algorithm == "optimal" or options.get("scope") == "full-domain"


@dataclass(frozen=True, eq=False, repr=False)
class PreparedTable:
    """A table counted and priced: the problem, and what is needed to apply its solution.

    Where people have several rows, `source` knows whose they are and the problem is about primary
    records.
    """

    table: Table
    problem: Problem
    rows: Any
    source: PeopleSource | None = None


def prepare(
    table: Table,
    promise: Definition,
    settings: RowSettings,
    population: Any,
    objective: str,
    suppression: float,
) -> PreparedTable:
    """Count the table and set up the problem."""
    schema = table.schema
    _check_promise(promise, schema)
    unit = person_column(table)
    if unit is not None and repeats(table, unit):
        from sfumato.anonymize.tables.people.release import prepare_people  # noqa: PLC0415 - rarely needed

        source = prepare_people(table, promise, settings, unit, population, objective, suppression)
        return PreparedTable(table, source.problem, None, source)
    rows = release_rows(table, promise, settings)
    problem, tuple_of = pose(table, promise, rows.counted, population, objective, suppression)
    return PreparedTable(table, problem, rows.bind(tuple_of))


def _check_promise(promise: Definition, schema: Schema) -> None:
    if not schema.quasi_names:
        raise SchemaError(
            f"{schema.source} names no quasi-identifier; name the attributes that others may "
            "know about a person with role 'quasi'."
        )
    promise.check_schema(schema)
