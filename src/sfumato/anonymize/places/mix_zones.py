"""Mix zones: where nobody reports and pseudonyms are exchanged among at least k people.

Beresford, Stajano 2003; Palanisamy, Liu: MobiMix, ICDE 2011. An attacker who sees when and through
which side people enter and leave a zone matches them by travel times (timing) and by how people
usually turn (history). Zones here leave nothing to match by:

* people who entered through the **same side**, k one after the other, form a batch: whatever is
  known of how people turn is the same for all of them;
* their reports begin again at **one moment**, a time that the zone's traffic needs to leave
  (learnt, the share `SETTLED` of it) after the last of them *entered*. When the last of them
  *left* would not do: somebody took exactly so long, and the sides take different times
  (`sf.attack.match_exits(by="last")` is right about 28 % of the cabs where 1/4 is meant). A batch
  of which somebody is still inside, and whoever waits for others longer than `max_delay`, is held
  back: what follows is not released until the next exchange, and counted. There is no exception
  in which somebody keeps a pseudonym;
* new pseudonyms are dealt by a random permutation.

Guarantee: let the way people turn and the time it takes not depend on the order in which they came
through one side, and let s be the smallest share, over the ways out, of those who need at most the
time to settle. Then no matching of a batch is more than s^-k times as likely as another to somebody
who sees all entries and exits and knows all habits. Proof: batch and moment are decided by entries
alone, given that all have left by the moment. So a matching's probability is the product over the
batch of share of the turn (the same for every matching, as all came through one side) and share of
those who need at most the time from entry to moment, between s and 1.

**Where** people are when reports begin again is hidden, too, by reports that stay late (see
`lateness`): what follows is shown later by the time each waited, so that all ways begin at the
zone's edge at the batch's moment. What is shown behind a zone then depends on the way out and on
what a person did there, not on when she entered. With `late=False` true times are shown: whoever
left earlier has gone farther at the moment, which `sf.attack.match_reappearances` uses with
success, and against that nothing is promised.

That habits do not depend on the order is an assumption about traffic. `sf.attack.try_zones` is the
attacker; `keep_valid` keeps the zones at which its success is within 5 % of 1/k. Learn zones on
some traces, decide validity on others, and measure on a third part: success on the traces that
decided is too good by selection.

`waits=False` gives zones without delay, for traces that are published afterwards: reports begin
again as each leaves. These resist who knows how people turn, and **not** who knows how long it
takes.

Zones are placed where traffic is dense and turns are many; with `even=True` their sides are moved
so that mean travel times to all exits are equal (non-rectangular zones of MobiMix), which makes
`max_delay` go further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.definition import positive_integer
from sfumato.anonymize.places.lateness import Exchange, LateExchange
from sfumato.data.places.passages import Passages, find_passages
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

WITHOUT_DELAY = "; without delay: who knows how long people take can match them"
IN_TIME = (
    "; not late: who left earlier has gone farther when reports begin again, and can be matched"
)
CANDIDATES = 6
"""Cells that are looked at closely for every zone wanted."""
SETTLED = 0.98
"""Share of passages that are over when a batch begins to report again, on each way out."""
MOST_LONGER = 0.5
"""A side is moved outwards by at most this share of the zone's width."""


