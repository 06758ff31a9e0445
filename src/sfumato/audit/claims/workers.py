"""A pool of forked processes that run a slow function side by side.

Contract: ``Workers.start`` gives a pool whose members draw independently, or None. A fork copies
every random generator the function holds, and two members with the same copy would give the same
outputs: samples that look like twice the evidence they are. So each member first reseeds the
generators that belong to Python and numpy, and then all run the function on the same input; if
two of them give the same sequence of outputs although these vary, the pool is refused and the
function runs in one process.

No member outlives the pool. Ctrl-C reaches all processes of a terminal at once, at any moment: it
waits until a started member is in the pool, which then ends it, and members never heed it. A member
ends, whatever the function does, when the process that started it is gone.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.deadline import Deadline, TimeIsUp
from sfumato.audit.claims.outputs import Outputs, joined, read_objects
from sfumato.audit.claims.seeding import start
from sfumato.dp.noise import insecure_seeded
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_TRIAL = 32


@dataclass
class Workers:
    """Processes that wait for inputs and an order of runs, and send the outputs on each back."""

    pipes: list[Connection]
    members: list[BaseProcess]
    tried: bool = False

    @classmethod
    def start(
        cls, run: Callable[[Any], Any], count: int | None, seed: int | None = None
    ) -> Workers | None:
        """Start as many processes as asked for, or one per processor; None where fork is absent."""
        wanted = count or os.cpu_count() or 1
        if wanted < 2 or "fork" not in multiprocessing.get_all_start_methods():
            return None
        pool = cls([], [])
        try:
            with _ctrl_c_waits():
                for number in range(wanted):
                    pool._add(run, None if seed is None else (seed + 1) * 1000 + number)
        except BaseException:
            pool.close()
            raise
        return pool

    def _add(self, run: Callable[[Any], Any], seed: int | None) -> None:
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        self.pipes.append(here)
        member = context.Process(target=_serve, args=(there, self.pipes, run, seed), daemon=True)
        # What lives here must not be collected there: libraries whose threads a fork leaves
        # behind crash when their objects are taken down in the child.
        gc.freeze()
        try:
            member.start()
        finally:
            gc.unfreeze()
        there.close()
        self.members.append(member)

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self.members)

    def draw(
        self, data: tuple[Any, ...], order: list[int], deadline: Deadline | None = None
    ) -> list[Outputs]:
        """Give the outputs on each input; the first time, make sure members are independent."""
        if not self.tried:
            self.tried = True
            if self._repeat_each_other(data[0], deadline):
                self._keep_one()
        shares = [part.tolist() for part in np.array_split(np.array(order), self.count)]
        answers = self._ask([(data, share) for share in shares], deadline)
        return [joined([answer[side] for answer in answers]) for side in range(len(data))]

    def _ask(
        self, orders: list[tuple[tuple[Any, ...], list[int]]], deadline: Deadline | None
    ) -> list[list[Outputs]]:
        for pipe, order in zip(self.pipes, orders, strict=True):
            pipe.send(order)
        try:
            return [_answer(pipe, deadline) for pipe in self.pipes]
        except EOFError:
            raise DataError(
                "A process that ran the function ended without an answer; use processes=1 to see "
                "what happens in it."
            ) from None

    def _repeat_each_other(self, data: Any, deadline: Deadline | None) -> bool:
        trial = [((data,), [0] * _TRIAL)] * self.count
        runs = [tuple(answer[0].whole()) for answer in self._ask(trial, deadline)]
        varying = [run for run in runs if len(set(run)) > 1]
        return len(set(varying)) < len(varying)

    def _keep_one(self) -> None:
        _end(self.pipes[1:], self.members[1:])
        del self.pipes[1:], self.members[1:]

    def close(self) -> None:
        """End all processes."""
        _end(self.pipes, self.members)
        self.pipes, self.members = [], []


def _end(pipes: list[Connection], members: list[BaseProcess]) -> None:
    """End processes, whatever the function made of the signals that ask for it."""
    for member in members:
        member.kill()
    for pipe in pipes:
        pipe.close()
    for member in members:
        member.join(5)


def _answer(pipe: Connection, deadline: Deadline | None) -> list[Outputs]:
    if deadline is not None and not pipe.poll(max(0.0, deadline.remaining)):
        raise TimeIsUp
    answer: list[Outputs] = pipe.recv()
    return answer


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block; what is forked inside begins deaf to it."""
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    # The mask is what a child inherits. Here a thread of a library may still take the signal, and
    # the handler would raise in the main thread, so that it is exchanged as well.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    exchanged = before is not None and threading.current_thread() is threading.main_thread()
    if exchanged:
        signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        yield
    finally:
        if exchanged:
            signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if noted:
            signal.raise_signal(signal.SIGINT)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, even if the function never returns."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _serve(
    pipe: Connection, ends: list[Connection], run: Callable[[Any], Any], seed: int | None
) -> None:
    """Answer orders until the pipe closes; Ctrl-C is the parent's affair."""
    gc.freeze()  # what the parent holds is not ours to finalise: its threads are not here
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for end in ends:  # the parent's, copied by the fork: a pipe closes with its last copy
        end.close()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start(seed)
    with nullcontext() if seed is None else insecure_seeded(seed):
        try:
            while True:
                data, order = pipe.recv()
                outputs: list[list[Any]] = [[] for _ in data]
                for side in order:
                    outputs[side].append(run(data[side]))
                pipe.send([read_objects(runs) for runs in outputs])
        except (EOFError, ConnectionError):
            return  # the pipe is closed; what the function raises never comes here
