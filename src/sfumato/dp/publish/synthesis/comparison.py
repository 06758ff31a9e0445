"""How near synthetic rows are to the real ones, for the owner's eyes only.

Contract: the numbers are exact facts about the real data, under no promise. They must not be
published, and must not decide how a published synthesis is made: choosing among several by them
would be a release that nobody accounted for. The value says so wherever it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import DuckDB
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import Table
from sfumato.dp.publish.synthesis.artefacts import SyntheticTable
from sfumato.dp.publish.synthesis.table_codec import TableRecords
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.dp.publish.synthesis.columns import Coder
    from sfumato.release import Release

WARNING = "NOT TO BE PUBLISHED: exact facts about the real data, outside any privacy promise."
_MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class Comparison:
    """Total variation between real and synthetic rows, of columns and of pairs of columns."""

    columns: dict[str, float]
    pairs: dict[tuple[str, str], float]
    private: bool = False

    @property
    def mean_of_pairs(self) -> float:
        """The mean over all pairs."""
        return float(np.mean(list(self.pairs.values()))) if self.pairs else 0.0

    def __str__(self) -> str:
        worst = sorted(self.pairs.items(), key=lambda item: -item[1])[:5]
        lines = [WARNING, f"  mean of pairs: {self.mean_of_pairs:.4f}"]
        lines += [f"  {name}: {distance:.4f}" for name, distance in self.columns.items()]
        lines += [f"  {a} × {b}: {distance:.4f}" for (a, b), distance in worst]
        return "\n".join(lines)


def compare_with_original(release: Release, people: Any) -> Comparison:
    """Measure how far a synthetic table is from the real one. The result is NOT private."""
    artefact = release.artefact
    if not isinstance(artefact, SyntheticTable) or not artefact.coders:
        raise ParameterError(
            "A synthetic table is compared in the process that made it, with the data it was made "
            "from."
        )
    coders = artefact.coders
    real = _codes(brought(read(people)), coders)
    engine = DuckDB()
    try:
        scan = f"({artefact.rows.query(engine)})"
        made = Table(
            engine, "synthetic", "the synthetic table", "columns", scan, engine.types(scan)
        )
        synthetic = _codes(made, coders)
    finally:
        engine.close()
    names, sizes = list(coders), [coder.coded.size for coder in coders.values()]
    columns = {name: _distance(real[i], synthetic[i], sizes[i]) for i, name in enumerate(names)}
    pairs = {
        (names[i], names[j]): _distance(
            real[i] * sizes[j] + real[j],
            synthetic[i] * sizes[j] + synthetic[j],
            sizes[i] * sizes[j],
        )
        for i, j in combinations(range(len(names)), 2)
        if sizes[i] * sizes[j] <= _MOST_CELLS
    }
    return Comparison(columns, pairs)


def _codes(table: Table, coders: Mapping[str, Coder]) -> NDArray[np.int64]:
    records = TableRecords.code(table, coders, None, 1)
    try:
        pieces = [piece.astype(np.int64) for piece in records.pieces()]
    finally:
        records.drop()
    return np.concatenate(pieces, axis=1) if pieces else np.zeros((len(coders), 0), dtype=np.int64)


def _distance(real: NDArray[np.int64], made: NDArray[np.int64], size: int) -> float:
    shares = [np.bincount(x, minlength=size) / max(1, x.size) for x in (real, made)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
