"""Questions over HTTP: taken, charged, worked on in a thread, shown on a clock.

Contract, in the order in which things happen: the question is parsed and priced from public facts
(a refusal is told at once and costs nothing); its row is written; it is charged, and the caller is
told so at once; only then data are read; the answer is written to its row and shown at the next
tick of the dataset, or after the deadline as a failure that stays charged. So what an analyst can
measure is: how long until the charge, which depends on no row, and at which tick the answer came.
A repeat is shown at once if its analyst has seen the answer before, and at a tick otherwise: work
that goes on after its deadline ends at no moment that can be told, and the next question of its
analyst begins at the tick after.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from sfumato.ask.answers.estimate import estimate_answer
from sfumato.ask.answers.stored import dump_answer
from sfumato.ask.session.pilot import find_price
from sfumato.ask.session.submission import read_submission
from sfumato.errors import PurposeRefused
from sfumato.govern.office import questions
from sfumato.govern.office.grants import purposes_granted
from sfumato.service.house import hearing
from sfumato.service.problems import numbers, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.answers.answer import Answer, Estimate
    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.submission import Submission
    from sfumato.requests.service import QuestionRequest
    from sfumato.service.access import Caller
    from sfumato.service.house import House, Open

_CHARGE = text(
    "SELECT min(number) FROM sfumato_entries WHERE dataset = :dataset AND analyst = :analyst AND "
    "kind = 'charged' AND time >= :since"
)


_READ = {"question", "bounds", "keys", "blocks"}
_MOST_READ = 5000
_MOST_SHOWN = 50_000


def purpose_of(house: House, caller: Caller, dataset: str, wanted: str | None) -> str | None:
    """Choose the purpose of a question among those granted; the only one when none is stated."""
    granted = purposes_granted(house.office, caller.id, dataset)
    chosen = granted[0] if wanted is None and len(granted) == 1 else (wanted or "")
    if chosen not in granted:
        listed = ", ".join(repr(one) for one in granted if one) or "no purpose by name"
        raise PurposeRefused(
            f"You may ask about {dataset!r} for the purposes that were granted to you ({listed}); "
            "state one of them."
        )
    return chosen or None


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
) -> tuple[Estimate, dict[str, Any]]:
    """Tell what a question would cost, and how it was priced; nothing is spent."""
    one = submit(house, desk, asked)
    now = desk.now()
    price = find_price(desk, now, one, asked.price.given(), spending=False)
    prepared = desk.prepare(one, now, **price)
    promised = desk.guarantee(prepared.strategy, now)
    standing = desk.standing(now, one.blocks)
    return estimate_answer(prepared, promised, standing, confidence), price


def estimate_json(found: Estimate) -> dict[str, Any]:
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


def answer_json(answer: Answer, confidence: float = 0.95) -> dict[str, Any]:
    """Give an answer as JSON, with its intervals, and whole for whoever reads it in Python."""
    whole = dump_answer(answer)
    cost = {} if answer.stored else numbers(answer.guarantee)
    return {
        "columns": answer.columns,
        "rows": json.loads(whole)["rows"],
        "intervals": answer.intervals(confidence),
        "confidence": confidence,
        "guarantee": numbers(answer.guarantee),
        "guarantee_in_words": str(answer.guarantee),
        "cost": cost,
        "stored": answer.stored,
        "notes": [str(note) for note in answer.notes],
        "remaining": numbers(answer.remaining),
        "artefact": whole,
    }


class Running:
    """A question that this worker is working on."""

    def __init__(self, found: Open, analyst: str) -> None:
        self.found, self.analyst = found, analyst
        self.started = time.monotonic()
        self.charge: int | None = None
        self.loop = asyncio.get_running_loop()
        self.taken: asyncio.Future[str] = self.loop.create_future()
        self.done = asyncio.Event()
        self.over = threading.Event()
        self.id = ""

    @property
    def is_late(self) -> bool:
        """Whether its deadline is over."""
        return time.monotonic() - self.started > self.found.listed.facts.deadline

    def tell(self, id_: str) -> None:
        """Tell the request that waits that the question is taken (from any thread)."""
        self.loop.call_soon_threadsafe(self._tell, id_, None)

    def refuse(self, error: BaseException) -> None:
        """Tell the request that waits why not."""
        self.loop.call_soon_threadsafe(self._tell, "", error)

    def finish(self) -> None:
        """Tell whoever waits that it is done."""
        self.over.set()
        self.loop.call_soon_threadsafe(self.done.set)

    def _tell(self, id_: str, error: BaseException | None) -> None:
        if self.taken.done():
            return
        if error is None:
            self.taken.set_result(id_)
        else:
            self.taken.set_exception(error)


async def ask(house: House, caller: Caller, found: Open, asked: QuestionRequest) -> Running:
    """Take a question; return when it is charged, or raise when it is refused."""
    running = Running(found, caller.pseudonym)
    house.threads.submit(_work, house, caller, running, asked)
    await running.taken
    return running


def _work(house: House, caller: Caller, running: Running, asked: QuestionRequest) -> None:
    """Do all of it, in a thread."""
    facts = running.found.listed.facts
    try:
        purpose = purpose_of(house, caller, running.found.listed.name, asked.purpose)
        desk = house.desk(running.found, caller.pseudonym, purpose, pricing=False)
        one = submit(house, desk, asked)
        price = asked.price.given()
        key = f"{desk.opened.dataset}\0{running.found.listed.version}\0{one.text(purpose, **price)}"
        taken = questions.take_question(
            house.office, person=caller.id, dataset=desk.opened.dataset, purpose=purpose,
            body=asked.model_dump_json(exclude_defaults=True), key=key, worker=house.worker,
        )  # fmt: skip
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        running.refuse(error)
        running.finish()
        return
    running.id = taken.id
    if taken.again:
        running.tell(taken.id)
        running.finish()
        return
    house.running[taken.id] = running

    def work() -> Answer:
        _wait_for_late_ones(house, running, facts.tick)
        return desk.ask(one, **price)

    try:
        _answer(house, running, work, facts.tick, (caller.id, key))
    finally:
        house.running.pop(taken.id, None)
        running.finish()


def _wait_for_late_ones(house: House, running: Running, tick: float) -> None:
    """Begin at a tick if work of the same analyst goes on after its deadline.

    They share a desk, so this one would be charged when that one ends, which nobody may learn.
    """
    late = [
        one
        for one in list(house.running.values())
        if one is not running
        and one.is_late
        and (one.analyst, one.found.listed.name) == (running.analyst, running.found.listed.name)
    ]
    for one in late:
        one.over.wait()
    if late:
        time.sleep(max(0.0, questions.next_tick(tick) - time.time()))


def _answer(
    house: House, running: Running, work: Callable[[], Answer], tick: float, what: tuple[str, str]
) -> None:
    def charged(number: int) -> None:
        if running.charge is None:  # a pilot's comes first; when the next one came tells of rows
            running.charge = number
            with contextlib.suppress(Exception):  # paid, whether or not it is noted here
                questions.note_charge(house.office, running.id, number)
        running.tell(running.id)

    close = questions.finish
    try:
        with hearing(charged):
            answer = work()
    except BaseException as error:  # noqa: BLE001 - told by its code; before a charge, whole
        problem = problem_of(error)
        close(
            house.office, running.id, state=questions.FAILED, code=problem.code,
            charge=running.charge, tick=0 if running.charge is None else tick,
        )  # fmt: skip
        if running.charge is None:
            running.refuse(error)
        return
    result = json.dumps(answer_json(answer))
    at_once = answer.stored and _was_shown(house, what)
    close(
        house.office, running.id, state=questions.READY, tick=0 if at_once else tick,
        result=result, charge=running.charge,
    )  # fmt: skip
    if not at_once:
        house.shown[what] = running.id
    running.tell(running.id)


def _was_shown(house: House, what: tuple[str, str]) -> bool:
    """Tell whether this worker knows that the analyst has seen the answer to this."""
    if len(house.shown) >= _MOST_SHOWN:
        house.shown.clear()  # so some repeats wait for a tick
    earlier = house.shown.get(what)
    return earlier is not None and questions.was_shown(house.office, earlier)


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


async def wait_for(house: House, id_: str, seconds: float) -> dict[str, Any] | None:
    """Wait until a question is over and shown, at most so long; give its row."""
    end = time.monotonic() + seconds
    running = house.running.get(id_)
    if running is not None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(running.done.wait(), seconds)
    while True:
        row = questions.find_question(house.office, id_)
        left = end - time.monotonic()
        if row is None or row["state"] in {questions.READY, questions.FAILED} or left <= 0:
            return row
        pause = 0.05 if row["shown"] is None else max(0.0, row["shown"] - time.time())
        await asyncio.sleep(min(left, pause + 0.0005))


async def watch(house: House) -> None:
    """Give signs of life, and fail what is late, for as long as the worker lives."""
    while True:
        await asyncio.sleep(2.0)
        for id_, running in list(house.running.items()):
            with contextlib.suppress(Exception):  # a busy database is tried again
                await _close_late(house, id_, running)
        with contextlib.suppress(Exception):
            await house.pulse(questions.beat, house.office, house.worker)


async def _close_late(house: House, id_: str, running: Running) -> None:
    """Fail a question whose deadline is over; before its charge it is only waiting."""
    if running.is_late and running.charge is not None:
        await house.pulse(
            questions.finish, house.office, id_, state=questions.FAILED,
            tick=running.found.listed.facts.tick, code="deadline", charge=running.charge,
        )  # fmt: skip
        running.done.set()  # whoever waits is told at that tick, not when the work ends
