"""Measuring an event that was chosen before: fresh runs, counted, bounded.

Contract: each ``Measurement`` is made of runs that had no part in choosing its event, and its bound
is wrong with probability at most the ``alpha`` it was given (:mod:`~sfumato.audit.claims.bounds`,
and for claims with δ also :mod:`~sfumato.audit.claims.excess`, each with half of it).
Runs are shared out between the two data sets by a fair coin. Called one by one, they are made in
that random order; batches come in random order too. So a function that drifts (a cache, a
budget that ends, a machine that warms up) favours neither data set, and for pure claims the bound
holds for it as well: given all that was before, a run in which the event happens was on the first
data set with probability at most e^ε/(1 + e^ε).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.audit.claims import bounds
from sfumato.audit.claims.deadline import TimeIsUp
from sfumato.audit.claims.excess import excess_epsilon
from sfumato.audit.claims.samples import CHUNK

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.audit.claims.evidence.events import Candidate, Event
    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.pairs import Pair
    from sfumato.audit.claims.promises import Bound
    from sfumato.audit.claims.samples import Sampler

_BATCHES = 4
_SMALLEST = 2048
"""A side is cut into so many batches at least, but into none smaller than this."""


_STAGES = ((1 / 8, 0.01), (1 / 2, 0.03), (1.0, 0.96))
"""After which shares of the runs a bound can be had, should the time end a measurement there, and
the share of the permitted error for each."""
_FIRST_OF_MANY, _FIRST_OF_TWO = 0.7, 0.8
"""The share of the error for the first of several events, and of two."""


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
    excess: float = -math.inf
    """By how many standard errors the estimate itself exceeds the claim."""


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
        self, pair: Pair, candidates: list[Candidate], runs: int, alpha: float
    ) -> list[Measurement]:
        """Bound all on twice so many runs; should the time end it, on the first part of them.

        All numbers of runs are settled before, and every part is shared out by coins of its own, so
        the bounds of each hold with the error that is set aside for it, and together with all.
        """
        totals = np.zeros((len(candidates), 2, 2), dtype=np.int64)
        goal, done, share = 0, (0, 0), 0.0
        for part, of_error in _STAGES:
            begin, goal = goal, int(part * runs)
            first, second = self.shared_out(goal - begin)
            try:
                totals += self._count(pair, candidates, first, second)
            except TimeIsUp:
                if not share:
                    raise
                break
            done, share = (done[0] + first, done[1] + second), of_error
        return self._bound(pair, candidates, totals, done, alpha * share)

    def time(self, pair: Pair, candidates: list[Candidate], runs: int) -> float:
        """Give the seconds that a run takes with all that is counted; nothing else is kept."""
        begin = time.perf_counter()
        self._count(pair, candidates, runs, runs)
        return (time.perf_counter() - begin) / (2 * runs)

    def _bound(
        self,
        pair: Pair,
        candidates: list[Candidate],
        happened: npt.NDArray[np.int64],
        runs: tuple[int, int],
        alpha: float,
    ) -> list[Measurement]:
        """Give the first candidate most of the error, and the others the rest."""
        others = len(candidates) - 1
        most = _FIRST_OF_TWO if others == 1 else _FIRST_OF_MANY
        rest = (1 - most) * alpha
        shares = [most * alpha, *[rest / others] * others] if others else [alpha]
        found = []
        for candidate, counted, share in zip(candidates, happened.tolist(), shares, strict=True):
            judge = self._judge if candidate.opposite is None else self._guess
            found.append(judge(pair, candidate, counted, runs, share))
        return found

    def _guess(
        self,
        pair: Pair,
        candidate: Candidate,
        counted: list[list[int]],
        runs: tuple[int, int],
        alpha: float,
    ) -> Measurement:
        """Bound the ratio by how often a guess between the two data sets is right."""
        (a, b), (c, d) = counted
        right, wrong = (a + d, b + c) if candidate.event.on_first else (b + c, a + d)
        epsilon = bounds.ratio_bound(right, wrong, alpha)
        refutes = any(epsilon > bound.epsilon for bound in self.promised)
        return Measurement(
            pair, self._as_read(candidate.event), (a, b), runs, epsilon, None, refutes,
            (right, wrong), candidate.opposite, self._excess_of_share(right, wrong),
        )  # fmt: skip

    def _judge(
        self,
        pair: Pair,
        candidate: Candidate,
        counted: list[list[int]],
        runs: tuple[int, int],
        alpha: float,
    ) -> Measurement:
        event, counts = self._as_read(candidate.event), (counted[0][0], counted[0][1])
        side = 0 if event.on_first else 1
        likely, rare = counts[side], counts[1 - side]
        if self.pure:
            epsilon = bounds.ratio_bound(likely, rare, alpha)
            refutes = any(epsilon > bound.epsilon for bound in self.promised)
            near = self._excess_of_share(likely, rare)
            return Measurement(pair, event, counts, runs, epsilon, None, refutes, excess=near)
        masses = bounds.masses(likely, runs[side], rare, runs[1 - side], alpha / 2)
        share = alpha / 2 / len(self.promised)
        shown = [
            max(
                masses.epsilon(bound.delta),
                excess_epsilon(likely, runs[side], rare, runs[1 - side], bound.delta, share),
            )
            for bound in self.promised
        ]
        refutes = any(e > b.epsilon for e, b in zip(shown, self.promised, strict=True))
        near = self._excess_of_mass(likely, runs[side], rare, runs[1 - side])
        return Measurement(pair, event, counts, runs, shown[0], masses, refutes, excess=near)

    def _excess_of_share(self, right: int, wrong: int) -> float:
        """Compare the share of right guesses with what the claim allows, in standard errors."""
        allowed = 1 / (1 + math.exp(-min(self.promised[0].epsilon, 30.0)))
        total = right + wrong
        return (right - allowed * total) / math.sqrt(max(total, 1) * allowed * (1 - allowed))

    def _excess_of_mass(self, likely: int, n: int, rare: int, m: int) -> float:
        """Compare p with e^ε·q + δ, in standard errors, at the bound where it is largest."""
        found = []
        for bound in self.promised:
            factor = math.exp(min(bound.epsilon, 30.0))
            over = likely / n - factor * rare / m - bound.delta
            found.append(over / math.sqrt((likely + 1) / n**2 + factor**2 * (rare + 1) / m**2))
        return max(found)

    def _count(
        self, pair: Pair, candidates: list[Candidate], first: int, second: int
    ) -> npt.NDArray[np.int64]:
        """Count, for each candidate, how often its event and its opposite happen in fresh runs."""
        totals = np.zeros((len(candidates), 2, 2), dtype=np.int64)
        if self.sampler.vectorised:
            for side, size in self._batches(first, second):
                outputs = self.sampler.draw(_inputs(pair)[side], size).rounded(self.unit)
                totals[:, :, side] += _tally(candidates, outputs)
        else:
            order = self._order(first, second)
            for done in range(0, order.size, CHUNK):
                both = self.sampler.interleaved(_inputs(pair), order[done : done + CHUNK])
                for side in (0, 1):
                    totals[:, :, side] += _tally(candidates, both[side].rounded(self.unit))
        return totals

    def _as_read(self, event: Event) -> Event:
        """Let the event round outputs as they were rounded here, so that it can be asked again."""
        return replace(event, unit=self.unit)

    def _order(self, first: int, second: int) -> npt.NDArray[np.int64]:
        return self.rng.permutation(np.repeat([0, 1], [first, second]))

    def _batches(self, *counts: int) -> list[tuple[int, int]]:
        """Cut the runs on each data set into batches, in random order."""
        cut: list[tuple[int, int]] = []
        for side, count in enumerate(counts):
            size = min(self.sampler.chunk, max(_SMALLEST, -(-count // _BATCHES)))
            cut += [(side, min(size, count - done)) for done in range(0, count, size)]
        return [cut[i] for i in self.rng.permutation(len(cut))]


def _inputs(pair: Pair) -> tuple[object, object]:
    return pair.first, pair.second


def _tally(candidates: list[Candidate], outputs: Outputs) -> npt.NDArray[np.int64]:
    """Count each event, and its opposite, leaving out where both happen."""
    scores: dict[int, npt.NDArray[np.float64]] = {}
    totals = np.zeros((len(candidates), 2), dtype=np.int64)
    for row, candidate in zip(totals, candidates, strict=True):
        happened = []
        for event in candidate.events:
            if id(event.score) not in scores:
                scores[id(event.score)] = event.score.of(outputs)
            happened.append(event.among(scores[id(event.score)]))
        if len(happened) == 1:
            row[0] = np.count_nonzero(happened[0])
        else:
            row[:] = (
                np.count_nonzero(happened[0] & ~happened[1]),
                np.count_nonzero(happened[1] & ~happened[0]),
            )
    return totals
