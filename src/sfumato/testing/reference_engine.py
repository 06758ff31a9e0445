"""What an engine must compute, slowly and obviously, in plain Python.

Contract: :class:`ReferenceEngine` holds tables as lists of Python values and computes a request
row by row, straight from the words of :mod:`sfumato.ask.language.language` and
:mod:`sfumato.ask.language.request`. It shares with the plan that engines run nothing but the
reference of the keyed hash and the meaning of single expressions. Engines are compared with it; it
is not for use.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import (
    Column,
    Filter,
    JoinPerson,
    JoinPublic,
    PerPerson,
    PersonAggregate,
    Project,
    Relation,
    Scan,
    TableFacts,
)
from sfumato.ask.language.multiplication import (
    DRAWN,
    MOST_JOINED,
    kinds,
    multiplied,
    public_repetition,
    single,
)
from sfumato.ask.language.request import Aggregates, GroupsBound, Request, RowBound, RowsBound
from sfumato.ask.plan.choice import drawn, group_numbers, person_numbers, rank, row_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sfumato.ask.language.language import Expression, Kind, Value
    from sfumato.ask.language.request import Grid, Total

Row: TypeAlias = tuple[Any, dict[str, Any]]
"""A row of a relation: its person, and its cells by column."""

_LIMB = 1 << 30


@dataclass(frozen=True, eq=False)
class CheckTable:
    """A small table for checks: kinds and cells by column, and who its rows are about."""

    kinds: Mapping[str, Kind]
    cells: Mapping[str, Sequence[Any]]
    person: str | None = None
    private: bool = True
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    unique: tuple[tuple[str, ...], ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Give the cells row by row."""
        names = list(self.cells)
        return [
            dict(zip(names, row, strict=True)) for row in zip(*self.cells.values(), strict=True)
        ]

    def shuffled(self) -> CheckTable:
        """Give the same rows in another order, always the same one."""
        order = sorted(
            range(len(self.rows())), key=lambda i: hashlib.sha256(str(i).encode()).digest()
        )
        cells = {name: [column[i] for i in order] for name, column in self.cells.items()}
        return CheckTable(self.kinds, cells, self.person, self.private, self.bounds, self.unique)

    def facts(self, name: str) -> TableFacts:
        """Give the public facts of the table."""
        columns = tuple(self.column(column) for column in self.kinds)
        return TableFacts(name, columns, self.private, self.person, (), self.unique)

    def column(self, name: str) -> Column:
        """Give a column with its bounds."""
        pair = self.bounds.get(name)
        bounds = None if pair is None else (Fraction(pair[0]), Fraction(pair[1]))
        return Column(name, self.kinds[name], bounds)


