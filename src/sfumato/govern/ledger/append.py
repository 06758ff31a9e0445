"""Writing and reading lines of the ledger inside a transaction.

Contract: :func:`lock_head` is the first statement of every writer and excludes all others until the
transaction ends; :func:`append` places an entry after it and moves it on. Entries are read back
exactly as they were hashed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, insert, select, text

from sfumato.errors import GovernanceError
from sfumato.govern.ledger.chain import ANSWERED, FAILED, Entry, canonical
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.ledger.tables import entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection


class Head(NamedTuple):
    """How many entries there are, and the hash of the last."""

    number: int
    hash: str


_HEAD = text("SELECT count, hash FROM sfumato_head WHERE id = 1")
_READ_HEAD = Statement(_HEAD)
_LOCK_HEAD = {"sqlite": _READ_HEAD, "postgresql": Statement(text(f"{_HEAD} FOR UPDATE"))}
_MOVE_HEAD = Statement(text("UPDATE sfumato_head SET count = :count, hash = :hash WHERE id = 1"))
_INSERT = Statement(insert(entries))
_ALL = select(entries).order_by(entries.c.number)


def lock_head(connection: Connection) -> Head:
    """Exclude other writers, and see where the chain ends."""
    return _head(_LOCK_HEAD[connection.dialect.name].run(connection))


def read_head(connection: Connection) -> Head:
    """See where the chain ends."""
    return _head(_READ_HEAD.run(connection))


def append(connection: Connection, after: Head, entry: Entry) -> Entry:
    """Place an entry at the end of the chain."""
    placed = entry.placed(after.number + 1, after.hash)
    _INSERT.run(connection, **_row(placed))
    _MOVE_HEAD.run(connection, count=placed.number, hash=placed.hash)
    return placed


def read_entries(connection: Connection, dataset: str | None = None) -> Iterator[Entry]:
    """Read entries in order, of one dataset or all, without holding them all in memory."""
    query = _ALL if dataset is None else _ALL.where(entries.c.dataset == dataset)
    for row in connection.execute(query.execution_options(yield_per=1000)):
        yield _entry(row)


def read_last(connection: Connection, dataset: str | None, count: int) -> list[Entry]:
    """Read the last entries, in order."""
    query = select(entries).order_by(entries.c.number.desc()).limit(count)
    if dataset is not None:
        query = query.where(entries.c.dataset == dataset)
    return [_entry(row) for row in connection.execute(query)][::-1]


def read_entry(connection: Connection, number: int) -> Entry | None:
    """Read one entry."""
    row = connection.execute(select(entries).where(entries.c.number == number)).first()
    return None if row is None else _entry(row)


def read_outcome(connection: Connection, charge: int) -> Entry | None:
    """Read what became of a charge; None while nothing is recorded."""
    query = _ALL.where(entries.c.refers == charge, entries.c.kind.in_((ANSWERED, FAILED)))
    row = connection.execute(query).first()
    return None if row is None else _entry(row)


def count_entries(connection: Connection, dataset: str | None) -> int:
    """Count entries, of one dataset or all."""
    query = select(func.count()).select_from(entries)
    if dataset is not None:
        query = query.where(entries.c.dataset == dataset)
    return int(connection.scalar(query) or 0)


def _head(rows: list[Sequence[Any]]) -> Head:
    if not rows:
        raise GovernanceError("The ledger has lost its head; run `sfumato ledger verify`.")
    return Head(int(rows[0][0]), str(rows[0][1]))


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
