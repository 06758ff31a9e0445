"""Cell suppression: every cell is released as it is, or not at all.

Meyerson and Williams: On the Complexity of Optimal K-Anonymity, PODS 2004, showed that the
fewest suppressed cells are hard to find. Here the hierarchies are flattened to two levels,
the value and `*`, and the flat problem is solved by clustering, so each class keeps the
values on which all its records agree. A heuristic: nothing is proven about its loss.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.clustering import cluster
from sfumato.data.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Local


def suppress_cells(
    problem: Problem, *, progress: Progress | None = None, time_limit: float | None = None
) -> Local:
    """Return classes in which cells are kept or suppressed, every one of which holds."""
    flat = cluster(flatten(problem), progress=progress, time_limit=time_limit)
    roots = problem.heights - 1
    record = replace(
        flat.record,
        algorithm="cells",
        label="heuristic: cells suppressed where clustered records differ; not proven optimal",
    )
    return replace(flat, level=np.where(flat.level > 0, roots, 0), record=record)


def flatten(problem: Problem) -> Problem:
    """Return the same problem with two levels per attribute: the value, or the root."""
    ends = [[0, h.height - 1] if h.height > 1 else [0] for h in problem.hierarchies]
    return replace(
        problem,
        hierarchies=tuple(
            Hierarchy(
                tuple(h.labels[level] for level in end),
                np.ascontiguousarray(h.levels[:, end]),
                source=h.source,
            )
            for h, end in zip(problem.hierarchies, ends, strict=True)
        ),
        costs=tuple(cost[:, end] for cost, end in zip(problem.costs, ends, strict=True)),
    )
