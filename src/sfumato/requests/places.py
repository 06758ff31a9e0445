"""What can be asked of places: `sfumato cloak`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.files import Quiet
from sfumato.requests.request import Request, argument, option


class CloakCommand(Request):
    """`sfumato cloak`: points, how many users a box has, and how they are found."""

    points: Annotated[
        Path, argument(help="CSV or Parquet file with x and y (or lon and lat), and person.")
    ]
    output: Annotated[Path, option("--output", "-o", help="CSV file for the boxes.")]
    k: Annotated[int, option("--k", "-k", help="Users that share a box, at least.", ge=1)] = 5
    method: Annotated[
        str,
        option(
            help="auto, best, kd, hilbert or grid; casper and nearest are not reciprocal: they "
            "tell who asked."
        ),
    ] = "auto"
    min_area: Annotated[
        float, option("--min-area", help="Square metres that a box has, at least.", ge=0)
    ] = 0.0
    stream: Annotated[
        bool,
        option("--stream", help="Rows are requests with a time: they wait for company."),
    ] = False
    bounds: Annotated[
        str | None,
        option("--bounds", help="For a stream: public bounds 'low x,high x,low y,high y'."),
    ] = None
    reach: Annotated[
        float, option("--reach", help="For a stream: metres that a box may reach.", gt=0)
    ] = 1000.0
    wait: Annotated[
        float, option("--wait", help="For a stream: seconds that a request may wait.", gt=0)
    ] = 120.0
    mode: Annotated[str, option("--mode", help="For a stream: eager, deadline or marginal.")] = (
        "marginal"
    )
    memory: Annotated[
        bool,
        option("--memory", help="For a stream: keep k users common to all boxes of a session."),
    ] = False
    quiet: Quiet = False
