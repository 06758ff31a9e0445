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
    from sqlalchemy import Connection

    from sfumato.govern.office.office import Office

RETENTION = 400 * 86400.0
WINDOW = 15 * 60.0
MOST_PER_ACCOUNT, MOST_PER_ADDRESS = 10, 50
"""Logins that may fail in the window before further ones are refused unseen."""

MOST_REQUESTS = 30
"""Requests about people that one address may make in the window."""


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


def begin_attempt(office: Office, account: str, address: str) -> str | None:
    """Count a login before it is tried; None if too many have failed lately.

    Looking and counting are one transaction, so that logins sent at once do not all pass before the
    first of them has failed. Whoever succeeds drops the attempt. Account and address are kept
    hashed, for the window.
    """
    return _begin(
        office,
        {
            "account": (_kept(account), MOST_PER_ACCOUNT),
            "address": (_kept(address), MOST_PER_ADDRESS),
        },
    )


def drop_attempt(office: Office, id_: str) -> None:
    """Count a login no more: it did not fail."""
    office.change(delete(attempts).where(attempts.c.id == id_))


def begin_request(office: Office, address: str) -> bool:
    """Count a request of somebody without an account; tell whether the address may make one."""
    return _begin(office, {"address": (_kept(f"request {address}"), MOST_REQUESTS)}) is not None


def _begin(office: Office, limits: dict[str, tuple[str, int]]) -> str | None:
    at, id_ = now(), new_id()

    def work(connection: Connection) -> str | None:
        connection.execute(delete(attempts).where(attempts.c.at < at - WINDOW))
        for name, (value, most) in limits.items():
            count = select(func.count()).where(attempts.c[name] == value)
            if connection.execute(count).scalar_one() >= most:
                return None
        kept = {name: value for name, (value, _) in limits.items()}
        connection.execute(insert(attempts).values(id=id_, at=at, **kept))
        return id_

    return office.together(work)


def _kept(value: str) -> str:
    return digest(value.casefold())[:32]
