"""Tables: count → bind → decide → recheck → apply → measure.

`decide` turns a table and a promise into a `TableDecision`; `apply` makes rows of it; `measure`
says what that cost. `algorithm_named` finds the function behind a public name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from sfumato.anonymize.definitions.definition import Definition, number_between
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
from sfumato.errors import ParameterError, SchemaError

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
    """Decide how to release a table so that a promise is kept at the least loss.

    `suppression` is the largest share of records that may be left out. `objective` is the loss
    to minimise. `population` is the table of everybody who could be in the data, for k-map and
    δ-presence. `pseudonym_key` releases identifiers as keyed pseudonyms instead of dropping
    them. `seed` repeats the row order of a release; leave it out for anything you publish.
    Further options go to the algorithm, for instance `strict=False` for Mondrian.
    """
    if order not in {"shuffle", "keep"}:
        raise ParameterError(f"The order must be 'shuffle' or 'keep', not {order!r}.")
    settings = RowSettings(pseudonym_key, order, seed)
    share = number_between("suppression", suppression, 0, 1)
    _check_settings(pseudonym_key, seed)
    search = algorithm_named(algorithm, time_limit, options)
    check_objective(objective)
    if algorithm != "optimal" and objective not in {"LM", "MD", "NUE"}:
        raise ParameterError(
            f"Only algorithm='optimal' can minimise {objective}; the others minimise a sum over "
            f"cells: LM, MD or NUE (of {', '.join(OBJECTIVES)})."
        )
    prepared = prepare(table, promise, settings, population, objective, share)
    searching = partial(search, progress=progress)
    levels = decides_levels(algorithm, options)
    recoding = _find_recoding(prepared, searching, algorithm, seed, levels=levels)
    asked = {
        "algorithm": algorithm,
        "suppression": share,
        "objective": objective,
        "order": order,
        **options,
    }
    return settle_decision(prepared, recoding, settings, asked)


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
