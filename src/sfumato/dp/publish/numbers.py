"""Noisy numbers as the artefact of a release: a table of figures with their intervals.

Answers, histograms and estimates from local reports are handed over so; whatever holds of one
release holds of them: they are saved, verified, reported and recorded like any other.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.decision import SearchRecord
from sfumato.errors import DataError
from sfumato.release import Provenance, Release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, eq=False, repr=False)
class NumberTable:
    """Figures in columns; everything in it is noisy or public.

    ``source`` is the value it was made from, which `data` gives back; ``facts`` go to
    `release.json`.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    source: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def data(self) -> Any:
        """What it was made from, or the columns."""
        if self.source is not None:
            return self.source
        return {name: [row[i] for row in self.rows] for i, name in enumerate(self.columns)}

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.csv`."""
        if file_format not in {None, "csv"}:
            raise DataError(f"Noisy numbers are written as 'csv', not '{file_format}'.")
        path = folder / "release.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return the columns and what else is said of the numbers."""
        return {"columns": list(self.columns), **self.facts}


def release_numbers(
    table: NumberTable, guarantee: Any, *, name: str, mechanism: str, **settings: Any
) -> Release:
    """Return noisy numbers as a release whose promise is their guarantee."""
    record = SearchRecord(mechanism, label="noise drawn exactly from a cryptographic stream")
    return Release(
        name=name,
        shape="numbers",
        artefact=table,
        promise=guarantee,
        provenance=Provenance(record, settings=settings),
    )
