"""Clustering: classes grown from single tuples by the least rise in loss.

Greedy k-member clustering (Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using
Clustering Techniques, DASFAA 2007) compares every record with every cluster, which is
quadratic. Here distinct tuples are joined in rounds with neighbours in sorted orders
(`merging`), clusters that grew too large are cut (`splitting`), and members move to where
they cost less (`moving`). Any definition works:
a cluster grows until it holds. A heuristic: nothing is proven about its loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.algorithms.clusters import Clusters, Shares
from sfumato.anonymize.algorithms.merging import agglomerate
from sfumato.anonymize.algorithms.moving import improve
from sfumato.anonymize.algorithms.settling import settle
from sfumato.anonymize.algorithms.splitting import Splitter
from sfumato.anonymize.recoding import SearchRecord

if TYPE_CHECKING:
    from sfumato.anonymize.algorithms.encoding import Encoding
    from sfumato.anonymize.algorithms.progress import Progress
    from sfumato.anonymize.algorithms.verdicts import Judge
    from sfumato.anonymize.problem import Problem
    from sfumato.anonymize.recoding import Local


def cluster(problem: Problem, *, progress: Progress | None = None) -> Local:
    """Return classes clustered bottom-up by loss, every one of which holds."""

    def propose(problem: Problem, encoding: Encoding, judge: Judge) -> Shares:
        present = np.flatnonzero(problem.table.counts)
        numbers = np.arange(len(present))
        start = Shares(present, numbers, problem.table.counts[present])
        clusters = Clusters(encoding, start, len(present))
        dropped = agglomerate(clusters, judge, spare=problem.suppression_limit)
        # Clusters that outgrew what they need are cut again before members move.
        parts = Splitter(encoding, judge, relaxed=True).split(clusters.shares(dropped[:0]))
        gone, counts, _, _ = clusters.bags(dropped)
        return improve(parts, judge).and_suppressed(gone, counts)

    settled = settle(problem, propose)
    recoding = settled.recoding(
        SearchRecord(
            algorithm="cluster",
            label="heuristic: clusters joined where loss rises least; not proven optimal",
        )
    )
    if progress is not None:
        progress(1.0, settled.loss(), f"{recoding.classes:,} classes")
    return recoding
