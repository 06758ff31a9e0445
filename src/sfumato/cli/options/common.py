"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SchemaOption = Annotated[
    Path,
    typer.Option(
        "--schema",
        "-s",
        help="YAML file that gives every column its role; `sfumato inspect` writes one.",
    ),
]
PopulationOption = Annotated[
    Path | None,
    typer.Option("--population", help="Table of everybody who could be in the data."),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", help="Column separator of the CSV; found out if absent."),
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of the CSV; UTF-8 if absent.")
]
RecordOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        "-L",
        metavar="PLACE",
        help="Record the release in this ledger, a file or postgresql://…, before it appears.",
    ),
]
ReleasePurposeOption = Annotated[
    str | None,
    typer.Option("--purpose", help="What the release is for: one of the schema's purposes."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
