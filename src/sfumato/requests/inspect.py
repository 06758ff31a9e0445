"""What can be looked at, and data to play with: `sfumato inspect`, `sfumato example`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.files import PLACE
from sfumato.requests.request import Request, argument, option


class InspectCommand(Request):
    """`sfumato inspect`: which data, and where the suggested schema goes."""

    data: Annotated[str, argument(help=f"The data: a CSV or Parquet file, or {PLACE}.")]
    output: Annotated[
        Path | None,
        option(
            "--output", "-o", help="Where to write the schema; default: beside the data, as .yaml."
        ),
    ] = None
    force: Annotated[bool, option("--force", help="Replace a schema that exists already.")] = False
    shape: Annotated[
        str | None,
        option(
            "--shape", metavar="NAME", help="Shape of the data, where they are no table: trees."
        ),
    ] = None
    delimiter: Annotated[
        str | None, option(help="What separates the cells; found out if not given.")
    ] = None
    encoding: Annotated[
        str | None, option(help="The file's encoding, such as latin-1; default: UTF-8.")
    ] = None


class ExampleCommand(Request):
    """`sfumato example`: how many people, and where they go."""

    folder: Annotated[Path, argument(help="Folder to write to; made if absent.")]
    rows: Annotated[int, option("--rows", "-n", help="Number of people.")] = 10_000
    seed: Annotated[int, option(help="The same seed makes the same people.")] = 1
    visits: Annotated[
        bool, option("--visits", help="Their visits of a year too, several rows each.")
    ] = False
