"""From a counted table and a promise to the problem an algorithm answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.definition import as_read
from sfumato.anonymize.loss.measures import separable
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import bind_hierarchies, frequency_table
from sfumato.data.tables.unit import repeats
from sfumato.data.wording import listed
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.engines.counted import Counted
    from sfumato.data.tables.table import Table


def pose(
    table: Table,
    promise: Definition,
    counted: Counted,
    population: Any,
    objective: str,
    suppression: float,
) -> tuple[Problem, NDArray[np.int64]]:
    """Set up the problem of a counted table; also return the tuple of every combination."""
    schema = table.schema
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
    texts = dict(zip(promise.sensitive, frequencies.sensitive_values, strict=True))
    problem = Problem(
        frequencies,
        hierarchies,
        as_read(promise, texts),
        costs,
        suppressed,
        suppression_limit=_limit(promise, suppression, frequencies.rows),
        sensitive_hierarchies=nested,
        population=None if people is None else people.frequencies(hierarchies),
        population_source=None if people is None else people.table,
        objective=objective,
    )
    return problem, tuple_of


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
    unit = table.schema.unit
    if unit in people.columns and repeats(people, unit):
        raise DataError(
            f"The population ({people.source}) has several rows of one '{unit}'; a population "
            "lists every person once."
        )
    return Population(people, table.schema)
