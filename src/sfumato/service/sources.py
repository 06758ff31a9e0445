"""Where the rows of a dataset are: in the server's folder, or where its owner says.

Contract: a file is one that was uploaded, or one under the folder's ``data``; no address of a
request can name another file of the machine. Databases are named by their address.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.schema import Schema
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.govern.office.catalogue import Listed
    from sfumato.service.settings import Settings

SPARK, UPLOADED = "spark:", "upload:"
_POSTGRES = ("postgresql://", "postgres://")
_SUFFIXES = {".csv", ".parquet", ".tsv", ".txt"}


def folder_of(settings: Settings, dataset: str) -> Path:
    """Give the folder of a dataset."""
    return settings.path / "data" / dataset


def locate(settings: Settings, listed: Listed) -> tuple[Any, Schema | None]:
    """Give what a session opens, and the schema."""
    folder = folder_of(settings, listed.name)
    schema = Schema.read(folder / "schema.yaml") if (folder / "schema.yaml").exists() else None
    return source_at(settings, listed.source), schema


def source_at(settings: Settings, source: str) -> Any:
    """Give what `sf.Session` takes, for a source of the catalogue."""
    if source.startswith(_POSTGRES):
        return source
    if source.startswith(SPARK):
        return _spark_table(source.removeprefix(SPARK))
    file, mark, table = source.partition("::")
    return f"{_inside(settings, file)}{mark}{table}"


def place_source(settings: Settings, dataset: str, source: str) -> tuple[str, bool]:
    """Put what was handed over in its place; give the source, and whether rows lie here."""
    if source.startswith((*_POSTGRES, SPARK)):
        return source, False
    folder = folder_of(settings, dataset)
    if source.startswith(UPLOADED):
        file = upload_at(settings, source.removeprefix(UPLOADED))
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"rows{file.suffix}"
        shutil.move(file, target)
        shutil.rmtree(file.parent, ignore_errors=True)
        return str(target.relative_to(settings.path)), True
    if "\n" in source:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rows.csv").write_text(source, encoding="utf-8")
        return str((folder / "rows.csv").relative_to(settings.path)), True
    named = source.partition("::")[0]
    _inside(settings, named)
    return source, Path(named).suffix.lower() in _SUFFIXES


def new_upload(settings: Settings, id_: str, filename: str) -> Path:
    """Give the place of a file that is being uploaded."""
    suffix = Path(filename).suffix.lower()
    if suffix not in _SUFFIXES:
        raise ParameterError(f"An upload is a file of {', '.join(sorted(_SUFFIXES))}.")
    folder = settings.path / "uploads" / id_
    folder.mkdir(parents=True, mode=0o700)
    return folder / f"rows{suffix}"


def upload_at(settings: Settings, id_: str) -> Path:
    """Find an upload by its id."""
    folder = settings.path / "uploads" / id_
    if id_.replace("-", "").replace("_", "").isalnum() and folder.is_dir():
        for file in folder.iterdir():
            return file
    raise ParameterError("There is no such upload; send the file again.")


def _inside(settings: Settings, file: str) -> Path:
    data = (settings.path / "data").resolve()
    found = (settings.path / file).resolve()
    if not found.is_relative_to(data) or not found.is_file():
        raise ParameterError(
            "A file is one that was uploaded, or one that the operator has put under the folder "
            "'data' of the server; name it as in data/clinic.duckdb::visits."
        )
    return found


def _spark_table(name: str) -> Any:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError:
        from sfumato.errors import MissingExtra  # noqa: PLC0415 - only then

        raise MissingExtra("pyspark", "spark", "A dataset in Spark") from None
    return SparkSession.builder.getOrCreate().table(name)
