"""Questions under way, and what became of them; one row each, one at a time per analyst.

Contract: the row of a question is written in the transaction of its charge, so there is none
without the other. While it is under way, the same question of the same analyst is the same row
(``under_way`` is unique: it names the analyst, the dataset, the version of its rows and the
canonical question with its price), so a hundred who ask at once are one charge. Analysts see three
states: queued, charged, ready; and why not, if it failed. What became of it is shown from ``shown``
on, a multiple of the dataset's tick; until then the row is under way for everybody who looks,
lists, asks the same or asks something else, so nothing tells when the work ended. A row whose
worker has died (another process has seen that, or its lease is over) is closed as interrupted: the
charge stays, and nobody tries again.

Moments here are those of a clock that no one sets (:func:`now`). What another process wrote may be
of a clock that has been set back since: a row whose work ended later than now is shown, not waited
for.

What became of it is written in the transaction that settles the charge, so the tick is chosen a
little before that is on disk: :data:`GRACE` keeps the two apart.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, text

from sfumato.errors import SfumatoError
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.office.office import digest, new_id
from sfumato.govern.office.office import now as told_time
from sfumato.govern.office.tables import questions

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sfumato.govern.office.office import Office

QUEUED, CHARGED, READY, FAILED = "queued", "charged", "ready", "failed"
LEASE = 15.0
"""Seconds without a sign of life after which a worker counts as dead."""

GRACE = 0.02
"""Seconds that are left for the disk before the tick at which an answer is shown."""

APART = 60.0
"""Seconds by which the clocks of two machines may differ."""

_BEGAN = time.time() - time.monotonic()

_INSERT = Statement(
    text(
        "INSERT INTO sfumato_office_questions (id, person, dataset, purpose, body, under_way, "
        "state, charge, worker, made, lease) VALUES (:id, :person, :dataset, :purpose, :body, "
        ":under_way, :state, :charge, :worker, :made, :lease)"
    )
)
_SAME = Statement(
    text(
        "SELECT id, under_way, lease, shown FROM sfumato_office_questions WHERE person = :person "
        "AND under_way IS NOT NULL"
    )
)
_FINISH = Statement(
    text(
        "UPDATE sfumato_office_questions SET state = :state, code = :code, result = :result, "
        "charge = COALESCE(charge, :charge), shown = :shown, lease = :at WHERE id = :id "
        "AND state IN ('queued', 'charged')"
    )
)
_FREE = Statement(text("UPDATE sfumato_office_questions SET under_way = NULL WHERE id = :id"))
_BEAT = Statement(
    text(
        "UPDATE sfumato_office_questions SET lease = :lease WHERE worker = :worker AND "
        "under_way IS NOT NULL AND shown IS NULL AND lease < :lease"
    )
)
_INTERRUPT = Statement(
    text(
        "UPDATE sfumato_office_questions SET state = 'failed', code = 'interrupted', "
        "shown = :now, under_way = NULL WHERE under_way IS NOT NULL AND shown IS NULL "
        "AND lease < :now"
    )
)
_BURY = Statement(
    text(
        "UPDATE sfumato_office_questions SET state = 'failed', code = 'interrupted', "
        "shown = :now, under_way = NULL WHERE under_way IS NOT NULL AND shown IS NULL "
        "AND worker = :worker"
    )
)
_FIND = Statement(
    text(
        "SELECT id, person, dataset, purpose, body, state, code, result, charge, made, shown, "
        "lease FROM sfumato_office_questions WHERE id = :id"
    )
)
_COLUMNS = ("id", "person", "dataset", "purpose", "body", "state", "code", "result", "charge",
            "made", "shown", "lease")  # fmt: skip


class QuestionUnderWay(SfumatoError):  # noqa: N818 - says what is happening
    """Another question of the same analyst is under way; nothing was charged."""


@dataclass(frozen=True)
class QuestionRow:
    """A question about to be asked; ``key`` names it canonically, for its analyst."""

    person: str
    dataset: str
    purpose: str
    body: str
    key: str
    worker: str
    id: str = field(default_factory=new_id)

    @cached_property
    def under_way(self) -> str:
        """What is unique while it is under way."""
        return digest(f"{self.person}\0{self.key}")


@dataclass(frozen=True)
class TakenQuestion:
    """A question that was taken: its row, whether it was under way already, and when it shows."""

    id: str
    again: bool
    shown: float | None = None


def now() -> float:
    """Give the time by a clock that goes on evenly, whatever the machine's clock is set to."""
    return _BEGAN + time.monotonic()


def _is_shown(shown: float | None, lease: float, at: float) -> bool:
    """Tell whether a row's work has ended and may be seen; its lease is then when it ended."""
    return shown is not None and (shown <= at or lease > at + APART)


def under_way() -> QuestionUnderWay:
    """Say that another question of the same analyst is under way."""
    return QuestionUnderWay(
        "Another question of yours is being answered; ask this one when its answer is there. "
        "Nothing was charged."
    )


def goes_on() -> QuestionUnderWay:
    """Say that work on an earlier question of the same analyst goes on after its deadline."""
    return QuestionUnderWay(
        "An earlier question of yours is still being worked on, after its deadline; ask this one "
        "again later. Nothing was charged."
    )


def find_under_way(office: Office, row: QuestionRow) -> TakenQuestion | None:
    """Find the same question under way, without writing; refuse while another one is."""
    at = now()
    for id_, name, lease, shown in office.quick.peek(_SAME, person=row.person):
        if lease < at if shown is None else _is_shown(shown, lease, at):
            continue
        if name != row.under_way:
            raise under_way()
        return TakenQuestion(id_, again=True, shown=shown)
    return None


