"""`sf.anonymize`: from a table and a promise to a release.

The steps, each in a module of its own: count distinct combinations in the engine, bind
the hierarchies, let an algorithm decide, apply the decision, measure the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from sfumato.anonymize.definitions.definition import Definition, number_between
from sfumato.anonymize.loss.measures import OBJECTIVES, check_objective, losses, separable
from sfumato.anonymize.tables.apply.recheck import recheck
from sfumato.anonymize.tables.apply.recode import labelled_shares
from sfumato.anonymize.tables.apply.rows import RowSettings, release_rows, released_columns
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import bind_hierarchies, frequency_table
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.release import Decision, Release

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table


def anonymize(
    data: Any,
    promise: Definition,
    *,
    schema: Schema | str | Path | None = None,
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
) -> Release:
    """Return a release of `data` that keeps `promise` at the least loss the algorithm finds.

    `suppression` is the largest share of records that may be left out. `objective` is the loss
    to minimise. `population` is the table of everybody who could be in the data, for k-map and
    δ-presence. `pseudonym_key` releases identifiers as keyed pseudonyms instead of dropping
    them. `seed` repeats the row order of a release; leave it out for anything you publish.
    Further options go to the algorithm, for instance `strict=False` for Mondrian.
    """
    table = read(data, schema=schema)
    if not isinstance(promise, Definition):
        raise ParameterError(
            f"The promise must be a definition such as sf.KAnonymity(5), not {promise!r}."
        )
    if order not in {"shuffle", "keep"}:
        raise ParameterError(f"The order must be 'shuffle' or 'keep', not {order!r}.")
    settings = RowSettings(pseudonym_key, order, seed)
    share = number_between("suppression", suppression, 0, 1)
    _check_settings(pseudonym_key, seed)
    decide = algorithm_named(algorithm, time_limit, options)
    check_objective(objective)
    if algorithm != "optimal" and objective not in {"LM", "MD", "NUE"}:
        raise ParameterError(
            f"Only algorithm='optimal' can minimise {objective}; the others minimise a sum over "
            f"cells: LM, MD or NUE (of {', '.join(OBJECTIVES)})."
        )
    prepared = prepare(table, promise, settings, population, objective, share)
    recoding = decide(prepared.problem, progress=progress)
    return assemble(
        prepared,
        recoding,
        settings,
        {
            "algorithm": algorithm,
            "suppression": share,
            "objective": objective,
            "order": order,
            **options,
        },
    )


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
    decide = getattr(import_module(f"sfumato.anonymize.tables.algorithms.{module}"), function)
    given = dict(options)
    if time_limit is not None:
        if not (isinstance(time_limit, int | float) and 0 < time_limit < math.inf):
            raise ParameterError(
                f"The time limit must be a finite number of seconds above 0, not {time_limit!r}."
            )
        given["time_limit"] = float(time_limit)
    known = [p for p in signature(decide).parameters if p not in {"problem", "progress"}]
    for option in given:
        if option not in known:
            raise ParameterError(
                f"Algorithm '{name}' has no option '{option}'; it has {listed(known)}."
                f"{did_you_mean(option, known)}"
            )
    return partial(decide, **given)


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """A table counted and priced: the problem, and what is needed to apply its solution."""

    table: Table
    problem: Problem
    rows: Any


def prepare(
    table: Table,
    promise: Definition,
    settings: RowSettings,
    population: Any,
    objective: str,
    suppression: float,
) -> Prepared:
    """Count the table and set up the problem."""
    schema = table.schema
    _check_promise(promise, schema)
    source = release_rows(table, promise, settings)
    counted = source.counted
    hierarchies = bind_hierarchies(counted, schema)
    people = None
    if promise.needs_population:
        people = _population(population, table, promise)
        hierarchies = people.extend(hierarchies, counted)
    frequencies, tuple_of = frequency_table(counted, schema, hierarchies, promise.sensitive)
    costs, suppressed = separable(
        objective if objective in {"LM", "MD", "NUE"} else "LM",
        hierarchies,
        frequencies,
        schema.weights,
    )
    nested = {
        name: tree
        for name, values in zip(promise.sensitive, frequencies.sensitive_values, strict=True)
        if (tree := schema.sensitive_hierarchy(name, values)) is not None
    }
    if promise.minimum_size > frequencies.rows:
        raise ParameterError(
            f"{promise} needs at least {promise.minimum_size:,} records, and {table.source} has "
            f"{frequencies.rows:,}; ask for less, or bring more records."
        )
    problem = Problem(
        frequencies,
        hierarchies,
        promise,
        costs,
        suppressed,
        suppression_limit=_limit(promise, suppression, frequencies.rows),
        sensitive_hierarchies=nested,
        population=None if people is None else people.frequencies(hierarchies),
        population_source=None if people is None else people.table,
        objective=objective,
    )
    return Prepared(table, problem, source.bind(tuple_of))


def assemble(
    prepared: Prepared, recoding: Recoding, settings: RowSettings, asked: dict[str, Any]
) -> Release:
    """Apply a decision and gather what a release carries."""
    table, problem = prepared.table, prepared.problem
    recheck(problem, recoding)
    shares = labelled_shares(problem.table, problem.hierarchies, recoding)
    rows = prepared.rows(problem.table, shares, recoding)
    return Release(
        name=table.name,
        rows=rows,
        promise=problem.definition,
        schema=table.schema,
        decision=Decision(problem, recoding),
        loss=losses(problem.table, problem.hierarchies, recoding, table.schema.weights),
        records=problem.rows,
        suppressed=problem.rows - int(shares.count.sum()),
        kind=table.kind,
        delimiter=table.delimiter,
        left_out=tuple(c for c in table.columns if c not in released_columns(table, settings)),
        pseudonyms=() if settings.pseudonym_key is None else table.schema.identifier_names,
        untruthful=table.untruthful,
        settings=asked,
    )


def _check_promise(promise: Definition, schema: Schema) -> None:
    if not schema.quasi_names:
        raise SchemaError(
            f"{schema.source} names no quasi-identifier; name the attributes that others may "
            "know about a person with role 'quasi'."
        )
    promise.check_shape("table")
    promise.check_schema(schema)


def _limit(promise: Definition, suppression: float, rows: int) -> int:
    """Return how many records may be suppressed; none where leaving a person out is forbidden."""
    return math.floor(suppression * rows + 1e-9) if promise.allows_suppression else 0


def _population(population: Any, table: Table, promise: Definition) -> Any:
    from sfumato.anonymize.tables.population import Population  # noqa: PLC0415 - rarely needed

    if population is None:
        raise ParameterError(
            f"{promise} compares with a population; give the table of everybody who could be in "
            "the data as population=…"
        )
    people = read(population)
    missing = [name for name in table.schema.quasi_names if name not in people.columns]
    if missing:
        raise DataError(
            f"The population ({people.source}) lacks the quasi-identifier(s) {listed(missing)}."
        )
    return Population(people, table.schema)
