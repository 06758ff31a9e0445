"""Mix zones whose reports stay late: behind a zone, all seem to have left at one moment.

Where reports begin again at one moment, whoever left the zone earlier has gone farther by then. So
what a person reports behind a zone is shown later by the time she waited: her way begins at the
zone's edge at the batch's moment, like those of the others, and stays late until her trace ends.

Everything at the next zone happens at the moments at which it is shown, so batches depend on shown
entries alone. Whoever is held back is silent to the next zone, where she enters at the true time
again: nothing was shown in between that could be late.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.places.passages import Passages

ENTERS, EXPIRES = 0, 1


@dataclass(frozen=True, eq=False)
class Exchange:
    """What happened in zones, an entry per passage.

    `passages` are those that are seen, at the moments at which they are seen; `batch` is −1 where
    somebody was held back; reports begin again at `moment` and are `late` by so many seconds.
    """

    passages: Passages
    batch: NDArray[np.int64]
    moment: NDArray[np.float64]
    late: NDArray[np.float64]


class LateExchange:
    """Passages played through zones in the order in which they are seen."""

    def __init__(
        self, passages: Passages, settles: NDArray[np.float64], k: int, max_delay: float
    ) -> None:
        self.passages, self.settles, self.k, self.max_delay = passages, settles, k, max_delay
        n = len(passages)
        self.batch, self.moment = np.full(n, -1, np.int64), np.zeros(n)
        self.before, self.late = np.zeros(n), np.zeros(n)
        self.batches = 0
        self.queues: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.events: list[tuple[float, int, int]] = []
        self.next: dict[int, int] = {}
        order = np.lexsort([passages.entered, passages.trace]).tolist()
        for p, q in pairwise(order):
            if passages.trace[p] == passages.trace[q]:
                self.next[p] = q
        followers = set(self.next.values())
        for p in order:
            if p not in followers:
                heappush(self.events, (float(passages.entered[p]), ENTERS, p))

    def play(self) -> Exchange:
        """Let everybody pass, and return what happened."""
        while self.events:
            now, kind, p = heappop(self.events)
            if kind == ENTERS:
                self._enter(p, now)
            elif p in self.queues[self._door(p)]:
                self.queues[self._door(p)].remove(p)
                self._hold_back(p, now)
        seen = replace(
            self.passages,
            entered=self.passages.entered + self.before,
            left=self.passages.left + self.before,
        )
        return Exchange(seen, self.batch, self.moment, self.late)

    def _door(self, p: int) -> tuple[int, int]:
        return int(self.passages.box[p]), int(self.passages.side_in[p])

    def _enter(self, p: int, now: float) -> None:
        waiting = self.queues[self._door(p)]
        if any(self.passages.person[w] == self.passages.person[p] for w in waiting):
            self._hold_back(p, now)
            return
        waiting.append(p)
        heappush(self.events, (now + self.max_delay, EXPIRES, p))
        if len(waiting) == self.k:
            self._release(waiting.copy(), now + float(self.settles[self.passages.box[p]]))
            waiting.clear()

    def _release(self, members: list[int], begin: float) -> None:
        """Let a batch report again, all of them late from here on; or hold it back as a whole."""
        left = self.passages.left
        if any(left[p] + self.before[p] > begin for p in members):
            for p in members:
                self._hold_back(p, begin)
            return
        for p in members:
            self.batch[p], self.moment[p] = self.batches, begin
            self.late[p] = begin - left[p]
            if (q := self.next.get(p)) is not None:
                self.before[q] = self.late[p]
                heappush(self.events, (float(self.passages.entered[q] + self.late[p]), ENTERS, q))
        self.batches += 1

    def _hold_back(self, p: int, now: float) -> None:
        """Keep a trace silent to the first zone that it enters from now on."""
        q = self.next.get(p)
        while q is not None and self.passages.entered[q] < now:
            q = self.next.get(q)
        if q is not None:
            heappush(self.events, (float(self.passages.entered[q]), ENTERS, q))