class ReferenceEngine:
    """An engine that is right because it is simple."""

    dialect = "reference"

    def __init__(self, tables: Mapping[str, CheckTable]) -> None:
        self._tables = dict(tables)

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables it holds."""
        return tuple(table.facts(name) for name, table in self._tables.items())

    def fingerprint(self) -> str:
        """Give a text that changes when a row of a table changes, in parts for public ones."""
        tables = self._tables.values()
        private = "-".join(_digest(table) for table in tables if table.private)
        return ".".join([private, *(_digest(table) for table in tables if not table.private)])

    def aggregate(self, request: Request) -> Aggregates:
        """Compute exact, bounded totals."""
        people: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
        sums: dict[tuple[Any, ...], list[int]] = {}
        for i, row in enumerate(_kept(self._contributions(request), request)):
            place = (row.keys, row.spread)
            people[place].add(i if isinstance(request.bound, RowBound) else row.person)
            known = sums.setdefault(place, [0] * len(request.totals))
            sums[place] = [a + b for a, b in zip(known, row.added, strict=True)]
        places = list(sums)
        return Aggregates(
            tuple(keys for keys, _ in places),
            np.array([len(people[place]) for place in places], dtype=np.int64),
            tuple(
                np.array([sums[place][t] for place in places], dtype=object)
                for t in range(len(request.totals))
            ),
            tuple(
                np.array([spread[s] for _, spread in places], dtype=np.int64)
                for s in range(len(request.spread))
            ),
        )

    def _contributions(self, request: Request) -> Iterable[_Contribution]:
        for person, row in self.rows(request.relation, request.salt):
            if not isinstance(request.bound, RowBound) and person is None:
                continue
            keys = tuple(_key(key.expression, row) for key in request.keys)
            if any(
                key.values is not None and not any(_same(value, v) for v in key.values)
                for key, value in zip(request.keys, keys, strict=True)
            ):
                continue
            spread = tuple(_number(term, grid, row) for term, grid in request.spread)
            if None not in spread:
                added = tuple(_added(total, row) for total in request.totals)
                yield _Contribution(person, keys, added, tuple(int(z or 0) for z in spread))

    # -- relations ------------------------------------------------------------------------

    def rows(self, relation: Relation, salt: bytes) -> list[Row]:
        """Give the rows of a relation."""
        match relation:
            case Scan(table, columns):
                stored = self._tables[table]
                return [
                    (row[stored.person], {c.name: row[c.name] for c in columns})
                    if stored.person is not None
                    else (None, {c.name: row[c.name] for c in columns})
                    for row in stored.rows()
                    if stored.person is None or row[stored.person] is not None
                ]
            case Filter(source, condition):
                return [
                    row for row in self.rows(source, salt) if evaluate(condition, row[1]) is True
                ]
            case Project(source, named):
                return [
                    (person, {name: _key(term, row) for name, term in named})
                    for person, row in self.rows(source, salt)
                ]
            case PerPerson(source, keys, named):
                return _per_person(self.rows(source, salt), keys, named)
            case JoinPublic():
                public: list[Row] = [(None, row) for row in self._tables[relation.table].rows()]
                facts = {table.name: table for table in self.tables()}
                rows = self.rows(relation.source, salt)
                if public_repetition(relation, facts) != 1 and multiplied(relation.source, facts):
                    rows = _cut(rows, relation.source, salt)
                return _joined(rows, public, relation, people=False)
            case JoinPerson(left, right):
                sides = self.rows(left, salt), self.rows(right, salt)
                if not single(left) and not single(right):
                    sides = _cut(sides[0], left, salt), _cut(sides[1], right, salt)
                return _joined(*sides, relation, people=True)
        raise TypeError(f"{type(relation).__name__} is not a relation of the language.")


@dataclass(frozen=True)
class _Contribution:
    """What one row adds where."""

    person: Any
    keys: tuple[Value, ...]
    added: tuple[int, ...]
    spread: tuple[int, ...]


def _kept(rows: Iterable[_Contribution], request: Request) -> list[_Contribution]:
    bound = request.bound
    if isinstance(bound, RowBound):
        return list(rows)
    by_person: dict[Any, list[_Contribution]] = defaultdict(list)
    for row in rows:
        by_person[row.person].append(row)
    kept: list[_Contribution] = []
    for person, hers in by_person.items():
        if isinstance(bound, RowsBound):
            kept += sorted(hers, key=lambda row: _row_order(row, request))[: bound.rows]
            continue
        assert isinstance(bound, GroupsBound)
        for keys in _chosen_groups(person, {row.keys for row in hers}, request)[: bound.groups]:
            mine = [row for row in hers if row.keys == keys]
            kept += sorted(mine, key=lambda row: _row_order(row, request))[: bound.rows]
    return kept


def _chosen_groups(
    person: Any, groups: set[tuple[Value, ...]], request: Request
) -> list[tuple[Value, ...]]:
    u = person_numbers(request.salt, person)
    return sorted(
        groups, key=lambda keys: (rank(u, group_numbers(request.salt, keys)), _order(keys))
    )


def _row_order(row: _Contribution, request: Request) -> tuple[Any, ...]:
    start = 1
    if isinstance(request.bound, RowsBound):
        start = group_numbers(request.salt, row.keys)[2]
    numbers = (*row.added, *row.spread)
    u = person_numbers(request.salt, row.person)
    return row_number(u, start, numbers), _order(row.keys), numbers


def _order(keys: tuple[Value, ...]) -> tuple[Any, ...]:
    """Sort NULL first and texts by their bytes."""
    return tuple(
        (False, 0)
        if key is None
        else (True, key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key)
        for key in keys
    )


def _same(value: Value, other: Value) -> bool:
    return (value is None and other is None) or (
        value is not None and other is not None and value == other
    )


def _key(term: Expression, row: Mapping[str, Any]) -> Any:
    value = evaluate(term, row)
    if value is None or kind_of(term) != "integer":
        return value
    if -(2**63) <= value < 2**63:
        return int(value)
    return 2**63 - 1024 if value > 0 else -(2**63)  # the last doubles of 64 bits


def _number(term: Expression, grid: Grid, row: Mapping[str, Any]) -> int | None:
    value = evaluate(term, row)
    if value is None:
        return None
    low, high = (float(end) for end in grid.bounds)
    value = min(max(float(value), low), high)
    return math.floor((value - float(grid.centre)) / float(grid.step) + 0.5)


def _added(total: Total, row: Mapping[str, Any]) -> int:
    if total.where is not None and evaluate(total.where, row) is not True:
        return 0
    if total.form == "rows":
        return 1
    assert total.term is not None
    if total.form == "present":
        return int(evaluate(total.term, row) is not None)
    assert total.grid is not None
    number = _number(total.term, total.grid, row) or 0
    return number if total.form == "sum" else number * number


def _per_person(
    rows: list[Row],
    keys: tuple[tuple[str, Expression], ...],
    named: tuple[tuple[str, PersonAggregate], ...],
) -> list[Row]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for person, row in rows:
        groups[person, *(_key(term, row) for _, term in keys)].append(row)
    given: list[Row] = []
    for (person, *values), members in groups.items():
        cells = dict(zip((name for name, _ in keys), values, strict=True))
        cells |= {name: _person_number(aggregate, members) for name, aggregate in named}
        given.append((person, cells))
    return given


def _person_number(aggregate: PersonAggregate, rows: list[dict[str, Any]]) -> Any:
    if aggregate.term is None:
        return len(rows)
    values = [v for v in (_key(aggregate.term, row) for row in rows) if v is not None]
    if aggregate.function == "count":
        return len(values)
    if not values:
        return None
    if aggregate.function in {"min", "max"}:
        return min(values) if aggregate.function == "min" else max(values)
    low, high = (float(end) for end in aggregate.bounds or (-(2**53), 2**53))
    clamped = [min(max(float(value), low), high) for value in values]
    total = _scaled_sum(clamped, max(abs(low), abs(high)))
    return total if aggregate.function == "sum" else total / float(len(values))


def _scaled_sum(values: list[float], reach: float) -> float:
    """Add whole numbers of steps, of which 2⁶⁰ reach the largest value; round twice."""
    step = 2.0 ** (math.frexp(reach)[1] - 60) if reach else 1.0
    numbers = [math.floor(float(value) / step + 0.5) for value in values]
    high = sum(number // _LIMB for number in numbers)
    low = sum(number % _LIMB for number in numbers)
    return (float(high) * float(_LIMB) + float(low)) * step


def _cut(rows: list[Row], relation: Relation, salt: bytes) -> list[Row]:
    """Keep the rows of each person with the smallest hashes; equal hashes in the order of cells."""
    columns = [Column(name, kind) for name, kind in kinds(relation).items()]
    hers: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        hers[row[0]].append(row)

    def place(row: Row) -> tuple[Any, ...]:
        cells = [_hashed(column, row[1]) for column in columns]
        values = tuple(evaluate(column, row[1]) for column in columns)
        return drawn(salt, (row[0], *cells)), _order(values)

    return [row for mine in hers.values() for row in sorted(mine, key=place)[:MOST_JOINED]]


def _hashed(column: Column, row: Mapping[str, Any]) -> Any:
    grid = DRAWN.get(column.kind)
    return evaluate(column, row) if grid is None else _number(column, grid, row)


def _joined(
    left: list[Row], right: list[Row], relation: JoinPublic | JoinPerson, *, people: bool
) -> list[Row]:
    joined: list[Row] = []
    for person, mine in left:
        wanted = [evaluate(term, mine) for term, _ in relation.on]
        matches = [
            theirs
            for other, theirs in right
            if (not people or other == person)
            and all(
                value is not None and _agree(value, evaluate(column, theirs), column.kind)
                for value, (_, column) in zip(wanted, relation.on, strict=True)
            )
        ]
        if not matches and relation.outer:
            matches = [defaultdict(lambda: None)]
        for theirs in matches:
            taken = {name: theirs[column.name] for name, column in relation.named}
            joined.append((person, {**mine, **taken}))
    return joined


def _agree(value: Any, other: Any, kind: Kind) -> bool:
    """Compare with a cell of a column of real numbers as doubles, with others exactly."""
    return bool((float(value) if kind == "real" else value) == other)


def _digest(table: CheckTable) -> str:
    return hashlib.sha256(repr(sorted(map(repr, table.rows()))).encode()).hexdigest()
