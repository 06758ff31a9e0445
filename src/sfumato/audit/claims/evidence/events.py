"""Choosing an event: which end of which score promises the strongest evidence.

Contract: an ``Event`` is a set of outputs, fixed once it is chosen: those whose score is at least,
or at most, a threshold. ``choose`` learns scores on one part of the exploring runs and picks
thresholds on the other; neither part is ever measured.

Several at once. A forecast that takes off all doubt never chooses a rare event, of which exploring
has seen a dozen; one that takes off little often chooses noise. So ``choose`` gives a few events,
chosen with less and less doubt, and all are measured on the same runs. That costs each of them a
part of the permitted error, which is little; a rare catastrophe that is never measured costs all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.audit.claims.evidence.ends import (
    SURE,
    Ends,
    Pool,
    count_ends,
    forecast,
    pool_ends,
    thresholds_of,
)
from sfumato.audit.claims.evidence.scores import Atoms, Score, Value, learn
from sfumato.audit.claims.outputs import read_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.promises import Bound

_FEW = 100_000
"""Runs on each data set by which the ends of every score are counted; more, for the best ones."""

_CAUTION = (1.0, 0.3, 0.1)
"""Shares of the doubt that are taken off a forecast, each of which chooses an event."""
_CAUTION_FOR_SMALL = (1.0, 0.6, 0.2)
"""The same where the claim is small: there the best of many rare events is mostly chance."""
SMALL = 0.5
"""The ε below which a claim is small."""


@dataclass(frozen=True, eq=False)
class Event:
    """The outputs whose score is at least (``above``) or at most a threshold."""

    score: Score
    threshold: float
    above: bool
    on_first: bool
    """Whether the event is likelier on the first data set of its pair."""
    unit: float = 0.0
    """The step to which floating-point numbers are rounded first; 0 takes them as they are."""

    def of(self, outputs: Outputs) -> npt.NDArray[np.bool_]:
        """Tell for each output whether the event happened."""
        return self.among(self.score.of(outputs.rounded(self.unit)))

    def among(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Tell for each score whether the event happened."""
        happened: npt.NDArray[np.bool_] = (
            scores >= self.threshold if self.above else scores <= self.threshold
        )
        return happened

    def holds(self, output: Any) -> bool:
        """Tell whether the event happened in one output."""
        return bool(self.of(read_objects([output]))[0])

    def __str__(self) -> str:
        sign = "≥" if self.above else "≤"
        if isinstance(self.score, Value):
            what = "the output" if self.score.family == "value" else "the sum of the output"
            return f"{what} {sign} {self.threshold:.6g}"
        if isinstance(self.score, Atoms):
            inside = self._atoms(self.score)
            if inside:
                return f"the output is {inside}"
        return f"the {self.score.family} score of the output {sign} {self.threshold:.4g}"

    def _atoms(self, score: Atoms) -> str:
        ratios = score.table.ratios
        member = ratios >= self.threshold if self.above else ratios <= self.threshold
        keys = score.table.keys[member].tolist()
        texts = [score.texts[key] for key in keys if key in score.texts]
        unseen = self.threshold <= 0.0 if self.above else self.threshold >= 0.0
        if unseen or not texts or len(texts) < len(keys) or len(texts) > 8:
            return ""
        return texts[0] if len(texts) == 1 else "one of " + ", ".join(sorted(texts))


@dataclass(frozen=True, eq=False)
class Candidate:
    """An event with its forecast: by how much ε its measured bound may exceed the claim."""

    event: Event
    margin: float
    counts: tuple[float, float] = (0.0, 0.0)
    """How often it happened while exploring, on the data set where it is likelier first."""
    opposite: Event | None = None
    """An event for the other data set, to be measured together with the first."""
    ends: tuple[Ends, ...] = ()
    """The ends that it, and its opposite, were chosen from."""

    @property
    def shares(self) -> tuple[float, float]:
        """How often the event alone happened in each exploring run, likelier first."""
        first, second = self.ends[0].runs
        n, m = (first, second) if self.event.on_first else (second, first)
        return self.counts[0] / n, self.counts[1] / m

    @property
    def events(self) -> list[Event]:
        """The event, and the one for the other data set if there is one."""
        return [self.event] if self.opposite is None else [self.event, self.opposite]


def choose(
    first: Outputs,
    second: Outputs,
    bounds: Sequence[Bound],
    *,
    runs: int,
    floats: bool,
    both: bool = False,
    rounding_only: bool = False,
) -> list[Candidate]:
    """Give the most promising event, for ``runs`` measuring runs, and others with less caution.

    With ``both``, an event for each data set may be joined where one alone is not enough; one
    alone makes the simpler witness.
    """
    every = _explore(first, second, bounds, runs=runs, floats=floats, rounding_only=rounding_only)
    cautions = _CAUTION_FOR_SMALL if bounds[0].epsilon < SMALL else _CAUTION
    if not both:
        return choose_among(every, bounds, runs=runs, cautions=cautions[:2], join="never")
    return choose_among(every, bounds, runs=runs, cautions=cautions, join="if needed")


