"""What can be asked of attacks on a release: `sfumato attack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.files import Quiet, ShapeName
from sfumato.requests.request import Request, argument, option, piece


class Adversary(Request):
    """When an attack counts as a success, and how much the attacker knows."""

    confidence: Annotated[
        float, option("--confidence", help="How sure an attacker must be to count, 0 to 1.")
    ] = 0.9
    gain: Annotated[
        float, option("--gain", help="How much likelier a secret must become to count, 0 to 1.")
    ] = 0.25
    facts: Annotated[
        int, option("--facts", help="Sensitive values that background knowledge can rule out.")
    ] = 1


class AttackCommand(Request):
    """`sfumato attack`: the files an attacker has, and what is shown."""

    release: Annotated[
        Path, argument(help="Folder of a release, or the released CSV or Parquet file.")
    ]
    schema_file: Annotated[
        Path | None,
        option(
            "--schema",
            "-s",
            help="YAML file that gives every column its role; without it, the roles in "
            "release.json, and no hierarchies.",
        ),
    ] = None
    public: Annotated[
        Path | None, option("--public", help="Table of people whom an attacker can look up.")
    ] = None
    original: Annotated[
        Path | None,
        option("--original", help="The data as they came, to compare before and after."),
    ] = None
    other: Annotated[
        Path | None,
        option("--other", help="Another release of overlapping data, to intersect with."),
    ] = None
    adversary: Adversary = piece(Adversary)
    report: Annotated[Path | None, option("--report", help="Also write an HTML page.")] = None
    reveal: Annotated[
        bool, option("--reveal", help="Show the sensitive values that were learnt.")
    ] = False
    strict: Annotated[bool, option("--strict", help="Exit code 1 when an attack succeeds.")] = False
    shape: ShapeName = "table"
    quiet: Quiet = False


class ModelAttackCommand(Request):
    """`sfumato attack model`: rows to learn from, and what is compared."""

    data: Annotated[
        Path, argument(help="CSV or Parquet file of numbers with a column of two classes.")
    ]
    target: Annotated[str, argument(metavar="TARGET", help="Column that holds the two classes.")]
    bounds: Annotated[
        str,
        option(
            "--bounds",
            help="Public range of all columns, as LOW,HIGH; cells are clamped to it.",
            metavar="LOW,HIGH",
        ),
    ] = "0,1"
    epsilons: Annotated[
        str, option("--epsilon", "-e", help="Values of ε to compare, separated by commas.")
    ] = "0.1,1,10"
    delta: Annotated[float, option("--delta", help="δ of the private models.")] = 1e-5
    poison: Annotated[
        int | None,
        option("--poison", help="How many poison rows; a twentieth of the rows if not said."),
    ] = None
    hidden: Annotated[
        str | None,
        option(
            "--hidden",
            help="Column that an attacker guesses of a row he knows otherwise; the most even of "
            "those with fewest values if not said.",
            metavar="COLUMN",
        ),
    ] = None
    seed: Annotated[int, option("--seed", help="Which rows are learnt from and which test.")] = 0
    quiet: Quiet = False
