"""Is the ledger what it was? Every hash, every total and every decision computed again.

Contract: :func:`verify` shares no state with charging. It walks the entries in order, checks
number, link and hash of each, replays registrations, amendments and charges, and checks that each
charge named a purpose and blocks that existed and passed no limit then in force. At the end the
kept totals, registrations, blocks, answers and head must be what the replay gives. The
first thing that is wrong is told. A tail that was cut off together with the head leaves no trace in
the database; a hash noted elsewhere finds it (``head=``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from sfumato.dp.accounting.costs import Cost, SpentTotals
from sfumato.dp.accounting.filters import fits
from sfumato.errors import SfumatoError
from sfumato.govern.ledger import chain
from sfumato.govern.ledger.append import Head, read_entries, read_head
from sfumato.govern.ledger.charges import spent_text
from sfumato.govern.ledger.registrations import MAIN, SALT_HASH, Registration, registration_from
from sfumato.govern.ledger.settlements import answers_hash
from sfumato.govern.ledger.tables import accounts, answers, blocks, registrations
from sfumato.govern.limits import names_of
from sfumato.govern.purposes import check_purpose
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from sfumato.govern.ledger.chain import Entry


@dataclass(frozen=True)
class LedgerVerification(Shown):
    """Whether a ledger is sound; if not, the first entry that is not (if it is one), and why."""

    ok: bool
    count: int
    head: str
    broken: int | None = None
    why: str | None = None

    def __bool__(self) -> bool:
        return self.ok


Verification = LedgerVerification
"""The public name of old; `sf.audit.Verification` is about a release."""


class _ChargeRecord(NamedTuple):
    """What must agree with the outcome and the kept answer of a charge."""

    dataset: str
    blocks: tuple[str, ...]
    analyst: str
    purpose: str | None
    fingerprint: str | None
    question: str


class _Broken(Exception):  # noqa: N818 - caught in this module
    def __init__(self, why: str, number: int | None = None) -> None:
        super().__init__(why)
        self.number = number


@dataclass
class _Replay:
    """The state that the entries seen so far lead to."""

    last: Head = field(default=Head(0, chain.GENESIS))
    rules: dict[str, Registration] = field(default_factory=dict)
    blocks: dict[str, set[str]] = field(default_factory=dict)
    spent: dict[tuple[str, str, str, str], SpentTotals] = field(default_factory=dict)
    charges: dict[int, _ChargeRecord] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)
    answers: dict[int, str] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Check one entry and apply it."""
        if entry.number != self.last.number + 1:
            raise _Broken(f"entry {self.last.number + 1} is missing", self.last.number + 1)
        if entry.previous != self.last.hash:
            raise _Broken("it is not linked to the entry before", entry.number)
        if entry.digest() != entry.hash:
            raise _Broken("its content does not match its hash", entry.number)
        self.last = Head(entry.number, entry.hash)
        if entry.kind in {chain.REGISTERED, chain.AMENDED}:
            self._rules(entry)
        elif entry.kind == chain.BLOCK_ADDED:
            self.blocks.setdefault(str(entry.dataset), set()).update(entry.blocks)
        elif entry.kind == chain.CHARGED:
            self._charge(entry)
        elif entry.kind in {chain.ANSWERED, chain.FAILED}:
            self._outcome(entry)
        elif entry.kind == chain.REPEATED:
            self._repeated(entry)

    def _rules(self, entry: Entry) -> None:
        dataset = str(entry.dataset)
        new = registration_from(chain.canonical(entry.details["registration"]))
        old = self.rules.get(dataset)
        if (old is None) != (entry.kind == chain.REGISTERED):
            raise _Broken("it registers a dataset twice or amends an unknown one", entry.number)
        if old is not None and _fixed(old) != _fixed(new):
            raise _Broken("it changes the unit or the rules of a dataset", entry.number)
        self.rules[dataset] = new
        self.blocks.setdefault(dataset, {MAIN})

    def _charge(self, entry: Entry) -> None:
        dataset, analyst = str(entry.dataset), str(entry.analyst)
        rules = self.rules.get(dataset)
        if rules is None or not set(entry.blocks) <= self.blocks[dataset] or not entry.blocks:
            raise _Broken("it charges a dataset or block that was not registered", entry.number)
        check_purpose(dataset, rules.purposes, entry.purpose)
        cost = Cost.from_json(entry.cost or {})
        for block in entry.blocks:
            for scope, name in names_of(analyst, entry.purpose or "").items():
                key = (dataset, block, scope, name)
                self.spent[key] = self.spent.get(key, SpentTotals()).plus(cost)
                limit = rules.limits.of(scope, name)
                if limit is not None and not fits(limit, self.spent[key]):
                    raise _Broken(f"it passes the limit of the {scope}", entry.number)
        self.charges[entry.number] = _ChargeRecord(
            dataset,
            entry.blocks,
            analyst,
            entry.purpose,
            entry.fingerprint,
            entry.question or "",
        )

    def _outcome(self, entry: Entry) -> None:
        number = entry.refers
        if number is None or number not in self.charges or number in self.settled:
            raise _Broken("it settles no charge, or one that is settled", entry.number)
        charge = self.charges[number]
        _same_facts(entry, charge)
        self.settled.add(number)
        if entry.kind == chain.ANSWERED:
            self.answers[number] = str(entry.details.get("answer_sha256"))

    def _repeated(self, entry: Entry) -> None:
        if entry.refers not in self.answers or entry.cost is not None:
            raise _Broken("it repeats no answer, or has a cost of its own", entry.number)
        _same_facts(entry, self.charges[entry.refers])


