"""`sfumato verify`: is the promise kept, told from the released file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sfumato.cli.display.terminal import out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.errors import ParameterError
from sfumato.requests.verify import VerifyCommand

if TYPE_CHECKING:
    from sfumato.audit.verification.verify import Verification
    from sfumato.requests.shapes import ShapedVerify


@takes_request
def verify(request: VerifyCommand) -> None:
    """Check a released file against its promise; exit code 1 when it is broken.

    Example: sfumato verify out/release.csv -s patients.yaml -k 5

    Without a promise, the one in release.json beside the file is checked. With --measure the
    file is only measured: which k, l, c and t it has, and its weakest class.
    """
    from sfumato.audit.verification.verify import verify as check  # noqa: PLC0415 - heavy

    found = check(
        request.release,
        request.schema_file,
        request.promise,
        population=request.population,
        delimiter=request.csv.delimiter,
        encoding=request.csv.encoding,
    )
    end(found, request)


def end(found: Verification, request: VerifyCommand | ShapedVerify) -> None:
    """Show what was found, and end with the exit code that says it."""
    if not request.quiet:
        _show(found)
    if not found.promises and not found.unchecked and not request.measure:
        raise ParameterError(
            f"Nothing is promised about {request.release}, so nothing was checked; say for "
            "instance -k 5, or --measure if figures are all you want."
        )
    raise typer.Exit(0 if found.holds or request.measure else 1)


def _show(found: Verification) -> None:
    title = f"{found.source}: {found.records:,} {found.unit}s in {found.classes:,} classes"
    rows = [
        (row.promised, _figure(row.found), "yes" if row.holds else "NO") for row in found.promises
    ]
    if rows:
        show_table(title, ("promised", "found", "holds"), rows)
    for row in found.promises:
        if row.bottleneck:
            out.print(f"{row.name}: decided by the class {row.bottleneck}", markup=False)
    rest = [(row.name, _figure(row.found)) for row in found.table if not row.promised]
    show_table("What else it has" if rows else title, ("measure", "found"), rest)
    risks = [(name, _figure(value)) for name, value in found.rows()]
    if risks:
        show_table("Risk of re-identification", ("measure", "value"), risks)
    for finding in found.findings:
        out.print(f"• {finding}", markup=False)
    for text in found.unchecked:
        out.print(f"• not checked: {text}; hand it over with --definition", markup=False)
    if not found.promises and not found.unchecked:
        out.print("no promise was stated; this is what the file has", style="bold")
    else:
        out.print("the promise holds" if found.holds else "the promise is broken", style="bold")


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
