"""A release as an entry of the ledger: who released what, for what, with what promise.

Contract: the entry is on disk before the release is in its place, so that there is no release
without an entry; a crash in between leaves an entry about a release that never appeared. The
fingerprint is the SHA-256 of the released file, which may be given away, so whoever finds a file
can ask the ledger about it. A release is not charged: a promise such as k-anonymity has no ε, and
its cost is the loss, which the entry tells.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from typing import TYPE_CHECKING

from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.purposes import purpose_for
from sfumato.promise import to_json

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from sfumato.govern.ledger.chain import Entry
    from sfumato.release import Release

RELEASED = "released"
"""The kind of an entry that tells of a release."""


def record_release(
    release: Release,
    file: Path,
    ledger: Ledger | str | os.PathLike[str],
    *,
    called: str,
    purpose: str | None = None,
    by: str | None = None,
) -> Entry:
    """Record a release whose data lie in a file, which will be `called` so when it is in place."""
    with ExitStack() as stack:
        place = ledger if isinstance(ledger, Ledger) else stack.enter_context(Ledger(ledger))
        known = place.registration(release.name)
        stated = getattr(release.schema, "purposes", ())
        named = stated if known is None else known.purposes
        return place.record(
            RELEASED,
            {
                "dataset": release.name,
                "analyst": by,
                "purpose": purpose_for(release.name, named, purpose),
                "fingerprint": _digest(file),
                "guarantee": str(release.promise),
                "promise": to_json(release.promise),
                "shape": release.shape,
                "file": called,
                "records": len(release.artefact),
                "suppressed": release.suppressed,
                "algorithm": release.provenance.record.algorithm,
                "truthful": release.is_truthful,
                "loss": {name: round(value, 6) for name, value in release.loss.items()},
            },
        )


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
