"""The attacker at a mix zone: match entries with exits by travel times and by how people turn.

Everything that passes is seen: when and through which side it enters, when and through which side
something leaves under a new name. From history the attacker knows how often people turn from one
side to another, and how long that takes. `match_exits` finds the most likely matching of each
batch (a maximum-likelihood assignment) and counts how often it is right; `exit_entropies` says how
uncertain the attacker is about each exit (MobiMix), by timing, by turns, or by both.

Where reports begin again at one moment, whoever knows the rule learns from it that all had left by
then (`by="within"`), or, where it is the moment at which the last of them left, that somebody took
exactly so long and all others less (`by="last"`). `try_zones` learns habits from some traces and
attacks others, so that nothing is measured on what it was learnt from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.errors import MissingExtra
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.places.passages import Passages

LEAST = 1e-6
BANDWIDTH = 0.15
"""Width of the kernel on the logarithm of travel times."""
ENOUGH = 4
"""From so many past passages on, travel times of a turn are taken for themselves."""


@dataclass(frozen=True, eq=False)
class Habits(Shown):
    """What history tells: shares of turns by zone and side, and logarithms of travel times."""

    turns: NDArray[np.float64]
    times: dict[tuple[int, int, int], NDArray[np.float64]]
    all_times: NDArray[np.float64]

    @classmethod
    def learn(cls, passages: Passages, zones: int) -> Habits:
        """Learn from passages of the past."""
        key = (passages.box * 4 + passages.side_in) * 4 + passages.side_out
        counts = np.bincount(key, minlength=zones * 16).reshape(zones, 4, 4) + 0.5
        logs = np.log(np.maximum(passages.lasts, 1.0))
        groups = {}
        for code in np.unique(key).tolist():
            groups[code // 16, code // 4 % 4, code % 4] = logs[key == code]
        return cls(counts / counts.sum(axis=2, keepdims=True), groups, logs)

    def density(self, zone: int, side_in: int, side_out: int, seconds: float) -> float:
        """Return how likely a travel time is for a turn."""
        past = self.times.get((zone, side_in, side_out))
        if past is None or len(past) < ENOUGH:
            past = self.all_times
        if not len(past):
            return 1.0
        gap = (np.log(max(seconds, 1.0)) - past) / BANDWIDTH
        return float(np.exp(-0.5 * gap * gap).mean()) + LEAST

    def share_within(self, zone: int, side_in: int, side_out: int, seconds: float) -> float:
        """Return how likely a turn has taken at most so many seconds."""
        past = self.times.get((zone, side_in, side_out))
        if past is None or len(past) < ENOUGH:
            past = self.all_times
        below = int((past <= np.log(max(seconds, 1.0))).sum())
        return (below + 0.5) / (len(past) + 1.0)


@dataclass(frozen=True)
class Matching:
    """How often the attacker was right, in all and by zone (of so many `exits` there)."""

    people: int
    success: float
    bound: float
    by_zone: tuple[float, ...]
    exits: tuple[int, ...]

    @property
    def succeeds(self) -> bool:
        """Whether it does better than 1/k by more than 5 %, beyond what chance explains."""
        spread = 2 * np.sqrt(self.bound * (1 - self.bound) / max(self.people, 1))
        return bool(self.success > self.bound * 1.05 + spread)

    def __str__(self) -> str:
        return (
            f"matching: right about {100 * self.success:.1f} % of {self.people:,} exits, 1/k is "
            f"{100 * self.bound:.1f} %"
        )


def match_exits(
    passages: Passages,
    batch: NDArray[np.int64],
    moment: NDArray[np.float64],
    habits: Habits,
    *,
    by: str = "both",
    seed: int = 0,
) -> Matching:
    """Match the exits of every batch with its entries.

    `by` is "timing", "turns", "both", "within" (turns, and that all had left by the moment) or
    "last" (turns, and that the moment is the last exit).
    `moment` is when each exit is seen. Entries and exits of equal weight are told apart by chance.
    """
    rng = np.random.default_rng(seed)  # the attacker's own coins
    sight = _Sight(passages, moment, habits, by)
    zones = len(habits.turns)
    right, seen = np.zeros(zones), np.zeros(zones)
    bounds = []
    for members in batches_of(batch):
        order = rng.permutation(len(members))  # exits come without names
        chosen = sight.most_likely(members, members[order])
        zone = int(passages.box[members[0]])
        right[zone] += int((order[chosen] == np.arange(len(members))).sum())
        seen[zone] += len(members)
        bounds += [1.0 / len(members)] * len(members)
    shares = np.divide(right, seen, out=np.full(zones, np.nan), where=seen > 0)
    return Matching(
        int(seen.sum()), float(right.sum() / max(seen.sum(), 1)),
        float(np.mean(bounds)) if bounds else 0.0, tuple(shares.tolist()),
        tuple(seen.astype(int).tolist()),
    )  # fmt: skip


def try_zones(zones: Any, past: Any, later: Any, *, by: str = "within", seed: int = 0) -> Matching:
    """Attack zones (a `MixZones`) on `later` traces by what `past` traces taught of habits."""
    habits = Habits.learn(zones.passages(past), len(zones))
    seen = zones.exchange(zones.passages(later))
    return match_exits(seen.passages, seen.batch, seen.moment, habits, by=by, seed=seed)


def exit_entropies(
    passages: Passages,
    batch: NDArray[np.int64],
    moment: NDArray[np.float64],
    habits: Habits,
    *,
    by: str = "both",
) -> NDArray[np.float64]:
    """Return for every exit of a batch how many bits of doubt are left about whose it is."""
    found = []
    sight = _Sight(passages, moment, habits, by)
    for members in batches_of(batch):
        weights = sight.weights(members, members)
        share = weights / weights.sum(axis=0, keepdims=True)
        found.append(-(share * np.log2(np.maximum(share, 1e-300))).sum(axis=0))
    return np.concatenate(found) if found else np.zeros(0)


def batches_of(batch: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the passages of every batch; those held back are in none."""
    order = np.argsort(batch, kind="stable")
    order = order[batch[order] >= 0]
    cuts = np.flatnonzero(np.diff(batch[order])) + 1
    return np.split(order, cuts) if len(order) else []


