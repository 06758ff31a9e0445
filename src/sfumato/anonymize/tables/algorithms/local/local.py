"""`algorithm="local"`: bottom-up local recoding, every class on its lowest common ancestor.

Steps, each in a module of its own:

1. `freeze` walks the generalisation lattice from cheap to dear and freezes every
   group of tuples that satisfies the definition (the bottom-up idea of Samarati 2001 and
   of Incognito, LeFevre et al. 2005, applied to what is left instead of the whole table);
2. `merge` joins what is left to the class where it adds the least loss, and `lend` lets
   classes of equal records spare some for it; very large tables begin with a relaxed partition
   where that is cheaper, so that `local` never loses to Mondrian along the same trees;
3. `improve` improves by transfers between classes, priced exactly and
   judged in batches, so any definition with a `judge` method takes part;
4. `suppress` leaves records out within the limit where that is cheaper.

The outcome is always judged as a whole: classes that release the same generalised tuple
are one class to a reader, and where records are suppressed the reference distribution is
that of the released records. What does not hold then is merged further.

Why this core and that of `bottom_up` are two. Both merge and move shares of tuples, but what they
know of a class differs, and neither can do the other's work on what it knows:

* here a class carries `sums`, its members' prices on every level of every attribute, so a join
  is priced exactly for any cost, also where two leaves under one node pay differently (NUE), and
  the index can bound whole cells; that is a row of floats per class, rebuilt each round. There a
  cluster carries one node per attribute, changes in place in linked lists, and prices a node by
  its lowest leaf: enough for the thousands of small steps of growing and mending;
* partners are found here exactly by branch and bound, there in windows of sorted orders. The
  window's cost does not depend on the data, which is what the families that mend with it
  (Mondrian, top-down, cells) rely on; the index's quality is what `local` is for;
* `bottom_up` releases ranges of ordered leaves and cells suppressed on their own (`settle`), for
  which there is no column of prices here.

One core would carry both descriptions of a class through every kernel, or give up one of the
three; what both need alike is shared: trimming, the partition, and the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge as Whole
from sfumato.anonymize.tables.algorithms.clock import running
from sfumato.anonymize.tables.algorithms.encoding import Encoding
from sfumato.anonymize.tables.algorithms.local.freeze import GROUPS as READY
from sfumato.anonymize.tables.algorithms.local.freeze import freeze
from sfumato.anonymize.tables.algorithms.local.improve import improve
from sfumato.anonymize.tables.algorithms.local.judge import Judge
from sfumato.anonymize.tables.algorithms.local.merge import agglomerate
from sfumato.anonymize.tables.algorithms.local.space import (
    Shares,
    Space,
    gather,
    summarize,
    unite,
)
from sfumato.anonymize.tables.algorithms.local.suppress import relieve, suppression_price, withhold
from sfumato.anonymize.tables.algorithms.top_down.partition import Splitter
from sfumato.anonymize.tables.algorithms.trim import trim
from sfumato.anonymize.tables.recoding import SUPPRESSED, Local, SearchRecord
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from sfumato.anonymize.tables.algorithms.clock import Clock
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem

LARGE = 60_000
"""Distinct tuples beyond which a relaxed partition is the other way to begin.

