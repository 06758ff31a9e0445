"""A note of an answer: one sentence, and the column it is about.

Contract: a :class:`Note` is the sentence, as a text. ``about`` is the name of a column with which
it begins, so that it can be told under another name; None where it is about the whole answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Note(str):
    """A sentence about an answer, or about one column of it."""

    __slots__ = ("about", "said")

    about: str | None
    said: str

    def __new__(cls, said: str, about: str | None = None) -> Note:  # noqa: D102, PYI034 - as str has it
        made = super().__new__(cls, said if about is None else about + said)
        made.about, made.said = about, said
        return made

    def __getnewargs__(self) -> tuple[str, str | None]:  # type: ignore[override]
        return self.said, self.about

    def renamed(self, new: Mapping[str, str]) -> Note:
        """Give the note about the column under its new name."""
        return self if self.about is None else Note(self.said, new.get(self.about, self.about))

    def to_json(self) -> Any:
        """Give the note as plain JSON."""
        return self.said if self.about is None else {"about": self.about, "said": self.said}


def note_from_json(entry: Any) -> Note:
    """Read what :meth:`Note.to_json` gave; what was kept before is a text."""
    return Note(entry) if isinstance(entry, str) else Note(entry["said"], entry["about"])
