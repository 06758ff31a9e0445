"""Releases that the office has made: where they lie, what was promised, who may have them.

Contract: the entry of the ledger is the evidence (:mod:`sfumato.govern.releases`); a row here says
where the folder is and whether the public may have its file. The digest is that of the file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from sfumato.govern.office.office import now
from sfumato.govern.office.tables import releases

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office


def add_release(
    office: Office, id_: str, *, dataset: str, person: str, kind: str, file: str, promise: str,
    sha256: str, entry: int, facts: dict[str, Any],
) -> None:  # fmt: skip
    """Add a release that lies in its place and is recorded; nobody has it yet."""
    office.add(
        releases, id=id_, dataset=dataset, person=person, kind=kind, file=file, promise=promise,
        sha256=sha256, entry=entry, facts=json.dumps(facts), public=0, made=now(),
    )  # fmt: skip


def publish_release(office: Office, id_: str) -> bool:
    """Let everybody have the file; tell whether there is such a release."""
    return office.change(update(releases).where(releases.c.id == id_).values(public=1)) > 0


def find_release(office: Office, id_: str) -> dict[str, Any] | None:
    """Read a release."""
    row = office.row(select(releases).where(releases.c.id == id_))
    return None if row is None else row | {"facts": json.loads(row["facts"])}


def list_releases(
    office: Office, dataset: str | None = None, *, public: bool = True
) -> list[dict[str, Any]]:
    """List releases, the latest first; all of them, or those that the public may have."""
    query = select(releases).order_by(releases.c.made.desc())
    if dataset is not None:
        query = query.where(releases.c.dataset == dataset)
    if public:
        query = query.where(releases.c.public == 1)
    return [row | {"facts": json.loads(row["facts"])} for row in office.rows(query)]