On Adult it is the dearer one by a fifth; on larger tables freezing visits only some nodes."""

LOADING = "freezing classes; compiles once per machine, some ten seconds"
"""What is told before the kernels are loaded: whether they were compiled before is not known."""

LENDING = 20
"""Rounds of merging in which records are lent; strays find company in the first few."""


def recode(
    problem: Problem, *, progress: Progress | None = None, time_limit: float | None = None
) -> Local:
    """Return a local recoding that satisfies the problem's definition at little loss.

    Interrupted by Ctrl-C or the time limit it finishes what it has: classes that hold stay, all
    that is not placed yet becomes one class with those that must take it in.
    """
    if problem.rows < problem.definition.minimum_size:
        raise _unsatisfiable(problem)
    with running(time_limit) as clock:
        return _recode(problem, progress or _silent, clock)


def _recode(problem: Problem, tell: Progress, clock: Clock) -> Local:
    """Recode the table, or, where it breaks the promise as a whole, the cheapest trimmed one."""
    encoding = Encoding.of(problem)
    beginnings = trim(problem, Whole(problem, encoding, clock=clock)) or [problem]
    best: Local | None = None
    for trimmed in beginnings:
        if best is not None and clock.late:
            break
        found = _recode_all(problem, trimmed, tell, clock)
        if best is None or _loss(found) < _loss(best):
            best = found
    assert best is not None
    return best


def _loss(found: Local) -> float:
    return float(str(found.record.facts["loss"]))


def _recode_all(problem: Problem, trimmed: Problem, tell: Progress, clock: Clock) -> Local:
    """Recode what is left of the table; records that were trimmed are suppressed."""
    space = Space.of(trimmed)
    judge = Judge(trimmed, space, clock=clock)
    tell(0.0, 1.0, "freezing classes" if READY.signatures else LOADING)
    shares = freeze(space, judge).compact()
    tell(0.3, 1.0, "merging what is left")
    shares = agglomerate(space, judge, shares, lending=LENDING)
    if trimmed.table.distinct > LARGE and not clock.late:
        shares = _cheaper(space, judge, shares, _partition(trimmed, clock))
    if judge.holds(shares).all():
        tell(0.5, _mean(space, shares), "moving records")
        shares = improve(space, judge, shares)
        if not clock.late:
            shares = withhold(space, judge, shares, trimmed.suppression_limit)
    shares = _settle(space, judge, shares)
    tell(1.0, _mean(space, shares), "done")
    return _recoding(problem, space, shares, stopped=clock.late)


def _partition(problem: Problem, clock: Clock) -> Shares:
    """Return the classes of a relaxed partition of the table along its trees."""
    encoding = Encoding.of(problem)
    whole = Whole(problem, encoding, clock=clock)
    found, n = Splitter(encoding, whole, relaxed=True).split().compact()
    return gather(found.tuple_, found.class_, found.count, n)


def _cheaper(space: Space, judge: Judge, first: Shares, second: Shares) -> Shares:
    """Return the classes that pay less, if they hold."""
    if not judge.holds(second).all():
        return first
    paid = [summarize(space, shares).paid.sum() for shares in (first, second)]
    return second if paid[1] < paid[0] or not judge.holds(first).all() else first


def _settle(space: Space, judge: Judge, shares: Shares) -> Shares:
    """Judge the release as its reader will, and merge or suppress until it holds."""
    problem = judge.problem
    while True:
        shares = unite(space, shares)
        released = judge.released(shares)
        holds = released.holds(shares)
        if shares.classes and holds.all():
            return shares
        if shares.classes > 1:
            shares = agglomerate(space, released, shares)
            continue
        budget = problem.suppression_limit - (problem.rows - int(shares.count.sum()))
        fewer = relieve(judge, shares, budget)
        if not fewer.classes or not judge.released(fewer).holds(fewer).all():
            raise _unsatisfiable(problem)
        shares = fewer


def _recoding(problem: Problem, space: Space, shares: Shares, *, stopped: bool) -> Local:
    classes = summarize(space, shares)
    low = problem.table.quasi[classes.rep].astype(np.int64)
    gone = problem.table.counts - np.bincount(
        shares.tuple_, weights=shares.count, minlength=len(space.counts)
    ).astype(np.int64)
    out = np.flatnonzero(gone)
    loss = float(classes.paid.sum() + (suppression_price(problem) * gone).sum())
    record = SearchRecord(
        "local",
        label="heuristic: freeze, merge, improve" + ("; stopped early" if stopped else ""),
        facts={
            "classes": shares.classes,
            "suppressed": int(gone.sum()),
            "loss": loss / problem.rows,
        },
    )
    return Local(
        tuple_=np.concatenate([shares.tuple_, out]),
        class_=np.concatenate([shares.class_, np.full(len(out), SUPPRESSED)]),
        count=np.concatenate([shares.count, gone[out]]),
        level=classes.level,
        low=low,
        high=low.copy(),
        record=record,
    )


def _mean(space: Space, shares: Shares) -> float:
    return float(summarize(space, shares).paid.sum() / space.counts.sum())


def _silent(done: float, loss: float, message: str) -> None:
    """Tell nobody."""


def _unsatisfiable(problem: Problem) -> Unsatisfiable:
    return Unsatisfiable(
        f"{problem.definition} cannot be met: it does not hold even when all {problem.rows} "
        f"records are released as one class, with up to {problem.suppression_limit} of them "
        "suppressed; ask for less or allow more suppression."
    )
