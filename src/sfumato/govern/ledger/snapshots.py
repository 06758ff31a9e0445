"""What a charge is judged by, as it stands at one moment, read in one statement.

Contract: :func:`read` gives the registration of a dataset and the totals of all three scopes on
the blocks asked for, with the number of charges in each: all of one state of the ledger.
Inside a writing transaction it comes after the lock on the head, never together with it: a
statement that waits for a lock may go on with what it saw before it waited.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import text

from sfumato.dp.accounting.costs import SpentTotals
from sfumato.errors import GovernanceError
from sfumato.govern.ledger.registrations import MAIN, registration_from
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.limits import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.ledger.registrations import Registration

Key = tuple[str, str, str]
"""A block, a scope and a name: what an account of a dataset is kept for."""

_RULES = (
    "SELECT 'rules' AS part, '' AS block, '' AS scope, '' AS name, body AS value "
    "FROM sfumato_registrations WHERE dataset = :dataset"
)
_ACCOUNTS = (
    "SELECT 'spent', block, scope, name, spent FROM sfumato_accounts WHERE dataset = :dataset "
    "AND scope IN ('dataset', 'analyst', 'purpose') AND name IN ('', :analyst, :purpose)"
)


@dataclass(frozen=True)
class Snapshot:
    """The rules in force, and what was spent so far and by how many charges."""

    registration: Registration
    spent: Mapping[Key, SpentTotals]

    def position(self, scope: str, blocks: tuple[str, ...] | None = None) -> int:
        """Count the charges in a scope, on the block that has most; where a policy goes on."""
        return max(
            used.charges
            for (block, its, _), used in self.spent.items()
            if its == scope and (blocks is None or block in blocks)
        )

    def limits(self) -> Iterator[tuple[Key, Guarantee, SpentTotals]]:
        """List the limits that apply, with what was spent of each."""
        for key, spent in self.spent.items():
            _, scope, name = key
            limit = self.registration.limits.of(scope, name)
            if limit is not None:
                yield key, limit, spent


def read(
    connection: Connection,
    dataset: str,
    analyst: str,
    purpose: str | None,
    blocks: tuple[str, ...] = (MAIN,),
) -> Snapshot:
    """Read what a charge of an analyst for a purpose on some blocks is judged by."""
    values = {f"block{i}": block for i, block in enumerate(blocks)}
    rows = _reading(len(blocks)).run(
        connection, dataset=dataset, analyst=analyst, purpose=purpose or "", **values
    )
    registration, kept = None, {}
    for part, block, scope, name, value in rows:
        if part == "rules":
            registration = registration_from(value)
        else:
            kept[block, scope, name] = spent_from(value)
    if registration is None:
        raise GovernanceError(f"The dataset {dataset!r} is not registered in this ledger.")
    names = names_of(analyst, purpose or "")
    keys = [(block, scope, name) for block in blocks for scope, name in names.items()]
    return Snapshot(registration, {key: kept.get(key, SpentTotals()) for key in keys})


@lru_cache(maxsize=256)
def spent_from(written: str) -> SpentTotals:
    """Read totals."""
    return SpentTotals.from_json(json.loads(written))


@lru_cache(maxsize=64)
def _reading(count: int) -> Statement:
    """Write the statement that reads the accounts of so many blocks, and the rest."""
    listed = ", ".join(f":block{i}" for i in range(count))
    return Statement(text(f"{_RULES} UNION ALL {_ACCOUNTS} AND block IN ({listed})"))
