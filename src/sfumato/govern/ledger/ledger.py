"""The ledger: what was asked, for what purpose, what was promised, and what is left.

Contract: :class:`Ledger` is the one way to read and write it. Entries are appended and never
changed; totals are kept beside them. :meth:`Ledger.charge` returns only when the charge is on disk,
and two processes can never spend the same ε. A crash at any instant loses at most an answer.
An instance may be used by several threads, and after a fork by both processes.

    ledger = Ledger("patients.ledger.sqlite")
    ledger.register(Registration("patients", Limits(dataset=PureDP(3), analyst=PureDP(1))))
    receipt = ledger.charge(Charge(dataset="patients", analyst="ann", …))
    … compute the answer …
    ledger.settle(receipt, answer_json)
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from sfumato.errors import ParameterError
from sfumato.govern.ledger import charges, registrations, settlements, snapshots
from sfumato.govern.ledger.append import (
    append,
    count_entries,
    lock_head,
    read_entries,
    read_entry,
    read_head,
    read_last,
    read_outcome,
)
from sfumato.govern.ledger.chain import RESERVED, Entry, check_text
from sfumato.govern.ledger.connection import Store
from sfumato.govern.ledger.faults import reached
from sfumato.govern.ledger.question_lock import hold, key_of_question
from sfumato.govern.ledger.registrations import MAIN
from sfumato.govern.ledger.remainder import Account, Remaining, accounts_of, remaining
from sfumato.govern.limits import names_of
from sfumato.message import Argument, Message
from sfumato.representation import Shown

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from sfumato.dp.accounting.costs import SpentTotals
    from sfumato.govern.ledger.append import Head
    from sfumato.govern.ledger.charges import Charge, Receipt
    from sfumato.govern.ledger.integrity import LedgerVerification
    from sfumato.govern.ledger.registrations import Registration
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.limits import Limits
    from sfumato.govern.policies import SpendingPolicy

_SEVERAL = ("dataset", "analyst", "purpose", "fingerprint", "question", "guarantee")


class Ledger(Shown):
    """A ledger in a file, in Postgres, or (``None``) in the memory of this process."""

    def __init__(self, place: str | os.PathLike[str] | None = None, *, create: bool = True) -> None:
        self._store = Store(place, create=create)

    @property
    def place(self) -> str:
        """Where the ledger is kept, without a password."""
        return self._store.name

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a ledger in memory is gone then."""
        self._store.close()

    def register(
        self,
        registration: Registration,
        *,
        salt: bytes | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """Register a dataset; the same registration again changes nothing, another is refused.

        ``salt`` is the secret with which fingerprints are keyed, whose hash the rules hold, and
        ``fingerprint`` that of the rows it is registered with.
        """
        with self._writing("register") as connection:
            registrations.register(connection, registration, salt, fingerprint)

    def amend(
        self,
        dataset: str,
        *,
        limits: Limits | None = None,
        purposes: tuple[str, ...] | None = None,
        policy: SpendingPolicy | None = None,
        public: Sequence[str] | None = None,
        reason: str | None = None,
        known: Registration | None = None,
    ) -> Registration:
        """Change what an owner may change, and record it; give the registration now in force.

        ``public`` names public tables that are new or have changed: the next session that names
        one registers its rows. ``known`` is the registration that the change was thought out from:
        if somebody has changed the same meanwhile, this is refused, instead of undoing that.
        """
        given = {"limits": limits, "purposes": purposes, "policy": policy}
        changes: dict[str, Any] = {
            name: change for name, change in given.items() if change is not None
        }
        if isinstance(public, str) or not all(public or ()):
            raise ParameterError(
                Message(
                    "Public tables are a list of names, such as {}.", Argument("public", ["wards"])
                )
            )
        if public:
            changes["public"] = dict.fromkeys(public)
        if not changes:
            raise ParameterError("An amendment changes limits=, purposes=, policy= or public=.")
        with self._store.writing() as connection:
            return registrations.amend(connection, dataset, changes, reason, known)

    def add_public(self, dataset: str, tables: Mapping[str, Any]) -> Registration:
        """Describe public tables that an amendment has named; others are refused."""
        with self._store.writing() as connection:
            return registrations.add_public(connection, dataset, tables)

    def add_block(self, dataset: str, block: str, *, fingerprint: str | None = None) -> None:
        """Add a block of new rows with totals of its own; only where the unit is a row."""
        with self._store.writing() as connection:
            registrations.add_block(connection, dataset, block, fingerprint)

    def blocks(self, dataset: str) -> frozenset[str]:
        """Name the blocks of a dataset."""
        with self._store.reading() as connection:
            return registrations.known_blocks(connection, dataset)

    def registration(self, dataset: str) -> Registration | None:
        """Read what the owner of a dataset fixed."""
        with self._store.reading() as connection:
            return registrations.find(connection, dataset)

    def names(self) -> list[str]:
        """Name the datasets that are registered."""
        with self._store.reading() as connection:
            return registrations.names(connection)

    def salt(self, dataset: str) -> bytes | None:
        """Read the secret with which the fingerprints of a dataset are keyed."""
        with self._store.reading() as connection:
            return registrations.find_salt(connection, dataset)

    def charge(
        self, charge: Charge, *, beside: Callable[[Connection, Receipt], None] | None = None
    ) -> Receipt:
        """Charge for a question before it is answered; on disk when this returns.

        Raises ``BudgetExceeded``, ``PurposeRefused``, ``PositionMoved`` or ``GovernanceError``,
        and then nothing was charged. ``beside`` writes in the same transaction: both are on disk,
        or neither; what it raises undoes the charge.
        """
        with self._writing("charge") as connection:
            receipt = charges.charge(connection, charge)
            if beside is not None:
                beside(connection, receipt)
            return receipt

    @contextmanager
    def hold(
        self,
        dataset: str,
        analyst: str,
        questions: Sequence[tuple[str, str]],
        wait: float | None = None,
    ) -> Iterator[None]:
        """Keep others from paying for the same questions of an analyst meanwhile.

        ``questions`` are pairs of a fingerprint and a text. Whoever comes second waits, for
        ``wait`` seconds or as long as it takes.
        """
        keys = [key_of_question(dataset, analyst, rows, text) for rows, text in questions]
        with hold(self._store, keys, wait):
            yield

    def settle(
        self,
        receipt: Receipt,
        *answers: str,
        beside: Callable[[Connection], None] | None = None,
    ) -> None:
        """Record the answer, as JSON, to each question of a charge, for when it is asked again.

        ``beside`` writes in the same transaction, as for :meth:`charge`.
        """
        with self._writing("settle") as connection:
            settlements.settle(connection, receipt, *answers)
            if beside is not None:
                beside(connection)

    def fail(self, receipt: Receipt, reason_code: str) -> None:
        """Record that a charge could not be answered; it stays paid."""
        with self._writing("fail") as connection:
            settlements.fail(connection, receipt, reason_code)

    def stored(
        self,
        dataset: str,
        analyst: str,
        fingerprint: str,
        question: str,
        purpose: str | None = None,
    ) -> str | None:
        """Find an analyst's answer to the same question for the same purpose on unchanged data."""
        wanted = dataset, analyst, fingerprint, question, purpose
        return self._store.look(lambda connection: settlements.stored(connection, *wanted))

    def repeat(
        self,
        dataset: str,
        analyst: str,
        fingerprint: str,
        question: str,
        purpose: str | None = None,
    ) -> str | None:
        """Give the stored answer again, for nothing, once that is recorded; None without one."""
        wanted = dataset, analyst, fingerprint, question, purpose
        if self.stored(*wanted) is None:
            return None  # the usual case, for which no other writer has to wait
        with self._writing("repeat") as connection:
            return settlements.repeat(connection, *wanted)

    def spent(
        self,
        dataset: str,
        analyst: str | None = None,
        purpose: str | None = None,
        block: str = MAIN,
    ) -> SpentTotals:
        """Read what was spent on a block: in all, by an analyst, or for a purpose."""
        if analyst is not None and purpose is not None:
            raise ParameterError("Totals are kept per analyst and per purpose, not for both.")
        scope = "dataset" if analyst is None else "analyst"
        scope = scope if purpose is None else "purpose"
        names = names_of(analyst or "", purpose or "")
        return self.snapshot(dataset, analyst or "", purpose, (block,)).spent[
            block, scope, names[scope]
        ]

    def snapshot(
        self,
        dataset: str,
        analyst: str,
        purpose: str | None = None,
        blocks: tuple[str, ...] = (MAIN,),
    ) -> Snapshot:
        """Read what a charge would be judged by now: rules, position and totals."""
        wanted = dataset, analyst, purpose, blocks
        return self._store.look(lambda connection: snapshots.read(connection, *wanted))

    def remaining(
        self,
        dataset: str,
        analyst: str,
        purpose: str | None = None,
        blocks: tuple[str, ...] = (MAIN,),
    ) -> Remaining:
        """State what is left of every limit that applies, on the scarcest of the blocks."""
        with self._store.reading() as connection:
            return remaining(connection, dataset, analyst, purpose, blocks)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """Read every account in use: per block, in all, per analyst and per purpose."""
        with self._store.reading() as connection:
            return accounts_of(connection, dataset)

    def position(self, dataset: str, analyst: str) -> int:
        """Count the charges of an analyst on the rows that a dataset was registered with."""
        return self.snapshot(dataset, analyst).position("analyst")

    def record(self, kind: str, details: Mapping[str, Any]) -> Entry:
        """Record something else that happened, such as a release."""
        if kind in RESERVED or not kind:
            raise ParameterError(f"Entries of the kind {kind!r} are written by the ledger itself.")
        rest = {name: value for name, value in details.items() if name not in _SEVERAL}
        fields: dict[str, Any] = {name: details.get(name) for name in _SEVERAL}
        if not all(value is None or isinstance(value, str) for value in fields.values()):
            raise ParameterError(f"{', '.join(_SEVERAL)} of an entry are texts.")
        for value in fields.values():
            check_text(value or "")
        with self._store.writing() as connection:
            return append(connection, lock_head(connection), Entry(kind, details=rest, **fields))

    def entries(self, dataset: str | None = None, *, last: int | None = None) -> list[Entry]:
        """Read entries in order: all or those of one dataset, and of these the last few."""
        with self._store.reading() as connection:
            if last is not None:
                return read_last(connection, dataset, last)
            return list(read_entries(connection, dataset))

    def entry(self, number: int) -> Entry:
        """Read the entry with a number."""
        with self._store.reading() as connection:
            found = read_entry(connection, number)
        if found is None:
            raise ParameterError(f"The ledger has no entry {number}; it has {self.count():,}.")
        return found

    def outcome(self, charge: int) -> Entry | None:
        """Read the entry that tells what became of a charge; None while there is none."""
        with self._store.reading() as connection:
            return read_outcome(connection, charge)

    def count(self, dataset: str | None = None) -> int:
        """Count the entries, of one dataset or all."""
        with self._store.reading() as connection:
            return count_entries(connection, dataset)

    def head(self) -> Head:
        """Read the number of entries and the last hash: note it elsewhere."""
        with self._store.reading() as connection:
            return read_head(connection)

    def verify(self, head: str | None = None) -> LedgerVerification:
        """Recompute the chain, the totals and every decision; ``head`` is a hash noted earlier."""
        from sfumato.govern.ledger.integrity import verify  # noqa: PLC0415 - needed here only

        with self._store.reading() as connection:
            return verify(connection, head)

    def export(self, path: str | Path, format: Literal["json", "csv"] = "json") -> None:  # noqa: A002 - the word for it
        """Write all entries, without answers, to a file."""
        from sfumato.govern.ledger.export import export  # noqa: PLC0415 - needed here only

        export(self.entries(), path, format)

    @contextmanager
    def _writing(self, operation: str) -> Iterator[Connection]:
        with self._store.writing() as connection:
            reached(f"{operation}-begun")
            yield connection
        reached(f"{operation}-committed")
