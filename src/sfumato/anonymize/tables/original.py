"""The data as they came, rebuilt from their counts, for attacks before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.tables.sources import read

if TYPE_CHECKING:
    from sfumato.anonymize.tables.people.search import People
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.data.tables.table import Table


def original_table(problem: Problem, people: People | None = None, unit: str = "") -> Table:
    """Return the quasi-identifiers and judged attributes of the original records.

    Where people have several, the column `unit` tells whose each record is, by a number.
    """
    table = problem.table
    if people is None:
        rows = np.repeat(np.arange(table.distinct), table.counts)
    else:
        rows = np.repeat(people.holdings.tuple_, people.holdings.count)
    columns = {
        name: np.array(h.leaves, dtype=object)[table.quasi[rows, a]]
        for a, (name, h) in enumerate(zip(table.quasi_names, problem.hierarchies, strict=True))
    }
    for s, name in enumerate(table.sensitive_names):
        values = np.array(table.sensitive_values[s], dtype=object)
        columns[name] = values[table.sensitive[rows, s]]
    if people is not None:
        columns[unit] = np.repeat(people.holdings.person, people.holdings.count)
    return read(columns)
