"""`sfumato anonymize`: from a file of people to a file that can be shared."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sfumato.cli.login import login
from sfumato.cli.options.common import (
    DelimiterOption,
    EncodingOption,
    PopulationOption,
    QuietOption,
    RecordOption,
    ReleasePurposeOption,
    SchemaOption,
)
from sfumato.cli.options.promise import takes_promise
from sfumato.cli.terminal import SearchProgress, note, out, show_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.release import Release


@takes_promise
def anonymize(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file of people.")],
    schema: SchemaOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the release; made if absent.")
    ],
    promise: Any,
    population: PopulationOption = None,
    algorithm: Annotated[
        str,
        typer.Option(
            help="optimal (best full-domain, proven), local (best quality), mondrian, cluster, "
            "topdown, or cells (suppress single cells)."
        ),
    ] = "optimal",
    suppression: Annotated[
        float, typer.Option(help="Largest share of records that may be left out, 0 to 1.")
    ] = 0.0,
    objective: Annotated[
        str, typer.Option(help="Loss to minimise: LM, MD, NUE, DM or AECS.")
    ] = "LM",
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the algorithm, such as strict=false (mondrian) or scope=full-domain "
            "(topdown).",
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(metavar="ATTR:SCALE", help="Add noise to a number. Hurts truthfulness."),
    ] = None,
    swap: Annotated[
        list[str] | None,
        typer.Option(metavar="ATTR:SHARE", help="Swap values. Hurts truthfulness."),
    ] = None,
    microaggregate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B:SIZE", help="Replace numbers by group means. Hurts truthfulness."
        ),
    ] = None,
    synthetic: Annotated[
        float | None,
        typer.Option(help="Share of made-up records to add. Hurts truthfulness."),
    ] = None,
    pseudonym_key: Annotated[
        Path | None,
        typer.Option(
            help="Release identifiers as keyed pseudonyms; the key file is made if absent."
        ),
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of the records; it may leak.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Repeat the row order; not for what you publish.")
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="k=2,3,5", help="Draw loss against k in the report."),
    ] = None,
    query_error: Annotated[
        bool,
        typer.Option(
            "--query-error", help="Also measure the error of count queries on the release."
        ),
    ] = False,
    model_loss: Annotated[
        str | None,
        typer.Option(
            metavar="ATTR",
            help="Also measure what a model that predicts this attribute loses by being trained on "
            "the release (needs the extra 'ml').",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which the best found so far is taken.")
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv or parquet; as the input if absent.")
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML page.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a release that is already there.")
    ] = False,
    ledger: RecordOption = None,
    purpose: ReleasePurposeOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Anonymise a file: a release, a proof that the promise holds, and a report.

    Example: sfumato anonymize patients.csv -s patients.yaml -k 5 -l 2:diagnosis -o out/

    The folder gets release.csv and release.json to give away, report.html for you (it compares
    with the original), and policy.yaml to treat the next batch the same way.
    """
    from sfumato.anonymize.run import anonymize as run  # noqa: PLC0415 - heavy
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - heavy
    from sfumato.govern.purposes import check_purpose  # noqa: PLC0415 - rarely needed
    from sfumato.release_folder import save_release  # noqa: PLC0415 - heavy

    if promise is None:
        raise ParameterError(
            "Nothing is promised yet; say for instance -k 5, and -l 2:ATTRIBUTE for a sensitive "
            "attribute."
        )
    table: Any = read(data, schema=schema, delimiter=delimiter, encoding=encoding)
    if purpose is not None and ledger is None:
        check_purpose(table.name, table.known_schema.purposes, purpose)  # before the search
    table = _perturbed(table, noise or [], swap or [], microaggregate or [], synthetic, seed)
    with SearchProgress("searching", enabled=not quiet) as progress:
        release = run(
            table,
            promise,
            algorithm=algorithm,
            suppression=suppression,
            objective=objective,
            population=population,
            pseudonym_key=pseudonym_key_bytes(pseudonym_key, output),
            order="keep" if keep_order else "shuffle",
            seed=seed,
            progress=progress,
            time_limit=time_limit,
            **_options(option or []),
        )
    extra: dict[str, Any] = {}
    if sweep is not None:
        extra["sweep"] = _swept(sweep, release, time_limit, quiet=quiet)
    saved = save_release(
        release, output, file_format=file_format, report=not no_report, replace=force,
        ledger=ledger, purpose=purpose, by=login(), **extra,
    )  # fmt: skip
    if not quiet:
        tell(release, saved.path)
    if query_error or model_loss is not None:
        _measure_utility(release, table, query_error, model_loss)


