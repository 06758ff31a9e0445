"""The rules on which a guarantee rests, each tried on an engine.

Contract: every rule takes a bench (an engine beside the reference) and raises `AssertionError`
where it is broken. They need no reference values: they would show a bound that keeps one group too
few, or the same groups for everybody, even if the reference did so too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import (
    Apply,
    Column,
    Compare,
    Filter,
    IsNull,
    JoinPublic,
    Key,
    Not,
    PerPerson,
    PersonAggregate,
    Project,
    Scan,
)
from sfumato.ask.language.multiplication import repetition
from sfumato.ask.language.request import (
    Bound,
    Grid,
    GroupsBound,
    Request,
    RowBound,
    RowsBound,
    Total,
)
from sfumato.errors import InputError
from sfumato.testing.engine_requests import ALL, FINE, SALT, counted, number, scan, summed
from sfumato.testing.statistics import chi_square_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.ask.engines.base import Engine
    from sfumato.testing.engines import Answer, Bench
    from sfumato.testing.reference_engine import CheckTable

FALSE_ALARM = 1e-6
"""How often an engine that spreads its choice evenly fails the χ² tests."""

_TEAMS, _PEOPLE, _ROWS = 8, 150, 5  # of the table "groups"


def _by_team(bound: Bound, salt: bytes = SALT, **changes: Any) -> Request:
    team = Column("team", "integer")
    number = Column("n", "integer", (Fraction(0), Fraction(_ROWS - 1)))
    request = counted(Scan("groups", (team, number)), Key("team", team), bound=bound)
    return replace(request, salt=salt, **changes)


def facts_are_those_of_the_tables(bench: Bench) -> None:
    """Tell kinds, people and privacy of tables as they were given."""
    engine, reference = bench.main
    found = {facts.name: facts for facts in engine.tables()}
    for facts in reference.tables():
        given = found.get(facts.name)
        assert given is not None, f"the table {facts.name!r} is missing"
        kinds = {column.name: column.kind for column in facts.columns}
        assert {column.name: column.kind for column in given.columns} == kinds
        assert (given.private, given.person) == (facts.private, facts.person)
        unique = set(facts.unique) <= set(given.unique)
        assert unique, f"the unique columns of {facts.name!r} are not known"
    for name, table in bench.tables.items():
        for column in () if table.private else map(table.column, table.kinds):
            values = Counter(evaluate(column, row) for row in table.rows())
            most = max(1, *(values[value] for value in values if value is not None))
            stated = repetition(found[name], (column.name,))
            assert stated == most, f"how many rows of {name!r} agree on {column.name!r} is wrong"


def exactly_the_allowed_groups(bench: Bench) -> None:
    """Keep min(k, all) of every person's groups for a bound of k, neither k − 1 nor k + 1."""
    for limit in (1, 3, _TEAMS, _TEAMS + 1):
        answer = bench.ask(bench.main[0], _by_team(GroupsBound(limit, 2)))
        wanted = _PEOPLE * min(limit, _TEAMS)
        people = sum(numbers[0] for numbers in answer.values())
        assert people == wanted, f"{people} people are in groups for a bound of {limit}"
        rows = sum(numbers[1] for numbers in answer.values())
        assert rows == 2 * wanted, f"{rows} rows are kept for {limit} groups of 2 rows"


def exactly_the_allowed_rows(bench: Bench) -> None:
    """Keep min(m, all) of every person's rows for a bound of m."""
    for limit in (1, 7, _TEAMS * _ROWS):
        answer = bench.ask(bench.main[0], _by_team(RowsBound(limit)))
        rows = sum(numbers[1] for numbers in answer.values())
        assert rows == _PEOPLE * min(limit, _TEAMS * _ROWS), f"{rows} rows for a bound of {limit}"


def _even(counts: Iterable[int], cells: int, what: str) -> None:
    """Demand counts that fit an even distribution, and are not exactly alike everywhere."""
    seen = list(counts)
    expected = sum(seen) / cells
    seen += [0] * (cells - len(seen))
    statistic = sum((count - expected) ** 2 / expected for count in seen)
    p_value = chi_square_tail(statistic, cells - 1)
    assert p_value > FALSE_ALARM, f"{what} are not chosen evenly (χ² test, p = {p_value:.2g})"


def not_the_same_groups_for_everybody(bench: Bench) -> None:
    """Choose groups evenly over people, for each of a few salts."""
    for salt in (SALT, b"\x00"):
        answer = bench.ask(bench.main[0], _by_team(GroupsBound(3, 1), salt))
        _even((numbers[0] for numbers in answer.values()), _TEAMS, "groups")


