"""Named instants at which a test may end the process, to see what a crash leaves behind.

Contract: ``reached(point)`` does nothing, unless the environment variable ``SFUMATO_FAULT`` named
this point when the process started, or a test set ``armed``; then the process is killed by a signal
that nothing can catch, as by a power cut. Every step of a write to the ledger is a point.
"""

from __future__ import annotations

import os
import signal

POINTS = tuple(
    f"{operation}-{step}"
    for operation in ("charge", "settle", "fail", "repeat", "register")
    for step in ("begun", "checked", "appended", "counted", "committed")
    if step != "counted" or operation not in {"fail", "repeat"}  # which move no totals
)
"""All points: before anything, after the checks, the entry, the totals, and the commit."""

armed: str | None = os.environ.get("SFUMATO_FAULT")


def reached(point: str) -> None:
    """End the process here if a test asked for it."""
    if armed is not None and armed == point:
        os.kill(os.getpid(), signal.SIGKILL)
