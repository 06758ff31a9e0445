"""Released rows with what a receiver may know of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.data.schema import ROW_UNIT
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.data.engines.base import TableEngine
    from sfumato.data.tables.rows import Rows
    from sfumato.data.tables.table import Kind

FORMATS = ("csv", "parquet")


@dataclass(frozen=True, eq=False, repr=False)
class TableArtefact:
    """The rows of a release.

    `left_out` names columns that were not released, `pseudonyms` identifiers released under keyed
    pseudonyms; `levels` is the level per quasi-identifier where all records are treated alike.
    `unit` is what the schema calls a person; `numbers` the column that tells the people of a class
    apart, where somebody has several rows; `home` the engine that holds the data. `linkable` gives
    the reason why a column that is released as it is may tell people apart by itself.
    """

    rows: Rows
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    kind: Kind
    delimiter: str = ","
    left_out: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    levels: Mapping[str, int] | None = None
    unit: str = ROW_UNIT
    home: TableEngine | None = None
    numbers: str | None = None
    insensitive: tuple[str, ...] = ()
    linkable: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def data(self) -> Any:
        """The rows in the kind the data came in (a file comes as a frame)."""
        if self.kind == "spark" and self.home is not None and self.home.dialect == "spark":
            from sfumato.data.tables.engine_rows import spark_frame  # noqa: PLC0415 - an extra

            with self.home.explained("the release"):
                return spark_frame(self.home, self.rows)
        return self.rows.frame(self.kind)

    @property
    def table(self) -> Any:
        """The same, as it is called for tables."""
        return self.data

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.csv` or `release.parquet`."""
        form = file_format or ("parquet" if self.kind in {"parquet", "spark"} else "csv")
        if form not in FORMATS:
            raise DataError(f"A release is written as 'csv' or 'parquet', not '{form}'.")
        path = folder / f"release.{form}"
        if form == "csv":
            self.rows.write_csv(path, self.delimiter)
        elif self.home is not None and self.home.dialect == "spark":
            from sfumato.data.tables.engine_rows import write_parts  # noqa: PLC0415 - an extra

            with self.home.explained("the release"):
                write_parts(self.home, self.rows, path)
        else:
            self.rows.write_parquet(path)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return columns, roles and levels."""
        return {
            "columns": list(self.rows.columns),
            "columns_left_out": list(self.left_out),
            "delimiter": self.delimiter,
            "roles": {
                "quasi": list(self.quasi),
                "sensitive": list(self.sensitive),
                "insensitive": list(self.insensitive),
            },
            "linkable": dict(self.linkable),
            "pseudonyms": list(self.pseudonyms),
            "people": {"unit": self.unit, "column": self.numbers},
            "levels": None if self.levels is None else dict(self.levels),
        }
