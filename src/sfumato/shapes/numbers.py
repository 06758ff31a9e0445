"""Noisy numbers: answers, histograms and estimates, whose promise is about how they were made."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.anonymize.definitions.classes import Classes
from sfumato.dp.publish.numbers import NumberTable
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.released.view import View
from sfumato.report.section import TemplateSection
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.artefact import Artefact
    from sfumato.decision import Decision
    from sfumato.report.section import Page

SHOWN = 50
"""Rows of numbers that a report shows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NumbersView(View):
    """A file of noisy numbers: no unit of it is a person, so it has no groups."""

    shape: ClassVar[str] = "numbers"
    unit: ClassVar[str] = "row"

    rows: int

    @property
    def records(self) -> int:
        """Number of rows."""
        return self.rows

    def groups(self, definition: Definition | None = None) -> Classes:  # noqa: ARG002 - there are none
        """Return no group."""
        return Classes(np.zeros(0, dtype=np.int64))

    def describe(self, group: int) -> Mapping[str, str]:
        """Name a row by its number."""
        return {"row": str(group + 1)}


class Numbers(Shape):
    """What sessions, mechanisms and local collection give back."""

    name: ClassVar[str] = "numbers"
    unit: ClassVar[str] = "row"
    files: ClassVar[tuple[str, ...]] = ("release.csv",)
    open_report: ClassVar[bool] = True

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Any:  # noqa: ARG002 - refused
        """Refuse: noisy numbers are made, not read."""
        raise ParameterError("Noisy numbers are made by a session or a mechanism, not read.")

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return none: they are made under a guarantee."""
        return {}

    def apply(self, data: Any, decision: Decision) -> Artefact:  # noqa: ARG002 - refused
        """Refuse: there is nothing to decide."""
        raise ParameterError("Noisy numbers are released as they are.")

    def view(
        self,
        source: Any,
        *,
        schema: Any = None,  # noqa: ARG002 - columns need no schema
        called: str | None = None,
        **options: Any,  # noqa: ARG002 - columns need no schema
    ) -> NumbersView:
        """Count the rows of a released file."""
        if not isinstance(source, str | Path):
            raise ParameterError("Noisy numbers are verified from their file; give its path.")
        try:
            with Path(source).open(encoding="utf-8", newline="") as file:
                rows = sum(1 for _ in csv.reader(file)) - 1
        except (OSError, UnicodeDecodeError, csv.Error):
            raise DataError(f"{source} cannot be read as a CSV file of numbers.") from None
        return NumbersView(source=called or str(source), rows=max(rows, 0))

    def sections(self) -> tuple[TemplateSection, ...]:
        """Show the numbers."""
        return (TemplateSection("numbers", "Numbers", "numbers.html", _numbers),)


def _numbers(page: Page) -> dict[str, Any]:
    artefact = page.release.artefact
    rows = getattr(artefact, "rows", ())
    return {
        "columns": getattr(artefact, "columns", ()),
        "rows": [[_shown(cell) for cell in row] for row in rows[:SHOWN]],
        "more": max(len(rows) - SHOWN, 0),
        "picture": _picture(artefact),
    }


def _shown(cell: Any) -> Any:
    """Show six digits of a number; the file has them all."""
    return f"{cell:,.6g}" if isinstance(cell, float) else cell


def _picture(artefact: Any) -> Markup | None:
    """Draw what was published once; answers have pictures of their own, where wanted."""
    source: Any = getattr(artefact, "source", None)
    if not isinstance(artefact, NumberTable) or not hasattr(source, "picture"):
        return None
    try:
        drawn = source.picture()
    except SfumatoError:  # some numbers cannot be drawn
        return None
    return Markup(drawn) if isinstance(drawn, str) and drawn.startswith("<svg") else None  # noqa: S704 - our own drawing, whose texts are escaped


NUMBERS = Numbers()
