"""One question, one payer: who asks the same thing at the same moment waits for its answer.

Contract: inside ``hold(store, keys)`` no other thread, session or process that uses the same ledger
is inside with one of these keys. The lock is the operating system's (a byte of the file
``<ledger>-asking``) or the database's (an advisory lock of Postgres), so it ends with its process,
however that ends: nothing has to be cleaned up and nobody waits for the dead. A ledger in memory
stays with its process and needs neither.

Why a question is then paid once. Whoever holds the key of a question looks for its stored answer
*after* taking the lock, and an answer is on disk *before* the lock is given back. So the second to
come sees the answer of the first; it pays only if there is none, which means that the first failed
or died, and then the charge of the first stays. A lock that is lost early (a connection of
Postgres that breaks or passes a fork, a folder in which no file can be made) lets two pay: dearer,
never less private, because every charge is checked against the budget by itself.

Keys are taken in one order, so that two who want several never wait for each other.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import text

from sfumato.errors import AlreadyUnderWay
from sfumato.govern.ledger.locked_byte import lock_byte, unlock_byte
from sfumato.govern.ledger.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sfumato.govern.ledger.connection import Store

SUFFIX = "-asking"
"""How the name of the file goes on in which questions to a ledger in a file are held."""

_TRY = Statement(text("SELECT pg_try_advisory_lock(:key)"))
_GIVE_BACK = Statement(text("SELECT pg_advisory_unlock(:key)"))
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05  # seconds between two looks at a lock of another process


class _Places:
    """What this process holds: a lock per ledger and key, and an open file per ledger."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.locks: dict[tuple[str, int], tuple[threading.Lock, int]] = {}
        self.files: dict[str, int] = {}

    def enter(self, name: tuple[str, int]) -> threading.Lock:
        """Give the lock of a key, which is kept as long as somebody wants it."""
        with self.guard:
            lock, users = self.locks.get(name, (threading.Lock(), 0))
            self.locks[name] = (lock, users + 1)
            return lock

    def leave(self, name: tuple[str, int]) -> None:
        """Forget a lock that nobody wants any more."""
        with self.guard:
            lock, users = self.locks.pop(name, (None, 0))
            if lock is not None and users > 1:
                self.locks[name] = (lock, users - 1)

    def file(self, ledger: str) -> int | None:
        """Open the file beside a ledger, once: closing it would give up every lock in it."""
        with self.guard:
            if ledger not in self.files:
                found = _open(Path(ledger + SUFFIX), Path(ledger))
                if found is None:
                    return None
                self.files[ledger] = found
            return self.files[ledger]


_HERE = _Places()


def _forget() -> None:
    """Start anew in a child: a fork inherits neither the locks of files nor the threads."""
    global _HERE
    files, _HERE = _HERE.files, _Places()
    _HERE.files = files


if sys.platform != "win32":  # where no process is forked
    os.register_at_fork(after_in_child=_forget)


def key_of_question(dataset: str, analyst: str, fingerprint: str, question: str) -> int:
    """Give the number under which a question of an analyst about some data is held."""
    whole = f"{dataset}\0{analyst}\0{fingerprint}\0{question}"
    digest = sha256(whole.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 2  # below 2⁶²: a place in a file, a key of Postgres


@contextmanager
def hold(store: Store, keys: Sequence[int], wait: float | None = None) -> Iterator[None]:
    """Hold questions; wait for others who do, at most so many seconds, or for as long as it takes.

    Raises ``AlreadyUnderWay`` when that time is over; nothing was charged then.
    """
    end = None if wait is None else time.monotonic() + wait
    with ExitStack() as stack:
        for key in sorted(set(keys)):
            stack.enter_context(_held(store, key, end))
        yield


@contextmanager
def _held(store: Store, key: int, end: float | None) -> Iterator[None]:
    name = (store.identity, key)
    lock = _HERE.enter(name)
    try:
        if not lock.acquire(timeout=-1 if end is None else max(0.0, end - time.monotonic())):
            raise _under_way()
        try:
            with _held_by_process(store, key, end):
                yield
        finally:
            lock.release()
    finally:
        _HERE.leave(name)


@contextmanager
def _held_by_process(store: Store, key: int, end: float | None) -> Iterator[None]:
    if store.is_in_memory:
        yield
    elif store.is_postgres:
        _wait(lambda: _taken_in_postgres(store, key), end)
        try:
            yield
        finally:
            with store.reading() as connection:
                _GIVE_BACK.run(connection, key=key)
    else:
        file = _HERE.file(store.identity)
        if file is None:  # nobody can be excluded; both pay
            yield
            return
        _wait(lambda: lock_byte(file, key), end)
        try:
            yield
        finally:
            unlock_byte(file, key)


def _taken_in_postgres(store: Store, key: int) -> bool:
    with store.reading() as connection:
        return bool(_TRY.first(connection, key=key))


def _wait(taken: Callable[[], bool], end: float | None) -> None:
    """Try until it is ours; between two tries less and less often."""
    pause = _FIRST_PAUSE
    while not taken():
        if end is not None and time.monotonic() >= end:
            raise _under_way()
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _under_way() -> AlreadyUnderWay:
    return AlreadyUnderWay(
        "The same question is just being answered for you, elsewhere; nothing was charged. Ask "
        "again in a while, and its answer costs nothing."
    )


def _open(file: Path, ledger: Path) -> int | None:
    """Open or make the file beside a ledger, for whoever may write to the ledger."""
    try:
        found = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)  # which no child inherits
    except OSError:
        return None
    if sys.platform == "win32":  # pragma: no cover - who may use it follows from its folder there
        return found
    try:
        if os.fstat(found).st_uid == os.geteuid():
            os.fchmod(found, ledger.stat().st_mode & 0o777)
    except OSError:
        pass  # others who may use the ledger cannot wait for us; they pay
    return found
