"""The search for a refutation: explore widely and cheaply, measure rarely and freshly.

Contract: ``Search.run`` gives the best measurements it could make, such that with probability at
least the confidence *all* of them hold.

Proof. Everything is decided in rounds. A round explores pairs of neighbours, with runs that choose
the pair, the event, its direction and the number of measuring runs, and with which no bound is
computed. It may then take a *look*: it measures the chosen event on fresh runs. The j-th look
gets the share α_j = α·(1 − s)·s^(j−1) of the permitted error α, and splits it among the events it
measures at once. Given everything before it, a look's event is fixed and its runs are new and
independent, so each of its bounds is wrong with probability at most its share
(:mod:`~sfumato.audit.claims.bounds`); by the union bound over events and looks, and because
Σ α_j = α, all hold together with probability at least 1 − α. It does not matter how looks, pairs,
families or stopping were chosen, for each choice was made before the runs that it is measured by.
The number of runs of a look is fixed beforehand too; a time limit shortens the next look, never one
under way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims import bounds
from sfumato.audit.claims.events import Candidate, Event, choose, choose_for_region
from sfumato.audit.claims.promises import Bound
from sfumato.audit.claims.sampling import CHUNK
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.pairs import Pair, Pairs
    from sfumato.audit.claims.sampling import Sampler

    Progress = Callable[[float, str], None]

_SHARE = 0.8
"""s above: each look leaves this share of the permitted error to later ones. Most searches take
one look, so that most of it is never used, and false alarms are rarer than allowed."""

_START = 400
_GROWTH = 8
_ACTIVE = (24, 8, 3, 1)
_LEAST_RUNS = 200
_PROBE = 8
_PER_RECORD = 5e-4
"""Of two pairs that promise about as much, the smaller is a better example."""
NO_PAIRS = (
    "No neighbouring data sets can be made of these records; name at least two different ones with "
    "records=[…], or give pairs=[…]."
)
ALWAYS_RAISES = (
    "The function raised an exception on every data set that is not empty, so nothing can be said "
    "about it; give it data it is made for, with records=[…], datasets=[…] or pairs=[…]."
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """What one look found for one event."""

    pair: Pair
    event: Event
    counts: tuple[int, int]
    runs: tuple[int, int]
    epsilon: float
    """A lower bound on ε at the δ of the first bound of the claim."""
    masses: bounds.Masses | None
    refutes: bool
    guesses: tuple[int, int] | None = None
    """Right and wrong guesses, where an event for each data set was measured."""
    opposite: Event | None = None


@dataclass(eq=False)
class Search:
    """Everything a search knows while it runs."""

    sampler: Sampler
    pairs: Pairs
    promised: tuple[Bound, ...]
    alpha: float
    samples: int
    seconds: float
    floats: bool
    rng: np.random.Generator
    progress: Progress | None = None
    started: float = field(default_factory=time.monotonic)
    looks: int = 0
    tried: int = 0
    found: list[Measurement] = field(default_factory=list)
    all_raised: bool = True
    _region: tuple[Outputs, Outputs] | None = None

    def run(self) -> None:
        """Explore and measure until the claim is refuted or the runs are used up."""
        active = self.pairs.first(self.rng)
        if not active:
            raise ParameterError(NO_PAIRS)
        for _ in range(2):  # the first run may compile; the second tells how long one takes
            self.sampler.draw(active[0].first, _START if self.sampler.vectorised else _PROBE)
        size = _START
        for number in range(100):
            wanted = min(size, max(_LEAST_RUNS, self.samples // 8))
            size = self._affordable(wanted, pairs=len(active), share=0.3)
            last = size < wanted or size >= self.samples // 8 or self._late()
            runs = self.samples if last else min(4 * size, self.samples)
            ranked = self._explore(active, size, runs, last=last)
            if self.all_raised:
                raise ParameterError(ALWAYS_RAISES)
            pair, candidate = _pick(ranked)
            if last or candidate.margin > 0:
                self._look(pair, candidate, runs)
                if last or self.found[-1].refutes or self.refuted:
                    return
            if not last:
                active = self._next(ranked, number + 1)
                size *= _GROWTH

    @property
    def refuted(self) -> bool:
        """Whether some measurement refutes the claim."""
        return any(found.refutes for found in self.found)

    def _explore(
        self, pairs: list[Pair], size: int, runs: int, *, last: bool
    ) -> list[tuple[Pair, Candidate]]:
        ranked = []
        for pair in pairs:
            self.tried += 1
            first, second = self._runs(pair, size, size)
            self._note_exceptions(pair, first, second)
            self._region = (first, second)
            ranked.append(
                (
                    pair,
                    choose(first, second, self.promised, runs=runs, floats=self.floats, both=last),
                )
            )
            self._report(f"explored {self.tried} pairs")
            if self._late():
                break
        return ranked

    def _next(self, ranked: list[tuple[Pair, Candidate]], number: int) -> list[Pair]:
        """Keep the best pairs, and early on try variations of the very best."""
        margins = [item.margin - _PER_RECORD * _length(pair) for pair, item in ranked]
        order = sorted(range(len(ranked)), key=lambda i: -margins[i])
        best = order[: _ACTIVE[min(number, len(_ACTIVE) - 1)]]
        kept = [ranked[i][0] for i in sorted(best)]  # the simplest stays first
        return kept + self.pairs.near(ranked[order[0]][0], self.rng) if number == 1 else kept

    def _look(self, pair: Pair, candidate: Candidate, runs: int) -> None:
        """Measure the chosen event, and for approximate claims others that draw the region."""
        self.looks += 1
        alpha = self.alpha * (1 - _SHARE) * _SHARE ** (self.looks - 1)
        pure = all(bound.delta == 0 for bound in self.promised)
        region = [] if pure else self._region_events(pair, runs)
        runs = self._affordable(runs)
        # Shared out by a fair coin, as the bound on ratios requires.
        n = int(self.rng.binomial(2 * runs, 0.5))
        if candidate.opposite is not None:
            self.found.append(self._guess(pair, candidate, n, 2 * runs - n, alpha))
        else:
            self._measure(pair, [candidate.event, *region], (n, 2 * runs - n), alpha)
        self._report(f"{self.looks} measurements")

    def _measure(
        self, pair: Pair, events: list[Event], runs: tuple[int, int], alpha: float
    ) -> None:
        """Bound each event; the first decides, others for the region share half of the error."""
        happened = self._count(pair, events, *runs)
        others = len(events) - 1
        shares = [alpha / 2, *[alpha / 2 / others] * others] if others else [alpha]
        for event, counts, share in zip(events, happened, shares, strict=True):
            self.found.append(self._judge(pair, event, counts, runs, share))

    def _guess(
        self, pair: Pair, candidate: Candidate, first: int, second: int, alpha: float
    ) -> Measurement:
        """Bound the ratio by how often a guess between the two data sets is right."""
        assert candidate.opposite is not None
        events = [candidate.event, candidate.opposite]
        (a, b), (c, d) = self._count(pair, events, first, second, apart=True)
        right, wrong = (a + d, b + c) if candidate.event.on_first else (b + c, a + d)
        epsilon = bounds.ratio_bound(right, wrong, alpha)
        refutes = any(epsilon > bound.epsilon for bound in self.promised)
        return Measurement(
            pair, candidate.event, (a, b), (first, second), epsilon, None, refutes,
            (right, wrong), candidate.opposite,
        )  # fmt: skip

    def _judge(
        self, pair: Pair, event: Event, counts: tuple[int, int], runs: tuple[int, int], alpha: float
    ) -> Measurement:
        side = 0 if event.on_first else 1
        likely, rare = counts[side], counts[1 - side]
        if all(bound.delta == 0 for bound in self.promised):
            epsilon = bounds.ratio_bound(likely, rare, alpha)
            refutes = any(epsilon > bound.epsilon for bound in self.promised)
            return Measurement(pair, event, counts, runs, epsilon, None, refutes)
        masses = bounds.masses(likely, runs[side], rare, runs[1 - side], alpha)
        refutes = any(masses.epsilon(bound.delta) > bound.epsilon for bound in self.promised)
        epsilon = masses.epsilon(self.promised[0].delta)
        return Measurement(pair, event, counts, runs, epsilon, masses, refutes)

    def _region_events(self, pair: Pair, runs: int) -> list[Event]:
        assert self._region is not None
        epsilon = self.promised[0].epsilon
        first, second = self._runs(pair, len(self._region[0]), len(self._region[1]))
        ladder = [Bound(e, 0.0) for e in sorted({0.0, epsilon / 2, epsilon, 2 * epsilon})]
        return choose_for_region(first, second, ladder, runs=runs, floats=self.floats)

    def _count(
        self, pair: Pair, events: list[Event], first: int, second: int, *, apart: bool = False
    ) -> list[tuple[int, int]]:
        """Count how often each event happens in fresh runs; ``apart`` leaves out where both do."""
        totals = np.zeros((len(events), 2), dtype=np.int64)
        if self.sampler.timing:
            outputs = self._runs(pair, first, second)
            for side in (0, 1):
                totals[:, side] = _tally(events, outputs[side], apart=apart)
        else:
            for side, (data, count) in enumerate(((pair.first, first), (pair.second, second))):
                for done in range(0, count, CHUNK):
                    chunk = self.sampler.draw(data, min(CHUNK, count - done))
                    totals[:, side] += _tally(events, chunk, apart=apart)
        return [(int(a), int(b)) for a, b in totals]

    def _runs(self, pair: Pair, first: int, second: int) -> tuple[Outputs, Outputs]:
        if self.sampler.timing:
            order = self.rng.permutation(np.repeat([0, 1], [first, second]))
            return self.sampler.interleaved((pair.first, pair.second), order)
        return self.sampler.draw(pair.first, first), self.sampler.draw(pair.second, second)

    def _affordable(self, runs: int, *, pairs: int = 1, share: float = 0.9) -> int:
        """Cut a number of runs on each data set to what a share of the time left allows."""
        left = share * (self.seconds - (time.monotonic() - self.started))
        most = int(max(left, 0.0) / (2 * pairs * self.sampler.seconds_per_output + 1e-12))
        return max(_LEAST_RUNS, min(runs, most))

    def _late(self) -> bool:
        return time.monotonic() - self.started > self.seconds / 2

    def _note_exceptions(self, pair: Pair, first: Outputs, second: Outputs) -> None:
        for data, outputs in ((pair.first, first), (pair.second, second)):
            empty = isinstance(data, list) and not data
            self.all_raised = self.all_raised and (empty or outputs.all_raised())

    def _report(self, words: str) -> None:
        if self.progress is not None:
            shown = max((found.epsilon for found in self.found), default=0.0)
            spent = (time.monotonic() - self.started) / self.seconds
            self.progress(min(1.0, spent), f"{words}, shown ε ≥ {shown:.4g}")


def _tally(events: list[Event], outputs: Outputs, *, apart: bool) -> list[int]:
    happened = [event.of(outputs) for event in events]
    if apart:
        happened = [happened[0] & ~happened[1], happened[1] & ~happened[0]]
    return [int(np.count_nonzero(one)) for one in happened]


def _length(pair: Pair) -> int:
    return len(pair.first) if isinstance(pair.first, list) else 0


def _pick(ranked: list[tuple[Pair, Any]]) -> tuple[Pair, Any]:
    """Take the best; among those that promise to refute, the simplest, which comes first."""
    best = max(candidate.margin for _, candidate in ranked)
    enough = min(best / 2, 1.0) if best > 0 else best
    return next(item for item in ranked if item[1].margin >= enough)
