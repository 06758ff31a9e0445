"""Which small sets of columns single people out, and how many people.

A person is singled out by a set of columns when nobody else has the same values there
(Sweeney, 2000: sex, birth date and postal code single out most of a country). Every single
column and pair is counted, and those triples whose pairs are worst; counting is exact, by
`GROUP BY` in the engine over the distinct combinations.

`nearly_unique` asks the same of columns that are released as they are: whoever has another file
with such a column finds the records again, whatever the classes of the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sfumato.data.engines.counted import Counted
    from sfumato.data.engines.duckdb import DuckDB
    from sfumato.data.tables.table import Table

MOST_COLUMNS = 12
"""Columns combined with each other: the ones with most distinct values."""

MOST_TRIPLES = 24

NEARLY_UNIQUE = 0.5
"""Different values per filled-in cell from which on a column is nearly unique: an attacker who
guesses evenly among the records with a known value is right for at least so many of them."""

FEW_VALUES = 10
"""A column with at most so many values is not nearly unique, however few records there are."""

TOGETHER = 16
"""How many columns are counted by one query."""


@dataclass(frozen=True)
class SinglingOut:
    """A set of columns, and the number of people it singles out."""

    columns: tuple[str, ...]
    people: int

    def sentence(self, rows: int) -> str:
        """Return the finding in words, with the share of all people."""
        verb = "singles" if len(self.columns) == 1 else "single"
        return (
            f"{' + '.join(self.columns)} {verb} out {persons(self.people)} "
            f"({share(self.people, rows)})"
        )


def share(people: int, rows: int) -> str:
    """Return people as a percentage, a small one as such and not as nothing."""
    part = people / max(rows, 1)
    return f"{part:.1%}" if part >= 0.001 or people == 0 else "< 0.1%"


def persons(number: int) -> str:
    """Return `1 person` or `n people`."""
    return "1 person" if number == 1 else f"{number:,} people"


def singling_out(
    engine: DuckDB, counted: Counted, person: str | None = None
) -> tuple[SinglingOut, ...]:
    """Return what sets of one to three columns single out, most people first.

    Every record is a person, unless a column of `counted` tells whose it is: `person`.
    """
    sizes = {
        name: len(values) for name, values in zip(counted.columns, counted.values, strict=True)
    }
    names = [name for name in counted.columns if name != person]
    widest = sorted(names, key=lambda name: -sizes[name])[:MOST_COLUMNS]
    chosen = [name for name in names if name in widest and sizes[name] > 1]
    arrays = {f"c{i}": codes for i, codes in enumerate(counted.codes)}
    relation = engine.register({**arrays, "n": counted.counts})
    place = {name: f"c{i}" for i, name in enumerate(counted.columns)}

    def people(columns: Sequence[str]) -> int:
        keys = ", ".join(place[name] for name in columns)
        if person is not None:
            who = place[person]
            alone = f"SELECT any_value({who}) AS p FROM {relation} GROUP BY {keys} "
            alone += f"HAVING count(DISTINCT {who}) = 1"
            return int(engine.run(f"SELECT count(DISTINCT p) FROM ({alone})")[0][0])
        inner = f"SELECT sum(n) AS s FROM {relation} GROUP BY {keys}"
        return int(engine.run(f"SELECT count(*) FILTER (s = 1) FROM ({inner})")[0][0])

    try:
        found: dict[tuple[str, ...], int] = {(c,): people((c,)) for c in names}
        found |= {pair: people(pair) for pair in combinations(chosen, 2)}
        found |= {triple: people(triple) for triple in _worst_triples(chosen, found)}
    finally:
        engine.drop(relation)
    ranked = sorted(found.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    return tuple(SinglingOut(columns, count) for columns, count in ranked)


def _worst_triples(
    columns: Sequence[str], pairs: Mapping[tuple[str, ...], int]
) -> Sequence[tuple[str, ...]]:
    triples = combinations(columns, 3)
    ranked = sorted(
        triples, key=lambda triple: -sum(pairs[pair] for pair in combinations(triple, 2))
    )
    return ranked[:MOST_TRIPLES]


def telling(sets: Iterable[SinglingOut], *, per_size: int = 3) -> tuple[SinglingOut, ...]:
    """Return the worst sets of each size that single out more than any part of them."""
    every = list(sets)
    people = {found.columns: found.people for found in every}
    shown: list[SinglingOut] = []
    for size in (1, 2, 3):
        worse = [
            found
            for found in every
            if len(found.columns) == size
            and found.people
            > max((people.get(part, 0) for part in _parts(found.columns)), default=0)
        ]
        shown += worse[:per_size]
    return tuple(shown)


def _parts(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [part for size in range(1, len(columns)) for part in combinations(columns, size)]


@dataclass(frozen=True)
class NearlyUnique:
    """A column that is released as it is, its different values and its cells that hold one."""

    column: str
    values: int
    cells: int

    @property
    def told(self) -> str:
        """What was counted, in words."""
        return (
            f"Column '{self.column}' is released as it is and nearly unique ({self.values:,} "
            f"different values in {self.cells:,} cells; from {NEARLY_UNIQUE:.0%} on counts)"
        )

    @property
    def warning(self) -> str:
        """What follows from it, and what can be done."""
        return (
            f"{self.told}, so an attacker who has it in another file finds the records again, "
            "whatever the classes. Give it the role 'quasi', leave it out, or state in the schema "
            'why no other file has it: linkable: "accepted, <reason>".'
        )


def nearly_unique(
    table: Table, names: Sequence[str], person: Sequence[str] = ()
) -> tuple[NearlyUnique, ...]:
    """Return those of some columns that tell most records apart by themselves.

    `person` names columns that tell people apart, where they have several records: the same value
    in all records of a person is one. A missing cell has no value.
    """
    found: list[NearlyUnique] = []
    for begin in range(0, len(names), TOGETHER):
        few = names[begin : begin + TOGETHER]
        for name, (values, cells) in zip(few, _values_and_cells(table, few, person), strict=True):
            if values > FEW_VALUES and values >= NEARLY_UNIQUE * cells:
                found.append(NearlyUnique(name, values, cells))
    return tuple(found)


def _values_and_cells(
    table: Table, names: Sequence[str], person: Sequence[str]
) -> list[tuple[int, int]]:
    """Count different values and filled-in cells of some columns; of a person, values once."""
    texts = [table.text(name) for name in names]
    if person:
        who = ", ".join(table.text(name) for name in person)
        return [
            table.run(
                f"SELECT count(DISTINCT v), count(*) FROM (SELECT DISTINCT {who}, {text} AS v "
                f"FROM {table.scan} WHERE {text} <> '')"
            )[0]
            for text in texts
        ]
    counts = ", ".join(
        f"count(DISTINCT {text}) FILTER (WHERE {text} <> ''), count(*) FILTER (WHERE {text} <> '')"
        for text in texts
    )
    [row] = table.run(f"SELECT {counts} FROM {table.scan}")
    return list(zip(row[::2], row[1::2], strict=True))
