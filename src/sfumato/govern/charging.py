"""A charge: checked against every limit and on disk before the data is touched.

Contract: :func:`charge` runs inside one writing transaction. It sees the totals that all
charges before it left, refuses what does not fit, and appends the entry, moves the totals and
the position on; all of that is there after the commit, or none of it. Totals are kept, never
summed again, so a charge costs the same after a million questions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import text

from sfumato.dp.accounting.costs import Cost, Spent
from sfumato.errors import GovernanceError, ParameterError, PositionMoved
from sfumato.govern.appending import append, lock_head
from sfumato.govern.chain import CHARGED, Entry, canonical, check_text
from sfumato.govern.faults import reached
from sfumato.govern.limits import check, names_of
from sfumato.govern.policies import Free
from sfumato.govern.purposes import check_purpose
from sfumato.govern.registering import MAIN, known_blocks, needed
from sfumato.govern.statements import Statement, batched

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sfumato.govern.registering import Registration

__all__ = ["Charge", "PositionMoved", "Receipt", "charge", "position"]

Key = tuple[str, str, str]
"""A block, a scope and a name: what an account of a dataset is kept for."""

_ACCOUNTS = Statement(
    text(
        "SELECT scope, name, spent FROM sfumato_accounts WHERE dataset = :dataset AND "
        "block = :block AND scope IN ('dataset', 'analyst', 'purpose') AND "
        "name IN ('', :analyst, :purpose)"
    )
)
_POSITION = Statement(
    text("SELECT charges FROM sfumato_positions WHERE dataset = :dataset AND analyst = :analyst")
)
_MOVE_ON = Statement(
    text(
        "INSERT INTO sfumato_positions (dataset, analyst, charges) VALUES (:dataset, :analyst, 1) "
        "ON CONFLICT (dataset, analyst) DO UPDATE SET charges = sfumato_positions.charges + 1"
    )
)


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A question about to be answered, and what its answer will cost."""

    dataset: str
    analyst: str
    question: str
    cost: Cost
    guarantee: str
    fingerprint: str
    purpose: str | None = None
    blocks: tuple[str, ...] = (MAIN,)
    position: int | None = None

    def __post_init__(self) -> None:
        given: object = self.blocks
        if isinstance(given, str) or not self.blocks:
            raise ParameterError("A charge names the blocks it reads, as in blocks=('main',).")
        object.__setattr__(self, "blocks", tuple(sorted(set(self.blocks))))
        if not self.analyst:
            raise ParameterError("A charge names its analyst.")
        for value in (self.dataset, self.analyst, self.purpose, self.question, self.guarantee):
            check_text(value or "")
        if self.cost.is_nothing:
            raise ParameterError(
                "A charge of nothing is no charge: an answer from private data has a cost."
            )


@dataclass(frozen=True)
class Receipt:
    """Proof that a charge is on disk: its entry's number and hash."""

    number: int
    hash: str
    charge: Charge


def charge(connection: Connection, wanted: Charge) -> Receipt:
    """Check a charge against purpose, position and every limit, and write it down."""
    head = lock_head(connection)
    registration = needed(connection, wanted.dataset)
    _check_rules(connection, registration, wanted)
    totals = _checked_totals(connection, registration, wanted)
    reached("charge-checked")
    with batched(connection):
        entry = append(connection, head, _entry(wanted))
        reached("charge-appended")
        _keep(connection, wanted.dataset, totals)
        _MOVE_ON.run(connection, dataset=wanted.dataset, analyst=wanted.analyst)
    reached("charge-counted")
    return Receipt(entry.number, entry.hash, wanted)


def read_accounts(
    connection: Connection, dataset: str, blocks: tuple[str, ...], names: dict[str, str]
) -> dict[Key, Spent]:
    """Read the totals of all three scopes on some blocks; an account not yet used has none."""
    who = {"analyst": names["analyst"], "purpose": names["purpose"]}
    kept = {
        (block, scope, name): spent_from(written)
        for block in blocks
        for scope, name, written in _ACCOUNTS.run(connection, dataset=dataset, block=block, **who)
    }
    return {
        (block, scope, name): kept.get((block, scope, name), Spent())
        for block in blocks
        for scope, name in names.items()
    }


def position(connection: Connection, dataset: str, analyst: str) -> int:
    """Count the charges of an analyst on a dataset."""
    found = _POSITION.first(connection, dataset=dataset, analyst=analyst)
    return 0 if found is None else int(found)


def spent_text(spent: Spent) -> str:
    """Write totals in their one canonical form."""
    return canonical(spent.to_json())


@lru_cache(maxsize=256)
def spent_from(written: str) -> Spent:
    """Read totals."""
    return Spent.from_json(json.loads(written))


def _check_rules(connection: Connection, registration: Registration, wanted: Charge) -> None:
    check_purpose(wanted.dataset, registration.purposes, wanted.purpose)
    if wanted.blocks != (MAIN,):
        unknown = set(wanted.blocks) - known_blocks(connection, wanted.dataset)
        if unknown:
            raise GovernanceError(
                f"The dataset {wanted.dataset!r} has no block {min(unknown)!r}; its owner adds "
                "one with Ledger.add_block."
            )
    if wanted.position is None:
        if not isinstance(registration.policy, Free):
            raise GovernanceError(
                f"The policy of {wanted.dataset!r} ({registration.policy}) goes by the number of "
                "earlier questions, so a charge states the position it was planned for."
            )
        return
    now = position(connection, wanted.dataset, wanted.analyst)
    if now != wanted.position:
        raise PositionMoved(
            f"This question was planned after {wanted.position} others, and {now} were charged "
            "meanwhile; plan it again."
        )


def _checked_totals(
    connection: Connection, registration: Registration, wanted: Charge
) -> dict[Key, Spent]:
    names = names_of(wanted.analyst, wanted.purpose or "")
    before = read_accounts(connection, wanted.dataset, wanted.blocks, names)
    after = {key: spent.plus(wanted.cost) for key, spent in before.items()}
    for key, spent in before.items():
        block, scope, name = key
        limit = registration.limits.of(scope, name)
        if limit is not None:
            check(limit, spent, after[key], scope=scope, name=name, block=block)
    return after


def _keep(connection: Connection, dataset: str, totals: dict[Key, Spent]) -> None:
    values: dict[str, str] = {"dataset": dataset}
    for row, ((block, scope, name), spent) in enumerate(totals.items()):
        values[f"block{row}"], values[f"scope{row}"] = block, scope
        values[f"name{row}"], values[f"spent{row}"] = name, spent_text(spent)
    _keeping(len(totals)).run(connection, **values)


@lru_cache(maxsize=64)
def _keeping(count: int) -> Statement:
    """Write the statement that keeps so many totals at once."""
    rows = ", ".join(
        f"(:dataset, :block{row}, :scope{row}, :name{row}, :spent{row})" for row in range(count)
    )
    return Statement(
        text(
            f"INSERT INTO sfumato_accounts (dataset, block, scope, name, spent) VALUES {rows} "  # noqa: S608 - names of parameters only
            "ON CONFLICT (dataset, block, scope, name) DO UPDATE SET spent = excluded.spent"
        )
    )


def _entry(wanted: Charge) -> Entry:
    return Entry(
        CHARGED,
        dataset=wanted.dataset,
        blocks=wanted.blocks,
        analyst=wanted.analyst,
        purpose=wanted.purpose,
        fingerprint=wanted.fingerprint,
        question=wanted.question,
        guarantee=wanted.guarantee,
        cost=wanted.cost.to_json(),
    )
