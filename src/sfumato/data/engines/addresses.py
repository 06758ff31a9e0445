"""What names a place in a database, whichever shape of data is read from it or written to it.

Contract: nothing is opened; a text, a path or a frame is only recognised.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.data.engines.postgres_server import is_postgres

SPARK = "spark:"
"""What the name of a table of the running Spark session begins with."""

DUCKDB_SUFFIXES = {".duckdb", ".ddb", ".db"}


def is_database(source: Any) -> bool:
    """Tell whether something names a table of a database, or is a frame of Spark."""
    return is_postgres(source) or is_spark(source) or is_duckdb_file(source)


def is_spark(source: Any) -> bool:
    """Tell whether something is a Spark data frame, or names a table of the running session."""
    if isinstance(source, str):
        return source.startswith(SPARK)
    return type(source).__module__.startswith("pyspark.") and hasattr(source, "sparkSession")


def is_duckdb_file(source: Any) -> bool:
    """Tell whether a text names a DuckDB file, with or without one of its tables."""
    if not isinstance(source, (str, Path)) or "://" in str(source):
        return False
    return Path(str(source).partition("::")[0]).suffix.lower() in DUCKDB_SUFFIXES
