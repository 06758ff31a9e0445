"""Fields that several requests share, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.request import Request, option

SchemaFile = Annotated[
    Path,
    option(
        "--schema",
        "-s",
        help="YAML file that gives every column its role; `sfumato inspect` writes one.",
    ),
]
PLACE = "a table of a database (postgresql://…/database?table=people, clinic.duckdb::people)"
"""How commands name what is no file."""

Population = Annotated[
    str | None,
    option("--population", help=f"Everybody who could be in the data: a file or {PLACE}."),
]
ShapeName = Annotated[
    str,
    option(
        "--shape",
        metavar="NAME",
        help="Shape of the data, where they are no table; --shape NAME --help shows its options.",
    ),
]
Quiet = Annotated[bool, option("--quiet", "-q", help="Print errors only.")]


class CsvFormat(Request):
    """How a CSV file is written, where it is not found out."""

    delimiter: Annotated[
        str | None,
        option("--delimiter", help="Column separator of the CSV; found out if absent."),
    ] = None
    encoding: Annotated[
        str | None, option("--encoding", help="Encoding of the CSV; UTF-8 if absent.")
    ] = None


class Record(Request):
    """Where a release is recorded, and what it is for."""

    ledger: Annotated[
        str | None,
        option(
            "--ledger",
            "-L",
            metavar="PLACE",
            help="Record the release in this ledger, a file or postgresql://…, before it appears.",
        ),
    ] = None
    purpose: Annotated[
        str | None,
        option("--purpose", help="What the release is for: one of the schema's purposes."),
    ] = None


class ReleaseFolder(Request):
    """How the folder of a release is written."""

    file_format: Annotated[
        str | None, option("--format", help="csv or parquet; as the input if absent.")
    ] = None
    guard_formulas: Annotated[
        bool,
        option(
            "--guard-formulas",
            help="Put a quote mark before CSV cells that a spreadsheet would run as a formula.",
        ),
    ] = False
    no_report: Annotated[bool, option("--no-report", help="Write no HTML page.")] = False
    force: Annotated[bool, option("--force", help="Replace a release that is already there.")] = (
        False
    )
