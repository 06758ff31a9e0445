"""Jobs: work that takes longer than a request; durable, leased, cancellable.

Contract: a job is a row. One worker claims it (``BEGIN IMMEDIATE`` in SQLite, ``FOR UPDATE SKIP
LOCKED`` in Postgres) and gives signs of life while it works. A job whose worker died is claimed
again if it may be: an anonymisation carries no ε; what spends ε (publish, train) is closed as
interrupted, with the charge kept, because trying again would be a second answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from sfumato.govern.office.office import new_id, now
from sfumato.govern.office.subjects import reopen
from sfumato.govern.office.tables import jobs

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from sfumato.govern.office.office import Office

LEASE = 20.0
MOST_TRIES = 3
UNDER_WAY = ("queued", "running", "cancelling")
RETRIED = frozenset({"anonymize", "lookup", "change"})
"""Kinds that may be tried again: they spend no ε."""

PERSONAL = ("lookup", "change")
"""Kinds whose body names a person; it is erased when the job is over."""


def add_job(
    office: Office, kind: str, *, person: str, dataset: str | None, body: dict[str, Any],
    at: float | None = None,
) -> str:  # fmt: skip
    """Add a job, to be done when a worker is free, not before a stated time; give its id."""
    id_, at = new_id(), now() if at is None else at
    office.change(
        insert(jobs).values(
            id=id_, kind=kind, person=person, dataset=dataset, body=json.dumps(body),
            state="queued", progress="", made=at, changed=at, tries=0,
        )
    )  # fmt: skip
    return id_


def claim_job(office: Office, worker: str) -> dict[str, Any] | None:
    """Claim the oldest job that nobody works on, and close those that cannot be tried again."""
    at = now()

    def work(connection: Connection) -> dict[str, Any] | None:
        _close_dead(connection, at)
        query = (
            select(jobs)
            .where(
                ((jobs.c.state == "queued") & (jobs.c.made <= at))
                | ((jobs.c.state == "running") & (jobs.c.lease < at))
            )
            .order_by(jobs.c.made)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        row = connection.execute(query).mappings().first()
        if row is None:
            return None
        taken = {"state": "running", "worker": worker, "lease": at + LEASE, "changed": at,
                 "tries": row["tries"] + 1}  # fmt: skip
        connection.execute(update(jobs).where(jobs.c.id == row["id"]).values(**taken))
        return dict(row) | taken

    return office.together(work)


def _close_dead(connection: Connection, at: float) -> None:
    dead = (jobs.c.state.in_(("running", "cancelling"))) & (jobs.c.lease < at)
    final = (
        jobs.c.kind.not_in(RETRIED) | (jobs.c.tries >= MOST_TRIES) | (jobs.c.state == "cancelling")
    )
    _forget_person(connection, dead & final, done=False)
    connection.execute(
        update(jobs).where(dead & final).values(state="failed", code="interrupted", changed=at)
    )


def _forget_person(connection: Connection, which: ColumnElement[bool], *, done: bool) -> None:
    """Erase whom jobs that are over name; what was not done waits for the owner again."""
    which = which & jobs.c.kind.in_(PERSONAL)
    if not done:
        for body in connection.execute(select(jobs.c.body).where(which)).scalars().all():
            reopen(connection, json.loads(body).get("request", ""))
    connection.execute(update(jobs).where(which).values(body="{}"))


def keep_body(office: Office, id_: str, body: dict[str, Any]) -> None:
    """Keep what a job has to know should it be tried again."""
    office.change(
        update(jobs)
        .where(jobs.c.id == id_, jobs.c.state.in_(UNDER_WAY))
        .values(body=json.dumps(body))
    )


def tell_progress(office: Office, id_: str, progress: str) -> bool:
    """Give a sign of life; tell whether the job is to go on."""
    at = now()
    office.change(
        update(jobs)
        .where(jobs.c.id == id_, jobs.c.state.in_(("running", "cancelling")))
        .values(progress=progress, changed=at, lease=at + LEASE),
        quick=True,
    )
    found = find_job(office, id_)
    return found is not None and found["state"] == "running"


def end_job(
    office: Office, id_: str, state: str, *, result: Any = None, code: str | None = None
) -> None:
    """Close a job: done, failed or cancelled."""
    kept = None if result is None else json.dumps(result)
    closed = (
        update(jobs)
        .where(jobs.c.id == id_, jobs.c.state.in_(UNDER_WAY))
        .values(state=state, result=kept, code=code, changed=now())
    )

    def work(connection: Connection) -> None:
        _forget_person(connection, jobs.c.id == id_, done=state == "done")
        connection.execute(closed)

    office.together(work)
    office.store.wipe()  # of the person whom it was about


def cancel_job(office: Office, id_: str) -> bool:
    """Ask for a job to be cancelled; tell whether it was still to be done."""
    at = now()
    queued = (jobs.c.id == id_) & (jobs.c.state == "queued")
    running = (jobs.c.id == id_) & (jobs.c.state == "running")

    def work(connection: Connection) -> bool:
        _forget_person(connection, queued, done=False)
        ended = update(jobs).where(queued).values(state="cancelled", changed=at)
        asked = update(jobs).where(running).values(state="cancelling", changed=at)
        return bool(connection.execute(ended).rowcount or connection.execute(asked).rowcount)

    return office.together(work)


def find_job(office: Office, id_: str) -> dict[str, Any] | None:
    """Read a job."""
    row = office.row(select(jobs).where(jobs.c.id == id_))
    return None if row is None else _read(row)


def list_jobs(office: Office, limit: int = 50) -> list[dict[str, Any]]:
    """Read the latest jobs."""
    query = select(jobs).order_by(jobs.c.made.desc()).limit(limit)
    return [_read(row) for row in office.rows(query)]


def forget_result(office: Office, id_: str) -> None:
    """Erase what a job found, once it was read."""
    office.change(update(jobs).where(jobs.c.id == id_).values(result=None))


def _read(row: dict[str, Any]) -> dict[str, Any]:
    result = None if row["result"] is None else json.loads(row["result"])
    return row | {"body": json.loads(row["body"]), "result": result}