def choose_among(
    every: list[Ends],
    bounds: Sequence[Bound],
    *,
    runs: int,
    cautions: Sequence[float],
    join: Literal["never", "if needed", "always"],
    seldom: int = 0,
) -> list[Candidate]:
    """Give the best end for each measure of caution, or an end for each data set, joined.

    The first measure does not apply to ends that came fewer than ``seldom`` times.
    """
    sides = pool_ends(every, on_first=True), pool_ends(every, on_first=False)
    pure = not any(bound.delta for bound in bounds)
    found: list[Candidate] = []
    for number, caution in enumerate(cautions):
        few = 0 if number else seldom
        for_first, for_second = (_best_end(side, bounds, runs, caution, few) for side in sides)
        best = max(for_first, for_second, key=_margin)
        if pure and (join == "always" or (join == "if needed" and best.margin <= 0)):
            joint = _together(for_first, for_second, bounds[0], runs, caution)
            best = max(best, joint, key=_margin)
        if not any(_alike(best, other) for other in found):
            found.append(best)
    return found


def _margin(candidate: Candidate) -> float:
    return candidate.margin


def _alike(first: Candidate, second: Candidate) -> bool:
    """Tell whether two events came equally often, as the same one under two names does."""
    same_side = first.event.on_first == second.event.on_first
    same_kind = (first.opposite is None) == (second.opposite is None)
    return same_side and same_kind and first.counts == second.counts


def _best_end(
    side: Pool, bounds: Sequence[Bound], runs: int, caution: float, seldom: int = 0
) -> Candidate:
    found = []
    for bound in bounds:
        margins = side.forecast(bound.delta, runs, caution, seldom) - bound.epsilon
        at = int(np.argmax(margins))
        ends, threshold = side.end(at)
        event = Event(ends.score, threshold, ends.above, side.on_first)
        counts = float(side.likely[at]), float(side.rare[at])
        found.append(Candidate(event, float(margins[at]), counts, ends=(ends,)))
    return max(found, key=_margin)


def _together(
    one_event: Candidate, other_event: Candidate, bound: Bound, runs: int, caution: float
) -> Candidate:
    """Join an event for each data set: a guess which one it was, right more often than allowed."""
    first, second = (
        (one_event, other_event)
        if one_event.margin >= other_event.margin
        else (other_event, one_event)
    )
    n = np.array([float(min(*first.ends[0].runs, *second.ends[0].runs))])
    right, wrong = (n * (first.shares[i] + second.shares[i]) for i in (0, 1))
    doubt = np.array([4.0 * caution])
    margin = float(forecast(right, n, wrong, n, 0.0, runs, doubt)[0]) - bound.epsilon
    ends = first.ends + second.ends
    return Candidate(first.event, margin, first.counts, second.event, ends)


def choose_for_region(
    first: Outputs, second: Outputs, bounds: Sequence[Bound], *, runs: int, floats: bool
) -> list[Event]:
    """Give for each bound's ε an event that shows the largest δ: p − e^ε·q, less its doubt."""
    ends_of_all = _explore(first, second, bounds, runs=runs, floats=floats)
    found = []
    for bound in bounds:
        gains = [(_best_gain(ends, bound.epsilon, runs), ends) for ends in ends_of_all]
        (_, at, on_first), ends = max(gains, key=lambda item: item[0][0])
        found.append(Event(ends.score, float(ends.thresholds[at]), ends.above, on_first))
    return found


def _best_gain(ends: Ends, epsilon: float, runs: int) -> tuple[float, int, bool]:
    factor = math.exp(min(epsilon, 700.0))
    best = (-math.inf, 0, True)
    for on_first in (True, False):
        a, b, n, m = ends.sides(on_first=on_first)
        p, q = a / n, b / m
        doubt = np.sqrt((p + 1 / n) * (1 / runs + 1 / n))
        doubt = doubt + factor * np.sqrt((q + 1 / m) * (1 / runs + 1 / m))
        gains = p - factor * q - SURE * doubt
        at = int(np.argmax(gains))
        best = max(best, (float(gains[at]), at, on_first))
    return best


def _explore(
    first: Outputs,
    second: Outputs,
    bounds: Sequence[Bound],
    *,
    runs: int,
    floats: bool,
    rounding_only: bool = False,
) -> list[Ends]:
    """Learn scores on one half of the runs, count their ends on the other.

    Of very many runs, all of that half count the ends of the best scores only.
    """
    halves = [
        (side.part(slice(0, len(side) // 2)), side.part(slice(len(side) // 2, None)))
        for side in (first, second)
    ]
    learning, trying = [half[0] for half in halves], [half[1] for half in halves]
    few = slice(0, _FEW)
    fewer = [half.part(few) for half in trying]
    found: list[Ends] = []
    for score in learn(learning[0], learning[1], floats=floats, rounding_only=rounding_only):
        known = np.concatenate([score.of(part.part(few)) for part in learning])
        thresholds = thresholds_of(known)
        if thresholds.size:
            found += count_ends(score, thresholds, *fewer)
    if min(map(len, trying)) < 2 * _FEW:
        return found
    kept = {id(ends.score): ends for ends in _promising(found, bounds, runs)}
    return [ends for e in kept.values() for ends in count_ends(e.score, e.thresholds, *trying)]


def _promising(found: list[Ends], bounds: Sequence[Bound], runs: int) -> list[Ends]:
    """Keep the output itself, and the best score for each side and measure of caution."""
    kept = [ends for ends in found if ends.score.family == "value"]
    for on_first in (True, False):
        side = pool_ends(found, on_first=on_first)
        for caution in _CAUTION:
            best = _best_end(side, bounds, runs, caution).event.score
            kept += [ends for ends in found if ends.score is best]
    return kept
