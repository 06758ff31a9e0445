"""Writing and reading lines of the ledger inside a transaction.

Contract: :func:`lock_head` is the first statement of every writer and excludes all others until the
transaction ends; :func:`append` places an entry after it and moves it on. Entries are read back
exactly as they were hashed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, insert, select, update

from sfumato.errors import GovernanceError
from sfumato.govern.chain import Entry, canonical
from sfumato.govern.tables import entries, head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


class Head(NamedTuple):
    """How many entries there are, and the hash of the last."""

    number: int
    hash: str


_LOCK_HEAD = select(head.c.count, head.c.hash).where(head.c.id == 1).with_for_update()
_READ_HEAD = select(head.c.count, head.c.hash).where(head.c.id == 1)
_MOVE_HEAD = (
    update(head)
    .where(head.c.id == 1)
    .values(count=bindparam("new_count"), hash=bindparam("new_hash"))
)
_INSERT = insert(entries)
_ALL = select(entries).order_by(entries.c.number)


def lock_head(connection: Connection) -> Head:
    """Exclude other writers, and see where the chain ends."""
    return _head(connection.execute(_LOCK_HEAD).first())


def read_head(connection: Connection) -> Head:
    """See where the chain ends."""
    return _head(connection.execute(_READ_HEAD).first())


def append(connection: Connection, after: Head, entry: Entry) -> Entry:
    """Place an entry at the end of the chain."""
    placed = entry.placed(after.number + 1, after.hash)
    connection.execute(_INSERT, _row(placed))
    connection.execute(_MOVE_HEAD, {"new_count": placed.number, "new_hash": placed.hash})
    return placed


def read_entries(connection: Connection, dataset: str | None = None) -> Iterator[Entry]:
    """Read entries in order, of one dataset or all."""
    query = _ALL if dataset is None else _ALL.where(entries.c.dataset == dataset)
    for row in connection.execute(query):
        yield _entry(row)


def read_entry(connection: Connection, number: int) -> Entry | None:
    """Read one entry."""
    row = connection.execute(select(entries).where(entries.c.number == number)).first()
    return None if row is None else _entry(row)


def _head(row: Any) -> Head:
    if row is None:
        raise GovernanceError("The ledger has lost its head; run `sfumato ledger verify`.")
    return Head(int(row[0]), str(row[1]))


def _row(entry: Entry) -> dict[str, Any]:
    row = dict(vars(entry))
    row["blocks"] = canonical(list(entry.blocks))
    row["details"] = canonical(entry.details)
    row["cost"] = None if entry.cost is None else canonical(entry.cost)
    return row


def _entry(row: Any) -> Entry:
    fields = dict(row._mapping)  # noqa: SLF001 - the documented way to read a row by name
    fields["blocks"] = tuple(json.loads(fields["blocks"]))
    fields["details"] = json.loads(fields["details"])
    fields["cost"] = None if fields["cost"] is None else json.loads(fields["cost"])
    return Entry(**fields)
