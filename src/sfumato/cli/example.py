"""`sfumato example`: data to play with, made up on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.display.terminal import out


def example(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; made if absent.")],
    rows: Annotated[int, typer.Option("--rows", "-n", help="Number of people.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same people.")] = 1,
    visits: Annotated[
        bool, typer.Option("--visits", help="Their visits of a year too, several rows each.")
    ] = False,
) -> None:
    """Write made-up patients with their schema and hierarchies.

    Example: sfumato example clinic/ --rows 10000
    """
    from sfumato import examples  # noqa: PLC0415 - heavy

    folder.mkdir(parents=True, exist_ok=True)
    examples.patients(rows, seed).write(folder)
    if visits:
        examples.visits(rows, seed).write(folder)
    out.print(f"wrote {rows:,} made-up patients to {folder}", markup=False)
    for path in sorted(folder.iterdir()):
        out.print(f"  {path}", markup=False)
