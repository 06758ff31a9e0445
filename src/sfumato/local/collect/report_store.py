"""Reports on disk: an SQLite file to which batches are only ever added.

Contract: a batch is in the file completely or not at all. The file is in write-ahead mode with full
synchronisation, so what ``append`` has acknowledged survives a crash of the process and of the
machine; writers wait for each other, and numbers of batches grow in the order of their commits, so
"everything after number i" never misses one. Triggers refuse to change or remove a batch, unless
whoever sent it has taken it back by its nonce: then its rows are erased, and the nonce stays so
that it is not taken again. A file belongs to one survey on one set of terms and refuses every
other.

Rows are stored as they travel (:mod:`sfumato.local.wire.messages`), with their nonce and nothing
else.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import DataError
from sfumato.local.wire.messages import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sfumato.local.collect.survey import Survey

LAYOUT = 2
_BEFORE_WITHDRAWALS = 1
PATIENCE = 60.0
"""Seconds that a writer waits for another one."""

_APPLICATION = 0x53464C31  # says in the file's header whose it is
_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {LAYOUT};
CREATE TABLE survey (id TEXT NOT NULL, version INTEGER NOT NULL, terms BLOB NOT NULL);
CREATE TABLE batches (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  nonce BLOB NOT NULL UNIQUE,
  reports INTEGER NOT NULL CHECK (reports > 0),
  rows BLOB NOT NULL
);
CREATE TABLE dropped (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE withdrawn (nonce BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER batches_stay BEFORE DELETE ON batches
  WHEN NOT EXISTS (SELECT 1 FROM withdrawn WHERE nonce = OLD.nonce)
  BEGIN SELECT RAISE(ABORT, 'reports are never removed'); END;
CREATE TRIGGER batches_stay_the_same BEFORE UPDATE ON batches
  BEGIN SELECT RAISE(ABORT, 'reports are never changed'); END;
"""  # noqa: S608 - two constants of this module
_WITHDRAWALS = """
DROP TRIGGER batches_stay;
CREATE TABLE withdrawn (nonce BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER batches_stay BEFORE DELETE ON batches
  WHEN NOT EXISTS (SELECT 1 FROM withdrawn WHERE nonce = OLD.nonce)
  BEGIN SELECT RAISE(ABORT, 'reports are never removed'); END;
PRAGMA user_version = 2;
"""
_INSERT = """INSERT INTO batches (nonce, reports, rows) SELECT ?1, ?2, ?3
             WHERE NOT EXISTS (SELECT 1 FROM withdrawn WHERE nonce = ?1)
             ON CONFLICT DO NOTHING"""
_COUNT = """INSERT INTO dropped VALUES (?, ?)
            ON CONFLICT (reason) DO UPDATE SET reports = reports + excluded.reports"""


@dataclass(frozen=True)
class Batch:
    """The reports of one message, as rows of bytes."""

    nonce: bytes
    count: int
    rows: bytes