def _fixed(registration: Registration) -> tuple[Any, ...]:
    """Give what never changes about a dataset."""
    return registration.unit, registration.rules, registration.limits.relation


def _same_facts(entry: Entry, charge: _ChargeRecord) -> None:
    if (entry.dataset, entry.blocks, entry.analyst, entry.purpose) != charge[:4]:
        raise _Broken("it names other people or data than its charge", entry.number)


def verify(connection: Connection, noted: str | None = None) -> LedgerVerification:
    """Check the whole ledger, and that a head noted earlier is still part of it."""
    replay = _Replay()
    try:
        seen = {entry.hash for entry in _taken(replay, read_entries(connection))}
        _compare(connection, replay)
        _still_there(noted, seen)
    except _Broken as broken:
        return LedgerVerification(False, *replay.last, broken=broken.number, why=str(broken))
    return LedgerVerification(True, *replay.last)


def _taken(replay: _Replay, entries: Iterator[Entry]) -> Iterator[Entry]:
    try:
        for entry in entries:
            _take(replay, entry)
            yield entry
    except (TypeError, ValueError):
        raise _Broken("it cannot be read", replay.last.number + 1) from None


def _still_there(noted: str | None, seen: set[str]) -> None:
    if noted is not None and noted not in seen | {chain.GENESIS}:
        raise _Broken("the noted head is no entry of it: entries were cut off or replaced")


def _take(replay: _Replay, entry: Entry) -> None:
    try:
        replay.take(entry)
    except (SfumatoError, KeyError, TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, SfumatoError) else "it cannot be read"
        raise _Broken(reason, entry.number) from None


def _compare(connection: Connection, replay: _Replay) -> None:
    head = read_head(connection)
    if head != replay.last:
        raise _Broken(
            f"the head tells of {head.number} entries and {replay.last.number} are linked"
        )
    expected: dict[str, dict[Any, Any]] = {
        "totals": {key: spent_text(spent) for key, spent in replay.spent.items()},
        "registrations": {
            name: chain.canonical(registration.to_json())
            for name, registration in replay.rules.items()
        },
        "salts": {
            name: registration.rules[SALT_HASH]
            for name, registration in replay.rules.items()
            if SALT_HASH in registration.rules
        },
        "blocks": {(name, block): None for name, many in replay.blocks.items() for block in many},
        "answers": replay.answers,
    }
    for what, kept in _kept(connection).items():
        if kept != expected[what]:
            raise _Broken(f"the kept {what} are not what the entries add up to")
    _compare_keys(connection, replay)


def _kept(connection: Connection) -> dict[str, dict[Any, Any]]:
    return {
        "totals": {tuple(row[:4]): row[4] for row in connection.execute(select(accounts))},
        "registrations": {row[0]: row[1] for row in connection.execute(select(registrations))},
        "salts": {
            row.dataset: chain.key_of(row.salt)
            for row in connection.execute(select(registrations))
            if row.salt is not None
        },
        "blocks": {tuple(row): None for row in connection.execute(select(blocks))},
        "answers": {
            charge: answers_hash([row.answer for row in rows])
            for charge, rows in _answers(connection)
        },
    }


def _answers(connection: Connection) -> Iterator[tuple[int, list[Any]]]:
    """List the kept answers charge by charge."""
    rows = connection.execute(select(answers).order_by(answers.c.charge, answers.c.part))
    for charge, kept in groupby(rows, key=attrgetter("charge")):
        yield charge, list(kept)


def _compare_keys(connection: Connection, replay: _Replay) -> None:
    """Check that every answer is kept under the question, data and analyst of its charge."""
    for number, rows in _answers(connection):
        charge = replay.charges[number]
        keys = [chain.key_of(part) for part in chain.parts_of(charge.question, len(rows))]
        about = {(row.dataset, row.analyst, row.fingerprint) for row in rows}
        if [row.question_key for row in rows] != keys or about != {
            (charge.dataset, charge.analyst, charge.fingerprint)
        }:
            raise _Broken("an answer is kept under another question than its charge", number)
