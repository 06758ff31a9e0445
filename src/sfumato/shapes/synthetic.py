"""Synthetic data: units that stand for nobody, whose promise is about how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel, Field

from sfumato.anonymize.definitions.classes import Classes
from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text
from sfumato.data.tables.sources import read
from sfumato.errors import DataError, ParameterError
from sfumato.released.view import View
from sfumato.report.section import Fact, TemplateSection
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.artefact import Artefact
    from sfumato.decision import Decision
    from sfumato.released.manifest import Manifest
    from sfumato.report.section import Page

SHOWN = 60
"""Measured tables that a report lists."""
SEEN = 50_000
"""Rows that an attack on a synthetic table looks at."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SyntheticView(View):
    """A file of synthetic units: none of them is a person, so it has no groups."""

    shape: ClassVar[str] = "synthetic"
    unit: ClassVar[str] = "synthetic unit"

    units: int
    rows: Mapping[str, Any] | None = None
    """Of a synthetic table: its first rows, which are in random order, by column."""

    @property
    def records(self) -> int:
        """Number of units."""
        return self.units

    def groups(self, definition: Definition | None = None) -> Classes:  # noqa: ARG002 - there are none
        """Return no group."""
        return Classes(np.zeros(0, dtype=np.int64))

    def describe(self, group: int) -> Mapping[str, str]:
        """Name a unit by its number."""
        return {"unit": str(group + 1)}


class SyntheticAttackOptions(BaseModel):
    """What attacks on a synthetic table need beside the people in the data."""

    outsiders: str | None = Field(
        default=None, description="File of people of the same population who are not in the data."
    )
    secret: str | None = Field(
        default=None, description="Columns to be guessed, separated by commas; all if absent."
    )


class SyntheticData(Shape):
    """What a synthesis gives: tables, sets, traces and graphs alike."""

    name: ClassVar[str] = "synthetic"
    unit: ClassVar[str] = "synthetic unit"
    options: ClassVar[Mapping[str, Any]] = {"attack": SyntheticAttackOptions}
    open_report: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("release.csv", "release.parquet", "release.dat", "release.edges")  # fmt: skip  # noqa: E501

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Any:  # noqa: ARG002 - refused
        """Refuse: synthetic data are made, not read."""
        raise ParameterError(
            "Synthetic data are made with sf.dp.synthesize; read a released file as the table, "
            "sets, trajectories or graph that it is."
        )

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return none: they are made under a guarantee."""
        return {}

    def apply(self, data: Any, decision: Decision) -> Artefact:  # noqa: ARG002 - refused
        """Refuse: there is nothing to decide."""
        raise ParameterError("Synthetic data are released as they are.")

    def view(
        self,
        source: Any,
        *,
        schema: Any = None,  # noqa: ARG002 - units need no schema
        called: str | None = None,
        manifest: Manifest | None = None,
        **options: Any,  # noqa: ARG002 - units need no schema
    ) -> SyntheticView:
        """Count the units of a released file, and look at rows."""
        if not isinstance(source, str | Path):
            return SyntheticView(source=called or "the data", units=read(source).rows)
        path = Path(source)
        kept = _first(path) if manifest and manifest.facts.get("synthetic") == "row" else None
        return SyntheticView(source=called or str(source), units=_count(path), rows=kept)

    def attacks(self, view: SyntheticView, knowledge: Any) -> Iterable[Any]:
        """Return the attacks on synthetic rows."""
        from sfumato.attack.releases.synthetic_checks import synthetic_attacks  # noqa: PLC0415 - loaded when used

        return synthetic_attacks(view, knowledge)

    def sections(self) -> tuple[TemplateSection, ...]:
        """Show what was measured."""
        return (
            TemplateSection("measured", "What was measured", "synthetic.html", _measured, _facts),
        )


def _first(path: Path) -> dict[str, Any]:
    """Read the first rows of a file, by column."""
    table = read(path)
    names = ", ".join(quoted(name) for name in table.columns)
    found = table.run(f"SELECT {names} FROM {table.scan} LIMIT {SEEN}")  # noqa: S608 - quoted names
    return {name: [row[i] for row in found] for i, name in enumerate(table.columns)}


def _count(path: Path) -> int:
    try:
        if path.suffix == ".parquet":
            engine = DuckDB()
            try:
                return engine.rows(f"read_parquet({quoted_text(str(path))})")
            finally:
                engine.close()
        with path.open("rb") as file:
            lines = sum(1 for _ in file)
    except (OSError, RuntimeError):
        raise DataError(f"{path} cannot be read.") from None
    return max(lines - (path.suffix == ".csv"), 0)


def _facts(page: Page) -> list[Fact]:
    artefact = page.release.artefact
    return [
        Fact("Synthetic units", f"{len(artefact):,}", "no real one among them"),
        Fact("Noisy tables", str(len(getattr(artefact, "measurements", ())))),
    ]


def _measured(page: Page) -> dict[str, Any] | None:
    artefact: Any = page.release.artefact
    measured = sorted(artefact.measurements, key=lambda m: -m.distance)
    return {
        "measured": measured[:SHOWN],
        "more": max(len(measured) - SHOWN, 0),
        "notes": artefact.notes,
        "currency": artefact.currency,
        "spent": f"{float(artefact.spent):.6g}",
    }


SYNTHETIC = SyntheticData()