def write_question(
    connection: Connection, row: QuestionRow, charge: int | None = None
) -> TakenQuestion:
    """Write the row of a question inside a transaction, or find the same one under way."""
    at = now()
    for id_, name, lease, shown in _SAME.run(connection, person=row.person):
        if _is_shown(shown, lease, at):
            _FREE.run(connection, id=id_)
        elif shown is None and lease < at:
            _INTERRUPT.run(connection, now=at)
        elif name == row.under_way:
            return TakenQuestion(id_, again=True, shown=shown)
        else:
            raise under_way()
    _INSERT.run(
        connection, id=row.id, person=row.person, dataset=row.dataset, purpose=row.purpose,
        body=row.body, under_way=row.under_way, state=QUEUED if charge is None else CHARGED,
        charge=charge, worker=row.worker, made=told_time(), lease=at + LEASE,
    )  # fmt: skip
    return TakenQuestion(row.id, again=False)


def write_charged(connection: Connection, row: QuestionRow, charge: int) -> None:
    """Write the row of a question beside its charge; refuse while any is under way elsewhere."""
    if write_question(connection, row, charge).again:
        raise under_way()


def take_question(office: Office, row: QuestionRow) -> TakenQuestion:
    """Write the row of a question in a transaction of its own."""
    return office.together(lambda connection: write_question(connection, row), quick=True)


def keep_repeat(office: Office, row: QuestionRow, *, result: str, tick: float) -> TakenQuestion:
    """Write the row of a question that is answered again, with its answer."""

    def work(connection: Connection) -> TakenQuestion:
        asked = write_question(connection, row)
        if asked.again:
            return asked
        shown = next_tick(tick) if tick else now()
        write_end(connection, row.id, state=READY, shown=shown, result=result)
        return TakenQuestion(row.id, again=False, shown=shown)

    return office.together(work, quick=True)


def next_tick(tick: float, at: float | None = None) -> float:
    """Give the first multiple of a tick that is not over."""
    return math.ceil((now() if at is None else at) / tick) * tick


def tick_after(tick: float) -> float:
    """Give the tick at which something is shown that has yet to reach the disk."""
    return next_tick(tick, now() + min(GRACE, tick / 4))


def write_end(
    connection: Connection, id_: str, *, state: str, shown: float, code: str | None = None,
    result: str | None = None, charge: int | None = None,
) -> None:  # fmt: skip
    """Close a question inside a transaction; what is closed already stays as it is."""
    _FINISH.run(
        connection, id=id_, state=state, code=code, result=result, charge=charge, shown=shown,
        at=now(),
    )  # fmt: skip


def finish(
    office: Office, id_: str, *, state: str, tick: float, code: str | None = None,
    result: str | None = None, charge: int | None = None,
) -> None:  # fmt: skip
    """Close a question; what became of it is shown at the next tick, or now if the tick is 0."""

    def work(connection: Connection) -> None:
        shown = next_tick(tick) if tick else now()
        write_end(
            connection, id_, state=state, code=code, result=result, charge=charge, shown=shown
        )

    office.together(work, quick=True)


def beat(office: Office, *workers: str) -> None:
    """Give a sign of life for the questions of workers that live, and close those of dead ones."""
    at = now()

    def work(connection: Connection) -> None:
        for worker in workers:
            _BEAT.run(connection, worker=worker, lease=at + LEASE)
        _INTERRUPT.run(connection, now=at)

    office.together(work, quick=True)


def bury(office: Office, worker: str) -> None:
    """Close the questions of a worker that is known to be dead; nobody waits for its lease."""
    office.together(lambda connection: _BURY.run(connection, worker=worker, now=now()), quick=True)


def find_question(office: Office, id_: str) -> dict[str, Any] | None:
    """Read a question as its analyst may see it: what is not shown yet is under way."""
    rows = office.quick.peek(_FIND, id=id_)
    if not rows:
        return None
    return _seen(dict(zip(_COLUMNS, rows[0], strict=True)))


def find_alike(office: Office, person: str, dataset: str, body: str) -> str | None:
    """Find the latest answer that an analyst has seen to what she said in the same words."""
    query = (
        select(questions.c.id)
        .where(
            questions.c.person == person, questions.c.dataset == dataset,
            questions.c.body == body, questions.c.state == READY,
            (questions.c.shown <= now()) | (questions.c.lease > now() + APART),
        )
        .order_by(questions.c.made.desc())
        .limit(1)
    )  # fmt: skip
    row = office.row(query)
    return None if row is None else str(row["id"])


def was_shown(office: Office, id_: str) -> bool:
    """Tell whether an answer was there for its analyst to see."""
    found = find_question(office, id_)
    return found is not None and found["state"] == READY


def _seen(found: dict[str, Any]) -> dict[str, Any]:
    """Give a row as it looked before its work ended, until it is shown."""
    if found["state"] in {READY, FAILED} and not _is_shown(found["shown"], found["lease"], now()):
        under_way = QUEUED if found["charge"] is None else CHARGED
        return found | {"state": under_way, "code": None, "result": None}
    if found["state"] in {QUEUED, CHARGED} and found["lease"] < now():
        return found | {"state": FAILED, "code": "interrupted"}
    return found


def list_questions(office: Office, person: str, limit: int = 100) -> list[dict[str, Any]]:
    """Read the latest questions of an analyst, without their answers."""
    shown = [questions.c[name] for name in _COLUMNS if name != "result"]
    query = (
        select(*shown)
        .where(questions.c.person == person)
        .order_by(questions.c.made.desc())
        .limit(limit)
    )
    return [_seen(row) for row in office.rows(query)]
