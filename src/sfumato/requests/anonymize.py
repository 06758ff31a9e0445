"""What can be asked of a release of a table: `sfumato anonymize` and `sfumato apply`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from sfumato.errors import ParameterError
from sfumato.requests.files import (
    PLACE,
    CsvFormat,
    Population,
    Quiet,
    Record,
    ReleaseFolder,
    SchemaFile,
    ShapeName,
)
from sfumato.requests.promises import Promised
from sfumato.requests.request import Request, Texts, argument, option, piece


def read_options(texts: list[str]) -> dict[str, Any]:
    """Read name=value; whole numbers, numbers, true and false are what they look like."""
    found: dict[str, Any] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark:
            raise ParameterError(f"--option wants name=value, not '{text}'.")
        found[name.strip().replace("-", "_")] = _value(value.strip())
    return found


def _value(text: str) -> bool | int | float | str:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _levels(texts: list[str]) -> dict[str, tuple[int, int]]:
    found = {}
    for text in texts:
        name, _, written = text.rpartition("=")
        low, mark, high = written.partition("..")
        try:
            least = int(low or 0) if mark else int(low)
            found[name] = (least, int(high) if high else (-1 if mark else least))
        except ValueError:
            name = ""
        if not name:
            raise ParameterError(f"--levels wants an attribute and levels, not '{text}': age=1..3.")
    return found


def _named_number(flag: str, text: str) -> tuple[str, float]:
    name, mark, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not mark or not math.isfinite(value):
        raise ParameterError(f"{flag} wants an attribute and a number, not '{text}'.")
    return name, value


def _noise(texts: list[str]) -> list[tuple[str, float]]:
    return [_named_number("--noise", text) for text in texts]


def _swaps(texts: list[str]) -> list[tuple[str, float]]:
    return [_named_number("--swap", text) for text in texts]


def _groups(texts: list[str]) -> list[tuple[list[str], int]]:
    found = []
    for text in texts:
        names, number = _named_number("--microaggregate", text)
        if number != int(number):
            raise ParameterError(f"--microaggregate wants a whole number, not '{text}'.")
        found.append((names.split(","), int(number)))
    return found


def _ks(text: str) -> tuple[int, ...]:
    name, mark, values = text.partition("=")
    try:
        ks = tuple(int(value) for value in values.split(","))
    except ValueError:
        mark = ""
    if name.strip() != "k" or not mark:
        raise ParameterError(f"--sweep wants k=2,3,5,…, not '{text}'.")
    return ks


class Perturbation(Request):
    """Operations that hurt truthfulness, done before the search."""

    noise: Annotated[
        tuple[tuple[str, float], ...],
        option(metavar="ATTR:SCALE", help="Add noise to a number. Hurts truthfulness."),
        Texts(_noise),
    ] = ()
    swap: Annotated[
        tuple[tuple[str, float], ...],
        option(metavar="ATTR:SHARE", help="Swap values. Hurts truthfulness."),
        Texts(_swaps),
    ] = ()
    microaggregate: Annotated[
        tuple[tuple[list[str], int], ...],
        option(metavar="A,B:SIZE", help="Replace numbers by group means. Hurts truthfulness."),
        Texts(_groups),
    ] = ()
    synthetic: Annotated[
        float | None, option(help="Share of made-up records to add. Hurts truthfulness.")
    ] = None

    def operations(self) -> list[Any]:
        """Return the operations that were asked for."""
        from sfumato.anonymize.tables.perturb import operations as of  # noqa: PLC0415 - rarely needed

        found: list[Any] = [of.AddNoise(name, scale=scale) for name, scale in self.noise]
        found += [of.Swap(name, share=share) for name, share in self.swap]
        found += [of.Microaggregate(names, size=size) for names, size in self.microaggregate]
        if self.synthetic is not None:
            found.append(of.AddSynthetic(share=self.synthetic))
        return found


class AnonymizeRequest(Request):
    """What is wanted of a release: the promise, and how it is to be kept."""

    promise: Promised = None
    algorithm: Annotated[
        str,
        option(
            help="optimal (best full-domain, proven), local, mondrian, cluster, topdown, cells "
            "(suppress single cells), or auto (the best of what is cheap here)."
        ),
    ] = "optimal"
    suppression: Annotated[
        float, option(help="Largest share of records that may be left out, 0 to 1.", ge=0, le=1)
    ] = 0.0
    objective: Annotated[str, option(help="Loss to minimise: LM, MD, NUE, DM or AECS.")] = "LM"
    options: Annotated[
        dict[str, Any],
        option(
            "--option",
            metavar="NAME=VALUE",
            help="Option of the algorithm, such as strict=false (mondrian) or scope=full-domain "
            "(topdown).",
        ),
        Texts(read_options),
    ] = {}
    levels: Annotated[
        dict[str, tuple[int, int]],
        option(
            "--levels",
            metavar="ATTR=LOW..HIGH",
            help="Level at least and at most (optimal only): age=1..3, zip=2 for that alone, "
            "job=..1; may be repeated.",
        ),
        Texts(_levels),
    ] = {}
    perturbation: Perturbation = piece(Perturbation)
    keep_order: Annotated[
        bool, option("--keep-order", help="Keep the order of the records; it may leak.")
    ] = False
    seed: Annotated[int | None, option(help="Repeat the row order; not for what you publish.")] = (
        None
    )
    time_limit: Annotated[
        float | None, option(help="Seconds after which the best found so far is taken.")
    ] = None


class Utility(Request):
    """What is to be measured of a release beyond its loss."""

    sweep: Annotated[
        tuple[int, ...] | None,
        option(metavar="k=2,3,5", help="Draw loss against k in the report."),
        Texts(_ks, several=False),
    ] = None
    query_error: Annotated[
        bool,
        option("--query-error", help="Also measure the error of count queries on the release."),
    ] = False
    model_loss: Annotated[
        str | None,
        option(
            metavar="ATTR",
            help="Also measure what a model that predicts this attribute loses by being trained on "
            "the release (needs the extra 'ml').",
        ),
    ] = None


class AnonymizeCommand(Request):
    """`sfumato anonymize`: the request, and the files of whoever makes it."""

    data: Annotated[str, argument(help=f"CSV or Parquet file of people, or {PLACE}.")]
    schema_file: SchemaFile
    output: Annotated[
        str,
        option(
            "--output", "-o", help=f"Folder for the release, made if absent; or {PLACE}, made new."
        ),
    ]
    wanted: AnonymizeRequest = piece(AnonymizeRequest)
    population: Population = None
    pseudonym_key: Annotated[
        Path | None,
        option(help="Release identifiers as keyed pseudonyms; the key file is made if absent."),
    ] = None
    utility: Utility = piece(Utility)
    folder: ReleaseFolder = piece(ReleaseFolder)
    record: Record = piece(Record)
    csv: CsvFormat = piece(CsvFormat)
    shape: ShapeName = "table"
    dry_run: Annotated[
        bool,
        option(
            "--dry-run",
            help="Release nothing; say from a count of some rows how long it will take, and how "
            "much memory (tables).",
        ),
    ] = False
    quiet: Quiet = False


class ApplyCommand(Request):
    """`sfumato apply`: an earlier decision, and the files of the next batch."""

    policy: Annotated[Path, argument(help="policy.yaml of an earlier release.")]
    data: Annotated[str, argument(help=f"CSV or Parquet file of the next batch, or {PLACE}.")]
    schema_file: SchemaFile
    output: Annotated[
        str, option("--output", "-o", help=f"Folder for the release, or {PLACE}, made new.")
    ]
    population: Population = None
    suppression: Annotated[
        float | None, option(help="Another limit on suppressed records for this batch.")
    ] = None
    pseudonym_key: Annotated[
        Path | None, option(help="Key file for pseudonyms, as for the first batch.")
    ] = None
    keep_order: Annotated[
        bool, option("--keep-order", help="Keep the order of the records; it may leak.")
    ] = False
    seed: Annotated[int | None, option(help="Repeat the row order; not for what you publish.")] = (
        None
    )
    uncovered: Annotated[
        Path | None,
        option(help="Release nothing; list the values without a place in the policy in this file."),
    ] = None
    folder: ReleaseFolder = piece(ReleaseFolder)
    record: Record = piece(Record)
    csv: CsvFormat = piece(CsvFormat)
    quiet: Quiet = False
