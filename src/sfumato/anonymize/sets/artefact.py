"""Released sets with what a receiver may know of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.sets.line_files import lines_fit, write_lines
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sfumato.anonymize.sets.recoding import SetRecoding
    from sfumato.data.sets.sets import Sets
    from sfumato.decision import Decision

FORMATS = ("dat", "csv", "parquet")


@dataclass(frozen=True, eq=False, repr=False)
class SetsArtefact:
    """The sets of a release, in random order; `stands_for` says what each group covers."""

    sets: Sequence[Sequence[str]] = field(repr=False)
    stands_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kind: str = "lists"
    meaning: str = "set"
    anything: str = ""

    def __len__(self) -> int:
        return len(self.sets)

    @cached_property
    def data(self) -> Any:
        """The sets as lists, or as a frame with a list column where they came in one."""
        if self.kind == "pandas":
            import pandas as pd  # noqa: PLC0415 - loaded only for whoever uses it

            return pd.DataFrame({"items": [list(members) for members in self.sets]})
        if self.kind == "polars":
            import polars as pl  # noqa: PLC0415 - loaded only for whoever uses it

            return pl.DataFrame({"items": [list(members) for members in self.sets]})
        if self.kind == "arrow":
            import pyarrow as pa  # noqa: PLC0415 - loaded only for whoever uses it

            return pa.table({"items": [list(members) for members in self.sets]})
        return [list(members) for members in self.sets]

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.dat` (blanks between items), `release.csv` (commas) or `.parquet`."""
        simple = all(lines_fit(members) for members in self.sets)
        form = file_format or ("parquet" if self.kind == "parquet" else "dat" if simple else "csv")
        if form not in FORMATS:
            raise DataError(f"Sets are written as 'dat', 'csv' or 'parquet', not '{form}'.")
        if form == "dat" and not simple:
            raise DataError("Labels hold blanks, so blanks cannot part them; write 'csv' instead.")
        path = folder / f"release.{form}"
        if form == "parquet":
            self._write_parquet(path)
        else:
            write_lines(path, [list(members) for members in self.sets], commas=form == "csv")
        return path

    def _write_parquet(self, path: Path) -> None:
        from sfumato.data.engines.duckdb import DuckDB  # noqa: PLC0415 - loaded when used

        engine = DuckDB()
        engine.run("CREATE TEMP TABLE released (items VARCHAR[])")
        rows = [[list(members)] for members in self.sets]
        if rows:
            engine.connection.executemany("INSERT INTO released VALUES (?)", rows)
        engine.write_parquet("FROM released", path)
        engine.close()

    def manifest(self) -> dict[str, Any]:
        """Return the meaning of a set and what the groups cover."""
        return {
            "meaning": self.meaning,
            "stands_for_anything": self.anything or None,
            "stands_for": {name: list(items) for name, items in self.stands_for.items()},
        }


def apply(data: Sets, decision: Decision) -> Any:  # noqa: ARG001 - the decision holds its data
    """Return the artefact of a decision; sets that lost all items are left out."""
    content = decision.content
    if hasattr(content, "artefact"):
        return content.artefact()
    return show(content, RandomWords(content.seed))


def show(recoding: SetRecoding, words: RandomWords) -> SetsArtefact:
    """Return the released sets in random order."""
    tree = recoding.data.tree
    starts, nodes = recoding.released
    order = np.flatnonzero(np.diff(starts)).astype(np.int64)
    shuffle(order, words)
    texts = [tree.labels[v] for v in nodes]
    begins, ends = starts[order].tolist(), starts[order + 1].tolist()
    groups = [int(v) for v in np.unique(nodes) if v >= tree.items]
    return SetsArtefact(
        sets=[texts[b:e] for b, e in zip(begins, ends, strict=True)],
        stands_for={tree.labels[v]: tree.leaves(v) for v in groups if v != tree.root},
        kind=recoding.data.kind,
        meaning="bag" if recoding.bag else "set",
        anything=tree.labels[tree.root] if tree.root in groups else "",
    )
