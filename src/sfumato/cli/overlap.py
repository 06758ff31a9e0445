"""`sfumato overlap`: whether two releases of overlapping data break the promise together."""

from __future__ import annotations

import typer

from sfumato.cli.display.terminal import out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.verify import OverlapCommand


@takes_request
def overlap(request: OverlapCommand) -> None:
    """Warn when two releases of overlapping data break the promise together; exit code 1 then.

    Example: sfumato overlap january/release.csv february/release.csv -s patients.yaml -k 5

    Somebody who is known to be in both releases is in a class of each. What both classes
    allow can be much less than what one allows.
    """
    from sfumato.audit.overlap import overlap as check  # noqa: PLC0415 - heavy

    found = check(request.first, request.second, request.schema_file, k=request.k)
    show_table("Together", ("what", "value"), found.table)
    out.print("no class is broken by the other release" if found.holds else found.warning)
    raise typer.Exit(0 if found.holds else 1)
