"""One connection to the database of a ledger, safe for threads and across forks.

Contract: :meth:`Store.writing` and :meth:`Store.reading` are transactions. Writers exclude each
other from their first statement on: SQLite by ``BEGIN IMMEDIATE``, Postgres by the lock on the
row ``head`` that every writer takes first. When ``writing`` has ended without an error, the
change is on disk: SQLite writes ahead with ``synchronous=FULL``, Postgres with
``synchronous_commit=on``, whatever the server's default is. A store with ``synced=False`` leaves
that to the next one that does: both databases write one log in order, so what it wrote before a
charge is on disk with that charge. An engine's own message never leaves
this module, because it may quote what was written.

A process uses one connection, one thread at a time. An open SQLite or Postgres connection must
not pass a fork, so all are closed before one; parent and child open new ones when they next
need them. A ledger in memory stays with its process.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from sfumato.errors import GovernanceError, MissingExtra, OutputError, ParameterError
from sfumato.govern.ledger import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection, Engine

    from sfumato.govern.ledger.statements import Statement

PATIENCE = 60.0
"""How many seconds a writer waits for others."""

T = TypeVar("T")
_MAKING = 5.0  # seconds in which a file that was just made gets its tables
_WIPING = 0.25  # seconds to wait for readers before the journal is left as it is
_WRITING = "sfumato_writing"


class Store:
    """Where a ledger is kept: a file of SQLite, a Postgres database, or memory."""

    def __init__(
        self, place: str | os.PathLike[str] | None, *, create: bool = True, synced: bool = True
    ) -> None:
        self.url = _url(place)
        self._synced = synced
        self.lock = threading.RLock()
        self._in_memory = place is None
        self._owner = os.getpid()
        self._connection: Connection | None = None
        if not create:
            self._must_exist()
        with _ALL_LOCK:
            _ALL.add(self)
        self._prepare(create=create)

    @property
    def name(self) -> str:
        """The place, without a password."""
        if self._in_memory:
            return "memory"
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=True)

    @property
    def is_in_memory(self) -> bool:
        """Whether the ledger is in the memory of this process."""
        return self._in_memory

    @cached_property
    def is_postgres(self) -> bool:
        """Whether the ledger is in Postgres."""
        return self.url.get_backend_name() == "postgresql"

    @cached_property
    def identity(self) -> str:
        """A text that two stores of this process share if and only if they are at one place."""
        if self._in_memory:
            return f"memory {id(self)}"
        return str(self.url) if self.is_postgres else os.path.realpath(self.name)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction that excludes other writers; it is on disk when the block ends."""
        with self._transaction(writing=True) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a transaction that sees one state of the ledger."""
        with self._transaction(writing=False) as connection:
            yield connection

    def peek(self, statement: Statement, **values: object) -> list[Sequence[Any]]:
        """Read the rows of one statement, as :meth:`look` does."""
        return self.look(lambda connection: statement.run(connection, **values))

    def look(self, read: Callable[[Connection], T]) -> T:
        """Read by one statement, which sees one state by itself; SQLite needs no transaction."""
        if self.is_postgres:
            with self.reading() as connection:
                return read(connection)
        with self.lock, self._translated():
            return read(self._open())

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self.lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def forking(self) -> None:
        """Hold the lock and close the connection, so that no child inherits it."""
        self.lock.acquire()
        if not self._in_memory:
            self.close()

    def forked(self, *, child: bool) -> None:
        """Go on after a fork; a child starts with a lock of its own."""
        if child:
            self.lock = threading.RLock()
        else:
            self.lock.release()
        if child and not self._in_memory:
            self._owner = os.getpid()
            self.__dict__.pop("_engine", None)  # made anew if it is used: a child may never ask

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[Connection]:
        with self.lock, self._translated():
            connection = self._open()
            connection.info[_WRITING] = writing
            try:
                with connection.begin():
                    yield connection
            except (DBAPIError, self._driver.Error):
                self._discard()
                raise

    def _open(self) -> Connection:
        if os.getpid() != self._owner:
            raise GovernanceError(
                "This ledger was opened by another process"
                + (
                    " and kept in its memory; use a file."
                    if self._in_memory
                    else "; open it again."
                )
            )
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _discard(self) -> None:
        if self._connection is not None and not self._in_memory:
            connection, self._connection = self._connection, None
            connection.invalidate()
            connection.close()

    @property
    def _driver(self) -> Any:
        """The module of the database's driver, with its errors."""
        return self._engine.dialect.dbapi

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (UnicodeEncodeError, DataError, self._driver.DataError):
            raise ParameterError(
                "A text for the ledger holds a character that cannot be kept: a NUL or half of a "
                "surrogate pair."
            ) from None
        except (DBAPIError, self._driver.Error) as error:
            raise GovernanceError(_sentence(error, self.name)) from None

    @cached_property
    def _engine(self) -> Engine:
        try:
            engine = create_engine(
                self.url, poolclass=NullPool, connect_args=_arguments(self.url), **_style(self.url)
            )
        except (ImportError, NoSuchModuleError):
            raise MissingExtra("psycopg", "postgres", "A ledger in Postgres") from None
        sqlite = engine.dialect.name == "sqlite"
        event.listen(engine, "connect", _set_up_sqlite if sqlite else _set_up_postgres)
        if not self._synced:
            event.listen(engine, "connect", _sync_later_sqlite if sqlite else _sync_later_postgres)
        event.listen(engine, "begin", _begin_sqlite if sqlite else _begin_postgres)
        return engine

    def _must_exist(self) -> None:
        if self.url.get_backend_name() == "sqlite" and not Path(self.url.database or "").is_file():
            raise ParameterError(f"There is no ledger at {self.url.database}.")

    def _prepare(self, *, create: bool) -> None:
        """Make the tables of a new ledger; a file is the owner's alone."""
        file = None if self._in_memory else self.url.database
        if create and file and self.url.get_backend_name() == "sqlite":
            _touch(Path(file))
        with self.reading() as connection:
            found = tables.exist(connection)
        if not found and not create:
            raise ParameterError(f"There is no ledger at {self.name}.")
        if not found:
            self._write_ahead()
            with self.writing() as connection:
                tables.create(connection)
        with self.reading() as connection:
            version = connection.scalar(
                tables.head.select().with_only_columns(tables.head.c.version)
            )
        if version != tables.VERSION:
            newer = isinstance(version, int) and version > tables.VERSION
            what = "update Sfumato" if newer else "restore the latest sound copy of the ledger"
            raise GovernanceError(
                f"The ledger at {self.name} has the format {version}, and this version of Sfumato "
                f"reads format {tables.VERSION}; {what} to use it."
            )

    def wipe(self) -> bool:
        """Empty SQLite's journal, which still holds what was erased; tell whether that was done.

        In the file itself it is overwritten. Whoever is reading just then prevents it: then it goes
        with a later call, or when the journal is written over. Postgres does the same by its
        vacuum, in its own time.
        """
        if self.is_postgres or self._in_memory:
            return not self.is_postgres
        beside = sqlite3.connect(self.name, timeout=_WIPING)
        try:
            [(busy, _, _)] = beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError:
            return False
        finally:
            beside.close()
        return not busy

    def _write_ahead(self) -> None:
        if self.url.get_backend_name() == "sqlite" and not self._in_memory:
            with self.lock, self._translated():
                raw: Any = self._open().connection.dbapi_connection
                raw.execute("PRAGMA journal_mode = WAL")


