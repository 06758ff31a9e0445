"""What can be asked before a release is decided: `sfumato compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.errors import ParameterError
from sfumato.requests.files import CsvFormat, Population, Quiet, SchemaFile
from sfumato.requests.promises import Promised
from sfumato.requests.request import Request, Texts, argument, option, piece


def _names(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _ks(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in _names(text))
    except ValueError:
        raise ParameterError(f"--ks wants whole numbers as in 2,5,10, not '{text}'.") from None


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in _names(text))
    except ValueError:
        raise ParameterError(f"--suppressions wants shares as in 0,0.02, not '{text}'.") from None


class CompareCommand(Request):
    """`sfumato compare`: a table, and the settings to try on it."""

    data: Annotated[
        str, argument(help="Table of people: a file, a pattern, - for a pipe, a database.")
    ]
    schema_file: SchemaFile
    promise: Promised = None
    ks: Annotated[
        tuple[int, ...] | None,
        option(
            "--ks",
            metavar="K,K,…",
            help="Every k to try, in place of the promise's; 2,5,10 if absent.",
        ),
        Texts(_ks, several=False),
    ] = None
    algorithms: Annotated[
        tuple[str, ...] | None,
        option(
            "--algorithms",
            metavar="NAME,…",
            help="Algorithms to try, of optimal, local, mondrian, cluster, topdown and cells; the "
            "first three if absent.",
        ),
        Texts(_names, several=False),
    ] = None
    suppressions: Annotated[
        tuple[float, ...] | None,
        option(
            "--suppressions", metavar="SHARE,…", help="Limits of suppression to try; 0 if absent."
        ),
        Texts(_shares, several=False),
    ] = None
    objective: Annotated[str, option(help="Loss to compare: LM, MD or NUE.")] = "LM"
    population: Population = None
    time_limit: Annotated[float | None, option(help="Seconds for each search.")] = None
    output: Annotated[
        Path | None, option("--output", "-o", help="Draw the comparison into this .svg file.")
    ] = None
    csv: CsvFormat = piece(CsvFormat)
    quiet: Quiet = False


class LossCommand(Request):
    """`sfumato loss`: an original and a released table, whoever made it."""

    original: Annotated[str, argument(help="Table of people as it came.")]
    released: Annotated[str, argument(help="The same generalised, by hand or by any tool.")]
    schema_file: SchemaFile
    queries: Annotated[int, option("--queries", help="How many random count queries to ask.")] = 500
    seed: Annotated[int, option("--seed", help="Number that repeats the random queries.")] = 0
    csv: CsvFormat = piece(CsvFormat)
