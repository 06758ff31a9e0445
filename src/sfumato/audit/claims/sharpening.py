"""The end of a search whose time is a budget: the best pairs and events, counted on more runs.

Contract: ``Finalists.decide`` gets the pairs that exploring left, each with the scores that tell
its data sets apart, and gives the one pair and the events whose long measurement promises the
sharpest bound. No bound is computed here, and no run that is counted here is ever measured.

Why another stage. Exploring learns scores, holds every output in memory, and spreads its runs over
many pairs; an event that happens once in a hundred runs it has seen a few hundred times, and its
ratio is known to a tenth. Once scores are learned only counts are needed: runs stream by, and of
each score all thresholds are counted at once. So a third of the time tells which threshold of which
score on which pair is best, and the rest measures that one. Few candidates leave most of the
permitted error to the first.

Single outputs are ordered by a ratio that exploring has learned from few runs, and an event is an
end of that order: were a poorer output placed before the best, the best could not be had alone. So
between rounds the ratios of outputs are learned anew from all that was counted, and the next round
counts the ends of the new order from nothing, so that no count had a part in the order it judges.
Where outputs are few, each came so often that its place is hardly luck: then what was counted
stays and every round adds to it, for more is lost by forgetting than by a little flattery.

The same holds for sums of weights, which are the likelihood ratio of a vector up to what few runs
leave open: at ε = 0.1 ten thousand runs leave half of it open, half a million a tenth. So the runs
that were counted are kept, as many as memory allows, and weights are fitted to all of them anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.audit.claims.evidence.ends import Ends, count_ends, thresholds_of
from sfumato.audit.claims.evidence.events import Candidate, choose_among
from sfumato.audit.claims.evidence.lookup import log_ratio
from sfumato.audit.claims.evidence.scores import Atoms, learn_sums
from sfumato.audit.claims.outputs import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from sfumato.audit.claims.evidence.scores import Score
    from sfumato.audit.claims.measurement import Measuring
    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.pairs import Pair
    from sfumato.audit.claims.promises import Bound

_CAUTION = (0.45, 1.0, 0.2)
"""Shares of the doubt that choose an event each; all of it passes over what is rare, and with less
the luck of rare ends chooses. The first also ranks the pairs, and gets most of the error: it takes
off about two standard errors, by which the best of many ends flatters itself. With all of the doubt
pairs were ranked by what is frequent, and the dangerous ones lost by what is not. Where all choose
the same, that one gets all of the error."""
_SELDOM = 400
"""Ends that came fewer times do not rank a pair: the best of so many of them is luck."""
_ROUNDS = ((12, 0.3), (4, 0.3), (2, 0.4))
"""How many pairs are counted on in each round, and for which share of the time."""
FINALISTS, FIRST_ROUND = _ROUNDS[0]
FEWEST = 25
"""Runs on each data set by which slow functions are explored and counted."""
_LEARNING = 0.3
"""The share of a round after which nothing is learned anew any more."""
_KEPT = 1 << 24
"""So many numbers of all outputs on each data set are kept to learn from."""
_FEW_OUTPUTS = 64
"""Different outputs up to which counts outlive a change of their order."""
_SEEN = 100_000
"""Kept runs by which thresholds are set."""


@dataclass(eq=False)
class Counted:
    """One score with how often each of its ends came so far, on both data sets."""

    score: Score
    thresholds: npt.NDArray[np.float64]
    ends: list[Ends] = field(default_factory=list)
    outputs: npt.NDArray[np.int64] | None = None
    """Of single outputs, how often each came on each data set."""
    runs: tuple[int, int] = (0, 0)

    def count(self, first: Outputs, second: Outputs) -> None:
        """Count all ends in more runs."""
        found = count_ends(self.score, self.thresholds, first, second)
        self.ends = list(map(_added, self.ends, found)) if self.ends else found
        if isinstance(self.score, Atoms):
            tallied = np.array([self.score.table.tally(side.whole()) for side in (first, second)])
            self.outputs = tallied if self.outputs is None else self.outputs + tallied
            self.runs = self.runs[0] + len(first), self.runs[1] + len(second)

    def relearn(self) -> None:
        """Order single outputs by all that was counted, and count the new ends: anew if many."""
        if not isinstance(self.score, Atoms) or self.outputs is None:
            return
        ratios = log_ratio(*self.outputs)
        self.score = replace(self.score, table=replace(self.score.table, ratios=ratios))
        self.thresholds = thresholds_of(np.append(ratios, 0.0))
        few = ratios.size <= _FEW_OUTPUTS
        self.ends = self._ends_of(ratios, self.outputs) if few else []

    def _ends_of(
        self, ratios: npt.NDArray[np.float64], outputs: npt.NDArray[np.int64]
    ) -> list[Ends]:
        """Count the ends of an order by how often each output came; others have the ratio 0."""
        others = np.array(self.runs)[:, None] - outputs.sum(axis=1, keepdims=True)
        counts, ratios = np.hstack([outputs, others]), np.append(ratios, 0.0)
        ends = []
        for above in (False, True):
            beyond = np.greater_equal if above else np.less_equal
            member = beyond(ratios[:, None], self.thresholds).astype(np.float64)
            first, second = counts @ member
            ends.append(Ends(self.score, self.thresholds, above, first, second, self.runs))
        return ends


@dataclass(eq=False)
class Finalist:
    """A pair, and its scores."""

    pair: Pair
    scores: list[Counted]
    kept: tuple[list[Outputs], list[Outputs]] = field(default_factory=lambda: ([], []))
    chosen: set[int] = field(default_factory=set)
    """The scores, by identity, of the events that were last chosen."""

    def count(self, first: Outputs, second: Outputs, room: int) -> None:
        """Count all ends of all scores in more runs, and keep these if so many have room."""
        for score in self.scores:
            score.count(first, second)
        if sum(map(len, self.kept[0])) + len(first) <= room:
            self.kept[0].append(first)
            self.kept[1].append(second)

    def relearn(self, *, quick: bool) -> None:
        """Learn again from all runs so far, and begin to count anew what has changed by that.

        Sums that were chosen keep their counts beside the new ones, which have none yet. What is
        quick is learned for every pair that is left: else the first would win by being the first.
        """
        kept = [joined(side) for side in self.kept if side]
        sums = learn_sums(*kept, quick=quick) if kept else []
        if sums:
            self.scores = [old for old in self.scores if id(old.score) in self.chosen]
        for counted in self.scores:
            counted.relearn()
        seen = [side.part(slice(0, _SEEN)) for side in kept]
        for score in sums:
            values = np.concatenate([score.of(side) for side in seen])
            self.scores.append(Counted(score, thresholds_of(values)))

    def choose(self, bounds: Sequence[Bound], runs: int) -> list[Candidate]:
        """Give the events that promise most for so many measuring runs."""
        every = [ends for score in self.scores for ends in score.ends]
        found = choose_among(
            every, bounds, runs=runs, cautions=_CAUTION, join="always", seldom=_SELDOM
        )
        self.chosen = {id(ends.score) for candidate in found for ends in candidate.ends}
        return found


@dataclass(eq=False)
class Finalists:
    """The pairs among which the time is spent before one is measured."""

    left: list[Finalist]
    measuring: Measuring
    bounds: Sequence[Bound]
    batch: int
    seconds_per_run: float = 0.0

    @classmethod
    def of(
        cls, ranked: Sequence[tuple[Pair, list[Candidate]]], measuring: Measuring, runs: int
    ) -> Finalists:
        """Take pairs that are best by what is nearly sure, or by what is only likely.

        ``runs`` on each data set are the most that the first round can make altogether.
        """
        sure = sorted(ranked, key=lambda item: -item[1][0].margin)
        likely = sorted(ranked, key=lambda item: -item[1][-1].margin)
        both = [item for two in zip(sure, likely, strict=True) for item in two]
        kept = list({id(pair): (pair, found) for pair, found in both}.values())[:FINALISTS]
        chosen = [Finalist(pair, _scores(found)) for pair, found in kept]
        batch = max(FEWEST, min(measuring.sampler.chunk, runs // len(chosen)))
        return cls(chosen, measuring, measuring.promised, batch)

    def decide(
        self, seconds: float, runs_for: Callable[[float], int]
    ) -> tuple[Pair, list[Candidate]]:
        """Count for so long, and choose; ``runs_for`` tells what can be measured at a speed."""
        last = time.monotonic() + seconds
        for number, (most, share) in enumerate(_ROUNDS):
            begin = time.monotonic()
            if number and begin > last:
                break
            end = min(begin + share * seconds, last)
            self.left = self.left[:most]
            for finalist in self.left if number else ():
                if time.monotonic() > begin + _LEARNING * (end - begin):
                    break  # the rest, which come behind, go on with what they have learned
                finalist.relearn(quick=number < len(_ROUNDS) - 1)
            self._count(end)
            ranked = self._ranked(max(1, runs_for(self.seconds_per_run)))
            self.left = [finalist for finalist, _ in ranked]
        best, candidates = ranked[0]
        return best.pair, candidates

    def _ranked(self, runs: int) -> list[tuple[Finalist, list[Candidate]]]:
        found = [(pair, pair.choose(self.bounds, runs)) for pair in self.left]
        return sorted(found, key=lambda item: -item[1][0].margin)

    def _count(self, end: float) -> None:
        """Run all in turn until the time is over, each at least once."""
        begin, done = time.monotonic(), 0
        room = _KEPT // (len(self.left) * max(1, self.measuring.sampler.width))
        while done == 0 or time.monotonic() < end:
            for finalist in self.left:
                runs = self.measuring.runs(finalist.pair, self.batch, self.batch)
                finalist.count(*runs, room)
                done += 2 * self.batch
        self.seconds_per_run = (time.monotonic() - begin) / done


def _scores(found: list[Candidate]) -> list[Counted]:
    """Give the scores of these candidates and of their opposites, each once."""
    every = {id(ends.score): ends for candidate in found for ends in candidate.ends}
    return [Counted(ends.score, ends.thresholds) for ends in every.values()]


def _added(so_far: Ends, new: Ends) -> Ends:
    return replace(
        so_far,
        first=so_far.first + new.first,
        second=so_far.second + new.second,
        runs=(so_far.runs[0] + new.runs[0], so_far.runs[1] + new.runs[1]),
    )