def _measure_utility(release: Release, table: Any, queries: bool, target: str | None) -> None:
    """Print what the release is worth to an analyst, where asked."""
    from sfumato.anonymize.loss import utility  # noqa: PLC0415 - rarely needed

    if queries:
        out.print(str(utility.query_error(release)), markup=False)
    if target is not None:
        out.print(str(utility.model_loss(release, table, target)), markup=False)


def tell(release: Release, path: Path) -> None:
    """Tell the person what was written, and where it is."""
    record = release.decision.recoding.record
    out.print(f"[bold]{escape(str(release.promise))}[/] holds, verified from {path}")
    rows = [
        ("records released", f"{len(release.rows):,} of {release.records:,}"),
        ("records suppressed", f"{release.suppressed:,}"),
        ("loss (LM)", f"{release.loss['LM']:.4f}   0 = nothing lost, 1 = everything"),
        ("algorithm", record.algorithm),
        ("which is", record.label),
    ]
    if release.left_out:
        rows.append(("columns left out", ", ".join(release.left_out)))
    if release.untruthful:
        rows.append(("not truthful", "; ".join(release.untruthful)))
    show_table("Release", ("what", "value"), rows)
    folder = path.parent
    out.print(f"to give away   {path} and {folder / 'release.json'}")
    if (folder / "report.html").exists():
        out.print(f"for you        {folder / 'report.html'}")
    if not release.is_truthful:
        note("single records of this release are no longer facts about one person.")


def pseudonym_key_bytes(path: Path | None, folder: Path) -> bytes | None:
    """Return the key of a key file outside the release's folder; it is made if absent."""
    if path is None:
        return None
    from sfumato.data.tables.pseudonyms import key_beside  # noqa: PLC0415 - rarely needed

    return key_beside(path, folder)


def _options(texts: list[str]) -> dict[str, Any]:
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


def _perturbed(
    table: Any,
    noise: list[str],
    swap: list[str],
    microaggregate: list[str],
    synthetic: float | None,
    seed: int | None,
) -> Any:
    if not (noise or swap or microaggregate or synthetic is not None):
        return table
    from sfumato.anonymize.tables.perturb.operations import (  # noqa: PLC0415 - rarely needed
        AddNoise,
        AddSynthetic,
        Microaggregate,
        Swap,
        perturb,
    )

    operations: list[Any] = []
    for text in noise:
        name, number = _named_number("--noise", text)
        operations.append(AddNoise(name, scale=number))
    for text in swap:
        name, number = _named_number("--swap", text)
        operations.append(Swap(name, share=number))
    for text in microaggregate:
        names, number = _named_number("--microaggregate", text)
        if number != int(number):
            raise ParameterError(f"--microaggregate wants a whole number, not '{text}'.")
        operations.append(Microaggregate(names.split(","), size=int(number)))
    if synthetic is not None:
        operations.append(AddSynthetic(share=synthetic))
    return perturb(table, *operations, seed=seed)


def _named_number(option: str, text: str) -> tuple[str, float]:
    name, mark, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not mark or not math.isfinite(value):
        raise ParameterError(f"{option} wants an attribute and a number, not '{text}'.")
    return name, value


def _swept(text: str, release: Release, time_limit: float | None, *, quiet: bool) -> Any:
    from sfumato.anonymize.tables.sweep import sweep_release  # noqa: PLC0415 - rarely needed

    name, mark, values = text.partition("=")
    try:
        ks = [int(value) for value in values.split(",")]
    except ValueError:
        mark = ""
    if name.strip() != "k" or not mark:
        raise ParameterError(f"--sweep wants k=2,3,5,…, not '{text}'.")
    with SearchProgress("sweeping k", enabled=not quiet) as progress:
        return sweep_release(release, ks, progress=progress, time_limit=time_limit)