class _Sight(NamedTuple):
    """What the attacker sees and knows: passages, moments of exits, habits, and how to use them."""

    passages: Passages
    moment: NDArray[np.float64]
    habits: Habits
    by: str

    def most_likely(
        self, entries: NDArray[np.int64], exits: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the exit of every entry in the matching of the greatest likelihood.

        By "last", each of the entries may be the one that left last; all are tried.
        """
        try:
            from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - an extra
        except ImportError:
            raise MissingExtra("scipy", "places", "Matching exits with entries") from None
        logs = np.log(self.weights(entries, exits))
        if self.by != "last":
            return np.asarray(linear_sum_assignment(-logs)[1])
        exact = np.log(self._replace(by="both").weights(entries, exits))
        best, greatest = np.arange(len(entries)), -np.inf
        for last in range(len(entries)):
            tried = logs.copy()
            tried[last] = exact[last]
            rows, chosen = linear_sum_assignment(-tried)
            if tried[rows, chosen].sum() > greatest:
                best, greatest = chosen, float(tried[rows, chosen].sum())
        return np.asarray(best)

    def weights(self, entries: NDArray[np.int64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each entry is each exit: share of its turn, density of its time."""
        passages, habits, by = self.passages, self.habits, self.by
        found = np.ones((len(entries), len(exits)))
        for a, i in enumerate(entries.tolist()):
            zone, side = int(passages.box[i]), int(passages.side_in[i])
            for b, j in enumerate(exits.tolist()):
                out = int(passages.side_out[j])
                waited = self.moment[j] - passages.entered[i]
                if by != "timing":
                    found[a, b] *= habits.turns[zone, side, out]
                if by in {"timing", "both"}:
                    found[a, b] *= habits.density(zone, side, out, waited)
                elif by in {"within", "last"}:
                    found[a, b] *= habits.share_within(zone, side, out, waited)
        return np.maximum(found, 1e-300)


def naive_batches(passages: Passages, k: int) -> NDArray[Any]:
    """Return the batches of a naive zone: the k that come one after the other, from any side."""
    batch = np.full(len(passages), -1)
    number = 0
    for zone in np.unique(passages.box).tolist():
        rows = np.flatnonzero(passages.box == zone)
        rows = rows[np.argsort(passages.left[rows], kind="stable")]
        for start in range(0, len(rows) - k + 1, k):
            batch[rows[start : start + k]] = number
            number += 1
    return batch
