"""A page about places that are no release of a table: a promise, evidence, pictures, attacks.

It is filled by `cloaks` and `zones`. It shows where people were, so it stays in the house.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato import __version__
from sfumato.data.atomic import write_text_atomically
from sfumato.report.page_templates import page_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from sfumato.report.section import Fact


@dataclass(frozen=True)
class Picture:
    """A picture, or several side by side, and what they show."""

    marks: Sequence[Markup]
    caption: str


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first column names the row."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Chapter:
    """A part of the page: a paragraph, pictures, tables."""

    title: str
    text: str = ""
    pictures: Sequence[Picture] = ()
    grids: Sequence[Grid] = ()

    @property
    def anchor(self) -> str:
        """The fragment by which the page links to it."""
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class PlacesPage:
    """Everything that the page says."""

    title: str
    verdict: str
    holds: bool
    sentences: Sequence[str]
    warnings: Sequence[str] = ()
    facts: Sequence[Fact] = ()
    chapters: Sequence[Chapter] = field(default_factory=tuple)

    def render(self) -> str:
        """Return the page as text."""
        return page_template("places/page.html").render(page=self, version=__version__)

    def write(self, path: str | Path) -> Path:
        """Write the page; return its path."""
        target = Path(path)
        write_text_atomically(target, self.render())
        return target