class ReportStore:
    """An append-only file of batches; threads may share it."""

    TOGETHER = 1 << 24
    """Bytes after which a part of the reports is handed out."""

    def __init__(self, path: str | Path, survey: Survey) -> None:
        self._path = Path(path)
        self._lock = threading.RLock()
        with self._speaking():
            # Python's own transactions are off: every one below is explicit.
            self._file = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            with self._speaking():
                self._patiently_prepare(survey)
        except BaseException:
            self._file.close()
            raise

    def _patiently_prepare(self, survey: Survey) -> None:
        """Prepare the file; try again where others are just doing so.

        SQLite waits by itself for other writers, but not when the journal's mode changes.
        """
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._prepare(survey)
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
                if not busy or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _prepare(self, survey: Survey) -> None:
        if self._tables():
            self._refuse_strangers(survey)  # before anything is changed in a file of others
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = FULL")
        self._file.execute("PRAGMA secure_delete = ON")  # what was taken back is overwritten
        with self._transaction():
            if not self._tables():
                for statement in _statements(_TABLES):
                    self._file.execute(statement)
                self._file.execute(
                    "INSERT INTO survey VALUES (?, ?, ?)",
                    (survey.id, survey.version, survey.terms),
                )
            elif self._layout() == _BEFORE_WITHDRAWALS:
                for statement in _statements(_WITHDRAWALS):
                    self._file.execute(statement)
            self._refuse_strangers(survey)

    def _tables(self) -> int:
        return int(self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])

    def _layout(self) -> int:
        return int(self._file.execute("PRAGMA user_version").fetchone()[0])

    def _refuse_strangers(self, survey: Survey) -> None:
        application = self._file.execute("PRAGMA application_id").fetchone()[0]
        known = {LAYOUT, _BEFORE_WITHDRAWALS}
        if application != _APPLICATION or self._layout() not in known:
            raise DataError(f"{self._path} is not a store of reports that this version can use.")
        stored = self._file.execute("SELECT id, version, terms FROM survey").fetchone()
        if stored != (survey.id, survey.version, survey.terms):
            raise DataError(
                f"{self._path} holds reports to the survey {stored[0]!r}, version {stored[1]}, on "
                "other terms than the survey given; use a store of its own for each."
            )

    def append(self, batches: Sequence[Batch], dropped: Mapping[Reason, int]) -> int:
        """Add batches and count what was dropped; give the reports that were there already."""
        return self.append_each([(batches, dropped)])[0]

    def append_each(
        self, parts: Sequence[tuple[Sequence[Batch], Mapping[Reason, int]]]
    ) -> list[int]:
        """Add the batches of several senders in one transaction; give for each what was there."""
        repeated, counts = [], Counter[Reason]()
        with self._speaking(), self._transaction():
            for batches, dropped in parts:
                known = 0
                for batch in batches:
                    cursor = self._file.execute(_INSERT, (batch.nonce, batch.count, batch.rows))
                    known += 0 if cursor.rowcount else batch.count
                repeated.append(known)
                for reason, count in dropped.items():
                    counts[reason] += count
                counts[Reason.DUPLICATE] += known
            self._file.executemany(_COUNT, [(str(r), n) for r, n in counts.items() if n])
        return repeated

    def withdraw(self, nonce: bytes) -> int:
        """Erase the reports of a message, for good; give how many there were."""
        with self._speaking(), self._transaction():
            self._file.execute(
                "INSERT INTO withdrawn SELECT nonce FROM batches WHERE nonce = ?", (nonce,)
            )
            found = self._file.execute(
                "DELETE FROM batches WHERE nonce = ? RETURNING reports", (nonce,)
            ).fetchall()
        return sum(count for (count,) in found)

    def withdrawals(self) -> int:
        """Give how many messages were taken back."""
        with self._speaking():
            return int(self._file.execute("SELECT count(*) FROM withdrawn").fetchone()[0])

    def read(self, after: int) -> Iterator[tuple[int, bytes]]:
        """Give all rows added after a batch, in parts, each with its last batch's number."""
        # Each part is fetched under the lock and handed out without it: others go on meanwhile.
        while part := self._part(after):
            after, rows = part
            yield after, rows

    def _part(self, after: int) -> tuple[int, bytes] | None:
        """Fetch the rows of some batches after one."""
        pending: list[bytes] = []
        size = number = 0
        with self._speaking():
            cursor = self._file.execute(
                "SELECT number, rows FROM batches WHERE number > ? ORDER BY number", (after,)
            )
            for number, rows in cursor:  # noqa: B007 - the last one is given back
                pending.append(rows)
                size += len(rows)
                if size >= self.TOGETHER:
                    break
            cursor.close()
        return (number, b"".join(pending)) if pending else None

    def count(self) -> int:
        """Give the number of reports."""
        with self._speaking():
            found = self._file.execute("SELECT coalesce(sum(reports), 0) FROM batches").fetchone()
        return int(found[0])

    def dropped(self) -> dict[Reason, int]:
        """Give how many reports were dropped, by reason."""
        with self._speaking():
            found = self._file.execute("SELECT reason, reports FROM dropped").fetchall()
        return {Reason(reason): count for reason, count in found}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Hold the only pen from beginning to end; undo everything if anything fails."""
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Serve one thread at a time, and say what is wrong with the store in words."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            raise DataError(
                f"The store {self._path} cannot be used ({error}); give the path of a store of "
                "reports, or of a new file in a folder that may be written to."
            ) from None


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements, triggers whole."""
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
