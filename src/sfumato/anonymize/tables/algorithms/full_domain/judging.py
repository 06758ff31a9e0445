"""Which classes of a node are suppressed, and how many records every node below must suppress.

Records of classes that fail the definition are suppressed. Where the definition compares with the
whole release, or where several key combinations are promised, suppressing changes the question, so
it is asked again, of the classes that could answer otherwise, until all that is left holds:
definitions that look at a class alone are asked once, and where the distance obeys the triangle
inequality, a class that held by more than the reference has moved since is not asked again.

Parts of a definition are judged in this order, the cheap ones first; with a `Bar` judging ends as
soon as the node is known to be of no interest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.classes import DENSE_CELLS, Classes, SensitiveHistogram
from sfumato.anonymize.tables.algorithms.clock import Clock, TimeUp
from sfumato.anonymize.tables.algorithms.full_domain import rules
from sfumato.anonymize.tables.algorithms.full_domain.bar import Over
from sfumato.anonymize.tables.algorithms.full_domain.rollup import sum_per_group
from sfumato.anonymize.tables.algorithms.full_domain.smallest import smallest_class
from sfumato.anonymize.tables.algorithms.full_domain.worth import Worth
from sfumato.compiled import ACCOUNT, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.algorithms.full_domain.bar import Bar
    from sfumato.anonymize.tables.algorithms.full_domain.grouping import Grouper
    from sfumato.anonymize.tables.algorithms.full_domain.rollup import Grouping, Histogram
    from sfumato.anonymize.tables.problem import Problem

_FIXED = frozenset({rules.DISTINCT, rules.ENTROPY, rules.RECURSIVE})
"""Kinds that look at a class alone, whatever else is released."""


@dataclass(eq=False)
class Verdict:
    """Failing classes, and a bound on the records of each that every node below suppresses.

    Of all classes together every node below suppresses at least `removed_in_all`. `finished` is
    false where judging ended early: then more classes may fail.
    """

    fails: NDArray[np.bool_]
    removed: NDArray[np.int64]
    finished: bool = True
    removed_in_all: int = 0


@dataclass(eq=False)
class _Watch:
    """One rule while a node is judged: what it compares with, how far that moved, slack left."""

    rule: rules.Rule
    name: str
    reference: rules.Reference
    slack: NDArray[np.float64]
    moved: float = field(default=0.0)


class Judge:
    """Judges the classes of nodes for one problem."""

    def __init__(self, problem: Problem, grouper: Grouper) -> None:
        self._problem = problem
        self._grouper = grouper
        self.clock = Clock()
        definition = problem.definition
        self._exact = definition.monotone or (
            definition.union_closed and problem.suppression_limit == 0
        )
        self._plain: list[Definition] = []
        self._together: list[Definition] = []
        self._whole: list[Definition] = []
        self._sensitive: list[Definition] = []
        for part in definition.parts:
            if part.combination:
                self._together.append(part)
            elif part.of_whole:
                self._whole.append(part)
            elif part.sensitive:
                self._sensitive.append(part)
            elif type(part) is not KAnonymity:  # whose k is in the minimum size
                self._plain.append(part)
        self._values = dict(
            zip(problem.table.sensitive_names, problem.table.sensitive_values, strict=True)
        )
        self._rules = [self._rule(part) for part in self._sensitive]
        self._worth = [Worth() for _ in self._rules]
        self._widened: tuple[int, list[rules.Widened]] = (-1, [])
        self.minimum = self._smallest()

    def _rule(self, part: Definition) -> tuple[str, rules.Rule] | None:
        if len(part.sensitive) != 1:
            return None
        name = part.sensitive[0]
        tree = self._problem.sensitive_hierarchies.get(name)
        rule = rules.rule_of(part, self._values[name], tree)
        return None if rule is None else (name, rule)

    def _smallest(self) -> int:
        """Return the size below which no class holds, whatever is released with it."""
        known = [rule for _, rule in filter(None, self._rules)]
        limit = self._problem.suppression_limit
        implied = [smallest_class(r, self._widen(i, limit)) for i, r in enumerate(known)]
        return max(self._problem.definition.minimum_size, *implied, 1)

    def _start(self, sizes: NDArray[np.int64]) -> Verdict:
        """Return what the sizes alone tell: classes below the minimum fail, here and below."""
        small = sizes < self.minimum  # which is at least 1
        return Verdict(small, sizes * small)

    def judge(
        self,
        node: tuple[int, ...],
        grouping: Grouping,
        bar: Bar | None,
        price: Callable[[NDArray[np.bool_]], float],
    ) -> Verdict:
        """Return the classes to suppress; `price` tells what suppressing some classes adds."""
        verdict = self._start(grouping.sizes)
        spanning = self._together or self._whole
        if not self._plain and not self._sensitive and not spanning:
            return verdict  # sizes tell all
        over = Over(grouping.sizes, bar, price)
        verdict.removed_in_all = self._removed_in_all(grouping.sizes)
        if (
            over.limit(verdict.removed)
            or over.limit(verdict.removed_in_all)
            or over.classes(verdict.fails)
        ):
            verdict.finished = False
            return verdict
        self._judge_plain(grouping, verdict)
        if self._sensitive or spanning:
            self._judge_rounds(node, grouping, bar, over, verdict)
        return verdict

    def _judge_rounds(
        self,
        node: tuple[int, ...],
        grouping: Grouping,
        bar: Bar | None,
        over: Over,
        verdict: Verdict,
    ) -> None:
        """Judge what depends on the rest of the release, until suppression changes nothing more."""
        sizes = grouping.sizes
        watches = self._watch(grouping)
        known = sizes == 0  # what is gone from the release that this round compares with
        first = True
        while True:
            self._judge_together(node, grouping, known, verdict)
            if watches is None:
                self._judge_dense(self._sensitive, grouping, known, verdict)
            else:
                self._judge_watched(watches, grouping, known, verdict, bar, first=first)
            self._judge_whole(sizes, verdict)
            if first:
                self._close(verdict, sizes)
            if (verdict.fails == known).all():
                return
            if self.clock.late and bar is not None:
                raise TimeUp
            if over.limit(verdict.removed) or over.fails(verdict.fails):
                verdict.finished = False
                return
            if not self._moves(watches):
                return
            known = verdict.fails.copy()
            first = False

    def _moves(self, watches: list[_Watch] | None) -> bool:
        """Whether suppressing classes can change what is said of others."""
        if self._together or self._whole or watches is None:
            return True
        unruled = len(watches) < len(self._sensitive)
        return unruled or any(w.rule.kind not in _FIXED for w in watches)

    def _removed_in_all(self, sizes: NDArray[np.int64]) -> int:
        """Return how many records promises about the whole release leave out, here and below."""
        if not self._whole:
            return 0
        return self._problem.rows - min(part.most_together(sizes) for part in self._whole)

    def most_classes(self, removed: int) -> int:
        """Return how many classes can be released when so many records are suppressed."""
        left = self._problem.rows - removed
        return min((part.most_classes(left) for part in self._whole), default=left)

    def _close(self, verdict: Verdict, sizes: NDArray[np.int64]) -> None:
        """Raise the bounds: of a class either nothing is kept, or the minimum size at least."""
        rest = sizes - verdict.removed
        np.copyto(verdict.removed, sizes, where=rest < self.minimum)

    # -- parts that see sizes ------------------------------------------------------------

    def _judge_plain(self, grouping: Grouping, verdict: Verdict) -> None:
        for part in self._plain:
            classes = Classes(grouping.sizes, {}, grouping.people)
            verdict.fails |= ~part.judge(classes)
            np.maximum(
                verdict.removed, grouping.sizes - part.most_released(classes), out=verdict.removed
            )
        self._close(verdict, grouping.sizes)

    def _judge_together(
        self, node: tuple[int, ...], grouping: Grouping, known: NDArray[np.bool_], verdict: Verdict
    ) -> None:
        """Judge promises about key combinations, whose groups span classes."""
        left = np.where(known, 0, grouping.sizes)
        names = self._problem.table.quasi_names
        for part in self._together:
            attributes = tuple(names.index(name) for name in part.combination)
            groups, found = self._grouper.group(
                node, grouping.representatives, attributes=attributes
            )
            short = ~part.judge(Classes(sum_per_group(groups, left, len(found))))[groups]
            if self._exact:  # fails in every node below, where fewer agree on the attributes
                np.copyto(verdict.removed, grouping.sizes, where=short)
            verdict.fails |= short

    def _judge_whole(self, sizes: NDArray[np.int64], verdict: Verdict) -> None:
        """Judge promises about the release as a whole, of what every other part leaves.

        They do not say which class every node below must suppress, only how many records.
        """
        for part in self._whole:
            left = np.flatnonzero(~verdict.fails & (sizes > 0))
            verdict.fails[left] = ~part.keep_together(sizes[left])

    # -- parts that see values -------------------------------------------------------------

    def _judge_dense(
        self,
        parts: list[Definition],
        grouping: Grouping,
        known: NDArray[np.bool_],
        verdict: Verdict,
    ) -> None:
        """Judge by the definitions' own `judge`, on whole histograms."""
        if not parts:
            return
        names = tuple(dict.fromkeys(name for part in parts for name in part.sensitive))
        totals = {name: self._total(grouping.histograms[name], name, known) for name in names}
        widest = max((len(self._values[name]) for name in names), default=1)
        step = max(1, DENSE_CELLS // max(widest, 1))
        for begin in range(0, len(known), step):
            end = min(begin + step, len(known))
            views = {
                name: SensitiveHistogram(
                    grouping.histograms[name].dense(begin, end, len(self._values[name])),
                    totals[name],
                    self._values[name],
                    self._problem.sensitive_hierarchies.get(name),
                )
                for name in names
            }
            people = None if grouping.people is None else grouping.people[begin:end]
            those = Classes(grouping.sizes[begin:end], views, people)
            for part in parts:
                holds = part.judge(those)
                verdict.fails[begin:end] |= ~holds
                if part.monotone:
                    removed = verdict.removed[begin:end]
                    np.copyto(removed, grouping.sizes[begin:end], where=~holds)

    def _total(self, histogram: Histogram, name: str, gone: NDArray[np.bool_]) -> NDArray[np.int64]:
        return _released(
            histogram.starts, histogram.values, histogram.counts, gone, len(self._values[name])
        )

    def _watch(self, grouping: Grouping) -> list[_Watch] | None:
        """Return the rules to judge by in compiled code; None where that does not pay."""
        cells = len(grouping.sizes) * sum(
            len(self._values[p.sensitive[0]]) for p in self._sensitive
        )
        if not ACCOUNT.worth(1e-4 + 4e-8 * cells):
            return None
        return [
            _Watch(
                rule,
                name,
                rules.reference(rule, self._problem.totals[name]),
                np.full(len(grouping.sizes), -math.inf),
            )
            for name, rule in filter(None, self._rules)
        ]

    def _judge_watched(
        self,
        watches: list[_Watch],
        grouping: Grouping,
        known: NDArray[np.bool_],
        verdict: Verdict,
        bar: Bar | None,
        *,
        first: bool,
    ) -> None:
        """Judge by rules, in compiled code."""
        for i, watch in enumerate(watches):
            if first:
                self._judge_first(i, watch, grouping, verdict, bar)
            elif watch.rule.kind not in _FIXED:
                self._judge_again(watch, grouping, known, verdict, bar)
        unruled = [p for p, r in zip(self._sensitive, self._rules, strict=True) if r is None]
        self._judge_dense(unruled, grouping, known, verdict)

    def _judge_first(
        self, i: int, watch: _Watch, grouping: Grouping, verdict: Verdict, bar: Bar | None
    ) -> None:
        """Judge against the whole table, and say what every node below must suppress."""
        sizes = grouping.sizes
        limit = int(sizes.sum()) if bar is None else bar.limit
        if self._exact:
            self._judge_by(watch, grouping, verdict, limit - int(sizes[verdict.fails].sum()))
            np.copyto(verdict.removed, sizes, where=verdict.fails)
            return
        moves, worth = watch.rule.kind not in _FIXED, self._worth[i]
        if moves and (4 * limit >= self._problem.rows or not worth.asks()):
            # with more than that left out the reference may be anything: no bounds worth their time
            alone = len(self._rules) == 1
            left = limit - int(sizes[verdict.fails].sum()) if alone else self._problem.rows
            self._judge_by(watch, grouping, verdict, left)
            return
        from sfumato.anonymize.tables.algorithms.full_domain.removal import (  # noqa: PLC0415
            bound_classes,  # loaded with the compiler, when it pays
        )

        before = int(np.count_nonzero(verdict.fails))
        risen = bound_classes(
            watch.rule,
            (watch.reference, self._widen(i, limit)),
            grouping.histograms[watch.name],
            sizes,
            verdict.fails,
            verdict.removed,
            watch.slack,
            self.minimum,
            limit - int(verdict.removed.sum()),
        )
        worth.told(int(np.count_nonzero(verdict.fails)) - before, risen)

    def _judge_again(
        self,
        watch: _Watch,
        grouping: Grouping,
        known: NDArray[np.bool_],
        verdict: Verdict,
        bar: Bar | None,
    ) -> None:
        """Judge against what is left, where that can change a verdict."""
        total = self._total(grouping.histograms[watch.name], watch.name, known)
        now = rules.reference(watch.rule, total)
        watch.moved += rules.move(watch.rule, watch.reference, now)
        watch.reference = now
        limit = int(grouping.sizes.sum()) if bar is None else bar.limit
        room = limit - int(grouping.sizes[verdict.fails].sum())
        self._judge_by(watch, grouping, verdict, room)

    def _judge_by(self, watch: _Watch, grouping: Grouping, verdict: Verdict, room: int) -> None:
        from sfumato.anonymize.tables.algorithms.full_domain.verdicts import (  # noqa: PLC0415
            judge_classes,  # loaded with the compiler, when it pays
        )

        judge_classes(
            watch.rule,
            watch.reference,
            grouping.histograms[watch.name],
            grouping.sizes,
            verdict.fails,
            watch.slack,
            watch.moved,
            room,
        )

    def _widen(self, i: int, limit: int) -> rules.Widened:
        """Return the widened reference of the `i`-th rule, made anew when the limit changes."""
        if self._widened[0] != limit:
            known = [
                rules.widen(rule, self._problem.totals[name], limit)
                for name, rule in filter(None, self._rules)
            ]
            self._widened = (limit, known)
        return self._widened[1][i]


def _plain_released(
    starts: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    gone: NDArray[np.bool_],
    n_values: int,
) -> NDArray[np.int64]:
    left = np.where(np.repeat(gone, np.diff(starts)), 0, counts)
    return np.bincount(values, weights=left, minlength=n_values).astype(np.int64)


@kernel(_plain_released, loss=lambda *a: 1e-5 + 5e-9 * len(a[1]))
def _released(starts, values, counts, gone, n_values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count the records per value in the classes that are not gone."""
    total = np.zeros(n_values, dtype=np.int64)
    for c in range(len(gone)):
        if not gone[c]:
            for j in range(starts[c], starts[c + 1]):
                total[values[j]] += counts[j]
    return total
