"""No budget is spent on noise that somebody knows.

Contract: inside ``sfumato.dp.noise.insecure_seeded`` the noise follows from a seed, so an answer
would be as good as exact, and the ledger would say it was private. :func:`refuse_known_noise`
refuses before anything is charged, unless a test has said that it wants just that.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from sfumato.dp.noise import stream
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

_allowed: ContextVar[bool] = ContextVar("allowed", default=False)


def refuse_known_noise() -> None:
    """Refuse to spend while the noise of this thread follows from a seed."""
    if not stream().secure and not _allowed.get():
        raise ParameterError(
            "The noise of this thread follows from a seed (insecure_seeded), so whoever knows it "
            "could subtract it: nothing is answered, and nothing was charged. In a test that wants "
            "reproducible answers say so, with sfumato.testing.allow_known_noise()."
        )


@contextmanager
def allow_known_noise() -> Iterator[None]:
    """Let sessions answer with seeded noise inside a ``with`` block. For tests: NOT private."""
    before = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(before)
