"""Mondrian: partition the records along one attribute at a time, while every part holds.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006. An
attribute whose hierarchy is ordered is cut at the median of the records in the set and
released as the range of leaves present; any other is cut into the children of the set's
common ancestor, small children staying together as a remainder, and released as the lowest
common ancestor. The cut that saves most loss is tried first. A greedy heuristic: fast, and
nothing is proven about its loss.

* strict: records with equal values of the attribute stay together;
* relaxed: records with the value at the cut are divided between both sides, and a remainder
  that is too small is filled up with records of the largest child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.anonymize.tables.algorithms.clock import running
from sfumato.anonymize.tables.algorithms.settle import settle
from sfumato.anonymize.tables.algorithms.top_down.partition import Splitter
from sfumato.anonymize.tables.recoding import SearchRecord

if TYPE_CHECKING:
    from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Shares
    from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
    from sfumato.anonymize.tables.algorithms.encoding import Encoding
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Local


def partition(
    problem: Problem,
    *,
    strict: bool = True,
    ranges: bool = True,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Local:
    """Return classes cut top-down, every one of which holds.

    `ranges` lets attributes with an ordered hierarchy be cut at the median and released as
    ranges; without it they are treated as the trees they are. Definitions that compare with
    a population always use the trees, because the population is counted by them. Interrupted by
    Ctrl-C or the time limit, sets that could still be cut stay as they are.
    """
    by_order = tuple(
        ranges and h.ordered and not problem.definition.needs_population
        for h in problem.hierarchies
    )

    def propose(problem: Problem, encoding: Encoding, judge: Judge) -> Shares:  # noqa: ARG001
        return Splitter(encoding, judge, relaxed=not strict, by_order=by_order).split()

    with running(time_limit) as clock:
        settled = settle(problem, propose, clock=clock, ranges=by_order)
    kind = "strict" if strict else "relaxed"
    recoding = settled.recoding(
        SearchRecord(
            algorithm="mondrian",
            label=f"heuristic: {kind} multidimensional partitioning; not proven optimal",
            facts={"strict": strict},
        )
    )
    if progress is not None:
        progress(1.0, settled.loss(), f"{recoding.classes:,} classes")
    return recoding
