"""The office: one door to its tables, for several threads and processes.

Contract: :meth:`Office.change` is a transaction that excludes other writers and is on disk when it
returns; :meth:`Office.rows` sees one state. ``quick`` is the same database without waiting for the
disk, for what a later charge makes durable or what may be lost in a power cut (who was seen when).
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import insert

from sfumato.govern.ledger.connection import Store
from sfumato.govern.office import tables

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from sqlalchemy import Connection, Executable, Table

T = TypeVar("T")


class Office:
    """The tables of an office at the place of a ledger."""

    def __init__(self, place: str | os.PathLike[str], *, create: bool = True) -> None:
        self.store = Store(place, create=create)
        self.quick = Store(place, create=False, synced=False)
        with self.store.writing() as connection:
            tables.create(connection)

    def close(self) -> None:
        """Close the connections."""
        self.store.close()
        self.quick.close()

    def rows(self, query: Executable) -> list[dict[str, Any]]:
        """Read rows, by name."""
        with self.quick.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def row(self, query: Executable) -> dict[str, Any] | None:
        """Read the first row, by name; None without one."""
        found = self.rows(query)
        return found[0] if found else None

    def change(self, *statements: Executable, quick: bool = False) -> int:
        """Run statements in one transaction; tell how many rows the last one changed."""
        with (self.quick if quick else self.store).writing() as connection:
            count = 0
            for statement in statements:
                count = connection.execute(statement).rowcount
            return int(count)

    def erase(self, *statements: Executable) -> int:
        """Change rows so that what they held is gone, from the disk, too."""
        count = self.change(*statements)
        self.store.wipe()
        return count

    def add(self, table: Table, *, quick: bool = False, **values: Any) -> None:
        """Add a row."""
        self.change(insert(table).values(**values), quick=quick)

    def together(self, work: Callable[[Connection], T], *, quick: bool = False) -> T:
        """Do some work in one transaction that excludes other writers."""
        with (self.quick if quick else self.store).writing() as connection:
            return work(connection)


def now() -> float:
    """Give the time, in seconds since 1970."""
    return time.time()


def new_id() -> str:
    """Make a name for a row that nobody can guess."""
    return secrets.token_urlsafe(16)


def new_secret() -> str:
    """Make a secret of 256 bits that can stand in an address."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Hash a secret of 256 bits, as it is kept; it is one of too many to be found by trying."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
