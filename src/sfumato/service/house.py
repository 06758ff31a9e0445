"""The house of a server: its office, its ledger, its key, and the datasets that are open.

Contract: one per worker process. What writes to a ledger runs in a thread (`thread`), because a
writer may wait for others; what only reads has a connection of its own and runs where it is.
A dataset is opened once and again when its rows have changed (the catalogue's version moves on).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from sfumato.ask.session.desk import Desk
from sfumato.ask.session.open import open_dataset
from sfumato.errors import ParameterError
from sfumato.govern.certificates.checkpoints import LedgerTree
from sfumato.govern.certificates.keys import key_at
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.office.catalogue import find_dataset
from sfumato.govern.office.office import Office
from sfumato.govern.office.questions import bury
from sfumato.requests.releases import TABLES
from sfumato.service.problems import not_found
from sfumato.service.published import PublicTreeKeeper
from sfumato.service.settings import secret_at
from sfumato.service.sources import locate
from sfumato.service.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from sfumato.ask.session.dataset import OpenDataset
    from sfumato.govern.ledger.charges import Charge, Receipt
    from sfumato.govern.office.catalogue import CatalogueEntry
    from sfumato.service.settings import Settings

T = TypeVar("T")
_HEARD = threading.local()
_THREADS = 16
_ENDING = 5.0
"""Seconds for which a server that stops waits until questions under way have ended."""

_PULSE = 2
"""Threads for signs of life: work that takes all others must not look like a dead worker."""


class Listener(Protocol):
    """What hears of the charges of a thread: inside their transactions, and after."""

    def charging(self, connection: Connection, receipt: Receipt) -> None:
        """Write beside a charge."""

    def charged(self, number: int) -> None:
        """Be told that a charge is on disk."""

    def settling(self, connection: Connection) -> None:
        """Write beside the entry that settles a charge."""


class NotingLedger(Ledger):
    """A ledger that lets whoever listens in this thread write beside a charge and its end."""

    def charge(
        self, charge: Charge, *, beside: Callable[[Connection, Receipt], None] | None = None
    ) -> Receipt:
        """Charge, and tell."""
        listener: Listener | None = getattr(_HEARD, "listener", None)
        if listener is None:
            return super().charge(charge, beside=beside)
        receipt = super().charge(charge, beside=listener.charging)
        listener.charged(receipt.number)
        return receipt

    def settle(
        self,
        receipt: Receipt,
        *answers: str,
        beside: Callable[[Connection], None] | None = None,
    ) -> None:
        """Settle a charge."""
        listener: Listener | None = getattr(_HEARD, "listener", None)
        super().settle(receipt, *answers, beside=beside if listener is None else listener.settling)


@contextlib.contextmanager
def hearing(listener: Listener) -> Any:
    """Be told of the charges of this thread."""
    _HEARD.listener = listener
    try:
        yield
    finally:
        _HEARD.listener = None


class Workers:
    """Which workers of this folder live: each holds a lock on a file of its own until it ends.

    The system gives the lock back however a process ends, so a death is known at once, by no clock.
    A worker of another machine has no file here; its questions are freed when their lease is over.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        folder.mkdir(exist_ok=True, mode=0o700)
        self._folder, self._worker = folder, worker
        self._held = os.open(folder / worker, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def _others(self, *, dead: bool) -> list[Path]:
        return [
            file for file in self._folder.iterdir()
            if file.name != self._worker and _is_free(file) == dead
        ]  # fmt: skip

    def alive(self) -> list[str]:
        """Name those that live, this one first."""
        return [self._worker, *(file.name for file in self._others(dead=False))]

    def bury(self, office: Office) -> bool:
        """Close the questions of those that are dead; tell whether there were any."""
        dead = self._others(dead=True)
        for file in dead:
            bury(office, file.name)
            file.unlink(missing_ok=True)
        return bool(dead)

    def close(self) -> None:
        """Give the lock back."""
        (self._folder / self._worker).unlink(missing_ok=True)
        os.close(self._held)


def _is_free(file: Path) -> bool:
    """Tell whether no process holds the lock of a file; one that is gone counts as held."""
    try:
        held = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True


class Open(NamedTuple):
    """A dataset that is open: for questions, and for prices, which only read the ledger."""

    listed: CatalogueEntry
    asking: OpenDataset
    pricing: OpenDataset


class House:
    """What one worker process holds."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.ledger = NotingLedger(settings.place)
        self.reader = Ledger(settings.place)
        self.office = Office(settings.place)
        self.tree = LedgerTree(Ledger(settings.place)._store)  # noqa: SLF001 - a connection of its own
        self.key = key_at(settings.path / "keys" / "signing.pem")
        self.secret = secret_at(settings.path / "keys" / "secret")
        self.operator = secret_at(settings.path / "keys" / "operator").hex()
        self.worker = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.workers = Workers(settings.path / "workers", self.worker)
        self.workers.bury(self.office)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="sfumato")
        self._pulse = ThreadPoolExecutor(_PULSE, thread_name_prefix="sfumato-pulse")
        self.published = PublicTreeKeeper(self.tree, self.office, self.key)
        self.pages: dict[str, Any] = {}
        self.running: dict[str, Any] = {}
        self.taken: dict[str, Any] = {}
        self.shown: dict[tuple[str, str], str] = {}
        self.read: dict[tuple[int, str], Any] = {}
        self.streams: dict[str, int] = {}
        self._open: dict[str, Open] = {}
        self._desks: dict[tuple[Any, ...], Desk] = {}
        self._locks: dict[str, threading.Lock] = {}
        self.guard = threading.Lock()
        self.turns = Turns()

    async def thread(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Do work in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(work, *given, **named))

    async def pulse(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Do what shows that this worker lives, in a thread that no question takes."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pulse, partial(work, *given, **named))

    def listed(self, name: str) -> CatalogueEntry:
        """Find a dataset in the catalogue."""
        found = find_dataset(self.office, name)
        if found is None:
            raise not_found()
        return found

    def opened(self, name: str) -> Open:
        """Give a dataset that is open, opening it where that has to be done (in a thread)."""
        listed = self.listed(name)
        found = self._open.get(name)
        if found is not None and found.listed.version == listed.version:
            return found if found.listed == listed else found._replace(listed=listed)
        with self.guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            found = self._open.get(name)
            if found is None or found.listed.version != listed.version:
                found = self._opened(listed)
                self._open[name] = found
                self._desks = {k: v for k, v in self._desks.items() if k[0] != name}
            return found

    def is_open(self, name: str) -> Open | None:
        """Give a dataset if it is open already and its rows have not changed."""
        found = self._open.get(name)
        if found is None or found.listed != self.listed(name):
            return None
        return found

    async def ready(self, name: str) -> Open:
        """Give a dataset that is open; in a thread where it has to be opened."""
        found = self.is_open(name)
        return await self.thread(self.opened, name) if found is None else found

    def _opened(self, listed: CatalogueEntry) -> Open:
        if listed.facts.shape not in TABLES:
            raise ParameterError(
                f"{listed.name!r} holds data of the shape '{listed.facts.shape}', which answer no "
                "SQL; its owner makes releases of them."
            )
        stated: dict[str, Any] = dict.fromkeys(
            ("unit", "budget", "limits", "policy"), None
        ) | {"bounds": {}, "keys": {}, "public": {}, "private": {}}  # fmt: skip
        source, schema = locate(self.settings, listed)
        asking = open_dataset(source, **stated, name=listed.name, schema=schema, ledger=self.ledger)
        return Open(listed, asking, replace(asking, ledger=self.reader))

    def desk(self, found: Open, pseudonym: str, purpose: str | None, *, pricing: bool) -> Desk:
        """Give the desk of an analyst at a dataset for a purpose."""
        name = (found.listed.name, found.listed.version, pseudonym, purpose, pricing)
        desk = self._desks.get(name)
        if desk is None:
            opened = found.pricing if pricing else found.asking
            desk = Desk(opened, pseudonym, purpose)
            if len(self._desks) > 20_000:
                self._desks.clear()
            self._desks[name] = desk
        return desk

    def close(self) -> None:
        """Give everything back."""
        self._pulse.shutdown(wait=False, cancel_futures=True)
        self._end_work()
        for found in self._open.values():
            found.asking.close()
        self.workers.close()
        self.office.close()
        self.ledger.close()
        self.reader.close()

    def _end_work(self) -> None:
        """End what the threads do: an interpreter ends when its threads have, and queries last.

        A thread may be just about to ask, so engines are interrupted until all threads have ended.
        """
        self.threads.shutdown(wait=False, cancel_futures=True)
        ending = threading.Thread(target=self.threads.shutdown, daemon=True)
        ending.start()
        last = time.monotonic() + _ENDING
        while ending.is_alive() and time.monotonic() < last:
            for found in tuple(self._open.values()):
                found.asking.interrupt()
            ending.join(0.05)
