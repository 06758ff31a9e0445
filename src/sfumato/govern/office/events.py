"""The audit log: logins and failures, grants, tokens, exports, requests; apart from the chain.

Contract: a line says when, what kind, who (by pseudonym) and about what, never an answer, a cell
or an address of a device. Lines older than the retention are erased when a new one is written.
Logins that failed are counted per account and per address, and both are limited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select

from sfumato.govern.office.office import digest, new_id, now
from sfumato.govern.office.tables import attempts, events

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office

RETENTION = 400 * 86400.0
WINDOW = 15 * 60.0
MOST_PER_ACCOUNT, MOST_PER_ADDRESS = 10, 50
"""Logins that may fail in the window before further ones are refused unseen."""


def record(office: Office, kind: str, *, who: str = "", what: str = "") -> None:
    """Write a line, and erase those that are too old."""
    at = now()
    office.change(
        delete(events).where(events.c.at < at - RETENTION),
        insert(events).values(id=new_id(), kind=kind, who=who, what=what[:500], at=at),
    )


def list_events(office: Office, limit: int = 200) -> list[dict[str, Any]]:
    """Read the latest lines."""
    return office.rows(select(events).order_by(events.c.at.desc()).limit(limit))


def is_blocked(office: Office, account: str, address: str) -> bool:
    """Tell whether too many logins have failed lately, for this account or from this address."""
    since = now() - WINDOW
    for column, value, most in (
        (attempts.c.account, _kept(account), MOST_PER_ACCOUNT),
        (attempts.c.address, _kept(address), MOST_PER_ADDRESS),
    ):
        count = select(func.count().label("n")).where(column == value, attempts.c.at > since)
        row = office.row(count)
        if row is not None and row["n"] >= most:
            return True
    return False


def count_failure(office: Office, account: str, address: str) -> None:
    """Count a login that failed; account and address are kept hashed, for the window."""
    at = now()
    office.change(
        delete(attempts).where(attempts.c.at < at - WINDOW),
        insert(attempts).values(
            id=new_id(), account=_kept(account), address=_kept(address), at=at
        ),
    )  # fmt: skip


def _kept(value: str) -> str:
    return digest(value.casefold())[:32]
