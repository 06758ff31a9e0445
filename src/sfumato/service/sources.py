"""Where the rows of a dataset are: in the server's folder, or where its owner says.

Contract: a file is one that was uploaded, or one under the folder's ``data``; no address of a
request can name another file of the machine. A database is one that the operator has named: whoever
could name any host could have the server knock at doors that are closed to him.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sfumato.data.schema import Schema
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.govern.office.catalogue import CatalogueEntry
    from sfumato.service.settings import Settings

SPARK, UPLOADED, DATABASE = "spark:", "upload:", "database:"
_POSTGRES = ("postgresql://", "postgres://")
_ROWS = {".csv", ".parquet", ".tsv", ".txt"}
"""Files in which a person's rows can be found and changed."""

SUFFIXES = frozenset(
    {*_ROWS, ".dat", ".basket", ".edges", ".graphml", ".json", ".jsonl", ".ndjson", ".xml"}
)
"""Files that may be sent: of rows, sets, edges and trees; none that is packed."""

_SPARK_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}", re.ASCII)
UNREGISTERED = 86_400.0
"""Seconds for which an upload is kept while no dataset is made of it."""


def folder_of(settings: Settings, dataset: str) -> Path:
    """Give the folder of a dataset."""
    return settings.path / "data" / dataset


def locate(settings: Settings, listed: CatalogueEntry) -> tuple[Any, Schema | None]:
    """Give what a session opens, and the schema."""
    schema = stored_schema(settings, listed.name)
    return source_at(settings, listed.source), rows_only(schema)


def stored_schema(settings: Settings, dataset: str) -> Schema | None:
    """Read the schema in the folder of a dataset; files that it names lie there, too."""
    file = folder_of(settings, dataset) / "schema.yaml"
    return Schema.read(file, files="beneath") if file.exists() else None


def rows_only(schema: Schema | None) -> Schema | None:
    """Leave out attributes that are sets or places: questions are about the others.

    Nor may questions rest on types and domains that were found in the data.
    """
    if schema is None:
        return None
    kept = {n: kind for n, kind in schema.attributes.items() if kind.type not in {"set", "place"}}
    public = schema.public_types
    for name, kind in kept.items():
        if kind.origin == "data" and public is not True and name not in (public or ()):
            unknown = {"type": None, "domain": None, "origin": "declared"}
            kept[name] = kind.model_copy(update=unknown)
    return schema.model_copy(update={"attributes": kept})


def source_at(settings: Settings, source: str) -> Any:
    """Give what `sf.Session` takes, for a source of the catalogue."""
    if source.startswith(DATABASE):
        return _database(settings, source.removeprefix(DATABASE))
    if source.startswith(_POSTGRES):
        raise _not_named(settings)
    if source.startswith(SPARK):
        return _spark_table(settings, source.removeprefix(SPARK))
    file, mark, table = source.partition("::")
    if "?" in table:
        raise ParameterError(
            "Whether each row of a view belongs to one person is stated by the operator, who makes "
            "a table of it, or names its database with view=rows."
        )
    return f"{inside(settings, file)}{mark}{table}"


def place_source(settings: Settings, dataset: str, source: str) -> tuple[str, bool]:
    """Put what was handed over in its place; give the source, and whether rows lie here."""
    if source.startswith(_POSTGRES):
        raise _not_named(settings)
    if source.startswith((DATABASE, SPARK)):
        return source, False
    folder = folder_of(settings, dataset)
    if source.startswith(UPLOADED):
        file = upload_at(settings, source.removeprefix(UPLOADED))
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"rows{file.suffix}"
        shutil.move(file, target)
        shutil.rmtree(file.parent, ignore_errors=True)
        return str(target.relative_to(settings.path)), file.suffix.lower() in _ROWS
    if "\n" in source:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rows.csv").write_text(source, encoding="utf-8")
        return str((folder / "rows.csv").relative_to(settings.path)), True
    named = source.partition("::")[0]
    inside(settings, named)
    return source, Path(named).suffix.lower() in _ROWS


