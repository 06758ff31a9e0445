"""Measuring an event that was chosen before: fresh runs, counted, bounded.

Contract: each ``Measurement`` is made of runs that had no part in choosing its event, and its bound
is wrong with probability at most the ``alpha`` it was given (:mod:`~sfumato.audit.claims.bounds`).
Runs are shared out between the two data sets by a fair coin. Called one by one, they are made in
that random order; batches come in random order too. So a function that drifts (a cache, a
budget that ends, a machine that warms up) favours neither data set, and for pure claims the bound
holds for it as well: given all that was before, a run in which the event happens was on the first
data set with probability at most e^ε/(1 + e^ε).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.audit.claims import bounds
from sfumato.audit.claims.samples import CHUNK

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.audit.claims.events import Candidate, Event
    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.pairs import Pair
    from sfumato.audit.claims.promises import Bound
    from sfumato.audit.claims.samples import Sampler

_BATCHES = 4
_SMALLEST = 2048
"""A side is cut into so many batches at least, but into none smaller than this."""


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
class Measuring:
    """Runs a function on pairs and bounds what it shows."""

    sampler: Sampler
    promised: tuple[Bound, ...]
    rng: np.random.Generator
    unit: float = 0.0
    """The step to which floating-point outputs are rounded; 0 takes them as they are."""

    @property
    def pure(self) -> bool:
        """Whether the claim has no δ."""
        return all(bound.delta == 0 for bound in self.promised)

    def runs(self, pair: Pair, first: int, second: int) -> tuple[Outputs, Outputs]:
        """Run on both data sets of a pair."""
        if self.sampler.vectorised:
            outputs = self.sampler.draw(pair.first, first), self.sampler.draw(pair.second, second)
        else:
            outputs = self.sampler.interleaved(_inputs(pair), self._order(first, second))
        return outputs[0].rounded(self.unit), outputs[1].rounded(self.unit)

    def shared_out(self, runs: int) -> tuple[int, int]:
        """Share twice so many runs out by a fair coin, as the bound on ratios requires."""
        first = int(self.rng.binomial(2 * runs, 0.5))
        return first, 2 * runs - first

    def measure(
        self, pair: Pair, events: list[Event], runs: tuple[int, int], alpha: float
    ) -> list[Measurement]:
        """Bound each event; the first decides, others for the region share half of the error."""
        happened = self._count(pair, events, *runs)
        others = len(events) - 1
        shares = [alpha / 2, *[alpha / 2 / others] * others] if others else [alpha]
        return [
            self._judge(pair, event, counts, runs, share)
            for event, counts, share in zip(events, happened, shares, strict=True)
        ]

    def guess(
        self, pair: Pair, candidate: Candidate, runs: tuple[int, int], alpha: float
    ) -> Measurement:
        """Bound the ratio by how often a guess between the two data sets is right."""
        assert candidate.opposite is not None
        events = [candidate.event, candidate.opposite]
        (a, b), (c, d) = self._count(pair, events, *runs, apart=True)
        right, wrong = (a + d, b + c) if candidate.event.on_first else (b + c, a + d)
        epsilon = bounds.ratio_bound(right, wrong, alpha)
        refutes = any(epsilon > bound.epsilon for bound in self.promised)
        return Measurement(
            pair, self._as_read(candidate.event), (a, b), runs, epsilon, None, refutes,
            (right, wrong), candidate.opposite,
        )  # fmt: skip

    def _judge(
        self, pair: Pair, event: Event, counts: tuple[int, int], runs: tuple[int, int], alpha: float
    ) -> Measurement:
        event = self._as_read(event)
        side = 0 if event.on_first else 1
        likely, rare = counts[side], counts[1 - side]
        if self.pure:
            epsilon = bounds.ratio_bound(likely, rare, alpha)
            refutes = any(epsilon > bound.epsilon for bound in self.promised)
            return Measurement(pair, event, counts, runs, epsilon, None, refutes)
        masses = bounds.masses(likely, runs[side], rare, runs[1 - side], alpha)
        refutes = any(masses.epsilon(bound.delta) > bound.epsilon for bound in self.promised)
        epsilon = masses.epsilon(self.promised[0].delta)
        return Measurement(pair, event, counts, runs, epsilon, masses, refutes)

    def _count(
        self, pair: Pair, events: list[Event], first: int, second: int, *, apart: bool = False
    ) -> list[tuple[int, int]]:
        """Count how often each event happens in fresh runs; ``apart`` leaves out where both do."""
        totals = np.zeros((len(events), 2), dtype=np.int64)
        if self.sampler.vectorised:
            for side, size in self._batches(first, second):
                outputs = self.sampler.draw(_inputs(pair)[side], size).rounded(self.unit)
                totals[:, side] += _tally(events, outputs, apart=apart)
        else:
            order = self._order(first, second)
            for done in range(0, order.size, CHUNK):
                both = self.sampler.interleaved(_inputs(pair), order[done : done + CHUNK])
                for side in (0, 1):
                    totals[:, side] += _tally(events, both[side].rounded(self.unit), apart=apart)
        return [(int(a), int(b)) for a, b in totals]

    def _as_read(self, event: Event) -> Event:
        """Let the event round outputs as they were rounded here, so that it can be asked again."""
        return replace(event, unit=self.unit)

    def _order(self, first: int, second: int) -> npt.NDArray[np.int64]:
        return self.rng.permutation(np.repeat([0, 1], [first, second]))

    def _batches(self, *counts: int) -> list[tuple[int, int]]:
        """Cut the runs on each data set into batches, in random order."""
        cut: list[tuple[int, int]] = []
        for side, count in enumerate(counts):
            size = min(CHUNK, max(_SMALLEST, -(-count // _BATCHES)))
            cut += [(side, min(size, count - done)) for done in range(0, count, size)]
        return [cut[i] for i in self.rng.permutation(len(cut))]


def _inputs(pair: Pair) -> tuple[object, object]:
    return pair.first, pair.second


def _tally(events: list[Event], outputs: Outputs, *, apart: bool) -> list[int]:
    happened = [event.of(outputs) for event in events]
    if apart:
        happened = [happened[0] & ~happened[1], happened[1] & ~happened[0]]
    return [int(np.count_nonzero(one)) for one in happened]
