"""Figures of a verification, whatever the shape: what was measured and where it is worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.data.wording import some

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Bottleneck:
    """The group that decides a measure: what it shows of itself, and its size.

    `people` tells that people were counted, not the units of the shape.
    """

    cells: Mapping[str, str]
    size: int
    people: bool = False

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {label or '(missing)'}" for name, label in self.cells.items())
        return f"{shown or 'the whole release'} ({self.counted()})"

    def counted(self, unit: str = "record") -> str:
        """Say how many there are in the group: people, or of the unit that was counted."""
        return some(self.size, "person", "people") if self.people else some(self.size, unit)


@dataclass(frozen=True)
class FigureRow:
    """One measured figure, and what was promised about it, if anything.

    `holds` is None where nothing was promised, or where nothing could be checked.
    """

    measure: str
    attribute: str
    found: float | None
    bottleneck: Bottleneck | None
    promised: str = ""
    holds: bool | None = None

    @property
    def name(self) -> str:
        """The measure and its attribute in one text."""
        return f"{self.measure} of {self.attribute}" if self.attribute else self.measure
