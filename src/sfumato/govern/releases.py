"""A release as an entry of the ledger: who released what, for what, with what promise.

Contract: the entry is on disk before the release is in its place, so that there is no release
without an entry; a crash in between leaves an entry about a release that never appeared. The
fingerprint is the SHA-256 of the released file (of the rows of a table in a database), which may
be given away, so whoever finds a file can ask the ledger
about it. A release is not charged: a promise such as k-anonymity has no ε, and
its cost is the loss, which the entry tells.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.purposes import purpose_for
from sfumato.promise import to_json

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sfumato.govern.ledger.chain import Entry
    from sfumato.govern.spending import Spending
    from sfumato.release import Release

MEANING = ("roles", "linkable", "people")
"""What a release says of its columns that is needed to check its promise."""

RELEASED = "released"
"""The kind of an entry that tells of a release."""


def record_release(
    release: Release,
    fingerprint: str,
    ledger: Ledger | str | os.PathLike[str],
    *,
    called: str,
    purpose: str | None = None,
    by: str | None = None,
    dataset: str | None = None,
    checked: Sequence[Mapping[str, Any]] = (),
) -> Entry:
    """Record a release by its fingerprint; it will be `called` so when it is in place.

    `dataset` is what the ledger calls the data, by default the name of the release; `checked` says
    what was promised, what the file was found to have, and whether it holds.
    """
    meaning = release.artefact.manifest()
    return record_given_away(
        dataset or release.name, fingerprint, ledger, purpose=purpose, by=by,
        purposes=getattr(release.schema, "purposes", ()),
        told={
            "guarantee": str(release.promise),
            "promise": to_json(release.promise),
            "shape": release.shape,
            "file": called,
            "records": len(release.artefact),
            "suppressed": release.suppressed,
            "algorithm": release.provenance.record.algorithm,
            "truthful": release.is_truthful,
            "loss": {name: round(value, 6) for name, value in release.loss.items()},
            "checked": [dict(row) for row in checked],
            **{name: meaning[name] for name in MEANING if name in meaning},
        },
    )  # fmt: skip


def record_given_away(
    dataset: str,
    fingerprint: str,
    ledger: Ledger | str | os.PathLike[str],
    *,
    told: Mapping[str, Any],
    purpose: str | None = None,
    by: str | None = None,
    purposes: Sequence[str] = (),
) -> Entry:
    """Record a file by its fingerprint, with what is `told` of it; see `record_release`.

    `purposes` are those the owner allows where the ledger knows no rules for the data.
    """
    with ExitStack() as stack:
        place = ledger if isinstance(ledger, Ledger) else stack.enter_context(Ledger(ledger))
        known = place.registration(dataset)
        named = purposes if known is None else known.purposes
        return place.record(
            RELEASED,
            {
                "dataset": dataset,
                "analyst": by,
                "purpose": purpose_for(dataset, named, purpose),
                "fingerprint": fingerprint,
                **told,
            },
        )


def save_recorded(release: Release, folder: str | Path, spending: Spending, **options: Any) -> Path:
    """Save a release where what it cost was charged, recorded for who spent it and what for."""
    saved = release.save(
        folder, ledger=spending.ledger, dataset=spending.dataset, by=spending.analyst,
        purpose=spending.purpose, **options,
    )  # fmt: skip
    return Path(saved)
