"""`sfumato apply`: treat the next batch as the last one was treated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.anonymize import pseudonym_key_bytes, tell
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


def apply(
    policy: Annotated[Path, typer.Argument(help="policy.yaml of an earlier release.")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file of the next batch.")],
    schema: SchemaOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the release.")],
    population: PopulationOption = None,
    suppression: Annotated[
        float | None, typer.Option(help="Another limit on suppressed records for this batch.")
    ] = None,
    pseudonym_key: Annotated[
        Path | None, typer.Option(help="Key file for pseudonyms, as for the first batch.")
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of the records; it may leak.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Repeat the row order; not for what you publish.")
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv or parquet; as the input if absent.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a release that is already there.")
    ] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML page.")] = False,
    ledger: RecordOption = None,
    purpose: ReleasePurposeOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Apply a saved policy to the next batch and check its promise again.

    Example: sfumato apply out/policy.yaml february.csv -s patients.yaml -o february/

    Values are generalised exactly as before. Classes that are too small in the new batch are
    suppressed within the policy's limit; if that is not enough, nothing is written.
    """
    from sfumato.anonymize.tables.policy import Policy  # noqa: PLC0415 - heavy
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - heavy
    from sfumato.release_folder import save_release  # noqa: PLC0415 - heavy

    table = read(data, schema=schema, delimiter=delimiter, encoding=encoding)
    release = Policy.read(policy).apply(
        table,
        suppression=suppression,
        population=population,
        pseudonym_key=pseudonym_key_bytes(pseudonym_key, output),
        order="keep" if keep_order else "shuffle",
        seed=seed,
    )
    saved = save_release(
        release, output, file_format=file_format, replace=force, report=not no_report,
        ledger=ledger, purpose=purpose, by=login(),
    )  # fmt: skip
    if not quiet:
        tell(release, saved.path)
