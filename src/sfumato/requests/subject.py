"""What a person may ask for whom data are about: `sfumato subject show`, `correct`, `forget`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.requests.request import Request, Texts, argument, option
from sfumato.requests.texts import pairs_of


def _right(texts: list[str]) -> dict[str, str]:
    return pairs_of("--set", texts, "COLUMN=VALUE, as in diagnosis=flu")


class SubjectCommand(Request):
    """Whose data are meant, and where they are."""

    data: Annotated[Path, argument(help="Data file, CSV or Parquet.")]
    person: Annotated[str, argument(help="Who asks, as the column that names people has it.")]
    column: Annotated[
        str | None,
        option("--column", "-c", help="Column that names people; the schema's unit if absent."),
    ] = None
    schema_file: Annotated[
        Path | None, option("--schema", "-s", help="YAML file that says who is who.")
    ] = None
    dataset: Annotated[
        str | None,
        option("--dataset", help="Name of the dataset in the ledger; that of the file if absent."),
    ] = None
    ledger: Annotated[
        str | None,
        option(
            "--ledger",
            "-L",
            metavar="PLACE",
            help="Ledger of the dataset, a file or postgresql://…; else that beside the data.",
        ),
    ] = None
    output: Annotated[
        Path | None,
        option("--output", "-o", help="File for the answer as JSON, readable by you alone."),
    ] = None


class CorrectCommand(SubjectCommand):
    """What is right, besides."""

    right: Annotated[
        dict[str, str],
        option("--set", metavar="COLUMN=VALUE", help="What is right; may be repeated."),
        Texts(_right),
    ] = {}
