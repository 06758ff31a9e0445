"""Choosing an event: which end of which score promises the strongest evidence.

Contract: an ``Event`` is a set of outputs, fixed once it is chosen: those whose score is at least,
or at most, a threshold. ``choose`` learns scores on one part of the exploring runs and picks
thresholds on the other; neither part is ever measured. Its forecasts decide where to look, and
nothing else: they carry no guarantee, and need none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.outputs import read_objects
from sfumato.audit.claims.scores import Atoms, Score, Value, learn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sfumato.audit.claims.outputs import Outputs
    from sfumato.audit.claims.promises import Bound

_THRESHOLDS = 1024
_SURE = 2.5
"""Standard errors that a bound lies below its estimate, about."""

_DOUBT = {"value": 4.0, "sum": 4.0, "atoms": 4.2}
"""Standard errors taken off a forecast because it is the best of many; learned scores pay more."""

_LEARNERS = 100_000
"""Runs on each data set from which scores are learned; beyond, only thresholds get better."""


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
        scores = self.score.of(outputs.rounded(self.unit))
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


@dataclass(frozen=True, eq=False)
class _Ends:
    """All ends of one score with how often they happened while exploring."""

    score: Score
    thresholds: npt.NDArray[np.float64]
    above: bool
    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    runs: tuple[int, int]

    @property
    def doubt(self) -> float:
        """How many standard errors its forecasts are flattered by."""
        return _DOUBT.get(self.score.family, 4.5)

    def sides(
        self, *, on_first: bool
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int, int]:
        """Give counts and runs, of the data set on which the event should be likelier first."""
        n, m = self.runs
        return (self.first, self.second, n, m) if on_first else (self.second, self.first, m, n)


def choose(
    first: Outputs,
    second: Outputs,
    bounds: Sequence[Bound],
    *,
    runs: int,
    floats: bool,
    both: bool = False,
    rounding_only: bool = False,
) -> Candidate:
    """Give the most promising event, for ``runs`` measuring runs on each data set.

    With ``both``, an event for each data set may be joined where one alone is not enough; one
    alone makes the simpler witness.
    """
    every = _explore(first, second, bounds, runs=runs, floats=floats, rounding_only=rounding_only)
    for_first, for_second = (
        max((_best_end(ends, bounds, runs, on_first=side) for ends in every), key=_margin)
        for side in (True, False)
    )
    best = max(for_first, for_second, key=_margin)
    if not both or best.margin > 0 or any(bound.delta for bound in bounds):
        return best
    return max(
        best, _together(for_first, for_second, every[0].runs[0], bounds[0], runs), key=_margin
    )


def _margin(candidate: Candidate) -> float:
    return candidate.margin


def _best_end(ends: _Ends, bounds: Sequence[Bound], runs: int, *, on_first: bool) -> Candidate:
    found = []
    a, b, n, m = ends.sides(on_first=on_first)
    for bound in bounds:
        margins = _forecast(a, n, b, m, bound.delta, runs, ends.doubt) - bound.epsilon
        at = int(np.argmax(margins))
        event = Event(ends.score, float(ends.thresholds[at]), ends.above, on_first)
        found.append(Candidate(event, float(margins[at]), (float(a[at]), float(b[at]))))
    return max(found, key=_margin)


def _together(one: Candidate, other: Candidate, n: int, bound: Bound, runs: int) -> Candidate:
    """Join an event for each data set: a guess which one it was, right more often than allowed."""
    first, second = (one, other) if one.margin >= other.margin else (other, one)
    right = np.array([first.counts[0] + second.counts[0]])
    wrong = np.array([first.counts[1] + second.counts[1]])
    margin = float(_forecast(right, n, wrong, n, 0.0, runs, _DOUBT["value"])[0]) - bound.epsilon
    return Candidate(first.event, margin, first.counts, second.event)


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


def _best_gain(ends: _Ends, epsilon: float, runs: int) -> tuple[float, int, bool]:
    factor = math.exp(min(epsilon, 700.0))
    best = (-math.inf, 0, True)
    for on_first in (True, False):
        a, b, n, m = ends.sides(on_first=on_first)
        p, q = a / n, b / m
        doubt = np.sqrt((p + 1 / n) * (1 / runs + 1 / n))
        doubt = doubt + factor * np.sqrt((q + 1 / m) * (1 / runs + 1 / m))
        gains = p - factor * q - _SURE * doubt
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
) -> list[_Ends]:
    """Learn scores on one part of the runs, count their ends on another.

    Of very many runs, the rest counts the ends of the best score and of the output itself only.
    """
    cuts = [min(len(outputs) // 2, _LEARNERS) for outputs in (first, second)]
    parts = list(zip((first, second), cuts, strict=True))
    learning = [outputs.part(slice(0, cut)) for outputs, cut in parts]
    trying = [outputs.part(slice(cut, 2 * cut)) for outputs, cut in parts]
    found: list[_Ends] = []
    for score in learn(*learning, floats=floats, rounding_only=rounding_only):
        known = np.concatenate([score.of(part) for part in learning])
        thresholds = _thresholds(known)
        if thresholds.size:
            found += _count_ends(score, thresholds, *trying)
    if min(len(outputs) - 2 * cut for outputs, cut in parts) < _LEARNERS:
        return found
    rest = [outputs.part(slice(cut, None)) for outputs, cut in parts]
    top = max(
        found,
        key=lambda ends: max(
            _best_end(ends, bounds, runs, on_first=side).margin for side in (True, False)
        ),
    )
    kept = {id(e.score): e for e in found if e.score is top.score or e.score.family == "value"}
    return [ends for e in kept.values() for ends in _count_ends(e.score, e.thresholds, *rest)]


def _thresholds(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give every score if they are few, else quantiles, closer together towards the ends."""
    known: npt.NDArray[np.float64] = np.sort(scores[~np.isnan(scores)])
    if known.size == 0:
        return known
    new = np.concatenate([[True], known[1:] != known[:-1]])
    if new.sum() <= _THRESHOLDS:
        return np.asarray(known[new], dtype=np.float64)
    tails = 2.0 ** -np.arange(10, 24)
    shares = np.concatenate([np.linspace(0, 1, _THRESHOLDS), tails, 1 - tails])
    chosen: npt.NDArray[np.float64] = np.unique(known[(shares * (known.size - 1)).astype(np.int64)])
    return chosen


