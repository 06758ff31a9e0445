"""When the whole table in one class does not hold: which records to suppress so that it does.

For definitions under which a union of classes that hold holds, one class of everything is
the last resort of every algorithm, so it is tried first. If it fails, suppression can help
only by changing the distribution of sensitive values. The histogram of one attribute is
cut off at a ceiling: for a number of records to be removed no other choice leaves a more even
histogram. The highest ceiling that holds is found by bisection.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem


def trim(problem: Problem, judge: Judge) -> Problem | None:
    """Return the problem without the records that must go, or None if nothing can hold.

    A definition whose unions need not hold is let through: smaller classes may still hold.
    """
    if not judge.joins_hold or _whole_holds(problem, judge, problem.table.counts):
        return problem
    for name in problem.definition.sensitive:
        counts = _cut_peaks(problem, judge, name)
        if counts is not None:
            limit = problem.suppression_limit - (problem.rows - int(counts.sum()))
            return replace(
                problem, table=replace(problem.table, counts=counts), suppression_limit=limit
            )
    return None


def _whole_holds(problem: Problem, judge: Judge, counts: NDArray[np.int64]) -> bool:
    """Return whether the kept records hold as one class, compared with themselves."""
    kept = np.flatnonzero(counts)
    if not len(kept):
        return False
    smaller = replace(problem, table=replace(problem.table, counts=counts))
    alone = Judge(smaller, judge.encoding)
    return bool(alone.holds(kept, counts[kept], np.zeros(len(kept), dtype=np.int64), 1)[0])


def _cut_peaks(problem: Problem, judge: Judge, name: str) -> NDArray[np.int64] | None:
    """Return the counts under the highest ceiling that holds within the limit, or None."""
    peaks = problem.totals[name]
    low, high = 0, int(peaks.max())
    best = None
    while low < high:
        ceiling = (low + high) // 2
        counts = _under(problem, name, ceiling)
        affordable = problem.rows - int(counts.sum()) <= problem.suppression_limit
        if not affordable:
            low = ceiling + 1
        elif _whole_holds(problem, judge, counts):
            best, low = counts, ceiling + 1
        else:
            high = ceiling
    return best


def _under(problem: Problem, name: str, ceiling: int) -> NDArray[np.int64]:
    """Keep at most `ceiling` records per value, taking from the rarest tuples first."""
    table = problem.table
    values = table.sensitive[:, table.sensitive_names.index(name)]
    order = np.lexsort((np.arange(table.distinct), -table.counts, values))
    counts = table.counts[order]
    running = np.cumsum(counts)
    first = np.searchsorted(values[order], values[order])
    before = running - counts - (running[first] - counts[first])
    kept = np.empty_like(table.counts)
    kept[order] = np.clip(ceiling - before, 0, counts)
    return kept
