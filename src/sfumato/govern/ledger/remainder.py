"""What is left of every limit that applies to an analyst, and which is the tightest.

Contract: for each scope the limit's own kind of guarantee, rounded down, on the scarcest of the
blocks. The tightest is the scope with the smallest amount left if all limits are of one kind, and
else the one of which the smallest part is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from sfumato.dp.accounting.filters import left
from sfumato.dp.guarantees import Guarantee
from sfumato.govern.ledger.registrations import needed
from sfumato.govern.ledger.snapshots import read, spent_from
from sfumato.govern.ledger.tables import accounts
from sfumato.govern.limits import share_left
from sfumato.govern.policies import amount_of
from sfumato.representation import Shown

if TYPE_CHECKING:
    from fractions import Fraction

    from sqlalchemy import Connection

    from sfumato.dp.accounting.costs import SpentTotals


@dataclass(frozen=True)
class Account:
    """What was spent on a block in one scope, under which limit, if there is one."""

    dataset: str
    block: str
    scope: str
    name: str
    spent: SpentTotals
    limit: Guarantee | None

    @property
    def left(self) -> Guarantee | None:
        """What is left of the limit, rounded down."""
        return None if self.limit is None else left(self.limit, self.spent)


class Remaining(Shown, dict[str, Guarantee]):
    """What is left per scope ('dataset', 'analyst', 'purpose'); ``tightest`` names one."""

    tightest: str

    @property
    def guarantee(self) -> Guarantee:
        """What is left of the tightest limit."""
        return self[self.tightest]


def accounts_of(connection: Connection, dataset: str | None) -> list[Account]:
    """Read all accounts that were used, of one dataset or all."""
    query = select(accounts).order_by(*accounts.primary_key.columns)
    if dataset is not None:
        query = query.where(accounts.c.dataset == dataset)
    rows = connection.execute(query).all()
    rules = {name: needed(connection, name) for name in {row.dataset for row in rows}}
    return [
        Account(
            row.dataset,
            row.block,
            row.scope,
            row.name,
            spent_from(row.spent),
            rules[row.dataset].limits.of(row.scope, row.name),
        )
        for row in rows
    ]


def remaining(
    connection: Connection,
    dataset: str,
    analyst: str,
    purpose: str | None,
    blocks: tuple[str, ...],
) -> Remaining:
    """State what is left of every limit that applies."""
    found = Remaining()
    shares: dict[str, Fraction] = {}
    for (_, scope, _), limit, spent in read(connection, dataset, analyst, purpose, blocks).limits():
        rest = left(limit, spent)
        if scope not in found or amount_of(rest) < amount_of(found[scope]):
            found[scope], shares[scope] = rest, share_left(limit, rest)
    alike = len({type(amount) for amount in found.values()}) == 1
    found.tightest = min(
        found, key=lambda scope: amount_of(found[scope]) if alike else shares[scope]
    )
    return found