def _count_ends(
    score: Score, thresholds: npt.NDArray[np.float64], first: Outputs, second: Outputs
) -> list[_Ends]:
    below, above = [], []
    for outputs in (first, second):
        values = score.of(outputs)
        values = np.sort(values[~np.isnan(values)])
        below.append(np.searchsorted(values, thresholds, side="right").astype(np.float64))
        less = np.searchsorted(values, thresholds, side="left")
        above.append((values.size - less).astype(np.float64))
    runs = len(first), len(second)
    return [
        _Ends(score, thresholds, False, below[0], below[1], runs),
        _Ends(score, thresholds, True, above[0], above[1], runs),
    ]


def _forecast(
    a: npt.NDArray[np.float64],
    n: int,
    b: npt.NDArray[np.float64],
    m: int,
    delta: float,
    runs: int,
    doubt: float,
) -> npt.NDArray[np.float64]:
    """Forecast the bound on ε that ``runs`` measuring runs would show.

    First what exploring may have flattered is taken off, then what measuring will cost.
    """
    p, q = a / n, b / m
    if delta > 0:
        p, q = _less(p, n, doubt), _more(q, m, doubt)
        p, q = _less(p, runs, _SURE), _more(q, runs, _SURE)
        return np.asarray(np.log(np.maximum(p - delta, 1e-300) / np.maximum(q, 1e-300)))
    both = np.maximum(p + q, 0.5 / n)
    share = _less(_less(p / both, n * both, doubt), runs * both, _SURE)
    return np.asarray(np.log(np.maximum(share, 1e-300) / np.maximum(1 - share, 1e-300)))


def _less(
    p: npt.NDArray[np.float64], runs: npt.NDArray[np.float64] | int, z: float
) -> npt.NDArray[np.float64]:
    """Take z standard errors off a share (Wilson's bound, JASA 1927)."""
    spread = z * np.sqrt(p * (1 - p) / runs + (z / (2 * runs)) ** 2)
    less: npt.NDArray[np.float64] = (p + z * z / (2 * runs) - spread) / (1 + z * z / runs)
    return np.maximum(less, 0.0)


def _more(q: npt.NDArray[np.float64], runs: int, z: float) -> npt.NDArray[np.float64]:
    return 1 - _less(1 - q, runs, z)
