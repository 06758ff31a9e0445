"""How the command line speaks: colours, tables and progress on a terminal.

Results go to standard output, everything else to standard error, so that output can be
piped. Progress appears only where somebody watches.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    """Print what went wrong."""
    err.print(Text("error: ", style="bold red") + Text(message))


def note(message: str) -> None:
    """Print something worth knowing that is not a result."""
    err.print(Text("note: ", style="bold yellow") + Text(message))


def show_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a small table."""
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
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[words]}"),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not enabled or not err.is_terminal,
        )
        self._title = title
        self._started = time.monotonic()
        self._shown = False
        self._task = self._bar.add_task(title, total=1.0, words="")

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: float, best_loss: float, words: str) -> None:
        """Show the share done, the best loss and a few words."""
        if not self._shown:
            if time.monotonic() - self._started < self.QUIET:
                return
            self._bar.start()
            self._shown = True
        best = "" if math.isinf(best_loss) else f"  best loss {best_loss:.4f}"
        self._bar.update(self._task, completed=done, words=f"{words}{best}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._bar.stop()