def _touch(file: Path) -> None:
    """Make the file, or see that one that exists was not emptied."""
    if file.is_dir():
        raise ParameterError(f"No ledger can be kept at {file}, which is a folder; name a file.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        _refuse_empty(file)
    except OSError:
        raise OutputError(
            f"No ledger can be kept at {file}: the folder or the file cannot be written."
        ) from None


def _refuse_empty(file: Path) -> None:
    """Refuse an empty file, which would be a new budget, unless somebody is just making it."""
    end = time.monotonic() + _MAKING
    while file.is_file() and not file.stat().st_size:
        if time.monotonic() > end:
            raise GovernanceError(
                f"The ledger at {file} is empty (0 bytes), and what was spent would be forgotten. "
                "If questions were asked before, restore the latest copy of it; if none ever was, "
                "delete the file."
            )
        time.sleep(0.05)
    if not os.access(file, os.R_OK | os.W_OK):
        raise OutputError(f"The ledger at {file} cannot be written by you; ask its owner.")


def _url(place: str | os.PathLike[str] | None) -> URL:
    if place is None:
        return URL.create("sqlite", database=":memory:")
    text = os.fspath(place)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser().absolute()))
    try:
        url = make_url(text)
    except ArgumentError:
        raise ParameterError(
            "A ledger's address is a path, sqlite:///… or postgresql://…."
        ) from None
    if url.drivername in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and url.database != ":memory:":
        return url.set(database=str(Path(url.database).absolute()))
    if url.drivername == "postgresql+psycopg":
        return url
    raise ParameterError(
        "A ledger is kept in a file of SQLite (a path, or sqlite:///…) or in Postgres "
        "(postgresql://…)."
    )


