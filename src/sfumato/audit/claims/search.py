"""The search for a refutation: explore widely and cheaply, measure rarely and freshly.

Contract: ``Search.run`` gives the best measurements it could make, such that with probability at
least the confidence *all* of them hold.

Proof. Everything is decided in rounds. A round explores pairs of neighbours, with runs that choose
the pair, the event, its direction and the number of measuring runs, and with which no bound is
computed. It may then take a *look*: it measures the chosen event on fresh runs. The j-th look
gets a share α_j of the permitted error α, a part s of what the looks before it left, fixed before
it begins, so Σ α_j ≤ α; it splits that among the events it measures at once. Given everything
before it, a look's event is fixed and its runs are new and independent, so each of its bounds is
wrong with probability at most its share (:mod:`~sfumato.audit.claims.bounds`). By the union bound
over events and looks all hold together with probability at least 1 − α. It does not matter how
looks, pairs, families or stopping were chosen, for each choice was made before the runs that it is
measured by. The numbers of runs of a look, all of them and the first eighth and half, are fixed
beforehand too, each with a share of its own. A look that the time limit ends is bounded by the
largest of these parts that is complete; one that has none is thrown away, and no other gets wrong
by that.

Mathematics and arithmetic. Read as real numbers (``exact`` is False), floating-point outputs are
rounded before anything else, which is post-processing: what is refuted then is refuted. After a
search that found nothing, one more look asks whether rounding errors, which were ignored, give the
data away (``leak``); it takes the next share of the permitted error.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.audit.claims.deadline import Deadline, TimeIsUp
from sfumato.audit.claims.effort import DECIDING, TRYING, Effort, more_runs
from sfumato.audit.claims.evidence.events import (
    SMALL,
    Candidate,
    Event,
    choose,
    choose_for_region,
)
from sfumato.audit.claims.measurement import Measurement, Measuring
from sfumato.audit.claims.outputs import unit_of
from sfumato.audit.claims.promises import Bound
from sfumato.audit.claims.sharpening import FEWEST, FINALISTS, FIRST_ROUND, Finalists
from sfumato.audit.claims.wider import may_be_wider, wider_pairs
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.pairs import Pair, Pairs
    from sfumato.audit.claims.samples import Sampler

    Progress = Callable[[float, str], None]

_SHARE = 0.2
"""s above: each look takes this share of the permitted error that is left. Most searches take one
look, so that most of it is never used, and false alarms are rarer than allowed."""
_SHARE_OF_THE_LAST = 0.9
"""The same where the time is a budget for the sharpest bound: one long look, and all that is left
where nothing is looked for after it."""

_START = 400
_GROWTH = 8
_ACTIVE = (24, 12, 4, 2, 1)
_ACTIVE_FOR_SMALL = (24, 24, 16, 10, 3)
"""Pairs that go on to the next round; more where the claim is so small that runs show little."""
_LEAST_RUNS = 200
_PROBE = 8
_LONG = 1.0
"""Seconds from which a measurement is first timed."""
_TRIAL = 1000
_EXTENSIONS = 3
_LEAK_PAIRS, _LEAK_EXPLORED, _LEAK_RUNS = 8, 1000, 20_000
_WIDER_EXPLORED, _WIDER_RUNS = 400, 10_000
_PER_RECORD = 5e-4
"""Of two pairs that promise about as much, the smaller is a better example."""
NO_PAIRS = (
    "No neighbouring data sets can be made of these records; name at least two different ones with "
    "records=[…], or give pairs=[…]."
)
ALWAYS_RAISES = (
    "The function raised an exception ({}) on every data set that is not empty, so nothing can be "
    "said about it; give it data it is made for, with records=[…], datasets=[…] or pairs=[…]."
)

Ranked = list[tuple["Pair", list[Candidate]]]


@dataclass(eq=False)
class Search:
    """Everything a search knows while it runs."""

    sampler: Sampler
    pairs: Pairs
    promised: tuple[Bound, ...]
    alpha: float
    samples: int
    deadline: Deadline
    exact: bool
    """Whether floating-point outputs are taken bit by bit, or for real numbers."""
    rng: np.random.Generator
    progress: Progress | None = None
    seek_leak: bool = False
    """Whether to ask, at the end of a search among real numbers, what rounding gives away."""
    sharpen: bool = False
    """Whether the time is a budget to use: a refutation is followed by sharper bounds."""
    extend: bool = False
    """Whether a measurement that is near a refutation may get more runs than ``samples``."""
    looks: int = 0
    tried: int = 0
    found: list[Measurement] = field(default_factory=list)
    leak: Measurement | None = None
    wider: Measurement | None = None
    out_of_time: bool = False
    floats: bool = False
    _raised: set[str] = field(default_factory=set)
    _answered: bool = False
    _region: tuple[Outputs, Outputs] | None = None
    _measuring: Measuring = field(init=False)
    _effort: Effort = field(init=False)
    _left: float = field(init=False)
    """What is left of the permitted error."""

    def __post_init__(self) -> None:
        """Make what measures."""
        self._measuring = Measuring(self.sampler, self.promised, self.rng)
        budget = self.sharpen and self.sampler.vectorised
        self._effort = Effort(self.sampler, self.deadline, self.samples, budget)
        self._left = self.alpha

    def run(self) -> None:
        """Explore and measure until the claim is refuted, or the runs or the time used up."""
        try:
            pairs = self.pairs.first(self.rng)
            if not pairs:
                raise ParameterError(NO_PAIRS)
            self._probe(pairs[0])
            if self._effort.budget:
                self._seek_sharpest(pairs)
            else:
                self._seek(pairs)
            if self.seek_leak and self.floats and not self.exact and not self.refuted:
                self._seek_leak(pairs)
            if not self.refuted:
                self._seek_wider()
        except TimeIsUp:
            self.out_of_time = True

    def _probe(self, pair: Pair) -> None:
        """Learn how long a run takes (the first may compile) and how far outputs are spread."""
        seen = []
        for count in (_START, _START) if self.sampler.vectorised else (1, 1, _PROBE):
            if self.sampler.seconds_per_output * count > self.deadline.left / 10:
                break
            seen.append(self.sampler.draw(pair.first, count))
        if not self.exact:
            self._measuring.unit = unit_of(seen)

    def _seek(self, active: list[Pair]) -> None:
        size, known = _START, False
        for number in range(100):
            active = active[: self._affordable(FEWEST * len(active), share=0.3) // FEWEST or 1]
            wanted = min(size, max(_LEAST_RUNS, self._effort.most))
            size = max(FEWEST, self._affordable(wanted, pairs=len(active), share=0.3))
            last = size < wanted or size >= self._effort.most or self._effort.late
            runs = self._to_measure() if last else min(4 * size, self.samples)
            ranked = self._explore(active, size, runs, last=last)
            self._require_answers()
            pair, candidates = self._pick(ranked)
            if last:
                self._look(pair, candidates, runs)
                self._go_on(pair, candidates, runs)
                return
            if candidates[0].margin > 0 and not known:
                self._look(pair, candidates[:1], runs)
                known = self.refuted
                if known and not self.sharpen:
                    return
            size *= _GROWTH
            active = self._next(ranked, number + 1, size)

    def _seek_sharpest(self, active: list[Pair]) -> None:
        """Explore for a part of the time, choose one pair for another, and measure it for the rest.

        One look, and it gets nearly all of the permitted error.
        """
        effort = self._effort
        size = max(FEWEST, self._affordable(_START, pairs=len(active), share=1.0))
        for number in range(1, 100):
            runs = self._to_measure()
            ranked = self._explore(active, size, runs, last=True)
            self._require_answers()
            wanted = min(_GROWTH * size, effort.most)
            reached = self._affordable(wanted, pairs=min(FINALISTS, len(ranked)), share=1.0)
            if reached < 2 * size or effort.late:
                break
            size = reached
            active = self._next(ranked, number, size, share=1.0)
        most = effort.countable(FIRST_ROUND * DECIDING)
        finalists = Finalists.of(ranked, self._measuring, most)
        seconds = DECIDING * self.deadline.seconds
        pair, candidates = finalists.decide(seconds, effort.measurable)
        more = may_be_wider(self.pairs) or (self.seek_leak and not self.exact)
        share = _SHARE_OF_THE_LAST if more else 1.0
        trial = int(TRYING * self.deadline.seconds / (2 * finalists.seconds_per_run))
        each = self._measuring.time(pair, candidates, max(FEWEST, trial))
        runs = effort.measurable(each)
        self._measure(pair, candidates, max(FEWEST, runs), self._next_alpha(share))

    def _require_answers(self) -> None:
        if not self._answered:
            raise ParameterError(ALWAYS_RAISES.format(", ".join(sorted(self._raised))))

    def _go_on(self, pair: Pair, candidates: list[Candidate], runs: int) -> None:
        """Measure the same again with more runs, while a refutation seems near."""
        for _ in range(_EXTENSIONS if self.extend else 0):
            runs = 0 if self.refuted else more_runs(self.found[-len(candidates) :], runs)
            if not runs or self._affordable(runs, share=0.8, exploring=False) < runs:
                return
            self._look(pair, candidates, runs)

    def _to_measure(self) -> int:
        return max(FEWEST, self._affordable(self.samples, share=0.6, exploring=False))

    @property
    def refuted(self) -> bool:
        """Whether some measurement refutes the claim."""
        return any(found.refutes for found in self.found)

    def _explore(self, pairs: list[Pair], size: int, runs: int, *, last: bool) -> Ranked:
        ranked: Ranked = []
        begin = time.monotonic()
        for pair in pairs:
            self.tried += 1
            first, second = self._measuring.runs(pair, size, size)
            self._note(pair, first, second)
            self._region = (first, second)
            found = choose(first, second, self.promised, runs=runs, floats=self.exact, both=last)
            ranked.append((pair, found))
            self._report(f"explored {self.tried} pairs")
            if self._effort.late:
                break
        self._effort.learn_cost(time.monotonic() - begin, 2 * size * len(ranked))
        return ranked

    @property
    def _small(self) -> bool:
        """Whether the claim is so small that many runs must show it, and can."""
        return self.promised[0].epsilon < SMALL and self.sampler.vectorised

    def _hope(self, candidates: list[Candidate]) -> float:
        """Rank a pair by an event chosen with little doubt: much hides what is rare or close.

        Not for a small claim, whose pairs differ by less than the luck of rare events.
        """
        return candidates[0 if self._small else min(1, len(candidates) - 1)].margin

    def _pick(self, ranked: Ranked) -> tuple[Pair, list[Candidate]]:
        """Take the best; among those that promise to refute, the simplest, which comes first.

        Where the sharpest bound is wanted, simplicity does not count.
        """
        best = max(found[0].margin for _, found in ranked)
        if best <= 0:
            return max(ranked, key=lambda item: self._hope(item[1]))
        if self.sharpen:
            return max(ranked, key=lambda item: item[1][0].margin)
        enough = min(best / 2, 1.0)
        return next(item for item in ranked if item[1][0].margin >= enough)

    def _next(self, ranked: Ranked, number: int, size: int, share: float = 0.3) -> list[Pair]:
        """Keep the best pairs, and early on try variations of the very best."""
        margins = [self._hope(found) - _PER_RECORD * _length(pair) for pair, found in ranked]
        order = sorted(range(len(ranked)), key=lambda i: -margins[i])
        most = (_ACTIVE_FOR_SMALL if self._small else _ACTIVE)[min(number, len(_ACTIVE) - 1)]
        runs = min(size, self._effort.most)
        most = min(most, self._affordable(most * runs, share=share) // runs or 1)
        kept = [ranked[i][0] for i in sorted(order[:most])]  # the simplest stays first
        return kept + self.pairs.near(ranked[order[0]][0], self.rng) if number == 1 else kept

    def _look(self, pair: Pair, candidates: list[Candidate], runs: int) -> None:
        """Measure the chosen events, and for approximate claims others that draw the region."""
        runs = max(FEWEST, self._affordable(runs, share=0.8, exploring=False))
        seeded = self.sampler.seed is not None  # a trial would use up numbers, or not, by the clock
        if not seeded and 2 * runs * self.sampler.seconds_per_output > _LONG:
            trial = self.sampler.chunk if self.sampler.vectorised else _TRIAL
            each = self._measuring.time(pair, candidates, min(runs, trial))
            runs = max(FEWEST, min(runs, int(0.85 * self.deadline.left / (2 * each))))
        self._measure(pair, candidates, runs, self._next_alpha())

    def _measure(self, pair: Pair, candidates: list[Candidate], runs: int, alpha: float) -> None:
        measuring = self._measuring
        region = [] if measuring.pure else self._region_events(pair, runs)
        every = candidates + [Candidate(event, 0.0) for event in region]
        found = measuring.measure(pair, every, runs, alpha)
        self.found += found[len(candidates) :] + found[: len(candidates)]
        self._report(f"{self.looks} measurements")

    def _next_alpha(self, share: float = _SHARE) -> float:
        """Take a share of what is left of the permitted error."""
        self.looks += 1
        alpha = share * self._left
        self._left -= alpha
        return alpha

    def _seek_leak(self, pairs: list[Pair]) -> None:
        """Look once for an event made of rounding errors, with outputs taken bit by bit."""
        self._measuring.unit = 0.0
        step = max(1.0, (len(pairs) - 1) / (_LEAK_PAIRS - 1))
        chosen = [pairs[round(i * step)] for i in range(min(len(pairs), _LEAK_PAIRS))]
        for size in (min(_LEAK_EXPLORED, self.samples // 8), min(_LEAK_RUNS, self.samples) // 2):
            ranked = self._explore_apart(chosen, size, _LEAK_RUNS, rounding_only=True)
            if not ranked:
                return
            self.leak, settled = self._look_apart(ranked, _LEAK_RUNS)
            if settled:
                return
            ranked.sort(key=lambda item: -item[1][0].margin)
            chosen = [pair for pair, _ in ranked[:2]]

    def _seek_wider(self) -> None:
        """Look for records beyond those that were tried with which the claim would fall."""
        for pairs in wider_pairs(self.pairs, self.rng):
            ranked = self._explore_apart(pairs, _WIDER_EXPLORED, _WIDER_RUNS)
            if ranked:
                self.wider, _ = self._look_apart(ranked, _WIDER_RUNS)
            if self.wider is not None:
                return

    def _look_apart(self, ranked: Ranked, runs: int) -> tuple[Measurement | None, bool]:
        """Measure what is told beside the verdict, if it promises to refute; tell whether."""
        pair, candidates = self._pick(ranked)
        if candidates[0].margin <= 0:
            return None, False
        alpha = self._next_alpha()
        runs = self._affordable(min(runs, self.samples), share=0.8, exploring=False)
        (found,) = self._measuring.measure(pair, candidates[:1], max(FEWEST, runs), alpha)
        return (found if found.refutes else None), True

    def _explore_apart(
        self, pairs: list[Pair], size: int, runs: int, *, rounding_only: bool = False
    ) -> Ranked:
        """Choose events to be told beside the verdict; none where there is no time for it."""
        ranked: Ranked = []
        size = self._affordable(min(size, self.samples), pairs=len(pairs), share=0.4)
        for pair in pairs if size >= FEWEST else ():
            first, second = self._measuring.runs(pair, size, size)
            if not rounding_only and (first.all_raised() or second.all_raised()):
                continue  # the function is not made for such records
            found = choose(
                first, second, self.promised, runs=runs,
                floats=rounding_only or self.exact, rounding_only=rounding_only,
            )  # fmt: skip
            ranked.append((pair, found))
        return ranked

    def _region_events(self, pair: Pair, runs: int) -> list[Event]:
        assert self._region is not None
        epsilon = self.promised[0].epsilon
        sizes = len(self._region[0]), len(self._region[1])
        first, second = self._measuring.runs(pair, *sizes)
        ladder = [Bound(e, 0.0) for e in sorted({0.0, epsilon / 2, epsilon, 2 * epsilon})]
        return choose_for_region(first, second, ladder, runs=runs, floats=self.exact)

    def _affordable(
        self, runs: int, *, pairs: int = 1, share: float, exploring: bool = True
    ) -> int:
        return self._effort.affordable(runs, pairs=pairs, share=share, exploring=exploring)

    def _note(self, pair: Pair, first: Outputs, second: Outputs) -> None:
        """Remember whether numbers have low bits, and whether there is any answer at all."""
        self.floats = self.floats or first.floats or second.floats
        for data, outputs in ((pair.first, first), (pair.second, second)):
            if not (isinstance(data, list) and not data):
                self._raised |= outputs.exceptions()
                self._answered = self._answered or not outputs.all_raised()

    def _report(self, words: str) -> None:
        if self.progress is not None:
            shown = max((found.epsilon for found in self.found), default=0.0)
            spent = 1 - self.deadline.left / self.deadline.seconds
            self.progress(min(1.0, max(0.0, spent)), f"{words}, shown ε ≥ {shown:.4g}")


def _length(pair: Pair) -> int:
    return len(pair.first) if isinstance(pair.first, list) else 0
