"""The attacker at a mix zone: match entries with exits by travel times and by how people turn.

Everything that passes is seen: when and through which side it enters, when and through which side
something leaves under a new name. From history the attacker knows how often people turn from one
side to another, and how long that takes. `match_exits` finds the most likely matching of each
batch (a maximum-likelihood assignment) and counts how often it is right; `exit_entropies` says how
uncertain the attacker is about each exit (MobiMix), by timing, by turns, or by both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import MissingExtra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.places.passages import Passages

LEAST = 1e-6
BANDWIDTH = 0.15
"""Width of the kernel on the logarithm of travel times."""
ENOUGH = 4
"""From so many past passages on, travel times of a turn are taken for themselves."""


@dataclass(frozen=True, eq=False)
class Habits:
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


@dataclass(frozen=True)
class Matching:
    """How often the attacker was right, in all and by zone; `k` is the mean size of a batch."""

    people: int
    success: float
    bound: float
    by_zone: tuple[float, ...]

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
    """Match the exits of every batch with its entries; `by` is "timing", "turns" or "both".

    `moment` is when each exit is seen. Entries and exits of equal weight are told apart by chance.
    """
    try:
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("scipy", "places", "Matching exits with entries") from None
    rng = np.random.default_rng(seed)  # the attacker's own coins
    zones = int(passages.box.max(initial=-1)) + 1
    right, seen = np.zeros(zones), np.zeros(zones)
    bounds = []
    for members in _batches(batch):
        order = rng.permutation(len(members))  # exits come without names
        weights = _weights(passages, members, members[order], moment, habits, by)
        _, chosen = linear_sum_assignment(-np.log(weights))
        zone = int(passages.box[members[0]])
        right[zone] += int((order[chosen] == np.arange(len(members))).sum())
        seen[zone] += len(members)
        bounds += [1.0 / len(members)] * len(members)
    shares = np.divide(right, seen, out=np.full(zones, np.nan), where=seen > 0)
    return Matching(
        int(seen.sum()), float(right.sum() / max(seen.sum(), 1)),
        float(np.mean(bounds)) if bounds else 0.0, tuple(shares.tolist()),
    )  # fmt: skip


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
    for members in _batches(batch):
        weights = _weights(passages, members, members, moment, habits, by)
        share = weights / weights.sum(axis=0, keepdims=True)
        found.append(-(share * np.log2(np.maximum(share, 1e-300))).sum(axis=0))
    return np.concatenate(found) if found else np.zeros(0)


def _batches(batch: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(batch, kind="stable")
    order = order[batch[order] >= 0]
    cuts = np.flatnonzero(np.diff(batch[order])) + 1
    return np.split(order, cuts) if len(order) else []


def _weights(
    passages: Passages,
    entries: NDArray[np.int64],
    exits: NDArray[np.int64],
    moment: NDArray[np.float64],
    habits: Habits,
    by: str,
) -> NDArray[np.float64]:
    """Return how likely each entry is each exit: share of the turn times density of the time."""
    found = np.ones((len(entries), len(exits)))
    for a, i in enumerate(entries.tolist()):
        for b, j in enumerate(exits.tolist()):
            zone, side, out = (
                int(passages.box[i]),
                int(passages.side_in[i]),
                int(passages.side_out[j]),
            )
            if by in {"turns", "both"}:
                found[a, b] *= habits.turns[zone, side, out]
            if by in {"timing", "both"}:
                found[a, b] *= habits.density(zone, side, out, moment[j] - passages.entered[i])
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
