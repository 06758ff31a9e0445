"""A charge: checked against every limit and on disk before the data is touched.

Contract: :func:`charge` runs inside one writing transaction. It sees the totals that all
charges before it left, refuses what does not fit, and appends the entry and moves the totals
on; all of that is there after the commit, or none of it. Totals are kept, never
summed again, so a charge costs the same after a million questions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from sfumato.dp.accounting.filters import fits
from sfumato.errors import GovernanceError, ParameterError, PositionMoved
from sfumato.govern.ledger.append import append, lock_head
from sfumato.govern.ledger.chain import CHARGED, Entry, canonical, check_text, joined
from sfumato.govern.ledger.faults import reached
from sfumato.govern.ledger.registrations import MAIN, known_blocks
from sfumato.govern.ledger.snapshots import Snapshot, read
from sfumato.govern.ledger.statements import Statement, batched
from sfumato.govern.limits import refuse, tightest
from sfumato.govern.policies import Free
from sfumato.govern.purposes import check_purpose
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from sfumato.dp.accounting.costs import Cost, SpentTotals
    from sfumato.govern.ledger.snapshots import Key

__all__ = ["Charge", "PositionMoved", "Receipt", "charge"]


@dataclass(frozen=True, kw_only=True)
class Charge(Shown):
    """A question about to be answered, and what its answer will cost.

    ``position`` is the number of earlier charges in ``scope`` for which it was planned, or None
    where the policy does not go by it. Questions that are charged together are ``parts``, and
    ``question`` is :func:`~sfumato.govern.ledger.chain.joined` of them. ``details`` is plain JSON
    that the entry keeps beside the rest, such as the guarantee in a form that can be read back.
    """

    dataset: str
    analyst: str
    question: str
    cost: Cost
    guarantee: str
    fingerprint: str
    purpose: str | None = None
    blocks: tuple[str, ...] = (MAIN,)
    position: int | None = None
    scope: str = "analyst"
    parts: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: object = self.blocks
        if isinstance(given, str) or not self.blocks:
            raise ParameterError("A charge names the blocks it reads, as in blocks=('main',).")
        object.__setattr__(self, "blocks", tuple(sorted(set(self.blocks))))
        if self.parts and self.question != joined(self.parts):
            raise ParameterError("The question of a joint charge names its parts.")
        if not self.analyst:
            raise ParameterError("A charge names its analyst.")
        for value in (self.dataset, self.analyst, self.purpose, self.question, self.guarantee):
            check_text(value or "")
        if self.cost.is_nothing:
            raise ParameterError(
                "A charge of nothing is no charge: an answer from private data has a cost."
            )


@dataclass(frozen=True)
class Receipt(Shown):
    """Proof that a charge is on disk: its entry's number and hash, and what stands after it."""

    number: int
    hash: str
    charge: Charge
    after: Snapshot


def charge(connection: Connection, wanted: Charge) -> Receipt:
    """Check a charge against purpose, position and every limit, and write it down."""
    head = lock_head(connection)
    now = read(connection, wanted.dataset, wanted.analyst, wanted.purpose, wanted.blocks)
    _check_rules(connection, now, wanted)
    totals = _checked_totals(now, wanted.cost)
    reached("charge-checked")
    with batched(connection):
        entry = append(connection, head, _entry(wanted))
        reached("charge-appended")
        _keep(connection, wanted.dataset, totals)
    reached("charge-counted")
    return Receipt(entry.number, entry.hash, wanted, Snapshot(now.registration, totals))


def spent_text(spent: SpentTotals) -> str:
    """Write totals in their one canonical form."""
    return canonical(spent.to_json())


def _check_rules(connection: Connection, now: Snapshot, wanted: Charge) -> None:
    registration = now.registration
    check_purpose(wanted.dataset, registration.purposes, wanted.purpose)
    if wanted.blocks != (MAIN,):
        unknown = set(wanted.blocks) - known_blocks(connection, wanted.dataset)
        if unknown:
            raise GovernanceError(
                f"The dataset {wanted.dataset!r} has no block {min(unknown)!r}; its owner adds "
                "one with Ledger.add_block."
            )
    if wanted.position is None and not isinstance(registration.policy, Free):
        raise PositionMoved(
            f"The policy of {wanted.dataset!r} ({registration.policy}) goes by the number of "
            "earlier questions, so a charge states the position it was planned for."
        )
    position = now.position(wanted.scope)
    if wanted.position not in {None, position}:
        raise PositionMoved(
            f"This question was planned after {wanted.position} others, and {position} were "
            "charged meanwhile; plan it again."
        )


def _checked_totals(now: Snapshot, cost: Cost) -> dict[Key, SpentTotals]:
    after = {key: spent.plus(cost) for key, spent in now.spent.items()}
    passed = [found for found in now.limits() if not fits(found[1], after[found[0]])]
    if passed:
        key, limit, spent = tightest(passed)
        refuse(limit, spent, after[key], key)
    return after


def _keep(connection: Connection, dataset: str, totals: dict[Key, SpentTotals]) -> None:
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
        details=dict(wanted.details),
    )