@dataclass(frozen=True, eq=False)
class MixZones(Shown):
    """Boxes (low x, high x, low y, high y, in metres) with what was learnt of their traffic.

    `turns[z, i, o]` is the share of those who entered zone z through side i and left through o;
    `settles[z]` the seconds after which nearly all have left, whichever way.
    """

    boxes: NDArray[np.float64]
    turns: NDArray[np.float64]
    settles: NDArray[np.float64]
    k: int
    max_delay: float
    waits: bool = True
    late: bool = True

    def __len__(self) -> int:
        return len(self.boxes)

    @classmethod
    def learn(
        cls,
        traces: Trajectories,
        *,
        k: int,
        zones: int = 10,
        side: float = 400.0,
        max_delay: float = 900.0,
        even: bool = True,
        waits: bool = True,
        late: bool = True,
    ) -> MixZones:
        """Place zones at the junctions with the most traffic and the most even turns.

        With `late`, what follows a zone is shown later by the time that was waited there.
        """
        k, zones = positive_integer("k", k), positive_integer("zones", zones)
        if not (side > 0 and max_delay > 0):
            raise ParameterError("side (metres) and max_delay (seconds) must be above 0.")
        if traces.people < k:
            raise Unsatisfiable(f"k = {k} asks for as many people, and there are {traces.people}.")
        boxes = _junctions(traces, zones, side)
        if even:
            boxes = np.array([_even_out(traces, box, side) for box in boxes])
        found = find_passages(traces, boxes)
        return cls(
            boxes,
            _turns(found, len(boxes)),
            _settles(found, len(boxes)),
            k,
            float(max_delay),
            bool(waits),
            bool(waits and late),
        )

    def passages(self, traces: Trajectories) -> Passages:
        """Return the passages of traces through the zones."""
        return find_passages(traces, self.boxes)

    def exchange(self, passages: Passages) -> Exchange:
        """Return the batch of every passage (−1 where it is held back) and its moment of release.

        A batch is k passages of different people, one after the other through one side of one zone.
        """
        if self.late:
            return LateExchange(passages, self.settles, self.k, self.max_delay).play()
        from sfumato.anonymize.places.mixing_kernel import make_batches  # noqa: PLC0415 - compiles

        order = np.lexsort([passages.entered, passages.side_in, passages.box])
        key = passages.box * 4 + passages.side_in
        found, moment = make_batches(
            key[order], passages.person[order], passages.entered[order], passages.left[order],
            self.settles[passages.box[order]], self.k, self.max_delay,
        )  # fmt: skip
        batch, when = np.empty(len(order), np.int64), np.empty(len(order))
        batch[order], when[order] = found, moment
        begins = when if self.waits else passages.left.copy()
        return Exchange(passages, batch, begins, np.zeros(len(order)))


def _junctions(traces: Trajectories, zones: int, side: float) -> NDArray[np.float64]:
    """Choose cells with many passages and turns that are hard to foresee; none beside another."""
    cell = np.floor(traces.places / side).astype(np.int64)
    kinds, counts = np.unique(cell, axis=0, return_counts=True)
    first = kinds[np.argsort(-counts, kind="stable")[: zones * CANDIDATES]]
    low = first * side
    boxes = np.column_stack([low[:, 0], low[:, 0] + side, low[:, 1], low[:, 1] + side])
    found = find_passages(traces, boxes)
    turns = _turns(found, len(boxes))
    many = np.bincount(found.box, minlength=len(boxes))
    score = many * _evenness(turns)
    chosen: list[int] = []
    for z in np.argsort(-score, kind="stable").tolist():
        apart = all(np.abs(first[z] - first[other]).max() > 1 for other in chosen)
        if apart and many[z] and len(chosen) < zones:
            chosen.append(z)
    if not chosen:
        raise Unsatisfiable("No trace passes through any place; there is nowhere to mix.")
    return boxes[chosen]


def _turns(passages: Passages, zones: int) -> NDArray[np.float64]:
    key = (passages.box * 4 + passages.side_in) * 4 + passages.side_out
    counts = np.bincount(key, minlength=zones * 16).reshape(zones, 4, 4).astype(np.float64)
    shares = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
    return np.asarray(shares, dtype=np.float64)


def _settles(passages: Passages, zones: int) -> NDArray[np.float64]:
    """Return by zone the seconds in which nearly all leave, on the slowest way out."""
    found = np.zeros(zones)
    for zone in range(zones):
        here = passages.box == zone
        for side in range(4):
            lasts = passages.lasts[here & (passages.side_out == side)]
            if len(lasts):
                found[zone] = max(found[zone], float(np.quantile(lasts, SETTLED)))
    return found


