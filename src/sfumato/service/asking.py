"""What is asked over HTTP: read, for a purpose that was granted, priced, and told as JSON.

Contract: nothing here spends. How a question is charged and answered is in
:mod:`sfumato.service.answering`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from sfumato.ask.answers.answer_records import dump_answer, plain_rows
from sfumato.ask.answers.estimate import estimate_answer
from sfumato.ask.session.pilot import find_price
from sfumato.ask.session.submission import read_submission
from sfumato.errors import PurposeRefused
from sfumato.govern.office import questions
from sfumato.govern.office.grants import purposes_granted
from sfumato.service.access import is_still_in
from sfumato.service.problems import not_found, numbers

if TYPE_CHECKING:
    from sfumato.ask.answers.answer import Answer, AnswerForecast
    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.submission import Submission
    from sfumato.requests.service import QuestionRequest
    from sfumato.service.access import Caller
    from sfumato.service.house import House

_CHARGE = text(
    "SELECT min(number) FROM sfumato_entries WHERE dataset = :dataset AND analyst = :analyst AND "
    "kind = 'charged' AND time >= :since"
)


_READ = {"question", "bounds", "keys", "blocks"}
_MOST_READ = 5000


def purpose_of(
    house: House,
    caller: Caller,
    dataset: str,
    wanted: str | None,
    granted: tuple[str, ...] | None = None,
) -> str | None:
    """Choose the purpose of a question among those granted; the only one when none is stated."""
    if granted is None:
        granted = purposes_granted(house.office, caller.id, dataset)
    chosen = granted[0] if wanted is None and len(granted) == 1 else (wanted or "")
    if chosen not in granted:
        listed = ", ".join(repr(purpose) for purpose in granted if purpose) or "no purpose by name"
        raise PurposeRefused(
            f"You may ask about {dataset!r} for the purposes that were granted to you ({listed}); "
            "state one of them."
        )
    return chosen or None


def check_still_granted(house: House, caller: Caller, dataset: str, purpose: str | None) -> None:
    """Refuse a question that has waited, if a grant, account, session or token ended meanwhile."""
    granted = purposes_granted(house.office, caller.id, dataset)
    if (purpose or "") not in granted or not is_still_in(house.office, caller):
        raise not_found()


def submit(house: House, desk: Desk, asked: QuestionRequest) -> Submission:
    """Read a question; what was read at this desk before is kept for a while."""
    key = (id(desk), asked.model_dump_json(include=_READ))
    found = house.read.get(key)
    if found is None or found[0] is not desk:
        found = (desk, _read(desk, asked))
        if len(house.read) >= _MOST_READ:
            house.read.clear()
        house.read[key] = found
    return found[1]


def _read(desk: Desk, asked: QuestionRequest) -> Submission:
    return read_submission(
        desk.opened, asked.question, **{"bounds": {}, "keys": {}, **asked.facts()},
        answerable=desk.answerable,
    )  # fmt: skip


def price_question(
    house: House, desk: Desk, asked: QuestionRequest, confidence: float
) -> tuple[AnswerForecast, dict[str, Any]]:
    """Tell what a question would cost, and how it was priced; nothing is spent."""
    submission = submit(house, desk, asked)
    now = desk.now()
    price = find_price(desk, now, submission, asked.price.given(), spending=False)
    prepared = desk.prepare(submission, now, **price)
    promised = desk.guarantee(prepared.allocation, now)
    standing = desk.standing(now, submission.blocks)
    return estimate_answer(prepared, promised, standing, confidence), price


def estimate_json(found: AnswerForecast) -> dict[str, Any]:
    """Give an estimate as JSON; ``left`` is what would remain."""
    return {
        "fits": found.fits,
        "guarantee": numbers(found.guarantee),
        "guarantee_in_words": str(found.guarantee),
        "remaining": numbers(found.remaining),
        "mechanism": found.mechanism,
        "confidence": found.confidence,
        "errors": dict(found.errors),
        "notes": [str(note) for note in found.notes],
    }


def answer_json(answer: Answer, whole: str = "", confidence: float = 0.95) -> dict[str, Any]:
    """Give an answer as JSON, with its intervals, and whole for whoever reads it in Python.

    ``whole`` is what `dump_answer` wrote of it, where that is known.
    """
    cost = {} if answer.stored else numbers(answer.guarantee)
    return {
        "columns": answer.columns,
        "rows": plain_rows(answer),
        "intervals": answer.intervals(confidence),
        "confidence": confidence,
        "guarantee": numbers(answer.guarantee),
        "guarantee_in_words": str(answer.guarantee),
        "cost": cost,
        "stored": answer.stored,
        "notes": [str(note) for note in answer.notes],
        "remaining": numbers(answer.remaining),
        "artefact": whole or dump_answer(answer),
    }


def question_json(house: House, row: dict[str, Any], pseudonym: str) -> tuple[str, bool]:
    """Give the state of a question as JSON text, and whether it is over."""
    state, charge, id_ = row["state"], row["charge"], row["id"]
    running = house.running.get(id_)
    if state == questions.QUEUED and running is not None and running.charge is not None:
        state, charge = questions.CHARGED, running.charge
    if row["code"] == "interrupted" and charge is None:
        charge = _charge_since(house, row, pseudonym)
    told = {
        "id": id_,
        "dataset": row["dataset"],
        "state": state,
        "code": row["code"],
        "charged": charge is not None,
        "charge": charge,
    }
    over = state in {questions.READY, questions.FAILED}
    if row["result"] is None:
        return json.dumps(told | {"answer": None}), over
    return f'{json.dumps(told)[:-1]}, "answer": {row["result"]}}}', over


def _charge_since(house: House, row: dict[str, Any], pseudonym: str) -> int | None:
    """Find the charge of a question whose worker died: the first of its analyst since then."""
    from datetime import UTC, datetime  # noqa: PLC0415 - after a crash only

    since = datetime.fromtimestamp(row["made"], UTC).isoformat(timespec="microseconds")
    given = {"dataset": row["dataset"], "analyst": pseudonym, "since": since}
    with house.office.quick.reading() as connection:
        found = connection.execute(_CHARGE, given).scalar()
    return None if found is None else int(found)
