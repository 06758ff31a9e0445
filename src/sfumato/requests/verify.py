"""What can be asked about a released file: `sfumato verify` and `sfumato overlap`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.files import PLACE, CsvFormat, Population, Quiet, SchemaFile, ShapeName
from sfumato.requests.promises import Promised
from sfumato.requests.request import Request, argument, option, piece


class VerifyCommand(Request):
    """`sfumato verify`: whether the promise is kept."""

    release: Annotated[
        str | None,
        argument(
            help=f"Released CSV or Parquet file, or {PLACE}; none for the certificate of a budget."
        ),
    ] = None
    schema_file: Annotated[
        Path | None,
        option("--schema", "-s", help="YAML file with the roles; else as release.json has them."),
    ] = None
    promise: Promised = None
    certificate: Annotated[
        Path | None,
        option("--certificate", help="Check this certificate of the file, offline, instead."),
    ] = None
    key: Annotated[
        Path | None,
        option("--key", help="Keys that are trusted, as the office publishes them (JSON)."),
    ] = None
    checkpoint: Annotated[
        Path | None,
        option("--checkpoint", help="Signed checkpoint noted before, to see no entry was cut off."),
    ] = None
    growth: Annotated[
        Path | None,
        option(
            "--growth",
            help="Proof that the ledger only grew between that checkpoint and the certificate's.",
        ),
    ] = None
    population: Population = None
    measure: Annotated[
        bool, option("--measure", help="Only measure; exit with 0 whatever is found.")
    ] = False
    csv: CsvFormat = piece(CsvFormat)
    shape: ShapeName = "table"
    quiet: Quiet = False


class OverlapCommand(Request):
    """`sfumato overlap`: whether two releases break the promise together."""

    first: Annotated[Path, argument(help="A released file.")]
    second: Annotated[Path, argument(help="Another release with people of the first.")]
    schema_file: SchemaFile
    k: Annotated[int, option("-k", help="Smallest class allowed in the intersection.")] = 2