def not_the_same_rows_for_everybody(bench: Bench) -> None:
    """Rows within a group, and rows of a person, are chosen evenly."""
    number = Column("n", "integer", (Fraction(0), Fraction(_ROWS - 1)))
    spread = ((number, Grid((Fraction(0), Fraction(_ROWS - 1)), Fraction(1), Fraction(0))),)
    for bound in (GroupsBound(_TEAMS, 1), RowsBound(5)):
        answer = bench.ask(bench.main[0], _by_team(bound, spread=spread))
        counts = dict.fromkeys(range(_ROWS), 0)
        for place, numbers in answer.items():
            counts[place[-1]] += numbers[1]
        _even(counts.values(), _ROWS, "rows")


def the_salt_decides(bench: Bench) -> None:
    """Another salt keeps other groups."""
    first, second = (
        bench.ask(bench.main[0], _by_team(GroupsBound(2, 1), salt)) for salt in (b"a", b"b")
    )
    assert first != second, "two salts keep the same groups of 150 people"


def asking_again_gives_the_same(bench: Bench) -> None:
    """Nothing depends on a draw of the engine's own."""
    engine = bench.main[0]
    for bound in (GroupsBound(2, 1), RowsBound(3)):
        request = _by_team(bound)
        assert bench.ask(engine, request) == bench.ask(engine, request)


def _bounded_visits(bench: Bench) -> list[Request]:
    visits = scan(bench.tables, "visits")
    column = {stored.name: stored for stored in visits.columns}
    totals = [Total("rows"), summed(column["cost"]), Total("squares", column["cost"], FINE)]
    key = Key("ward", column["ward"])
    limits = (GroupsBound(2, 2), RowsBound(3))
    return [
        *(counted(visits, key, totals=totals, bound=bound) for bound in limits),
        counted(visits, totals=totals, bound=RowsBound(2)),
    ]


def _few(bench: Bench, form: str) -> Engine:
    """Make an engine of three of the tables, as they are or changed in some way."""
    visits, single, wards = (bench.tables[name] for name in ("visits", "one", "wards"))
    more, alone = _extended(visits, 60)
    slightly = replace(single, cells={**single.cells, "x": [0.5000000000000001]})
    public = replace(wards, cells={**wards.cells, "beds": [11, *wards.cells["beds"][1:]]})
    form_of = {
        "same": (visits, single, wards),
        "shuffled": (visits.shuffled(), single, wards.shuffled()),
        "more": (more, single, wards),
        "alone": (alone, single, wards),
        "changed": (visits, slightly, wards),
        "public": (visits, single, public),
    }
    return bench.pair(form, dict(zip(("visits", "one", "wards"), form_of[form], strict=True)))[0]


def the_order_of_storage_is_irrelevant(bench: Bench) -> None:
    """Give the same for a shuffled copy of the tables."""
    engine = _few(bench, "shuffled")
    for request in _bounded_visits(bench):
        assert bench.ask(engine, request) == bench.ask(bench.main[0], request)


def _extended(table: CheckTable, rows: int) -> tuple[CheckTable, CheckTable]:
    """Give a table with one more person, and her rows alone: copies of others' rows."""
    assert table.person is not None
    hers = {name: list(column[:rows]) for name, column in table.cells.items()}
    hers[table.person] = [10**6] * rows
    more = {name: [*hers[name], *column] for name, column in table.cells.items()}
    return replace(table, cells=more), replace(table, cells=hers)


def _difference(more: Answer, fewer: Answer) -> Answer:
    found: Answer = {}
    for place, numbers in more.items():
        before = fewer.get(place, (0,) * len(numbers))
        change = tuple(a - b for a, b in zip(numbers, before, strict=True))
        if any(change):
            found[place] = change
    assert set(fewer) <= set(more), "a group disappears when a person is added"
    return found


def one_more_person_changes_nobody_else(bench: Bench) -> None:
    """Add to every total, for a new person, what she gives alone."""
    larger, single = _few(bench, "more"), _few(bench, "alone")
    for request in _bounded_visits(bench):
        before, after = bench.ask(bench.main[0], request), bench.ask(larger, request)
        hers = {k: v for k, v in bench.ask(single, request).items() if any(v)}
        assert _difference(after, before) == hers


def rows_without_a_value_add_nothing(bench: Bench) -> None:
    """Give the sum of a group's rows that have a value."""
    visits = scan(bench.tables, "visits")
    column = {stored.name: stored for stored in visits.columns}
    total = [summed(column["cost"])]
    key = Key("urgent", column["urgent"])
    whole = bench.ask(bench.main[0], counted(visits, key, totals=total))
    present = Filter(visits, Not(IsNull(column["cost"])))
    some = bench.ask(bench.main[0], counted(present, key, totals=total))
    assert {place: numbers[1] for place, numbers in whole.items()} == {
        place: numbers[1] for place, numbers in some.items()
    }


