"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.promises import K_HELP, L_HELP, T_HELP

SchemaOption = Annotated[
    Path,
    typer.Option(
        "--schema",
        "-s",
        help="YAML file that gives every column its role; `sfumato inspect` writes one.",
    ),
]
KOption = Annotated[list[str] | None, typer.Option("-k", "--k", metavar="K", help=K_HELP)]
LOption = Annotated[list[str] | None, typer.Option("-l", "--l", metavar="L:ATTR", help=L_HELP)]
TOption = Annotated[list[str] | None, typer.Option("-t", "--t", metavar="T:ATTR", help=T_HELP)]
BetaOption = Annotated[
    list[str] | None,
    typer.Option("--beta", metavar="B:ATTR", help="β-likeness of a sensitive attribute."),
]
DisclosureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--delta-disclosure", metavar="D:ATTR", help="δ-disclosure of a sensitive attribute."
    ),
]
KMapOption = Annotated[
    int | None,
    typer.Option("--k-map", help="k-map: every class fits at least k people of the population."),
]
PresenceOption = Annotated[
    str | None,
    typer.Option(
        "--presence",
        metavar="LOW,HIGH",
        help="δ-presence: the share of the population of a class that is in the data.",
    ),
]
OwnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--definition",
        metavar="MODULE:NAME",
        help="Your own definition, an object in a Python module; may be repeated.",
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
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
