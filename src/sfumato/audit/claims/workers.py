"""A pool of forked processes that run a slow function side by side.

Contract: ``Workers.start`` gives a pool whose members draw independently, or None. A fork copies
every random generator the function holds, and two members with the same copy would give the same
outputs: samples that look like twice the evidence they are. So each member first reseeds the
generators that belong to Python and numpy, and then all run the function on the same input; if
two of them give the same sequence of outputs although these vary, the pool is refused and the
function runs in one process.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.deadline import Deadline, TimeIsUp
from sfumato.audit.claims.outputs import Outputs, joined, read_objects
from sfumato.audit.claims.seeding import start
from sfumato.dp.noise import insecure_seeded
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
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
        context = multiprocessing.get_context("fork")
        pipes: list[Connection] = []
        members: list[BaseProcess] = []
        for number in range(wanted):
            here, there = context.Pipe()
            own = None if seed is None else (seed + 1) * 1000 + number
            member = context.Process(target=_serve, args=(there, run, own), daemon=True)
            # What lives here must not be collected there: libraries whose threads a fork leaves
            # behind crash when their objects are taken down in the child.
            gc.freeze()
            try:
                member.start()
            finally:
                gc.unfreeze()
            there.close()
            pipes.append(here)
            members.append(member)
        return cls(pipes, members)

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
        for pipe, member in zip(self.pipes[1:], self.members[1:], strict=True):
            _end(pipe, member)
        del self.pipes[1:], self.members[1:]

    def close(self) -> None:
        """End all processes."""
        for pipe, member in zip(self.pipes, self.members, strict=True):
            _end(pipe, member)
        self.pipes, self.members = [], []


def _end(pipe: Connection, member: BaseProcess) -> None:
    pipe.close()
    member.terminate()
    member.join(5)


def _answer(pipe: Connection, deadline: Deadline | None) -> list[Outputs]:
    if deadline is not None and not pipe.poll(max(0.0, deadline.remaining)):
        raise TimeIsUp
    answer: list[Outputs] = pipe.recv()
    return answer


def _serve(pipe: Connection, run: Callable[[Any], Any], seed: int | None) -> None:
    """Answer orders until the pipe closes; Ctrl-C is the parent's affair."""
    gc.freeze()  # what the parent holds is not ours to finalise: its threads are not here
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start(seed)
    with nullcontext() if seed is None else insecure_seeded(seed):
        while True:
            try:
                data, order = pipe.recv()
            except EOFError:
                return
            outputs: list[list[Any]] = [[] for _ in data]
            for side in order:
                outputs[side].append(run(data[side]))
            pipe.send([read_objects(runs) for runs in outputs])
