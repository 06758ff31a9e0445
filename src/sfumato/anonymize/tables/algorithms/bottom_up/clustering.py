"""Clustering: classes grown from single tuples by the least rise in loss, then relocated.

Greedy k-member clustering (Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using
Clustering Techniques, DASFAA 2007) compares every record with every cluster, which is
quadratic. Here distinct tuples are joined in rounds with neighbours in sorted orders
(`merging`), and clusters that outgrew what they need are cut (`splitting`). A relaxed
partition of the whole table is the other way to begin; the cheaper beginning is kept, and very
large tables begin with the partition alone. Then members move to where they cost less
(`moving`). Any definition works: a cluster grows until it holds. A heuristic: nothing is
proven about its loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Clusters, Shares
from sfumato.anonymize.tables.algorithms.bottom_up.merge import agglomerate
from sfumato.anonymize.tables.algorithms.bottom_up.move import PricedClasses, improve
from sfumato.anonymize.tables.algorithms.clock import running
from sfumato.anonymize.tables.algorithms.settle import settle
from sfumato.anonymize.tables.algorithms.top_down.partition import Splitter
from sfumato.anonymize.tables.recoding import SearchRecord

if TYPE_CHECKING:
    from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
    from sfumato.anonymize.tables.algorithms.encoding import Encoding
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Local

LARGE = 60_000
"""Distinct tuples beyond which growing clusters from single tuples takes longer than it is
worth: neighbours are so many and so near that a partition begins as well."""


def cluster(
    problem: Problem, *, progress: Progress | None = None, time_limit: float | None = None
) -> Local:
    """Return classes clustered by loss, every one of which holds.

    Interrupted by Ctrl-C or the time limit it returns the best found so far.
    """
    say = progress if progress is not None else _nothing

    def propose(problem: Problem, encoding: Encoding, judge: Judge) -> Shares:
        say(0.0, 1.0, "partition")
        begun = Splitter(encoding, judge, relaxed=True).split()
        if problem.table.distinct <= LARGE and not judge.clock.late:
            say(0.1, 1.0, "growing clusters")
            grown = _grow(problem, encoding, judge)
            begun = min(begun, grown, key=lambda shares: _standing(judge, shares))
        say(0.6, _standing(judge, begun)[1] / problem.rows, "moving members")
        return improve(begun, judge)

    with running(time_limit) as clock:
        settled = settle(problem, propose, clock=clock, spends=True)
    recoding = settled.recoding(
        SearchRecord(
            algorithm="cluster",
            label="heuristic: clusters grown and members moved by loss; not proven optimal",
        )
    )
    say(1.0, settled.loss(), f"{recoding.classes:,} classes")
    return recoding


def _nothing(done: float, best_loss: float, message: str) -> None:
    """Say nothing."""


def _grow(problem: Problem, encoding: Encoding, judge: Judge) -> Shares:
    """Join tuples until all clusters hold, and cut those that outgrew what they need."""
    present = np.flatnonzero(problem.table.counts)
    start = Shares(present, np.arange(len(present)), problem.table.counts[present])
    clusters = Clusters(encoding, start, len(present))
    dropped = agglomerate(clusters, judge, spare=problem.suppression_limit)
    parts = Splitter(encoding, judge, relaxed=True).split(clusters.shares(dropped[:0]))
    gone, counts, _, _ = clusters.bags(dropped)
    return parts.and_suppressed(gone, counts)


def _standing(judge: Judge, shares: Shares) -> tuple[int, float]:
    """Return how many classes do not hold, and what all records pay."""
    kept, n = shares.kept().compact()
    holds = judge.holds(kept.tuple_, kept.count, kept.class_, n)
    out = shares.class_ < 0
    paid = PricedClasses(judge, kept, n).total
    for a, suppressed in enumerate(judge.problem.suppressed):
        leaf = judge.encoding.tree.leaves[shares.tuple_[out], a]
        paid += float((suppressed[leaf] * shares.count[out]).sum())
    return int((~holds).sum()), paid
