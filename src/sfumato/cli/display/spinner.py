"""A sign of life on a terminal, for work whose length cannot be told.

Nothing is drawn during the first two seconds, nor where nobody watches.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from sfumato.cli.display.terminal import err

if TYPE_CHECKING:
    from types import TracebackType

    from rich.status import Status

QUIET = 2.0


class Waiting:
    """A spinner on standard error while a block runs."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._lock = threading.Lock()
        self._over = False
        self._status: Status | None = None
        self._timer = threading.Timer(QUIET, self._show) if err.is_terminal else None

    def _show(self) -> None:
        with self._lock:
            if not self._over:
                self._status = err.status(self._words)
                self._status.start()

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()
