"""Turns: who works now, so that those who work do not take the interpreter from each other.

Contract: one piece of work begins at a time, in the order in which they came; the next begins when
the one before it is over, or has worked for :data:`LONG` seconds. So short work, nearly all of it
Python, runs one after the other, which costs a seventh less than at once; and long work, nearly all
of it in an engine, keeps nobody waiting for longer than that. To be used from one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 0.02
"""Seconds after which whoever works keeps nobody waiting any more."""


class Turns:
    """Lets work begin, in order."""

    def __init__(self) -> None:
        self._holder: Turn | None = None
        self._waiting: deque[tuple[Turn, Callable[[], object]]] = deque()

    def begin(self, start: Callable[[], object]) -> Turn:
        """Call ``start`` now or when it is its turn; whoever gets the turn ends it."""
        turn = Turn(self)
        self._waiting.append((turn, start))
        self._next()
        return turn

    def end(self, turn: Turn) -> None:
        """Let the next one begin, if it is this one that holds the turn."""
        if self._holder is turn:
            self._holder = None
            self._next()

    def _next(self) -> None:
        while self._holder is None and self._waiting:
            turn, start = self._waiting.popleft()
            self._holder = turn
            turn.timer = asyncio.get_running_loop().call_later(LONG, self.end, turn)
            start()


class Turn:
    """A turn that somebody has, or waits for."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.timer: asyncio.TimerHandle | None = None

    def end(self) -> None:
        """Be done (in the loop); a second time changes nothing."""
        if self.timer is not None:
            self.timer.cancel()
        self._turns.end(self)
