"""Cloak requests as they come: wait for company, leave together in a box, or be dropped.

A request has a user, a moment, a place, the k it asks for, how far its box may reach and how long
it may wait (Gedik, Liu: Protecting location privacy with personalized k-anonymity, TMC 2008). A
box leaves when requests of as many different users as each of them asks for are in it, each within
the tolerance of every other. They leave at one moment, so that nobody can tell them apart by it.

Promise: every box that leaves holds the places of at least k different users' requests, for the
largest k asked for in it; it lies within `reach` of each of them, and no request leaves later than
it is willing to wait. With `memory`, the users that all boxes of one user had in common stay at
least k within a `session`, at whose end she changes her pseudonym: whoever links her requests and
intersects their boxes is left with k users. With `diversity` = l, a box holds places of l
different labels.

Modes are a dial between delay and area: "eager" leaves at the first chance; "deadline" waits to the
last moment; "marginal" leaves as soon as the box is no larger than `rate` square metres for every
second the oldest of it has waited.

Memory is bounded: at most `capacity` requests are held; what comes while as many wait is dropped
and counted.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.definition import positive_integer
from sfumato.anonymize.places.stream_result import Cloaked, Decided, StreamResult, told
from sfumato.anonymize.places.stream_settings import (
    MODES,
    above,
    each_above,
    few_users,
    floats_of,
    k_of_each,
)
from sfumato.data.trajectories.trajectories import read_bounds
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray


class Cloaker(Shown):
    """A stream of requests; `submit` one after the other, or `process` many at once.

    >>> import sfumato as sf
    >>> cloaker = sf.places.Cloaker(bounds=(0, 5000, 0, 5000), k=2, mode="eager")
    >>> cloaker.submit("ann", time=0, x=100, y=100)
    []
    >>> [done.box for done in cloaker.submit("bob", time=3, x=160, y=90)]
    [(100.0, 160.0, 90.0, 100.0, 0.0, 3.0), (100.0, 160.0, 90.0, 100.0, 0.0, 3.0)]
    """

    def __init__(
        self,
        *,
        bounds: Sequence[float],
        k: int = 5,
        reach: float = 1000.0,
        wait: float = 120.0,
        mode: str = "marginal",
        rate: float = 4800.0,
        memory: bool = False,
        session: float = 600.0,
        diversity: int = 1,
        capacity: int = 1 << 16,
    ) -> None:
        if mode not in MODES:
            raise ParameterError(f"mode must be 'eager', 'deadline' or 'marginal', not {mode!r}.")
        limits = read_bounds(bounds)
        if limits is None:
            raise ParameterError(
                "bounds must be four public numbers (low x, high x, low y, high y)."
            )
        self.bounds = limits
        self.k = few_users("k", k)
        self.reach, self.wait = above("reach", reach), above("wait", wait)
        self.mode, self.rate = mode, above("rate", rate)
        self.memory, self.diversity = bool(memory), few_users("diversity", diversity)
        self.session = above("session", session)
        self.capacity = positive_integer("capacity", capacity)
        self.now = -math.inf
        self.arrived = self.released = self.dropped = 0
        self._users: dict[Hashable, int] = {}
        self._places: dict[Hashable, int] = {}
        self._boxes = 0
        self._used = 0
        self._start()

    # -- one after the other --------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self.arrived - self.released - self.dropped

    def submit(
        self,
        user: Hashable,
        *,
        time: float,
        x: float,
        y: float,
        k: int | None = None,
        reach: float | None = None,
        wait: float | None = None,
        place: Hashable = None,
    ) -> list[Cloaked]:
        """Take a request, and return what was decided up to its moment, this one included.

        Requests are numbered from 0 in the order in which they come.
        """
        column = {
            "user": [user], "t": [time], "x": [x], "y": [y],
            "k": [self.k if k is None else few_users("k", k)],
            "reach": [self.reach if reach is None else above("reach", reach)],
            "wait": [self.wait if wait is None else above("wait", wait)], "place": [place],
        }  # fmt: skip
        self._check(column)
        if self._used == self.capacity and not self._compact():
            done = self._run(float(time))
            if not self._compact():
                self._turn_away(float(time))
                return [*done, Cloaked(self.arrived - 1, float(time), None)]
            return [*done, *self._take(column, 1, float(time))]
        return self._take(column, 1, float(time))

    def advance(self, time: float) -> list[Cloaked]:
        """Let time pass; return what was decided."""
        if not time >= self.now:
            raise DataError(
                "Time goes backwards; requests are cloaked in the order of their moments."
            )
        self.now = float(time)
        return self._run(self.now)

    def finish(self) -> list[Cloaked]:
        """Let everything that waits reach its deadline."""
        return self._run(math.inf)

    def forget(self, user: Hashable) -> None:
        """End a user's session: boxes so far play no part in those to come."""
        if user in self._users:
            self._state.known[self._users[user]] = -1

    # -- many at once ---------------------------------------------------------------------

    def process(
        self,
        *,
        user: Any,
        time: Any,
        x: Any,
        y: Any,
        k: Any = None,
        reach: Any = None,
        wait: Any = None,
        place: Any = None,
    ) -> StreamResult:
        """Take many requests in the order of their moments and let all of them be decided.

        `k`, `reach` and `wait` are one number per request where users ask for their own.
        """
        t, xs, ys = (floats_of(column) for column in (time, x, y))
        n = len(t)
        wanted = np.full(n, self.k) if k is None else k_of_each(k, n)
        far = np.full(n, self.reach) if reach is None else each_above("reach", reach, n)
        patience = np.full(n, self.wait) if wait is None else each_above("wait", wait, n)
        columns = {
            "user": np.asarray(user), "t": t, "x": xs, "y": ys, "k": wanted, "reach": far,
            "wait": patience, "place": [None] * n if place is None else place,
        }  # fmt: skip
        self._check(columns)
        first, began = self.arrived, self._boxes
        moment, together = np.full(n, np.nan), np.full(n, -1)
        since = np.full(n, np.nan)
        boxes: list[NDArray[np.float64]] = []

        def keep(found: Decided) -> None:
            mine = found.number >= first
            numbers, box = found.number[mine] - first, found.box[mine]
            moment[numbers] = found.when[mine]
            together[numbers] = np.where(box < 0, -1, box - began)
            since[numbers] = np.where(box < 0, np.nan, found.since[mine])

        done = 0
        while done < n:
            if self._used == self.capacity and not self._compact():
                keep(self._decide({}, 0, float(t[done]), boxes))
                if not self._compact():
                    moment[done] = t[done]
                    self._turn_away(float(t[done]))
                    done += 1
                    continue
            part = slice(done, min(done + self.capacity - self._used, n))
            until = float(t[part.stop - 1])
            chunk = {name: column[part] for name, column in columns.items()}
            keep(self._decide(chunk, part.stop - done, until, boxes))
            done = part.stop
        keep(self._decide({}, 0, math.inf, boxes))
        made = np.concatenate(boxes) if boxes else np.zeros((0, 6))
        return StreamResult(
            together >= 0, moment, moment - t, together, made, wanted, far, patience,
            since if self.memory else None,
        )  # fmt: skip

    # -- steps ----------------------------------------------------------------------------

    def _check(self, columns: Any) -> None:
        t, x, y = (floats_of(columns[name]) for name in ("t", "x", "y"))
        if not len({len(column) for column in columns.values()}) == 1:
            raise DataError("Every request needs a user, a moment and a place.")
        if not np.isfinite(np.concatenate([t, x, y])).all():
            raise DataError("A request has a moment or a place that is no finite number.")
        if len(t) and (t[0] < self.now or (np.diff(t) < 0).any()):
            raise DataError(
                "Time goes backwards; requests are cloaked in the order of their moments."
            )
        x0, x1, y0, y1 = self.bounds
        if len(t) and (x.min() < x0 or x.max() > x1 or y.min() < y0 or y.max() > y1):
            raise DataError("A request lies outside the bounds; leave it out, or widen them.")

    def _turn_away(self, time: float) -> None:
        """Count a request that came while as many as may be held were waiting."""
        self.now = time
        self.arrived += 1
        self.dropped += 1

    def _take(self, columns: Any, count: int, until: float) -> list[Cloaked]:
        boxes: list[NDArray[np.float64]] = []
        began = self._boxes
        found = self._decide(columns, count, until, boxes)
        return told(found, np.concatenate(boxes), began, memory=self.memory)

    def _run(self, until: float) -> list[Cloaked]:
        return self._take({}, 0, until)

    def _decide(
        self, columns: Any, count: int, until: float, boxes: list[NDArray[np.float64]]
    ) -> Decided:
        """Put requests behind those that are held, run, and return what was decided."""
        from sfumato.anonymize.places import stream_kernel as kernel  # noqa: PLC0415 - compiles
        from sfumato.anonymize.places import stream_loop as loop  # noqa: PLC0415 - compiles

        begin, end = self._used, self._used + count
        if count:
            self._store(columns, begin, end)
            self.now = max(self.now, float(columns["t"][-1]))
        waits = np.flatnonzero(self._out.status[:end] == kernel.NOT_YET)
        loop.run(self._q, self._state, self._rules, self._out, begin, end, until)
        self._used = end
        self.arrived += count
        decided = waits[self._out.status[waits] != kernel.NOT_YET]
        made = int(self._out.made[0])
        boxes.append(self._out.boxes[:made].copy())
        number = self._out.box_of[decided]
        box = np.where(number >= 0, number + self._boxes, -1)
        self._boxes += made
        self._out.made[0] = 0
        self.released += int((box >= 0).sum())
        self.dropped += int((box < 0).sum())
        return Decided(
            self._number[decided], self._out.when[decided], box, self._out.since[decided]
        )

    def _store(self, columns: Any, begin: int, end: int) -> None:
        part = slice(begin, end)
        names = np.asarray(columns["user"], dtype=object)
        codes = [self._users.setdefault(name, len(self._users)) for name in names.tolist()]
        self._grow(len(self._users))
        self._q.user[part] = codes
        for name in ("t", "x", "y", "k", "reach", "wait"):
            getattr(self._q, name)[part] = columns[name]
        self._q.place[part] = [
            -1 if label is None else self._places.setdefault(label, len(self._places))
            for label in columns["place"]
        ]
        self._out.status[part] = 0
        self._out.box_of[part] = -1
        self._number[part] = self.arrived + np.arange(end - begin)

    def _start(self) -> None:
        """Make room for as many requests as may be held."""
        from sfumato.anonymize.places import stream_kernel as kernel  # noqa: PLC0415 - compiles

        n = self.capacity
        step = max(
            self.reach, max(self.bounds[1] - self.bounds[0], self.bounds[3] - self.bounds[2]) / 512
        )
        wide = int((self.bounds[1] - self.bounds[0]) / step) + 1
        high = int((self.bounds[3] - self.bounds[2]) / step) + 1
        ints: Any = partial(np.zeros, n, np.int64)
        floats: Any = partial(np.zeros, n, np.float64)
        self._q = kernel.Requests(
            ints(), floats(), floats(), floats(), ints(), floats(), floats(), ints()
        )
        self._rules = kernel.Rules(
            MODES.index(self.mode), self.rate, step, self.bounds[0], self.bounds[2], wide, high,
            self.diversity, self.memory, self.session,
        )  # fmt: skip
        events, slots = kernel.ATTEMPTS * n, kernel.LARGEST if self.memory else 1
        self._state = kernel.State(
            np.full(wide * high, -1, np.int64), ints(), ints(),
            np.zeros((64, slots), np.int64), np.full(64, -1, np.int64),
            np.zeros(64), np.zeros(events), np.zeros(events, np.int64), np.zeros(1, np.int64),
        )  # fmt: skip
        self._out = kernel.Outcome(
            np.full(n, kernel.DROPPED, np.int64), floats(), np.full(n, -1, np.int64), floats(),
            np.zeros((n, 6)), np.zeros(1, np.int64),
        )  # fmt: skip
        self._number = ints()
        self._used = 0

    def _grow(self, users: int) -> None:
        """Make room for what is remembered of users; nothing is where nothing is remembered."""
        have = len(self._state.known)
        if users <= have:
            return
        more = max(users, 2 * have) - have
        memory = np.vstack(
            [self._state.memory, np.zeros((more, self._state.memory.shape[1]), np.int64)]
        )
        known = np.concatenate([self._state.known, np.full(more, -1, np.int64)])
        since = np.concatenate([self._state.since, np.zeros(more)])
        self._state = self._state._replace(memory=memory, known=known, since=since)

    def _compact(self) -> bool:
        """Forget requests that are decided; tell whether there is room."""
        old_q, old_out, numbers = self._q, self._out, self._number
        keep = np.flatnonzero(old_out.status[: self._used] == 0)
        if len(keep) > self.capacity * 3 // 4:
            return False
        held = {name: getattr(old_q, name)[keep].copy() for name in old_q._fields}
        held["user"] = self._keep_users(held["user"])
        order, old = numbers[keep].copy(), self._state
        self._start()
        from sfumato.anonymize.places import stream_loop as loop  # noqa: PLC0415 - compiles

        for name, column in held.items():
            getattr(self._q, name)[: len(keep)] = column
        self._state = self._state._replace(memory=old.memory, known=old.known, since=old.since)
        self._out.status[: len(keep)] = 0
        self._number[: len(keep)] = order
        loop.hang_again(self._q, self._state, self._rules, len(keep), self.now)
        self._used = len(keep)
        return True

    def _keep_users(self, waiting: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget users of whom nothing waits and no session lasts; number the others anew.

        Whoever comes back is new to everybody who remembers her, which only asks for more.
        """
        old, users = self._state, len(self._users)
        live = np.zeros(users, np.bool_)
        live[waiting] = True
        if self.memory:
            live |= (old.known[:users] >= 0) & (self.now - old.since[:users] <= self.session)
        kept = np.flatnonzero(live)
        number = np.full(users, -1)
        number[kept] = np.arange(len(kept))
        self._users = {name: int(number[c]) for name, c in self._users.items() if live[c]}
        rows = max(64, len(kept))
        memory, known = np.full((rows, old.memory.shape[1]), -1), np.full(rows, -1)
        since = np.zeros(rows)
        memory[: len(kept)] = number[old.memory[kept]]
        known[: len(kept)], since[: len(kept)] = old.known[kept], old.since[kept]
        self._state = old._replace(memory=memory, known=known, since=since)
        found: NDArray[np.int64] = number[waiting]
        return found
