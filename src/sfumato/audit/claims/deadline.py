"""The time limit of a check, kept even while the function under check does not return.

Contract: inside ``limited`` a check ends with ``TimeIsUp`` soon after its ``Deadline``. Between
calls the clock is read. A call that goes on (``inside`` is set) is interrupted by an alarm signal,
where the system has one, the check runs in the main thread and nobody else uses it; without, a
call that never returns cannot be ended. Our own code is never interrupted. ``TimeIsUp`` is no
``Exception``, so that a function which catches those does not swallow it.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_AGAIN = 1.0
"""Seconds after which the alarm rings again, should the function have swallowed it."""


class TimeIsUp(BaseException):
    """The time limit is over."""


@dataclass
class Deadline:
    """When a check that began at ``begin`` should end, and when it must."""

    begin: float
    seconds: float
    inside: bool = False
    """Whether the function under check is running."""

    @property
    def left(self) -> float:
        """Seconds that a plan may still use."""
        return max(0.0, self.begin + self.seconds - time.monotonic())

    @property
    def hard(self) -> float:
        """The last moment: a plan that proved a little too slow may end."""
        return self.begin + 1.1 * self.seconds + 0.5

    @property
    def remaining(self) -> float:
        """Seconds until the last moment."""
        return self.hard - time.monotonic()

    def check(self) -> None:
        """Raise when the last moment is over."""
        if time.monotonic() > self.hard:
            raise TimeIsUp


@contextmanager
def limited(deadline: Deadline) -> Iterator[None]:
    """Interrupt whatever runs inside the block at the deadline."""
    if not _can_ring():
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        if deadline.inside:
            raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(deadline.remaining, 1e-3), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _can_ring() -> bool:
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        return False
    unused = signal.getsignal(signal.SIGALRM) in {signal.SIG_DFL, signal.SIG_IGN}
    return unused and signal.getitimer(signal.ITIMER_REAL)[0] == 0
