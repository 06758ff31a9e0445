"""When an algorithm should come to an end: its time limit is over, or somebody pressed Ctrl-C.

Compiled kernels hold the interpreter, and a signal is only noticed between them. So long kernels
are called in pieces (`pieces`), and loops ask the clock after each: what has been reached by then
is finished, cheaply, into classes that keep the promise. A second Ctrl-C ends at once.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PIECE = 0.1
"""Seconds a piece of a kernel's work should take at most."""


class TimeUp(Exception):  # noqa: N818 - no error: the time is up
    """Raised where a loop is left from within because the time is up."""


class Clock:
    """Tells whether the time is up."""

    def __init__(self, time_limit: float | None = None) -> None:
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self.interrupted = False

    @property
    def late(self) -> bool:
        """Whether to come to an end."""
        if self._deadline is None:
            return self.interrupted
        return self.interrupted or time.monotonic() > self._deadline

    def interrupt(self) -> None:
        """Say that the time is up; the second time, end at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def pieces(self, n: int, first: int = 64) -> Iterator[slice]:
        """Cut `n` steps into pieces of about the same time; no more come once the time is up."""
        begin, step = 0, first
        while begin < n and not self.late:
            began = time.monotonic()
            yield slice(begin, min(begin + step, n))
            begin += step
            taken = time.monotonic() - began
            step = max(1, int(step * min(2.0, PIECE / max(taken, 1e-6))))


@contextmanager
def running(time_limit: float | None) -> Iterator[Clock]:
    """Start a clock that Ctrl-C stops, in the main thread; elsewhere signals do not arrive."""
    clock = Clock(time_limit)
    if threading.current_thread() is not threading.main_thread():
        yield clock
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        clock.interrupt()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield clock
    finally:
        signal.signal(signal.SIGINT, before)
