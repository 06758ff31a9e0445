"""How the command line speaks: colours, tables and progress on a terminal.

Results go to standard output, everything else to standard error, so that output can be
piped. Progress appears only where somebody watches.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.cli.display.machine import listening

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from rich.progress import Progress

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    """Print what went wrong."""
    if listening.said is not None:
        listening.said.error = message
    err.print(Text("error: ", style="bold red") + Text(message))


def note(message: str) -> None:
    """Print something worth knowing that is not a result."""
    if listening.said is not None:
        listening.said.notes.append(message)
        return
    err.print(Text("note: ", style="bold yellow") + Text(message))


def result(value: Any) -> None:
    """Give a program that listens the plain values of what is shown to a person."""
    if listening.said is not None:
        listening.said.result = value


def show_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a small table."""
    if listening.said is not None:
        listening.said.table(title, header, rows)
        return
    table = Table(title=Text(title, style="bold"), title_justify="left", header_style="bold")
    for name in header:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    out.print(table)


class SearchProgress:
    """A bar that shows how much is decided and the best loss so far.

    It is a context manager and the callable that algorithms report to; it draws nothing
    during the first moments, so quick searches stay quiet.
    """

    QUIET = 0.5

    def __init__(self, title: str, *, enabled: bool = True) -> None:
        self._title = title
        self._enabled = enabled and err.is_terminal
        self._started = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: float, best_loss: float, words: str) -> None:
        """Show the share done, the best loss and a few words."""
        if self._bar is None:
            if not self._enabled or time.monotonic() - self._started < self.QUIET:
                return
            self._bar = _progress_bar()
            self._bar.add_task(self._title, total=1.0, words="")
            self._bar.start()
        best = "" if math.isinf(best_loss) else f"  best loss {best_loss:.4f}"
        self._bar.update(self._bar.task_ids[0], completed=done, words=f"{words}{best}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _progress_bar() -> Progress:
    from rich import progress  # noqa: PLC0415 - most searches end before a bar is worth showing

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.percentage:>3.0f}%  {task.fields[words]}"),
        progress.TimeElapsedColumn(),
        console=err,
        transient=True,
    )
