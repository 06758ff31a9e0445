"""`sfumato example`: data to play with, made up on the spot."""

from __future__ import annotations

from sfumato.cli.display.terminal import out
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.inspect import ExampleCommand


@takes_request
def example(request: ExampleCommand) -> None:
    """Write made-up patients with their schema and hierarchies.

    Example: sfumato example clinic/ --rows 10000
    """
    from sfumato import examples  # noqa: PLC0415 - heavy

    folder, rows = request.folder, request.rows
    folder.mkdir(parents=True, exist_ok=True)
    examples.patients(rows, request.seed).write(folder)
    if request.visits:
        examples.visits(rows, request.seed).write(folder)
    out.print(f"wrote {rows:,} made-up patients to {folder}", markup=False)
    for path in sorted(folder.iterdir()):
        out.print(f"  {path}", markup=False)
