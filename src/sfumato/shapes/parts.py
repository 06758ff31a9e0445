"""What the artefacts of our shapes offer to whoever asks a release for it, for type checkers alone.

A release hands on what it does not have itself to its artefact. Listed here, slips are found before
a program runs; nothing is imported from here when one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.data.tables.rows import Rows


class ArtefactParts:
    """What the artefact of a table has."""

    rows: Rows
    """The released rows."""
    table: Any
    """The released rows in the kind the data came in."""
    levels: Mapping[str, int] | None
    """The level per quasi-identifier, where all records are treated alike."""
    left_out: tuple[str, ...]
    """Columns that were not released."""
    pseudonyms: tuple[str, ...]
    """Columns that were released as pseudonyms."""
