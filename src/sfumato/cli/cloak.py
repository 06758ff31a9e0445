"""`sfumato cloak`: boxes instead of places, for everybody at once or for requests as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.login import login
from sfumato.requests.places import CloakCommand

if TYPE_CHECKING:
    from sfumato.cli.cloaked import CloakedFile


@takes_request
def cloak(request: CloakCommand) -> None:
    """Replace the places of users by boxes that at least k of them share.

    Example: sfumato cloak users.csv -k 5 -o boxes.csv --report boxes.html

    Example: sfumato cloak users.csv --profiles wishes.csv --diversity 2 --place-column kind
    -o boxes.csv

    Example: sfumato cloak requests.csv --stream -k 3 --wait 60 --memory
    --bounds=-122.52,-122.36,37.70,37.82 -o boxes.csv -L ledger.sqlite

    A snapshot gets a box per row, in the order of the file. A stream gets a box per request that
    left, with its moment; dropped requests have empty cells. Both are checked by code that shares
    nothing with the cloaking; exit code 1 when it finds a fault, and nothing is written.
    """
    from sfumato.cli.cloaked import cloak_snapshot, cloak_stream  # noqa: PLC0415 - heavy
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick

    made = cloak_stream(request) if request.rules.stream else cloak_snapshot(request)
    if made.promise.reciprocal:
        made.checked.raise_if_broken()  # before anything is written
    page = None if request.report is None else made.page()
    text = _csv(made.columns)
    if request.record.ledger is not None:
        _record(request, made, text)
    write_text_atomically(request.output, text)
    if page is not None and request.report is not None:
        page.write(request.report)
    result({"file": str(request.output), "promise": made.promise.to_json(), **made.plain})
    if not request.quiet:
        show_table("Cloaked", ("what", "value"), made.facts)
        out.print(f"checked        {made.checked}", markup=False)
        out.print(f"boxes          {request.output}", markup=False)
        if request.report is not None:
            out.print(f"report         {request.report} (for you: it shows places)", markup=False)
    if not made.promise.reciprocal:
        note("this method is not reciprocal: whoever knows it learns who can have asked.")


def _csv(columns: dict[str, Any]) -> str:
    rows = zip(*columns.values(), strict=True)
    return ",".join(columns) + "\n" + "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else repr(value)  # noqa: PLR0124 - not a number
    return str(value)


def _record(request: CloakCommand, made: CloakedFile, text: str) -> None:
    """Record the boxes in the ledger before they are in their place."""
    import hashlib  # noqa: PLC0415 - help stays quick

    from sfumato.govern.releases import record_given_away  # noqa: PLC0415 - rarely needed

    assert request.record.ledger is not None
    record_given_away(
        request.points.name.split(".")[0], hashlib.sha256(text.encode()).hexdigest(),
        request.record.ledger, purpose=request.record.purpose, by=login(),
        told={
            "guarantee": str(made.promise), "promise": made.promise.to_json(), "shape": "places",
            "file": request.output.name, "records": made.checked.users,
            "suppressed": made.plain.get("dropped", 0),
            "algorithm": made.plain.get("method", request.rules.mode), "truthful": True,
            "loss": {},
        },
    )  # fmt: skip
