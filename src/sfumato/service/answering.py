"""Questions over HTTP: charged, worked on in a thread, shown on a clock.

Contract, in the order in which things happen: the question is parsed and priced from public facts
(a refusal is told at once and costs nothing); it is charged, its row in the same transaction, and
the caller is told so at once; only then data are read; the answer is written to its row with the
entry that settles the charge, and shown at the next tick of the dataset, or after the deadline as a
failure that stays charged. So what an analyst can measure is: how long until the charge, which
depends on no row, and at which tick the answer came. A repeat is shown at once if its analyst has
seen the answer before, and at a tick otherwise: work that goes on after its deadline ends at no
moment that can be told, and the next question of its analyst begins at the tick after.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any

from sfumato.govern.office import questions
from sfumato.service.asking import answer_json, check_still_granted, purpose_of, submit
from sfumato.service.house import hearing
from sfumato.service.problems import problem_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sfumato.ask.answers.answer import Answer
    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.submission import Submission
    from sfumato.govern.ledger.charges import Receipt
    from sfumato.requests.service import QuestionRequest
    from sfumato.service.access import Caller
    from sfumato.service.house import House, Open
    from sfumato.service.turns import Turn

WAITED = 1.0
"""Seconds after which a question is asked only if it still may be."""

PATIENCE = 30.0
"""Seconds that a question waits for an earlier one of its analyst that is late."""

_LOOK = 1.0
"""Seconds after which whoever waits for another worker's answer looks again."""

_MOST_SHOWN = 50_000


class RunningQuestion:
    """A question that this worker is working on.

    It hears of its charge and of its settlement inside their transactions, and writes its row
    there. ``ended`` is the row as its analyst may see it from ``shown`` on. Whoever waits for the
    answer is ``patient``: she is not told of the charge before :meth:`hurry` says so.
    """

    def __init__(self, found: Open, analyst: str, *, patient: bool = False) -> None:
        self.found, self.analyst = found, analyst
        self.patient = patient
        self.started = time.monotonic()
        self.charge: int | None = None
        self.loop = asyncio.get_running_loop()
        self.taken: asyncio.Future[RunningQuestion] = self.loop.create_future()
        self.done = asyncio.Event()
        self.over = threading.Event()
        self.row: questions.QuestionRow | None = None
        self.result: str | None = None
        self.ended: dict[str, Any] | None = None
        self.turn: Turn | None = None
        self.id = ""

    @property
    def is_late(self) -> bool:
        """Whether its deadline is over."""
        return time.monotonic() - self.started > self.found.listed.facts.deadline

    # -- heard from the ledger ------------------------------------------------------------

    def charging(self, connection: Connection, receipt: Receipt) -> None:
        """Write the row beside the first charge; a pilot's comes before that of the answer."""
        if self.charge is None:
            assert self.row is not None
            questions.write_charged(connection, self.row, receipt.number)

    def charged(self, number: int) -> None:
        """Note that it is paid for; when a pilot's next charge came would tell of rows."""
        if self.charge is None:
            self.charge = number
            self.loop.call_soon_threadsafe(self.pass_on)
        if not self.patient:
            self.tell(self)

    def settling(self, connection: Connection) -> None:
        """Write the answer beside the entry that settles the charge."""
        if self.result is None:
            return  # a pilot's
        shown = questions.tick_after(self.found.listed.facts.tick)
        questions.write_end(
            connection, self.id, state=questions.READY, shown=shown, result=self.result,
            charge=self.charge,
        )  # fmt: skip
        self.ended = {
            "id": self.id, "dataset": self.found.listed.name, "state": questions.READY,
            "code": None, "charge": self.charge, "result": self.result, "shown": shown,
        }  # fmt: skip

    def note(self, answer: Answer, written: str) -> None:
        """Keep a fresh answer as it will be told."""
        self.result = json.dumps(answer_json(answer, written))

    # -- told to whoever waits ------------------------------------------------------------

    def tell(self, running: RunningQuestion) -> None:
        """Tell the request that waits which question it is (from any thread)."""
        if not self.taken.done():
            self.loop.call_soon_threadsafe(self._tell, running, None)

    def refuse(self, error: BaseException) -> None:
        """Tell the request that waits why not."""
        self.loop.call_soon_threadsafe(self._tell, None, error)

    def finish(self) -> None:
        """Tell whoever waits that it is done."""
        self.over.set()
        self.loop.call_soon_threadsafe(self.end)

    def pass_on(self) -> None:
        """Let the next one begin (in the loop): at the charge, for what follows depends on rows."""
        if self.turn is not None:
            self.turn.end()

    def end(self) -> None:
        """Let whoever waits go on (in the loop)."""
        self.done.set()
        self._tell(self, None)
        self.pass_on()

    def hurry(self) -> None:
        """Tell whoever waits of the charge, now or when it is there (in the loop)."""
        self.patient = False  # before the charge is looked at, which its thread sets before this
        if self.charge is not None:
            self._tell(self, None)

    def _tell(self, running: RunningQuestion | None, error: BaseException | None) -> None:
        if self.taken.done():
            return
        if running is not None:
            self.taken.set_result(running)
        elif error is not None:
            self.taken.set_exception(error)


