"""When the whole table in one class does not hold: which records to suppress so that it does.

For definitions under which a union of classes that hold holds, one class of everything is
the last resort of every algorithm, so it is tried first. If it fails, suppression can help
only by changing the distribution of sensitive values. The histogram of one attribute is
cut off at a ceiling: for a number of records to be removed no other choice leaves a more even
histogram. The highest ceiling that holds is found by bisection; below it, suppressing more
buys classes that generalise less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem


DEPTHS = 7
"""How many ceilings are tried where the whole table does not hold."""


def trim(problem: Problem, judge: Judge) -> list[Problem]:
    """Return the problem without the records that must go, in several ways; none if none can hold.

    Where the kept records only just hold as one class, no part of them does: all of them would
    be released as that class. So lower ceilings are offered as well, down to what the limit
    affords; whoever asks keeps the cheapest outcome. A definition whose unions need not hold is
    let through: smaller classes may still hold.
    """
    if not judge.joins_hold or _whole_holds(problem, judge, problem.table.counts):
        return [problem]
    for name in problem.definition.sensitive:
        highest = _highest_ceiling(problem, judge, name)
        if highest is not None:
            return [
                _with_counts(problem, _under(problem, name, ceiling))
                for ceiling in _ceilings(problem, name, highest)
            ]
    return []


def _with_counts(problem: Problem, counts: NDArray[np.int64]) -> Problem:
    limit = problem.suppression_limit - (problem.rows - int(counts.sum()))
    return replace(problem, table=replace(problem.table, counts=counts), suppression_limit=limit)


def _ceilings(problem: Problem, name: str, highest: int) -> list[int]:
    """Return ceilings from the highest down to the lowest that the limit affords, evenly."""
    totals = problem.totals[name]
    lowest, high = 0, highest
    while lowest < high:
        ceiling = (lowest + high) // 2
        if int(np.maximum(totals - ceiling, 0).sum()) <= problem.suppression_limit:
            high = ceiling
        else:
            lowest = ceiling + 1
    return sorted({int(c) for c in np.linspace(highest, max(high, 1), DEPTHS)}, reverse=True)


def _whole_holds(problem: Problem, judge: Judge, counts: NDArray[np.int64]) -> bool:
    """Return whether the kept records hold as one class, compared with themselves."""
    kept = np.flatnonzero(counts)
    if not len(kept):
        return False
    smaller = replace(problem, table=replace(problem.table, counts=counts))
    alone = Judge(smaller, judge.encoding)
    return bool(alone.holds(kept, counts[kept], np.zeros(len(kept), dtype=np.int64), 1)[0])


def _highest_ceiling(problem: Problem, judge: Judge, name: str) -> int | None:
    """Return the highest ceiling that holds within the limit, or None."""
    low, high = 0, int(problem.totals[name].max())
    best = None
    while low < high:
        ceiling = (low + high) // 2
        counts = _under(problem, name, ceiling)
        affordable = problem.rows - int(counts.sum()) <= problem.suppression_limit
        if not affordable:
            low = ceiling + 1
        elif _whole_holds(problem, judge, counts):
            best, low = ceiling, ceiling + 1
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
