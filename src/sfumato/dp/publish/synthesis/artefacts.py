"""Synthetic data as the artefact of a release.

Contract: everything in it is noisy or public. It tells which noisy tables the synthetic units
follow, what each cost, how much noise was expected in it and how far the units are from the *noisy*
table. How far they are from the real data is nowhere: that number would be a release of its own.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.decision import SearchRecord
from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json
from sfumato.dp.publish.synthesis.columns import Values
from sfumato.dp.publish.synthesis.curator import BookLine
from sfumato.dp.publish.synthesis.engine import MeasuredMarginal
from sfumato.dp.publish.synthesis.table_codec import SyntheticRows
from sfumato.errors import DataError
from sfumato.release import Provenance, Release

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Kind
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.publish.synthesis.columns import Coder


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Synthetic:
    """What synthetic data of every shape have in common.

    ``measurements`` are the noisy tables, ``book`` lists what every release cost, in ``currency``;
    ``estimated`` is the number of real units, by noisy estimate.
    """

    name: str
    guarantee: Guarantee
    measurements: tuple[MeasuredMarginal, ...]
    book: tuple[BookLine, ...]
    currency: str
    estimated: float
    notes: tuple[str, ...] = ()

    unit: ClassVar[str] = "unit"

    @property
    def spent(self) -> Fraction:
        """The sum of the book."""
        return sum((charge.price for charge in self.book), Fraction(0))

    def manifest(self) -> dict[str, Any]:
        """Return what a receiver may know."""
        return {
            "synthetic": self.unit,
            "estimated_units": round(self.estimated),
            "spent": {self.currency: float(self.spent)},
            "measured_tables": [
                {
                    "columns": list(m.columns),
                    "cells": list(m.shape),
                    "noise_sd": round(m.sigma, 3),
                    "expected_distance": round(m.predicted, 6),
                    "distance_to_noisy_table": round(m.distance, 6),
                }
                for m in self.measurements
            ],
            "notes": list(self.notes),
        }

    def release(self, algorithm: str, **settings: Any) -> Release:
        """Hand it over as a release whose promise is its guarantee."""
        label = "made from noisy tables only; no unit is a real one"
        return Release(
            name=self.name,
            shape="synthetic",
            artefact=self,  # type: ignore[arg-type]  # subclasses have data and write
            promise=self.guarantee,
            provenance=Provenance(
                SearchRecord(algorithm, label=label),
                untruthful=("synthesis",),
                settings={key: value for key, value in settings.items() if value is not None},
            ),
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticTable(Synthetic):
    """Synthetic rows; ``rules`` are the conditions that each of them keeps.

    ``coders`` tell how cells were coded, which is public; rows that were given again have none.
    """

    rows: SyntheticRows
    kind: Kind
    rules: tuple[str, ...] = ()
    coders: Mapping[str, Coder] = field(default_factory=dict)

    unit: ClassVar[str] = "row"

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def table(self) -> Any:
        """The synthetic rows, in the kind the data came in (a file comes as a frame)."""
        return self.rows.frame(self.kind)

    @property
    def data(self) -> Any:
        """The synthetic rows."""
        return self.table

    def dump(self) -> str:
        """Write all of it as text, from which ``load`` makes it again."""
        cells = {
            name: [packed(v.numbers), packed(v.missing), v.sql_type, v.texts]
            for name, v in self.rows.cells.items()
        }
        kept = {
            "name": self.name, "guarantee": guarantee_to_json(self.guarantee), "cells": cells,
            "measurements": [[*asdict(m).values()] for m in self.measurements],
            "book": [[charge.what, str(charge.price)] for charge in self.book],
            "currency": self.currency, "estimated": self.estimated, "notes": self.notes,
            "kind": self.kind, "rules": self.rules,
        }  # fmt: skip
        return json.dumps(kept, default=str)

    @classmethod
    def load(cls, text: str) -> SyntheticTable:
        """Read what ``dump`` wrote."""
        kept = json.loads(text)
        cells = {
            name: Values(unpacked(numbers), unpacked(missing), kind, texts and tuple(texts))
            for name, (numbers, missing, kind, texts) in kept["cells"].items()
        }
        measured = tuple(
            MeasuredMarginal(tuple(names), tuple(shape), Fraction(price), *rest)
            for names, shape, price, *rest in kept["measurements"]
        )
        return cls(
            name=kept["name"], guarantee=guarantee_from_json(kept["guarantee"]),
            measurements=measured, rows=SyntheticRows(cells), kind=kept["kind"],
            book=tuple(BookLine(what, Fraction(price)) for what, price in kept["book"]),
            currency=kept["currency"], estimated=kept["estimated"], notes=tuple(kept["notes"]),
            rules=tuple(kept["rules"]),
        )  # fmt: skip

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.csv` or `release.parquet`."""
        chosen = file_format or ("parquet" if self.kind == "parquet" else "csv")
        path = folder / f"release.{chosen}"
        if chosen == "csv":
            self.rows.write_csv(path)
        elif chosen == "parquet":
            self.rows.write_parquet(path)
        else:
            raise DataError(f"Synthetic rows are written as 'csv' or 'parquet', not '{chosen}'.")
        return path

    def manifest(self) -> dict[str, Any]:
        """Return what a receiver may know."""
        return {**super().manifest(), "columns": list(self.rows.columns), "rules": list(self.rules)}


def packed(array: NDArray[Any]) -> list[str]:
    """Write an array as texts: its kind, and its bytes."""
    raw = zlib.compress(np.ascontiguousarray(array).tobytes())
    return [array.dtype.str, base64.b64encode(raw).decode("ascii")]


def unpacked(written: list[str]) -> NDArray[Any]:
    """Read what :func:`packed` wrote."""
    kind, text = written
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.dtype(kind)).copy()
