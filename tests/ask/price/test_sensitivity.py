"""No question costs more than it is charged: brute force over people, tables and questions.

For random small tables and random questions, every neighbour is asked for the exact totals, and
what the prepared noise really lets through is compared with the charge. The totals also have
to move by no more than the derived sensitivities.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
import random_questions as at_random
from privacy_loss import loss, moved, requests, table

from sfumato.ask.engines import bounded
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.request import GroupsBound, RowsBound
from sfumato.ask.price import contributions
from sfumato.ask.price.preparation import prepare
from sfumato.ask.sql.parse import parse
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import ParameterError, Refused

SECONDS = float(os.environ.get("SFUMATO_FUZZ_SECONDS", "0"))  # longer than the tables below take
SEED = int(os.environ.get("SFUMATO_FUZZ_SEED", "20"))
TABLES = 1
VISITS = {
    "id": pl.Int64, "ward": pl.String, "kind": pl.String, "age": pl.Int64, "cost": pl.Float64,
    "raw": pl.Float64, "n": pl.Int64, "ok": pl.Boolean, "day": pl.Date,
}  # fmt: skip
STAYS = {"id": pl.Int64, "ward": pl.String, "nights": pl.Int64}
PEOPLE = (
    Unit("id", rows=1),
    Unit("id", rows=3),
    Unit("id", groups=2, rows_per_group=2),
    Unit("id", groups=1, rows_per_group=3),
    Unit("id", groups=3, rows_per_group=1),
    Unit("id", rows=4, groups=2),
    Unit("id", rows=2, rows_per_group=1),
)
BUDGETS = (PureDP(10), ApproxDP(10, "1e-5"), ZCDP(5))
PUBLIC = {"wards": pl.DataFrame(at_random.WARD_ROWS), "tags": pl.DataFrame(at_random.TAG_ROWS)}
SALT = b"salt of sixteen b"


def opened(rows, others, *, person):
    """Open a DuckDB engine on polars frames."""
    frame = pl.DataFrame(rows, schema=VISITS)
    private = {"stays": pl.DataFrame(others, schema=STAYS)} if person else {}
    if not person:
        frame = frame.drop("id")
    bounds = at_random.BOUNDS if person else {"age": (0, 9), "cost": (-5, 5)}
    return DuckDBEngine.open(
        frame,
        person=person,
        name="visits",
        bounds=bounds,
        domains=at_random.KEYS,
        private=private,
        public=PUBLIC,
    )


def neighbourhood(rng, *, by_row, people=3, most=6):
    """Give the rows of a table, and of it without each person (or some of the rows)."""
    rows = at_random.visits(rng, range(people), most)
    others = at_random.stays(rng, range(people), 2)
    yield rows, others
    if by_row:
        for place in rng.sample(range(len(rows)), min(people, len(rows))):
            yield rows[:place] + rows[place + 1 :], others
        return
    for person in range(people):
        yield (
            [row for row in rows if row["id"] != person],
            [row for row in others if row["id"] != person],
        )


def questions(rng, facts, unit, *, count):
    """Give questions that can be answered at a random price, with their preparation."""
    grammar = at_random.Grammar(rng, by_row=isinstance(unit, Row))
    given = 0
    while given < count:
        text = grammar.question()
        budget = rng.choice(BUDGETS)
        concentrated = isinstance(budget, ZCDP) and rng.random() < 0.7
        price = {"rho": "0.5"} if concentrated else {"epsilon": 1}
        try:
            prepared = prepare(parse(text, facts), unit, budget, **price)
        except (Refused, ParameterError):
            continue
        given += 1
        yield text, prepared


def check(text, prepared, engines, ask):
    """Compare a question on a table and on its neighbours."""
    ready, asked = requests(prepared, engines[0], SALT)
    whole, *others = [[table(ask(engine, request)) for request in asked] for engine in engines]
    charged = prepared.strategy.cost
    for other in others:
        lost = loss(ready, asked, whole, other)
        assert lost.epsilon <= charged.epsilon, text
        assert lost.mu_squared <= charged.mu_squared, text
        assert lost.delta <= float(charged.delta) * (1 + 1e-9), text
        for request, mine, theirs in zip(asked, whole, other, strict=True):
            within_sensitivity(request, mine, theirs, text)
    return asked, whole


def within_sensitivity(request, mine, theirs, text):
    for place, total in enumerate(request.totals):
        moves = moved(mine, theirs, lambda row, place=place: row[1][place]).values()
        size = contributions.sensitivity_of(total, request.bound)
        assert sum(map(abs, moves)) <= Fraction(size.l1), text
        assert sum(move * move for move in moves) <= Fraction(size.l2) ** 2, text
    people = moved(mine, theirs, lambda row: row[0]).values()
    if not request.spread:
        assert sum(map(abs, people)) <= contributions.touched(request.bound), text
    assert all(abs(move) <= 1 for move in people), text


def by_kernel(engine, request):
    """Ask the compiled kernel, and hold it against the plan's own windows."""
    found = engine.aggregate(request)
    assert table(found) == table(engine.aggregate_by_plan(request))
    return found


@pytest.mark.parametrize("by_row", [False, True], ids=["people", "rows"])
def test_no_person_moves_an_answer_further_than_it_is_charged_for(by_row, monkeypatch):
    monkeypatch.setattr(bounded.ACCOUNT, "worth", lambda _: True)
    rng = random.Random(SEED + by_row)
    ends = time.process_time() + SECONDS
    tables = 0
    while tables < TABLES or time.process_time() < ends:
        tables += 1
        neighbours = list(neighbourhood(rng, by_row=by_row))
        person = None if by_row else "id"
        engines = [opened(rows, others, person=person) for rows, others in neighbours]
        facts = {one.name: one for one in engines[0].tables()}
        for unit in [Row()] if by_row else PEOPLE:
            for text, prepared in questions(rng, facts, unit, count=4 if by_row else 1):
                check(text, prepared, engines, by_kernel)
        for engine in engines:
            engine.close()


LOOSER = {
    RowsBound: lambda bound: RowsBound(bound.rows + 1),
    GroupsBound: lambda bound: GroupsBound(bound.groups + 1, bound.rows),
}


@pytest.mark.parametrize("unit", [PEOPLE[1], PEOPLE[2]], ids=str)
def test_an_engine_that_keeps_one_too_many_is_found_out(unit):
    def careless(engine, request):
        bound = LOOSER[type(request.bound)](request.bound)
        return engine.aggregate_by_plan(replace(request, bound=bound))

    rng = random.Random(5)
    rows = [
        {**at_random._visit(rng, person), "ward": ward, "age": 9}
        for person in range(2)
        for ward in (*at_random.WARDS, *at_random.WARDS)
    ]
    without = [row for row in rows if row["id"] != 1]
    engines = [opened(one, [], person="id") for one in (rows, without)]
    facts = {one.name: one for one in engines[0].tables()}
    question = parse("SELECT ward, SUM(age) FROM visits GROUP BY ward", facts)
    prepared = prepare(question, unit, PureDP(1), epsilon=1)
    check("as it should be", prepared, engines, by_kernel)
    with pytest.raises(AssertionError):
        check("one too many", prepared, engines, careless)