def _arguments(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"timeout": PATIENCE, "check_same_thread": False}
    return {"connect_timeout": 30}


def _style(url: URL) -> dict[str, Any]:
    """Let both databases take parameters by name."""
    return {"paramstyle": "named"} if url.get_backend_name() == "sqlite" else {}


def _set_up_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by our own statement
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten


def _set_up_postgres(connection: Any, _: object) -> None:
    connection.autocommit = True
    connection.execute("SET synchronous_commit = on")
    connection.execute(f"SET lock_timeout = {int(PATIENCE * 1000)}")
    connection.autocommit = False


def _sync_later_sqlite(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")


def _sync_later_postgres(connection: Any, _: object) -> None:
    connection.autocommit = True
    connection.execute("SET synchronous_commit = off")
    connection.autocommit = False


def _begin_sqlite(connection: Connection) -> None:
    """Begin by the driver itself: what SQLAlchemy does for a statement takes longer than it."""
    driver: Any = connection.connection.dbapi_connection
    driver.execute("BEGIN IMMEDIATE" if connection.info.get(_WRITING) else "BEGIN")


def _begin_postgres(connection: Connection) -> None:
    if not connection.info.get(_WRITING):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _sentence(error: Exception, name: str) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    kind = type(cause).__name__
    if kind in {"LockNotAvailable", "QueryCanceled"} or "locked" in str(cause):
        return f"The ledger at {name} is busy; others kept it for {PATIENCE:.0f} seconds."
    told = (
        f"The ledger at {name} cannot be used ({kind}). Nothing is answered without a ledger; a "
        "charge that was under way counts if it had reached the disk."
    )
    if kind == "DatabaseError":  # SQLite's word for a file that it cannot make sense of
        return (
            f"{told} The file is damaged, or no ledger at all: keep it, put the latest sound copy "
            "in its place (`sfumato ledger verify` tells whether one is), and amend the budget by "
            "what was spent since."
        )
    return (
        f"{told} See that the place is right, that the server or disk is there with room to write, "
        "and that you may write to it; then ask again."
    )


_ALL: weakref.WeakSet[Store] = weakref.WeakSet()
_ALL_LOCK = threading.Lock()
_HELD: list[Store] = []


def _before_fork() -> None:
    with _ALL_LOCK:
        _HELD[:] = sorted(_ALL, key=id)
    for store in _HELD:
        store.forking()


def _after_fork(*, child: bool) -> None:
    for store in _HELD:
        store.forked(child=child)
    _HELD.clear()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(child=False),
    after_in_child=lambda: _after_fork(child=True),
)
