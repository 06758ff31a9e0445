"""The audit log: logins and failures, grants, tokens, exports, requests; apart from the chain.

Contract: a line says when, what kind, who (by pseudonym) and about what, never an answer, a cell
or an address of a device. Lines older than the retention are erased when a new one is written.
Logins that failed are counted, and limited, per account from one address, per address, and per
account from all addresses. A device from which the account was entered before is counted alone:
strangers who fail keep out strangers, not the person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select

from sfumato.govern.office.office import digest, new_id, now
from sfumato.govern.office.tables import attempts, events

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from sfumato.govern.office.office import Office

RETENTION = 400 * 86400.0
WINDOW = 15 * 60.0
MOST_PER_ACCOUNT, MOST_PER_ADDRESS, MOST_IN_ALL = 10, 50, 200
"""Logins that may fail in the window before further ones are refused unseen: to an account from one
address or known device, from one address, and to an account from all unknown devices."""

_HALF = 16

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


def begin_attempt(office: Office, account: str, address: str, device: str = "") -> str | None:
    """Count a login before it is tried; None if too many have failed lately.

    Looking and counting are one transaction, so that logins sent at once do not all pass before the
    first of them has failed. Whoever succeeds drops the attempt. Account, address and device are
    kept hashed, for the window; `device` names one from which the account was entered before.
    """
    of = attempts.c.account
    if device:
        known = _kept(f"{device}\0{account}")
        return _begin(office, {"account": known}, [(of == known, MOST_PER_ACCOUNT)])
    who, where = _kept(account)[:_HALF], _kept(address)
    here = who + _kept(f"{address}\0{account}")[:_HALF]
    limits = [
        (of == here, MOST_PER_ACCOUNT),
        (of.startswith(who), MOST_IN_ALL),
        (attempts.c.address == where, MOST_PER_ADDRESS),
    ]
    return _begin(office, {"account": here, "address": where}, limits)


def drop_attempt(office: Office, id_: str) -> None:
    """Count a login no more: it did not fail."""
    office.change(delete(attempts).where(attempts.c.id == id_))


def begin_request(office: Office, address: str) -> bool:
    """Count a request of somebody without an account; tell whether the address may make one."""
    where = _kept(f"request {address}")
    limits = [(attempts.c.address == where, MOST_REQUESTS)]
    return _begin(office, {"address": where}, limits) is not None


def _begin(
    office: Office, kept: dict[str, str], limits: list[tuple[ColumnElement[bool], int]]
) -> str | None:
    at, id_ = now(), new_id()

    def work(connection: Connection) -> str | None:
        connection.execute(delete(attempts).where(attempts.c.at < at - WINDOW))
        for which, most in limits:
            if connection.execute(select(func.count()).where(which)).scalar_one() >= most:
                return None
        connection.execute(insert(attempts).values(id=id_, at=at, **kept))
        return id_

    return office.together(work)


def _kept(value: str) -> str:
    return digest(value.casefold())[:32]
