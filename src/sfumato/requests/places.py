"""What can be asked of places: `sfumato cloak`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.files import Quiet, Record
from sfumato.requests.request import Request, argument, option, piece


class StreamRules(Request):
    """How requests wait and what is remembered of them."""

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
        option(
            "--memory",
            help="For a stream: keep k users common to all boxes of a user's session, so that "
            "intersecting them singles nobody out.",
        ),
    ] = False
    session: Annotated[
        float,
        option(
            "--session",
            help="With --memory: seconds of a session; behind it a user needs another pseudonym.",
            gt=0,
        ),
    ] = 600.0


class OwnWishes(Request):
    """What users ask for themselves, where they differ."""

    k_column: Annotated[
        str | None,
        option(
            "--k-column", metavar="NAME",
            help="Column with the k of each row; an empty cell asks for what -k says.",
        ),
    ] = None  # fmt: skip
    profiles: Annotated[
        Path | None,
        option(
            "--profiles", metavar="FILE",
            help="CSV file with a row per person and any of the columns k, min_area, reach, wait: "
            "what users ask for themselves. Who is not in it gets what the options say.",
        ),
    ] = None  # fmt: skip
    diversity: Annotated[
        int,
        option(
            "--diversity", metavar="L", ge=1,
            help="Kinds of places that the users of a box are at, at least: if all were in one "
            "clinic, the box would tell. Needs --place-column.",
        ),
    ] = 1  # fmt: skip
    place_column: Annotated[
        str | None,
        option("--place-column", metavar="NAME", help="Column with the kind of place of each row."),
    ] = None


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
        float,
        option("--min-area", help="For a snapshot: square metres of a box, at least.", ge=0),
    ] = 0.0
    own: OwnWishes = piece(OwnWishes)
    rules: StreamRules = piece(StreamRules)
    report: Annotated[
        Path | None,
        option(
            "--report", metavar="FILE",
            help="HTML page with maps, evidence and attacks. It shows places: keep it to yourself.",
        ),
    ] = None  # fmt: skip
    record: Record = piece(Record)
    quiet: Quiet = False
