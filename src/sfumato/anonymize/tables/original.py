"""The data as they came, rebuilt from their counts, for attacks before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.tables.sources import read

if TYPE_CHECKING:
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.data.tables.table import Table


def original_table(problem: Problem) -> Table:
    """Return the quasi-identifiers and judged attributes of the original records."""
    table, counts = problem.table, problem.table.counts
    columns = {
        name: np.repeat(np.array(h.leaves, dtype=object)[table.quasi[:, a]], counts)
        for a, (name, h) in enumerate(zip(table.quasi_names, problem.hierarchies, strict=True))
    }
    for s, name in enumerate(table.sensitive_names):
        values = np.array(table.sensitive_values[s], dtype=object)
        columns[name] = np.repeat(values[table.sensitive[:, s]], counts)
    return read(columns)