def the_fingerprint_follows_the_rows(bench: Bench) -> None:
    """Give the same for the same rows in any order, and another when a cell changes."""
    engine = _few(bench, "same")
    first = engine.fingerprint()
    assert first == engine.fingerprint(), "the fingerprint changes without a reason"
    assert _few(bench, "shuffled").fingerprint() == first, "the fingerprint depends on the order"
    assert _few(bench, "more").fingerprint() != first, "the fingerprint misses new rows"
    assert _few(bench, "changed").fingerprint() != first, "the fingerprint misses a new cell"
    other = _few(bench, "public").fingerprint()
    assert other != first, "the fingerprint misses public tables"
    same = [a == b for a, b in zip(first.split("."), other.split("."), strict=True)]
    assert same == [True, False], "the fingerprint has no part of its own for a public table"


def _illegal(bench: Bench) -> Mapping[str, Request]:
    visits = scan(bench.tables, "visits")
    column = {stored.name: stored for stored in visits.columns}
    endless = Grid((Fraction(0), Fraction(2**53)), Fraction(1, 2**40), Fraction(0))
    rows = scan(bench.tables, "rows")
    floor = Column("floor", "real")
    return {
        "a real key": counted(visits, Key("cost", column["cost"])),
        "a bound of 0 groups": counted(visits, bound=GroupsBound(0, 1)),
        "a bound of −1 rows": counted(visits, bound=RowsBound(-1)),
        "a grid beyond 64 bits": counted(visits, totals=[summed(column["cost"], endless)]),
        "squares beyond 38 digits": counted(
            visits, totals=[Total("squares", column["cost"], replace(endless, step=Fraction(1)))]
        ),
        "an unknown table": counted(Scan("nothing", ())),
        "an unknown column": counted(Scan("visits", (Column("nothing", "text"),))),
        "a column of another kind": counted(Scan("visits", (Column("ward", "real"),))),
        "a made column of another kind": counted(
            Project(visits, (("w", column["ward"]),)), totals=[summed(Column("w", "real"))]
        ),
        "a condition on a column of another kind": counted(
            Filter(visits, Compare(">", Column("visits", "real"), number(0)))
        ),
        "people of a public table": counted(scan(bench.tables, "wards")),
        "rows where people are protected": counted(visits, bound=RowBound()),
        "people where rows are protected": counted(rows),
        "a private table joined as public": counted(
            JoinPublic(visits, "stays", ((column["ward"], Column("ward", "text")),), ())
        ),
        "rows of a person put together where rows are protected": counted(
            PerPerson(rows, (), (("n", PersonAggregate("count", None)),)), bound=RowBound()
        ),
        "a join that multiplies protected rows": counted(
            JoinPublic(rows, "wards", ((Column("x", "real"), floor),), (), unique=True),
            bound=RowBound(),
        ),
        "a character no database holds": counted(
            visits, Key("ward", column["ward"], ("a\x00b",))
        ),
        "another kind of key value": counted(
            visits, Key("visits", column["visits"], (Fraction(1, 2),))
        ),
    }  # fmt: skip


def what_is_not_covered_is_refused(bench: Bench) -> None:
    """Raise one of our errors for requests outside the guarantee, before anything runs."""
    for what, request in _illegal(bench).items():
        message = _refusal(bench.main[0], request)
        assert message is not None, f"{what} is accepted and must be refused"


def messages_hold_no_cell(bench: Bench) -> None:
    """No refusal quotes a cell of a table."""
    texts = {
        cell
        for table in bench.tables.values()
        for name, column in table.cells.items()
        for cell in column
        if table.kinds[name] == "text" and cell and len(cell) > 3
    }
    for what, request in _illegal(bench).items():
        message = _refusal(bench.main[0], request) or ""
        quoted = [cell for cell in texts if cell in message]
        assert not quoted, f"the message about {what} quotes a cell"


def _refusal(engine: Engine, request: Request) -> str | None:
    try:
        engine.aggregate(request)
    except InputError as error:
        return str(error)
    return None


def empty_groups_do_not_appear(bench: Bench) -> None:
    """Give a group where a row is kept, and nowhere else."""
    x = Column("x", "real", (Fraction(0), Fraction(1)))
    for table in ("empty", "nobody"):
        for keys in ((), (Key("k", Apply("round", (x,)), (0, 1)),)):
            request = counted(Scan(table, (x,)), *keys, totals=[summed(x)], bound=ALL)
            assert bench.ask(bench.main[0], request) == {}, f"the table {table!r} has a group"


RULES: Mapping[str, Callable[[Bench], None]] = {
    rule.__name__.replace("_", " "): rule
    for rule in (
        facts_are_those_of_the_tables,
        exactly_the_allowed_groups,
        exactly_the_allowed_rows,
        not_the_same_groups_for_everybody,
        not_the_same_rows_for_everybody,
        the_salt_decides,
        asking_again_gives_the_same,
        the_order_of_storage_is_irrelevant,
        one_more_person_changes_nobody_else,
        rows_without_a_value_add_nothing,
        the_fingerprint_follows_the_rows,
        what_is_not_covered_is_refused,
        messages_hold_no_cell,
        empty_groups_do_not_appear,
    )
}
"""Every rule by its name."""
