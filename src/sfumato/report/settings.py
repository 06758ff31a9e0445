"""What was asked for and what the search reports of itself, as rows of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.release import Release


def settings_rows(release: Release) -> tuple[tuple[str, str], ...]:
    """Return what was asked for, then what the search reports of itself."""
    facts = release.provenance.record.facts
    asked = [(name, _write(value)) for name, value in release.settings.items()]
    return (*asked, *((f"search: {name}", _write(value)) for name, value in facts.items()))


def _write(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
