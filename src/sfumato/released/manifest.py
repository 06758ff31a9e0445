"""What a release says of itself: `release.json` beside the data file, the comment of a table.

Contract: it is a claim, not evidence. Verification takes from it what was promised and holds that
against the file; where there is no such file nothing is claimed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.engines.addresses import is_database
from sfumato.data.tables.targets import stated_facts
from sfumato.errors import DataError
from sfumato.promise import StatedPromise, read_promise

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "release.json"


@dataclass(frozen=True)
class Manifest:
    """The facts that a release states."""

    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> str | None:
        """The shape of the data, where it is stated."""
        found = self.facts.get("shape")
        return found if isinstance(found, str) else None

    @cached_property
    def promise(self) -> StatedPromise:
        """What the release says it keeps."""
        stated = self.facts.get("promise")
        return read_promise(stated) if stated else StatedPromise(None)

    @property
    def suppressed(self) -> int:
        """How many units were left out."""
        return int(self.facts.get("records_suppressed") or 0)

    @property
    def untruthful(self) -> tuple[str, ...]:
        """The operations after which single units are no longer facts."""
        return tuple(str(text) for text in self.facts.get("untruthful_operations") or ())


def read_manifest(source: Any) -> Manifest:
    """Read what is stated beside a data file or in a folder; nothing where there is none."""
    if not isinstance(source, str | Path):
        return Manifest()
    if is_database(source):
        return Manifest(stated_facts(source) or {})
    place = Path(source)
    inside = place.is_dir() and place.suffix.lower() != ".parquet"
    path = (place if inside else place.parent) / NAME
    if not path.is_file():
        return Manifest()
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = None
    if not isinstance(facts, dict):
        raise DataError(
            f"{path} is not a JSON mapping, so the promise of the release is unknown; mend it, or "
            "move it away and hand the definition over."
        )
    return Manifest(facts)
