"""What is given away: rows, sets, traces, trees, a graph, a histogram, centres, a model.

Contract: an artefact knows how to write itself and what a receiver may know about it. It holds
nothing that must not leave: whoever has the artefact has the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class Artefact(Protocol):
    """The content of a release. Its length is the number of units released."""

    @property
    def data(self) -> Any:
        """The content in the kind the data came in."""

    def __len__(self) -> int: ...

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write the data file into a folder and return it; refuse a format it does not have."""

    def manifest(self) -> dict[str, Any]:
        """Return what `release.json` says of it beside what it says of every release."""
