"""From proposed classes to a recoding that is sure to keep the promise.

Families of algorithms propose classes in their own ways; what follows is the same for all.
Classes that would be released with the same values are one class. Every class is judged;
what does not hold is joined where that costs least, or suppressed within the limit. When
records have been suppressed, the reference distribution is that of the records released,
so all is judged again, until it holds.

Where not even the whole table in one class holds, records of the most frequent sensitive
values are suppressed first, as few as will do (for entropy and recursive diversity, cutting
the peaks of a histogram is the cheapest way to spread it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Clusters, Shares
from sfumato.anonymize.tables.algorithms.bottom_up.merge import agglomerate
from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
from sfumato.anonymize.tables.algorithms.encoding import Encoding, describe
from sfumato.anonymize.tables.algorithms.trim import trim
from sfumato.anonymize.tables.recoding import SUPPRESSED, Local
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.clock import Clock
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import SearchRecord

    Proposal = Callable[[Problem, Encoding, Judge], Shares]


@dataclass(frozen=True, eq=False)
class SettledClasses:
    """Classes that all hold, and the attributes they release as ranges."""

    problem: Problem
    encoding: Encoding
    shares: Shares
    n: int
    ranges: tuple[bool, ...]

    @property
    def tuples(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Level, low and high per class and attribute."""
        return released(self.encoding, self.shares, self.n, self.ranges)

    def loss(self) -> float:
        """Return the loss under the problem's objective, suppressed records included."""
        n = max(self.problem.rows, 1)
        out = self.shares.class_ < 0
        if self.problem.objective == "AECS":
            return 1 / max(self.n + bool(out.any()), 1)
        if self.problem.objective == "DM":
            sizes = np.bincount(self.shares.class_[~out], weights=self.shares.count[~out])
            gone = float(self.shares.count[out].sum())
            return float((sizes * sizes).sum() + gone * n) / n**2
        level, low, high = self.tuples
        total = 0.0
        for a, hierarchy in enumerate(self.problem.hierarchies):
            leaf = self.problem.table.quasi[self.shares.tuple_, a]
            at = self.shares.class_
            cost = self.problem.costs[a][leaf, np.maximum(level[at, a], 0)]
            whole = self.problem.suppressed[a][leaf]
            span = (high[at, a] - low[at, a]) / max(hierarchy.size - 1, 1)
            cost = np.where(level[at, a] < 0, span * whole, cost)
            total += float((np.where(out, whole, cost) * self.shares.count).sum())
        return total / n

    def recoding(self, record: SearchRecord) -> Local:
        """Return the decision, with the loss noted in its record."""
        level, low, high = self.tuples
        facts = {"loss": self.loss(), "objective": self.problem.objective, **record.facts}
        shares = self.shares
        return Local(
            shares.tuple_, shares.class_, shares.count, level, low, high,
            replace(record, facts=facts),
        )  # fmt: skip


def settle(
    problem: Problem,
    propose: Proposal,
    *,
    clock: Clock,
    ranges: Sequence[bool] | None = None,
    spends: bool = False,
) -> SettledClasses:
    """Let `propose` make classes, and mend them until every class holds.

    `spends` says that the proposal uses suppression to save loss; it is then made both with
    and without, and the better one is kept. Once the time is up, the best so far is returned.
    """
    chosen = tuple(ranges) if ranges is not None else (False,) * problem.attributes
    encoding = Encoding.of(problem)
    best: SettledClasses | None = None
    judge = Judge(problem, encoding, clock=clock)
    for trimmed in trim(problem, judge):
        for spend in (False, True):
            if spend and not (problem.suppression_limit > 0 and (spends or best is None)):
                continue
            if best is not None and judge.clock.late:
                return best
            settled = _attempt(problem, trimmed, judge, propose, chosen, spend=spend)
            if settled is not None and (best is None or settled.loss() < best.loss()):
                best = settled
    if best is not None:
        return best
    raise Unsatisfiable(
        f"No classes of {problem.rows:,} records meet {problem.definition} with at most "
        f"{problem.suppression_limit:,} records suppressed, not even all records in one class. "
        "Ask for less (a smaller k or l, a larger t) or allow more suppression."
    )


