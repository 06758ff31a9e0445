"""Put a release into a database: verified first, whole or not at all.

The table appears under its name only when it was filled by the database, verified from its own
rows, and recorded in a ledger where one is named. What `release.json` says of a release in a folder
is the comment of the table, so that `sf.verify` finds the promise. The page for the data steward
and the policy are files, which `release.report` and `sf.Policy.of(release).write` make.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.audit.verification.verify import verify
from sfumato.data.tables.targets import shown_address, staged_table
from sfumato.errors import ParameterError
from sfumato.govern.purposes import check_purpose
from sfumato.released.manifest import Manifest
from sfumato.shape import find_shape

if TYPE_CHECKING:
    import os

    from sfumato.audit.verification.verify import Verification
    from sfumato.data.tables.table import Table
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.release import Release


@dataclass(frozen=True)
class SavedTable:
    """Where a release was put, and what its table was found to be."""

    path: str
    verification: Verification


def save_table(
    release: Release,
    address: str,
    *,
    replace: bool = False,
    report: str | Path | bool | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    purpose: str | None = None,
    by: str | None = None,
    dataset: str | None = None,
    **report_options: Any,
) -> SavedTable:
    """Write the table; raise `PromiseBroken` instead if its rows do not keep the promise.

    `report` is the path of a page to write.
    """
    artefact: Any = release.artefact
    for option in ("file_format", "formulas"):
        if report_options.pop(option, None) not in {None, "keep"}:
            raise ParameterError(f"A release in a database has no {option}.")
    if ledger is None and purpose is not None:
        check_purpose(release.name, getattr(release.schema, "purposes", ()), purpose)
    called = shown_address(address)
    facts = release.manifest() | {"table": called}
    with staged_table(address, artefact.rows, facts, artefact.home, replace=replace) as table:
        checked = verify(
            table, release.schema, release.promise, shape=release.shape, called=called,
            manifest=Manifest(facts), **find_shape(release.shape).evidence_options(release),
        )  # fmt: skip
        checked.raise_if_broken()
        if isinstance(report, (str, Path)):
            release.report(Path(report), verification=checked, **report_options)
        if ledger is not None:
            from sfumato.govern.releases import record_release  # noqa: PLC0415 - a database

            record_release(
                release,
                fingerprint(table),
                ledger,
                called=called,
                purpose=purpose,
                by=by,
                dataset=dataset,
                checked=checked.told,
            )
    return SavedTable(called, checked)


def fingerprint(table: Table) -> str:
    """Return the SHA-256 of the rows of a table, whatever their order and wherever they are."""
    counted = table.count(table.columns)
    found = hashlib.sha256(json.dumps([table.columns, counted.values]).encode())
    arrays: tuple[Any, ...] = (*counted.codes, counted.counts)
    for codes in arrays:
        found.update(codes.astype("<i8").tobytes())
    return found.hexdigest()
