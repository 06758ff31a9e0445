"""Random questions, each held against what it was charged, on a table and without each person.

`fuzz_questions` opens a session on a small random table and one on each of its neighbours, asks
random questions in SQL and in Python, listens to the exact totals and the noise that was really
drawn (`observation.py`), asks the neighbours' engines the same, computes the privacy loss exactly
(`privacy_loss.py`) and holds it against the entry in the ledger. Where more was lost than was
charged it raises `AssertionError` with the question and what repeats it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import SfumatoError
from sfumato.testing.fuzz.grammar import Grammar
from sfumato.testing.fuzz.observation import observe
from sfumato.testing.fuzz.privacy_loss import Loss, loss, totals_of
from sfumato.testing.fuzz.visits import BOUNDS, KEYS, draw_tables, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.testing.fuzz.visits import Tables

UNITS: tuple[PrivacyUnit, ...] = (
    Row(),
    Unit("id", rows=1),
    Unit("id", rows=3),
    Unit("id", groups=2, rows_per_group=2),
    Unit("id", groups=1, rows_per_group=3),
    Unit("id", groups=3, rows_per_group=1),
    Unit("id", rows=4, groups=2),
    Unit("id", rows=2, rows_per_group=1),
)
FORMS = (*("sql",) * 6, "together", "python")
"""How questions are written: one text, several texts about parts of the rows, calls."""

BUDGETS = (PureDP(10**6), ApproxDP(10**6, 0.5), ZCDP(10**6))


@dataclass
class QuestionFuzz:
    """What was tried: questions asked and answered, comparisons with a neighbour, and the worst.

    `worst` is the largest share of a charge that was really lost; 1 is all of it.
    """

    asked: int = 0
    answered: int = 0
    compared: int = 0
    worst: Fraction = Fraction(0)
    kinds: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.asked:,} questions, {self.answered:,} answered, {self.compared:,} comparisons "
            f"with a neighbour; at most {float(self.worst):.4f} of a charge was lost"
        )


def open_in_duckdb(tables: Tables, unit: PrivacyUnit, **settings: Any) -> Any:
    """Open a session on tables in memory."""
    import pyarrow as pa  # noqa: PLC0415 - only the kit needs it

    from sfumato.ask.session.session import Session  # noqa: PLC0415 - the same

    kinds = {
        "integer": pa.int64(), "real": pa.float64(), "text": pa.string(),
        "boolean": pa.bool_(), "date": pa.date32(),
    }  # fmt: skip
    by_row = isinstance(unit, Row)
    frames = {}
    for name, (columns, rows) in tables.by_name(by_row=by_row).items():
        cells = {c: pa.array([row[c] for row in rows], kinds[k]) for c, k in columns.items()}
        frames[name] = pa.table(cells)
    public = {name: frames[name] for name in ("wards", "tags")}
    private = {} if by_row else {"stays": frames["stays"]}
    return Session(
        frames["visits"],
        public_types=True,
        unit=unit,
        name="visits",
        private=private,
        public=public,
        **settings,
    )


def fuzz_questions(
    *,
    questions: int = 60,
    seconds: float | None = None,
    seed: int = 0,
    units: Sequence[PrivacyUnit] = UNITS,
    open_session: Callable[..., Any] = open_in_duckdb,
    each: int = 8,
    forms: Sequence[str] = FORMS,
    people: int = 3,
) -> QuestionFuzz:
    """Ask random questions until so many were answered (or the seconds are over).

    ``open_session(tables, unit, budget=, bounds=, keys=)`` opens a session on tables in an engine
    of your choice; ``each`` is how many questions a table is asked, ``forms`` how they are written
    (a form that stands twice twice as often), and ``people`` how many neighbours it has.
    """
    found, ends = QuestionFuzz(), None if seconds is None else time.monotonic() + seconds
    turn = 0
    while found.answered < questions if ends is None else time.monotonic() < ends:
        unit = units[turn % len(units)]
        rng = random.Random(f"{seed} {turn} {unit}")  # noqa: S311 - draws tests, not noise
        _fuzz_table(
            rng, unit, open_session, [rng.choice(forms) for _ in range(each)], found,
            f"seed={seed}, table {turn}, {unit}", people,
        )  # fmt: skip
        turn += 1
    return found


def _fuzz_table(
    rng: random.Random,
    unit: PrivacyUnit,
    open_session: Callable[..., Any],
    forms: Sequence[str],
    found: QuestionFuzz,
    place: str,
    people: int,
) -> None:
    """Ask questions about one table."""
    by_row = isinstance(unit, Row)
    tables = draw_tables(rng)
    budget = rng.choice(BUDGETS)
    bounds = {k: v for k, v in BOUNDS.items() if not (by_row and "." in k)}
    settings: dict[str, Any] = {"budget": budget, "bounds": bounds, "keys": KEYS}
    worlds = [tables, *neighbours(rng, tables, by_row=by_row, people=people)]
    sessions = [open_session(world, unit, **settings) for world in worlds]
    try:
        grammar = Grammar(rng, by_row=by_row)
        for form in forms:
            ask, text = _draw_question(form, grammar)
            price = {"epsilon": rng.choice(("0.5", 1, 3))}
            if isinstance(budget, ZCDP) and rng.random() < 0.7:
                price = {"rho": "0.5"}
            found.asked += 1
            _hold(sessions, partial(ask, **price), found, f"{text} ({place})")
    finally:
        for session in sessions:
            session.close()


def _draw_question(form: str, grammar: Grammar) -> tuple[Callable[..., Any], str]:
    """Draw a question, and say what it is."""
    if form == "together":
        parts = grammar.parts()
        return lambda session, **price: session.together(parts, **price), f"together: {parts}"
    if form == "python":
        call = grammar.call()
        return call, f"in Python: {call.__name__}"
    text = grammar.question()
    return lambda session, **price: session.sql(text, **price), text


def _hold(
    sessions: Sequence[Any], ask: Callable[[Any], Any], found: QuestionFuzz, text: str
) -> None:
    """Ask one session, and hold what was released against the ledger, for every neighbour."""
    session, *others = sessions
    with observe(session) as observed:
        try:
            ask(session)
        except SfumatoError as refusal:
            found.kinds[type(refusal).__name__] += 1
            if observed:
                raise AssertionError(f"Failed after the charge: {text}") from refusal
            return
    if not observed:  # asked before, and given again for nothing
        return
    found.answered += 1
    charged = _last_charge(session)
    for other in others:
        whole = Loss()
        for release in observed:
            theirs = [
                totals_of(other.desk.opened.engine.aggregate(asked.request))
                for asked in release.asked
            ]
            loss(release, theirs, whole)
        found.compared += 1
        excess = whole.exceeds(charged)
        if excess is not None:
            raise AssertionError(f"More was lost than charged: {excess}. {text}")
        found.worst = max(found.worst, _share(whole, charged))


def _last_charge(session: Any) -> Cost:
    """Return what the ledger was charged last."""
    entry = [entry for entry in session.ledger.entries() if entry.kind == "charged"][-1]
    return Cost.from_json(entry.cost)


def _share(lost: Loss, charged: Cost) -> Fraction:
    parts = [(lost.epsilon, charged.epsilon), (lost.mu_squared, charged.mu_squared)]
    return max((mine / paid for mine, paid in parts if paid), default=Fraction(0))