def _attempt(
    problem: Problem,
    trimmed: Problem,
    judge: Judge,
    propose: Proposal,
    ranges: tuple[bool, ...],
    *,
    spend: bool,
) -> SettledClasses | None:
    """Propose and mend once; None where no way was found.

    `spend` lets suppression also save loss; otherwise only what must be suppressed is. It
    need not pay: it moves the reference distribution, and the search is greedy.
    """
    encoding = judge.encoding
    limit = trimmed.suppression_limit if spend else 0
    trimmed = replace(trimmed, suppression_limit=limit)
    inner = Judge(trimmed, encoding, clock=judge.clock)
    shares = _mend(inner, propose(trimmed, encoding, inner), ranges, spare=limit)
    if shares is None:
        return None
    shares = _with_suppressed(shares, problem.table.counts - trimmed.table.counts)
    shares, n = shares.compact()
    return SettledClasses(problem, encoding, shares, n, ranges)


def _with_suppressed(shares: Shares, cut: NDArray[np.int64]) -> Shares:
    """Add the suppressed records, and put the shares of one tuple and class together."""
    out = np.flatnonzero(cut)
    shares = shares.and_suppressed(out, cut[out])
    keys = np.stack([shares.class_, shares.tuple_])
    unique, inverse = np.unique(keys, axis=1, return_inverse=True)
    total = np.bincount(inverse.ravel(), weights=shares.count, minlength=unique.shape[1])
    return Shares(unique[1], unique[0], total.astype(np.int64))


def _mend(judge: Judge, shares: Shares, ranges: tuple[bool, ...], *, spare: int) -> Shares | None:
    """Join or suppress until everything released holds; None if it cannot."""
    while True:
        shares = _one_class_per_tuple(judge.encoding, shares, ranges)
        kept, n = shares.kept().compact()
        if not n:
            return None
        judge = _released_reference(judge, kept)
        holds = judge.holds(kept.tuple_, kept.count, kept.class_, n)
        if holds.all():
            return shares
        if n == 1:
            return None
        clusters = Clusters(judge.encoding, kept, n)
        dropped = agglomerate(clusters, judge, spare=spare)
        spare -= int(clusters.state.size[dropped].sum())
        out = shares.class_ < 0
        shares = clusters.shares(dropped).and_suppressed(shares.tuple_[out], shares.count[out])


def _released_reference(judge: Judge, kept: Shares) -> Judge:
    """Return a judge whose reference is the distribution of the records kept."""
    problem = judge.problem
    table = problem.table
    if int(kept.count.sum()) == table.rows:
        return Judge(problem, judge.encoding, clock=judge.clock)
    totals = {}
    for name in problem.definition.sensitive:
        s = table.sensitive_names.index(name)
        totals[name] = np.bincount(
            table.sensitive[kept.tuple_, s],
            weights=kept.count,
            minlength=len(table.sensitive_values[s]),
        ).astype(np.int64)
    return Judge(problem, judge.encoding, totals, judge.clock)


def _one_class_per_tuple(encoding: Encoding, shares: Shares, ranges: tuple[bool, ...]) -> Shares:
    """Put classes together that would be released with the same values."""
    while True:
        shares, n = shares.compact()
        level, low, high = released(encoding, shares, n, ranges)
        wide = level < 0
        seen = np.hstack([_shown(encoding, level, low), wide, np.where(wide, high, 0)])
        _, inverse = np.unique(seen, axis=0, return_inverse=True)
        inverse = inverse.ravel()
        if len(np.unique(inverse)) == n:
            return shares
        class_ = np.where(shares.class_ < 0, SUPPRESSED, inverse[shares.class_])
        shares = Shares(shares.tuple_, class_, shares.count)


def _shown(
    encoding: Encoding, level: NDArray[np.int64], low: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the text each class shows, or the low end of a range."""
    return np.where(level < 0, low, encoding.text[encoding.at(np.maximum(level, 0), low)])


def released(
    encoding: Encoding, shares: Shares, n: int, ranges: tuple[bool, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return what each class releases: level (−1 for a range), low and high leaf."""
    level, low, high = describe(encoding.tree, shares.tuple_, shares.class_, n)
    wide = np.array(ranges, dtype=np.bool_) & (low < high)
    return np.where(wide, -1, level), low, np.where(wide, high, low)