async def ask(
    house: House,
    caller: Caller,
    found: Open,
    asked: QuestionRequest,
    granted: tuple[str, ...] | None = None,
    patience: float = 0.0,
) -> RunningQuestion:
    """Take a question; return when it is charged, or raise when it is refused.

    Whoever waits for the answer anyway, for so many seconds, is told when it is there: every time
    that a thread wakes the loop takes the interpreter from those who work.
    """
    running = RunningQuestion(found, caller.pseudonym, patient=patience > 0)
    timer = running.loop.call_later(patience, running.hurry) if patience > 0 else None
    running.turn = house.turns.begin(
        lambda: _start(house, running, caller, running, asked, granted)
    )
    try:
        return await running.taken
    finally:
        if timer is not None:
            timer.cancel()


def _start(house: House, running: RunningQuestion, *given: Any) -> None:
    """Work in a thread; where there can be none, say so, instead of to whoever began the turn."""
    try:
        house.threads.submit(_work, house, *given)
    except RuntimeError as error:
        running.refuse(error)
        running.finish()


def _work(
    house: House,
    caller: Caller,
    running: RunningQuestion,
    asked: QuestionRequest,
    granted: tuple[str, ...] | None,
) -> None:
    """Do all of it, in a thread."""
    try:
        name = running.found.listed.name
        purpose = purpose_of(house, caller, name, asked.purpose, granted)
        desk = house.desk(running.found, caller.pseudonym, purpose, pricing=False)
        submission, price = submit(house, desk, asked), asked.price.given()
        text = submission.text(purpose, **price)
        key = f"{desk.opened.dataset}\0{running.found.listed.version}\0{text}"
        running.row = questions.QuestionRow(
            caller.id, desk.opened.dataset, purpose or "",
            asked.model_dump_json(exclude_defaults=True), key, house.worker,
        )  # fmt: skip
        running.id = running.row.id
        same = _enter(house, running)
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        running.refuse(error)
        running.finish()
        return
    if same is not None:
        running.tell(same)
        running.finish()
        return
    try:
        _answer(house, caller, running, desk, submission, price)
    finally:
        _leave(house, running)
        running.finish()


def _enter(house: House, running: RunningQuestion) -> RunningQuestion | None:
    """Begin a question, unless another of its analyst is under way; give the same one if it is."""
    assert running.row is not None
    with house.guard:
        other: RunningQuestion | None = house.taken.get(running.row.person)
        if other is not None and other.row is not None and not other.is_late:
            if other.row.under_way != running.row.under_way:
                raise questions.under_way()
            return other
        house.taken[running.row.person] = running
        house.running[running.id] = running
    try:
        same = _find_under_way(house, running.row)
    except BaseException:
        _leave(house, running)
        raise
    if same is not None:
        _leave(house, running)
        running.id = same.id
        return running
    return None


def _find_under_way(house: House, row: questions.QuestionRow) -> questions.TakenQuestion | None:
    """Find the same question under way at a worker that lives; what has died keeps no one out."""
    try:
        same = questions.find_under_way(house.office, row)
    except questions.QuestionUnderWay:
        if not house.workers.bury(house.office):
            raise
        return questions.find_under_way(house.office, row)
    if same is not None and house.workers.bury(house.office):
        same = questions.find_under_way(house.office, row)
    return same


def _leave(house: House, running: RunningQuestion) -> None:
    assert running.row is not None
    with house.guard:
        house.running.pop(running.row.id, None)
        if house.taken.get(running.row.person) is running:
            del house.taken[running.row.person]


def _wait_for_late_ones(house: House, running: RunningQuestion, tick: float) -> bool:
    """Begin at a tick if work of the same analyst goes on after its deadline.

    They share a desk, so this one would be charged when that one ends, which nobody may learn.
    Whoever has waited for :data:`PATIENCE` is refused, at a tick, and not charged. Tell whether
    there was anything to wait for.
    """
    late = [
        other
        for other in list(house.running.values())
        if other is not running
        and other.is_late
        and (other.analyst, other.found.listed.name) == (running.analyst, running.found.listed.name)
    ]
    end = time.monotonic() + PATIENCE
    over = all(other.over.wait(max(0.0, end - time.monotonic())) for other in late)
    if late:
        _sleep_until(questions.next_tick(tick), tick)
    if not over:
        raise questions.goes_on()
    return bool(late)