def is_handed_over(source: str) -> bool:
    """Tell whether a source is an upload or the rows themselves, and not the name of a place."""
    return source.startswith(UPLOADED) or "\n" in source


def give_back(settings: Settings, dataset: str, source: str) -> None:
    """Put an upload back of which no dataset was made, so that it need not be sent again."""
    id_ = source.removeprefix(UPLOADED)
    if source.startswith(UPLOADED) and _is_id(id_):
        for file in folder_of(settings, dataset).glob("rows.*"):
            folder = settings.path / "uploads" / id_
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.move(file, folder / file.name)


def new_upload(settings: Settings, id_: str, filename: str) -> Path:
    """Give the place of a file that is being uploaded; erase those that were left lying."""
    suffix = Path(filename).suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"An upload is a file of {', '.join(sorted(SUFFIXES))}.")
    _erase_left(settings.path / "uploads")
    folder = settings.path / "uploads" / id_
    folder.mkdir(parents=True, mode=0o700)
    return folder / f"rows{suffix}"


def _erase_left(uploads: Path) -> None:
    """Erase uploads of which no dataset was made: nobody has said why these rows are held."""
    oldest = time.time() - UNREGISTERED
    for folder in uploads.iterdir() if uploads.is_dir() else ():
        if folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _is_id(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum()


def upload_at(settings: Settings, id_: str) -> Path:
    """Find an upload by its id."""
    folder = settings.path / "uploads" / id_
    if _is_id(id_) and folder.is_dir():
        for file in folder.iterdir():
            return file
    raise ParameterError("There is no such upload; send the file again.")


def inside(settings: Settings, file: str) -> Path:
    """Find a file under the server's folder 'data'; no other file of the machine is named."""
    data = (settings.path / "data").resolve()
    try:
        found = (settings.path / file).resolve()
        is_pattern = set("*?[") & set(file)  # of several files, to an engine
        is_there = found.is_relative_to(data) and found.is_file() and not is_pattern
    except (OSError, ValueError):  # a name that no file can have
        is_there = False
    if not is_there:
        raise ParameterError(
            "A file is one that was uploaded, or one that the operator has put under the folder "
            "'data' of the server; name it as in data/clinic.duckdb::visits."
        )
    return found


def _database(settings: Settings, text: str) -> str:
    """Give the address of a table in a database that the operator has named."""
    name, mark, table = text.partition("::")
    if name not in settings.databases or not mark or not table:
        raise _not_named(settings)
    address = settings.databases[name]
    return f"{address}{'&' if '?' in address else '?'}table={quote(table, safe='')}"


def _not_named(settings: Settings) -> ParameterError:
    known = ", ".join(sorted(settings.databases)) or "none yet"
    return ParameterError(
        "A database is named as in database:clinic::visits, and is one that the operator has "
        f"given to `sfumato serve --database NAME=postgresql://…` ({known})."
    )


def _spark_table(settings: Settings, name: str) -> Any:
    """Open a table of the catalogue; Spark itself takes ``text.`/etc/passwd``` for one, too."""
    if not settings.spark:
        raise ParameterError(
            "The operator has named no Spark; `sfumato serve --spark` lets owners name tables of "
            "its catalogue."
        )
    if not _SPARK_NAME.fullmatch(name):
        raise _no_spark_name()
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError:
        from sfumato.errors import MissingExtra  # noqa: PLC0415 - only then

        raise MissingExtra("pyspark", "spark", "A dataset in Spark") from None
    session = SparkSession.builder.getOrCreate()
    session.conf.set("spark.sql.runSQLOnFiles", "false")
    if not session.catalog.tableExists(name):
        raise _no_spark_name()
    if session.catalog.getTable(name).tableType == "VIEW":  # a temporary one is the operator's
        raise ParameterError(
            f"{name!r} is a view of the catalogue: one person could change the rows of others in "
            "it. Name the table beneath it; if each of its rows belongs to one person and depends "
            "on theirs alone, ask the operator to make a table of it."
        )
    return session.table(name)


def _no_spark_name() -> ParameterError:
    return ParameterError(
        "A table of Spark is one of the operator's catalogue, named as in spark:clinic.visits."
    )
