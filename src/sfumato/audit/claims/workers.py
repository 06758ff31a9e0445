"""A pool of forked processes that run a slow function side by side.

Contract: ``Workers.start`` gives a pool whose members draw independently, or None. A fork copies
every random generator the function holds, and two members with the same copy would give the same
outputs: samples that look like twice the evidence they are. So each member first reseeds the
generators that belong to Python and numpy, and then all run the function on the same input; if
two of them give the same sequence of outputs although these vary, the pool is refused and the
function runs in one process.
"""

from __future__ import annotations

import multiprocessing
import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.outputs import Outputs, joined, read_objects
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_TRIAL = 32


@dataclass
class Workers:
    """Processes that wait for (input, count) and send outputs back."""

    pipes: list[Connection]
    members: list[BaseProcess]
    tried: bool = False

    @classmethod
    def start(cls, run: Callable[[Any], Any], count: int | None) -> Workers | None:
        """Start as many processes as asked for, or one per processor; None where fork is absent."""
        wanted = count or os.cpu_count() or 1
        if wanted < 2 or "fork" not in multiprocessing.get_all_start_methods():
            return None
        context = multiprocessing.get_context("fork")
        pipes: list[Connection] = []
        members: list[BaseProcess] = []
        for _ in range(wanted):
            here, there = context.Pipe()
            member = context.Process(target=_serve, args=(there, run), daemon=True)
            member.start()
            there.close()
            pipes.append(here)
            members.append(member)
        return cls(pipes, members)

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self.members)

    def draw(self, data: Any, count: int) -> Outputs:
        """Give outputs drawn side by side; the first time, make sure they are independent."""
        if not self.tried:
            self.tried = True
            if self._repeat_each_other(data):
                self._keep_one()
        shares = [len(part) for part in np.array_split(np.empty(count), self.count)]
        return joined(self._ask([(data, share) for share in shares]))

    def _ask(self, orders: list[tuple[Any, int]]) -> list[Outputs]:
        for pipe, order in zip(self.pipes, orders, strict=True):
            pipe.send(order)
        try:
            return [pipe.recv() for pipe in self.pipes]
        except EOFError:
            raise DataError(
                "A process that ran the function ended without an answer; use processes=1 to see "
                "what happens in it."
            ) from None

    def _repeat_each_other(self, data: Any) -> bool:
        runs = [tuple(run.whole()) for run in self._ask([(data, _TRIAL)] * self.count)]
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


def _serve(pipe: Connection, run: Callable[[Any], Any]) -> None:
    """Answer orders until the pipe closes."""
    random.seed(os.urandom(32))
    np.random.seed(int.from_bytes(os.urandom(4), "little"))  # noqa: NPY002 - the function's own
    while True:
        try:
            data, count = pipe.recv()
        except EOFError:
            return
        pipe.send(read_objects([run(data) for _ in range(count)]))
