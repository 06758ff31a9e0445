"""What is left of every limit that applies to an analyst, and which is the tightest.

Contract: for each scope the limit's own kind of guarantee, rounded down, on the scarcest of the
blocks. The tightest is the scope with the smallest amount left if all limits are of one kind, and
else the one of which the smallest part is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.dp.accounting.filters import left
from sfumato.dp.guarantees import Guarantee
from sfumato.govern.charging import read_accounts
from sfumato.govern.limits import names_of, share_left
from sfumato.govern.policies import amount_of
from sfumato.govern.registering import needed

if TYPE_CHECKING:
    from fractions import Fraction

    from sqlalchemy import Connection


class Remaining(dict[str, Guarantee]):
    """What is left per scope ('dataset', 'analyst', 'purpose'); ``tightest`` names one."""

    tightest: str

    @property
    def guarantee(self) -> Guarantee:
        """What is left of the tightest limit."""
        return self[self.tightest]


def remaining(
    connection: Connection,
    dataset: str,
    analyst: str,
    purpose: str | None,
    blocks: tuple[str, ...],
) -> Remaining:
    """State what is left of every limit that applies."""
    limits = needed(connection, dataset).limits
    names = names_of(analyst, purpose or "")
    found = Remaining()
    shares: dict[str, Fraction] = {}
    for (_, scope, name), spent in read_accounts(connection, dataset, blocks, names).items():
        limit = limits.of(scope, name)
        if limit is None:
            continue
        rest = left(limit, spent)
        if scope not in found or amount_of(rest) < amount_of(found[scope]):
            found[scope], shares[scope] = rest, share_left(limit, rest)
    alike = len({type(one) for one in found.values()}) == 1
    found.tightest = min(
        found, key=lambda scope: amount_of(found[scope]) if alike else shares[scope]
    )
    return found