def _evenness(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean entropy of the way out, by side of entry, between 0 and 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -np.where(turns > 0, turns * np.log2(turns), 0.0).sum(axis=2)
    return np.asarray(bits.mean(axis=1) / 2.0, dtype=np.float64)


def _even_out(traces: Trajectories, box: NDArray[np.float64], side: float) -> NDArray[np.float64]:
    """Move the sides of a zone outwards until travel times to all are those to the slowest."""
    found = find_passages(traces, box[None])
    if not len(found):
        return box
    means = [_mean(found.lasts[found.side_out == o]) for o in range(4)]
    slowest = np.nanmax(means)
    speed = side / max(float(np.median(found.lasts)), 1.0)
    longer = [0.0 if np.isnan(m) else min(speed * (slowest - m), MOST_LONGER * side) for m in means]
    moved = box + np.array([-longer[0], longer[1], -longer[2], longer[3]])
    return np.asarray(moved, dtype=np.float64)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


@dataclass(frozen=True, eq=False)
class Mixed:
    """Traces after mixing: pieces under new pseudonyms, and what was held back.

    Point i of `points` (x, y, time) is shown under `pseudonym[i]`. `passages` (at true times),
    `seen` (as they are shown), `batch`, `moment` and `late` say what happened in the zones; they
    stay in the house.
    """

    zones: MixZones
    points: NDArray[np.float64]
    pseudonym: NDArray[np.int64]
    passages: Passages
    batch: NDArray[np.int64]
    moment: NDArray[np.float64]
    suppressed: int
    seen: Passages
    late: NDArray[np.float64]

    @property
    def exchanged(self) -> int:
        """How many passages ended under a new pseudonym."""
        return int((self.batch >= 0).sum())

    @property
    def held_back(self) -> int:
        """How many passages were held back, with what follows them."""
        return int((self.batch < 0).sum())

    @property
    def mean_delay(self) -> float:
        """Mean seconds between leaving a zone and reporting again."""
        mixed = self.batch >= 0
        return float((self.moment - self.seen.left)[mixed].mean()) if mixed.any() else 0.0

    @property
    def mean_lateness(self) -> float:
        """Mean seconds by which reports behind a zone are late."""
        mixed = self.batch >= 0
        return float(self.late[mixed].mean()) if mixed.any() else 0.0

    def __str__(self) -> str:
        told = f"; reports behind a zone are {self.mean_lateness:.0f} s late on average"
        if not self.zones.late:
            told = IN_TIME if self.zones.waits else WITHOUT_DELAY
        return (
            f"{len(self.zones)} zones, k = {self.zones.k}: {self.exchanged:,} passages exchanged "
            f"pseudonyms (mean delay {self.mean_delay:.0f} s), {self.held_back:,} held back, "
            f"{self.suppressed:,} points not shown{told}"
        )


def mix(zones: MixZones, traces: Trajectories) -> Mixed:
    """Let traces pass through the zones: silence inside, new pseudonyms behind.

    Pieces before the first zone get a fresh pseudonym, too. Points inside a zone and behind a
    passage that was held back are not shown; nor are those between leaving it and the batch's
    moment where reports are not late.
    """
    from sfumato.data.tables.permutation import RandomWords, shuffle  # noqa: PLC0415 - used here alone

    passages = zones.passages(traces)
    played = zones.exchange(passages)
    piece = np.zeros(len(traces.times), np.int64)  # 0: before any zone; 1 + p: behind passage p
    shown, late = np.ones(len(traces.times), np.bool_), np.zeros(len(traces.times))
    for p in np.argsort(passages.entered, kind="stable").tolist():
        trace = passages.trace[p]
        rows = slice(int(traces.starts[trace]), int(traces.starts[trace + 1]))
        times = traces.times[rows]
        begin = int(np.searchsorted(times, passages.entered[p], side="left"))
        piece[rows][begin:] = p + 1
        late[rows][begin:] = played.late[p]
        back = played.moment[p] - played.late[p] if played.batch[p] >= 0 else np.inf
        shown[rows][begin:] = times[begin:] >= back
    names = np.column_stack([traces.owner, piece])[shown]
    _, number = np.unique(names, axis=0, return_inverse=True)
    labels = np.arange(int(number.max(initial=-1)) + 1)
    shuffle(labels, RandomWords(None))
    points = np.column_stack([traces.places, traces.times + late])[shown]
    order = (
        np.lexsort([points[:, 2], labels[number.reshape(-1)]]) if len(points) else np.zeros(0, int)
    )
    return Mixed(
        zones, points[order], labels[number.reshape(-1)][order], passages, played.batch,
        played.moment, int((~shown).sum()), played.passages, played.late,
    )  # fmt: skip


def keep_valid(zones: MixZones, success: Any, *, slack: float = 0.05) -> MixZones:
    """Return the zones at which a measured success of matching is within `slack` of 1/k."""
    measured = np.asarray(success, dtype=np.float64)
    good = measured <= (1.0 / zones.k) * (1 + slack)
    return replace(
        zones, boxes=zones.boxes[good], turns=zones.turns[good], settles=zones.settles[good]
    )
