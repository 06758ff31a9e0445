"""`sfumato cloak`: boxes instead of places, for everybody at once or for requests as they come."""

from __future__ import annotations

from typing import Any

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.places import CloakCommand


@takes_request
def cloak(request: CloakCommand) -> None:
    """Replace the places of users by boxes that at least k of them share.

    Example: sfumato cloak users.csv -k 5 -o boxes.csv

    Example: sfumato cloak requests.csv --stream -k 3 --wait 60
    --bounds=-122.52,-122.36,37.70,37.82 -o boxes.csv

    A snapshot gets a box per row, in the order of the file. A stream gets a box per request that
    left, with its moment; dropped requests have empty cells. Both are checked by code that shares
    nothing with the cloaking; exit code 1 when it finds a fault.
    """
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick

    columns, facts, checked = _stream(request) if request.stream else _snapshot(request)
    tells = request.method in {"casper", "nearest"} and not request.stream
    if not tells:
        checked.raise_if_broken()  # before anything is written
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    text = ",".join(names) + "\n" + "".join(",".join(map(_cell, row)) + "\n" for row in rows)
    write_text_atomically(request.output, text)
    if not request.quiet:
        show_table("Cloaked", ("what", "value"), facts)
        out.print(f"checked        {checked}", markup=False)
        out.print(f"boxes          {request.output}", markup=False)
    if tells:
        note("this method is not reciprocal: whoever knows it learns who can have asked.")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else repr(value)  # noqa: PLR0124 - not a number
    return str(value)


def _snapshot(request: CloakCommand) -> tuple[dict[str, Any], list[tuple[str, str]], Any]:
    from sfumato.anonymize.places.snapshot import cloak as run  # noqa: PLC0415 - heavy
    from sfumato.audit.verification.cloaks import verify_cloaks  # noqa: PLC0415 - heavy
    from sfumato.data.places.files import read_point_file  # noqa: PLC0415 - heavy

    points = read_point_file(request.points)
    made = run(points, k=request.k, method=request.method, min_area=request.min_area)
    checked = verify_cloaks(
        points.places.tolist(), made.boxes.tolist(), k=request.k, people=points.people.tolist()
    )
    facts = [
        ("users", f"{len(made):,}"),
        ("boxes", f"{checked.boxes:,}"),
        ("mean area", f"{made.mean_area:,.0f} m²"),
        ("method", made.method + (", reciprocal" if made.reciprocal else ", NOT reciprocal")),
    ]
    columns = {name: column.tolist() for name, column in made.columns().items()}
    return columns, facts, checked


def _stream(request: CloakCommand) -> tuple[dict[str, Any], list[tuple[str, str]], Any]:
    from sfumato.anonymize.places.cloaker import Cloaker  # noqa: PLC0415 - heavy
    from sfumato.audit.verification.request_stream import verify_stream  # noqa: PLC0415 - heavy
    from sfumato.data.places.files import read_request_file  # noqa: PLC0415 - heavy

    requests, frame, outside = read_request_file(request.points, bounds=request.bounds)
    limits: Any = frame.plane_bounds
    cloaker = Cloaker(
        bounds=limits, k=request.k, reach=request.reach, wait=request.wait,
        mode=request.mode, memory=request.memory,
    )  # fmt: skip
    result = cloaker.process(**requests)
    checked = verify_stream(requests, result, wait=request.wait)
    facts = [
        ("requests", f"{len(result.released):,}"),
        ("left in a box", f"{int(result.released.sum()):,} ({100 * result.success:.1f} %)"),
        ("dropped", f"{int((~result.released).sum()):,}"),
        ("outside the bounds, left out", f"{outside:,}"),
        ("mean delay", f"{result.mean_delay:.1f} s"),
        ("relative area", f"{result.relative_area:.3f}"),
    ]
    return _stream_columns(requests, result, frame), facts, checked


def _stream_columns(requests: Any, result: Any, frame: Any) -> dict[str, Any]:
    """Return a row per request in the order of time; nothing tells whose it is."""
    import numpy as np  # noqa: PLC0415 - help stays quick

    boxes = np.full((len(result.released), 6), np.nan)
    boxes[result.released] = result.boxes[result.together[result.released]]
    across, up = frame.names
    columns = {
        f"{across}_low": frame.restore(boxes[:, 0], 0),
        f"{across}_high": frame.restore(boxes[:, 1], 0),
        f"{up}_low": frame.restore(boxes[:, 2], 1),
        f"{up}_high": frame.restore(boxes[:, 3], 1),
        "time_first": boxes[:, 4], "time_last": boxes[:, 5],
        "moment": np.where(result.released, result.moment, np.nan),
    }  # fmt: skip
    left = np.flatnonzero(result.released)
    by_box = left[np.lexsort([result.together[left], result.moment[left]])]
    order = np.concatenate([by_box, np.flatnonzero(~result.released)])
    del requests
    return {name: column[order].tolist() for name, column in columns.items()}