def _sleep_until(moment: float, tick: float) -> None:
    """Sleep until a tick, which is no further away than one."""
    time.sleep(min(max(0.0, moment - questions.now()), tick))


def _answer(
    house: House,
    caller: Caller,
    running: RunningQuestion,
    desk: Desk,
    submission: Submission,
    price: dict[str, Any],
) -> None:
    facts = running.found.listed.facts
    try:
        waited = _wait_for_late_ones(house, running, facts.tick)
        if waited or time.monotonic() - running.started > WAITED:
            check_still_granted(house, caller, running.found.listed.name, desk.purpose)
        with hearing(running):
            answer = desk.ask(submission, note=running.note, **price)
        if running.charge is None:
            _repeat(house, running, answer)
    except BaseException as error:  # noqa: BLE001 - told by its code; before a charge, whole
        if running.charge is None:
            running.refuse(error)
            return
        questions.finish(
            house.office, running.id, state=questions.FAILED, code=problem_of(error).code,
            charge=running.charge, tick=facts.tick,
        )  # fmt: skip
        return
    if running.ended is not None:
        assert running.row is not None
        _remember_shown(house, running.row)


def _repeat(house: House, running: RunningQuestion, answer: Answer) -> None:
    """Write the row of an answer that is given again; at once only if she has seen it before."""
    row = running.row
    assert row is not None
    tick = running.found.listed.facts.tick
    seen = _was_shown(house, (row.person, row.key))
    result = json.dumps(answer_json(answer))
    asked = questions.keep_repeat(house.office, row, result=result, tick=0 if seen else tick)
    if asked.again:  # another worker has just answered the same, and nobody may learn when
        running.id = asked.id
        _sleep_until(questions.next_tick(tick) if asked.shown is None else asked.shown, tick)
    elif not seen:
        _remember_shown(house, row)
    running.tell(running)


def _remember_shown(house: House, row: questions.QuestionRow) -> None:
    if len(house.shown) >= _MOST_SHOWN:
        house.shown.clear()  # so some repeats wait for a tick
    house.shown[row.person, row.key] = row.id


def _was_shown(house: House, what: tuple[str, str]) -> bool:
    """Tell whether this worker knows that the analyst has seen the answer to this."""
    earlier = house.shown.get(what)
    return earlier is not None and questions.was_shown(house.office, earlier)


async def wait_for(house: House, running: RunningQuestion, seconds: float) -> dict[str, Any] | None:
    """Wait until a question is over and shown, at most so long; give its row."""
    end = time.monotonic() + seconds
    if not running.done.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(running.done.wait(), seconds)
    ended = running.ended
    if ended is not None and not running.is_late:  # nobody can have closed it as late
        await asyncio.sleep(min(end - time.monotonic(), _until(ended)))
        if ended["shown"] <= questions.now():
            return ended
    while True:
        row = questions.find_question(house.office, running.id)
        left = end - time.monotonic()
        if row is None or row["state"] in {questions.READY, questions.FAILED} or left <= 0:
            return row
        await asyncio.sleep(min(left, 0.05 if row["shown"] is None else min(_until(row), _LOOK)))


def _until(row: dict[str, Any]) -> float:
    """Give the seconds until a row is shown."""
    seconds: float = row["shown"] - questions.now()
    return max(0.0, seconds) + 0.0005


async def watch(house: House) -> None:
    """Give signs of life, and fail what is late, for as long as the worker lives."""
    while True:
        await asyncio.sleep(2.0)
        for id_, running in list(house.running.items()):
            with contextlib.suppress(Exception):  # a busy database is tried again
                await _close_late(house, id_, running)
        with contextlib.suppress(Exception):
            await house.pulse(house.workers.bury, house.office)
            await house.pulse(questions.beat, house.office, *house.workers.alive())


async def _close_late(house: House, id_: str, running: RunningQuestion) -> None:
    """Fail a question whose deadline is over; before its charge it is only waiting."""
    if running.is_late and running.charge is not None:
        await house.pulse(
            questions.finish, house.office, id_, state=questions.FAILED,
            tick=running.found.listed.facts.tick, code="deadline", charge=running.charge,
        )  # fmt: skip
        running.end()  # whoever waits is told at that tick, not when the work ends
