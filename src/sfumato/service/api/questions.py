"""Questions: priced for nothing, asked for their price, waited for, and looked up again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.office.questions import find_question, list_questions
from sfumato.service import answering, asking
from sfumato.service.call import reply
from sfumato.service.problems import not_found, problem_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

LONGEST_WAIT = 30.0
QUICK = 400
"""Characters of questions that are read where everything else goes on: a few milliseconds."""


async def estimate(call: Call) -> Response:
    """Price questions; each is priced or refused by itself, and nothing is spent."""
    wanted = await call.body()
    name = call.path["dataset"]
    found = await call.house.ready(name)

    def price() -> list[dict[str, Any]]:
        return [_priced(call, found, question, wanted.confidence) for question in wanted.questions]

    length = sum(len(question.question) for question in wanted.questions)
    few = len(wanted.questions) <= 2
    quick = few and length <= QUICK  # so quick that a thread would take longer
    return reply({"estimates": price() if quick else await call.house.thread(price)})


def _priced(call: Call, found: Any, asked: Any, confidence: float) -> dict[str, Any]:
    try:
        purpose = asking.purpose_of(call.house, call.caller, found.listed.name, asked.purpose)
        desk = call.house.desk(found, call.caller.pseudonym, purpose, pricing=True)
        estimate, price = asking.price_question(call.house, desk, asked, confidence)
    except SfumatoError as error:
        problem = problem_of(error)
        return {"problem": {"code": problem.code, "detail": problem.detail, **problem.further}}
    shown = {name: float(value) for name, value in price.items() if value is not None}
    return asking.estimate_json(estimate) | {"price": shown}


async def ask(call: Call) -> Response:
    """Take a question: 202 and where its answer will be; with `Prefer: wait=5` the answer."""
    wanted = await call.body()
    name = call.path["dataset"]
    found = await call.house.ready(name)
    seconds = _wanted_wait(call.header("prefer"))
    end = time.monotonic() + seconds
    running = await answering.ask(
        call.house, call.caller, found, wanted, call.granted, patience=seconds
    )
    row = None
    if seconds:
        left = max(0.0, end - time.monotonic())
        row = await answering.wait_for(call.house, running, left)
    row = row or find_question(call.house.office, running.id)
    assert row is not None
    body, over = asking.question_json(call.house, row, call.caller.pseudonym)
    place = f"/api/v1/questions/{running.id}"
    if over and seconds:
        return reply(body, 200, Location=place, Preference_Applied="wait")
    tick = found.listed.facts.tick
    return reply(body, 202, Location=place, Retry_After=str(max(1, round(tick))))


def _wanted_wait(preferred: str) -> float:
    for part in preferred.split(","):
        name, _, value = part.strip().partition("=")
        if name.lower() == "wait" and value.isascii() and value.isdecimal() and len(value) < 6:
            return min(float(value), LONGEST_WAIT)
    return 0.0


async def show(call: Call) -> Response:
    """Tell how a question stands; once it is ready, its answer."""
    row = find_question(call.house.office, call.path["question"])
    if row is None or row["person"] != call.caller.id:
        raise not_found()
    body, over = asking.question_json(call.house, row, call.caller.pseudonym)
    return reply(body) if over else reply(body, Retry_After="1")


async def history(call: Call) -> Response:
    """List the latest questions of whoever asks."""
    rows = list_questions(call.house.office, call.caller.id)
    shown = ("id", "dataset", "purpose", "state", "code", "charge", "made")
    return reply({"questions": [{name: row[name] for name in shown} for row in rows]})
