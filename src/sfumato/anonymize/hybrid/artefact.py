"""Released hybrid records: rows with labels, sets as lists, in random order."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.anonymize.hybrid.algorithms import HybridRecoding
    from sfumato.decision import Decision

FORMATS = ("csv", "parquet")


@dataclass(frozen=True, eq=False, repr=False)
class HybridArtefact:
    """Columns of text, and columns of sets; `stands_for` says what labels cover."""

    columns: Mapping[str, list[Any]]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    sets: Mapping[str, str]
    """Attributes of sets, and what parts their items in a CSV file."""
    stands_for: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    anything: Mapping[str, str] = field(default_factory=dict)
    kind: str = "csv"
    unit: str = "row"
    insensitive: tuple[str, ...] = ()
    linkable: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    @property
    def data(self) -> Any:
        """The records as they came: a frame, or a mapping of columns."""
        if self.kind == "pandas":
            import pandas as pd  # noqa: PLC0415 - loaded only for whoever uses it

            return pd.DataFrame(dict(self.columns))
        if self.kind == "polars":
            import polars as pl  # noqa: PLC0415 - loaded only for whoever uses it

            return pl.DataFrame(dict(self.columns))
        if self.kind == "arrow":
            import pyarrow as pa  # noqa: PLC0415 - loaded only for whoever uses it

            return pa.table(dict(self.columns))
        return dict(self.columns)

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.csv`, with sets as cells, or `release.parquet`, with lists."""
        form = file_format or ("parquet" if self.kind == "parquet" else "csv")
        if form not in FORMATS:
            raise DataError(f"Hybrid records are written as 'csv' or 'parquet', not '{form}'.")
        path = folder / f"release.{form}"
        if form == "parquet":
            self._write_parquet(path)
        else:
            self._write_csv(path)
        return path

    def _write_csv(self, path: Path) -> None:
        for name, mark in self.sets.items():
            if any(mark in item for members in self.columns[name] for item in members):
                raise DataError(
                    f"A label of '{name}' holds '{mark}', which parts its items; state another "
                    "separator in the schema, or write 'parquet'."
                )
        cells = [
            [self.sets[name].join(members) for members in column] if name in self.sets else column
            for name, column in self.columns.items()
        ]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(zip(*cells, strict=True))

    def _write_parquet(self, path: Path) -> None:
        from sfumato.data.engines.duckdb import DuckDB, quoted  # noqa: PLC0415 - as above

        engine = DuckDB()
        kinds = ", ".join(
            f"{quoted(name)} {'VARCHAR[]' if name in self.sets else 'VARCHAR'}"
            for name in self.columns
        )
        engine.run(f"CREATE TEMP TABLE released ({kinds})")
        marks = ", ".join("?" for _ in self.columns)
        rows = [list(row) for row in zip(*self.columns.values(), strict=True)]
        engine.connection.executemany(f"INSERT INTO released VALUES ({marks})", rows)  # noqa: S608 - marks alone
        engine.write_parquet("FROM released", path)
        engine.close()

    def manifest(self) -> dict[str, Any]:
        """Return what columns mean and what labels of items cover."""
        return {
            "roles": {
                "quasi": list(self.quasi),
                "sensitive": list(self.sensitive),
                "insensitive": list(self.insensitive),
            },
            "linkable": dict(self.linkable),
            "sets": dict(self.sets),
            "people": {"unit": self.unit, "column": None},
            "stands_for": {
                name: {label: list(items) for label, items in covers.items()}
                for name, covers in self.stands_for.items()
            },
            "stands_for_anything": dict(self.anything),
        }


def apply(data: Any, decision: Decision) -> HybridArtefact:  # noqa: ARG001 - the decision holds its data
    """Make the released records."""
    recoding: HybridRecoding = decision.content
    records, schema = recoding.data, recoding.data.schema
    order = np.arange(len(records), dtype=np.int64)
    shuffle(order, RandomWords(recoding.seed))
    columns: dict[str, list[Any]] = {}
    for a, column in enumerate(records.quasi):
        labels = [""] * len(records)
        for c, cluster in enumerate(recoding.clusters):
            for record in cluster.members.tolist():
                labels[record] = column.tree.labels[recoding.nodes[a, c]]
        columns[column.name] = labels
    covers, anything = {}, {}
    for name in records.sets:
        shown = shown_sets(recoding, name)
        columns[name] = [[records.sets[name].tree.labels[v] for v in row] for row in shown]
        tree = records.sets[name].tree
        used = {v for row in shown for v in row if v >= tree.items}
        covers[name] = {tree.labels[v]: tree.leaves(v) for v in sorted(used - {tree.root})}
        if tree.root in used:
            anything[name] = tree.labels[tree.root]
    columns |= {name: list(cells) for name, cells in records.others.items()}
    wanted = [name for name in schema.attributes if name in columns]
    return HybridArtefact(
        columns={name: [columns[name][i] for i in order] for name in wanted},
        quasi=tuple(column.name for column in records.quasi),
        sensitive=tuple(n for n in schema.sensitive_names if n in records.others),
        sets={name: schema.attribute(name).separator for name in records.sets},
        stands_for=covers,
        anything=anything,
        kind=records.kind,
        unit=schema.unit,
        insensitive=tuple(n for n in schema.insensitive_names if n in records.others),
        linkable={n: why for n, why in schema.accepted.items() if n in records.others},
    )


def shown_sets(recoding: HybridRecoding, name: str) -> list[list[int]]:
    """Return the nodes that each record shows of its set, ascending; as it came if unpromised."""
    sets = recoding.data.sets[name]
    rows: list[list[int]] = [
        sets.items[b:e].tolist() for b, e in zip(sets.starts[:-1], sets.starts[1:], strict=True)
    ]
    for cluster in recoding.clusters:
        if name not in cluster.shown:
            continue
        nodes, place = cluster.shown[name].tolist(), 0
        for record in cluster.members.tolist():
            size = int(sets.sizes[record])
            rows[record] = sorted({v for v in nodes[place : place + size] if v >= 0})
            place += size
    return rows
