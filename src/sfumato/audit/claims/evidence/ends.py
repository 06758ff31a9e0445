"""All ends of a score, how often they came while exploring, and what measuring them promises.

Contract: an ``Ends`` holds, for every threshold of one score, how often the outputs above (or
below) it came on each data set. ``forecast`` says which bound on ε so many measuring runs would
show.
Forecasts decide where to look and nothing else: they carry no guarantee, and need none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.audit.claims.evidence.scores import Score
    from sfumato.audit.claims.outputs import Outputs

SURE = 2.7
"""Standard errors that a bound lies below its estimate, about."""

_SURE_OF_EXCESS = 3.7
"""The same where the claim has a δ."""

_THRESHOLDS = 1024
_DOUBT = {"value": 4.0, "sum": 4.0, "atoms": 4.2}
"""Standard errors taken off a forecast because it is the best of many; learned scores pay more."""


@dataclass(frozen=True, eq=False)
class Ends:
    """All ends of one score with how often they happened while exploring."""

    score: Score
    thresholds: npt.NDArray[np.float64]
    above: bool
    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    runs: tuple[int, int]

    @property
    def doubt(self) -> float:
        """How many standard errors its forecasts are flattered by; less where ends are few.

        The largest of m normal errors is about √(2·ln m).
        """
        few = 1 + math.sqrt(2 * math.log(max(1, self.thresholds.size)))
        return min(few, _DOUBT.get(self.score.family, 4.5))

    def sides(
        self, *, on_first: bool
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int, int]:
        """Give counts and runs, of the data set on which the event should be likelier first."""
        n, m = self.runs
        return (self.first, self.second, n, m) if on_first else (self.second, self.first, m, n)


@dataclass(frozen=True, eq=False)
class Pool:
    """The ends of many scores side by side, for events that are likelier on one data set."""

    ends: list[Ends]
    on_first: bool
    likely: npt.NDArray[np.float64]
    rare: npt.NDArray[np.float64]
    runs: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    """The runs in which each was counted, on the data set where it should be likelier first."""
    doubt: npt.NDArray[np.float64]

    def forecast(
        self, delta: float, runs: int, caution: float, seldom: int = 0
    ) -> npt.NDArray[np.float64]:
        """Forecast the bound that each end would show, less a share of the doubt.

        Of an end that came fewer than ``seldom`` times all of the doubt is taken off.
        """
        n, m = self.runs
        doubt = np.where(self.likely < seldom, 1.0, caution) * self.doubt
        return forecast(self.likely, n, self.rare, m, delta, runs, doubt)

    def end(self, at: int) -> tuple[Ends, float]:
        """Give the score and the threshold at a place."""
        for ends in self.ends:
            if at < ends.thresholds.size:
                return ends, float(ends.thresholds[at])
            at -= ends.thresholds.size
        raise IndexError(at)


def pool_ends(every: list[Ends], *, on_first: bool) -> Pool:
    """Put the ends of many scores side by side."""
    sides = [ends.sides(on_first=on_first) for ends in every]
    sizes = [e.thresholds.size for e in every]
    doubt = np.repeat([e.doubt for e in every], sizes)
    first, second = (np.repeat([float(side[i]) for side in sides], sizes) for i in (2, 3))
    return Pool(
        every,
        on_first,
        np.concatenate([side[0] for side in sides]),
        np.concatenate([side[1] for side in sides]),
        (first, second),
        doubt,
    )


def thresholds_of(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
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


def count_ends(
    score: Score, thresholds: npt.NDArray[np.float64], first: Outputs, second: Outputs
) -> list[Ends]:
    """Count how often a score is at most, and at least, each threshold."""
    below, above = [], []
    for outputs in (first, second):
        values = score.of(outputs)
        values = np.sort(values[~np.isnan(values)])
        below.append(np.searchsorted(values, thresholds, side="right").astype(np.float64))
        less = np.searchsorted(values, thresholds, side="left")
        above.append((values.size - less).astype(np.float64))
    runs = len(first), len(second)
    return [
        Ends(score, thresholds, False, below[0], below[1], runs),
        Ends(score, thresholds, True, above[0], above[1], runs),
    ]


def forecast(
    a: npt.NDArray[np.float64],
    n: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    m: npt.NDArray[np.float64],
    delta: float,
    runs: int,
    doubt: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Forecast the bound on ε that ``runs`` measuring runs would show.

    First what exploring may have flattered is taken off, then what measuring will cost.
    """
    p, q = a / n, b / m
    if delta > 0:
        apart = _masses_forecast(p, n, q, m, delta, runs, doubt)
        return np.maximum(apart, _excess_forecast(p, n, q, m, delta, runs, doubt))
    both = np.maximum(p + q, 0.5 / n)
    share = _less(_less(p / both, n * both, doubt), runs * both, SURE)
    return np.asarray(np.log(np.maximum(share, 1e-300) / np.maximum(1 - share, 1e-300)))


def _masses_forecast(
    p: npt.NDArray[np.float64],
    n: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    m: npt.NDArray[np.float64],
    delta: float,
    runs: int,
    doubt: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    p, q = _less(p, n, doubt), _more(q, m, doubt)
    p, q = _less(p, runs, SURE), _more(q, runs, SURE)
    return np.asarray(np.log(np.maximum(p - delta, 1e-300) / np.maximum(q, 1e-300)))


def _excess_forecast(
    p: npt.NDArray[np.float64],
    n: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    m: npt.NDArray[np.float64],
    delta: float,
    runs: int,
    doubt: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Take errors off ln((p − δ)/q), whose two parts vary independently of each other."""
    p, q = p + 0.5 / n, q + 0.5 / m
    over = np.maximum(p - delta, 1e-12)
    spread = np.sqrt(p / over**2 + 1 / q)
    errors = spread * (doubt / np.sqrt(np.minimum(n, m)) + _SURE_OF_EXCESS / np.sqrt(runs))
    return np.asarray(np.log(over / q) - np.minimum(errors, 1e3))


def _less(
    p: npt.NDArray[np.float64],
    runs: npt.NDArray[np.float64] | int,
    z: npt.NDArray[np.float64] | float,
) -> npt.NDArray[np.float64]:
    """Take z standard errors off a share (Wilson's bound, JASA 1927)."""
    spread = z * np.sqrt(p * (1 - p) / runs + (z / (2 * runs)) ** 2)
    less: npt.NDArray[np.float64] = (p + z * z / (2 * runs) - spread) / (1 + z * z / runs)
    return np.maximum(less, 0.0)


def _more(
    q: npt.NDArray[np.float64],
    runs: npt.NDArray[np.float64] | int,
    z: npt.NDArray[np.float64] | float,
) -> npt.NDArray[np.float64]:
    return 1 - _less(1 - q, runs, z)
