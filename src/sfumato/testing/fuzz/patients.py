"""Small tables of patients at random, several rows each, with trees that a judge can read.

Everything here is plain Python: the judge (`judge.py`) resolves labels by `TREES` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.schema import Schema

if TYPE_CHECKING:
    import random

ROOT = "*"
TREES: dict[str, tuple[tuple[str, ...], ...]] = {
    "age": tuple((str(a), f"{a // 2 * 2}-{a // 2 * 2 + 1}", f"{a // 4 * 4}+", ROOT)
                 for a in range(8)),
    "job": (("nurse", "care", ROOT), ("cook", "craft", ROOT), ("smith", "craft", ROOT)),
    "sex": (("f", ROOT), ("m", ROOT)),
}  # fmt: skip
"""Per quasi-identifier the leaves in their order, each with the labels above it."""

ORDERED = frozenset({"age"})
ILL = (("flu", "mild", ROOT), ("acne", "mild", ROOT), ("ulcer", "grave", ROOT))
WAGES = ("1", "2", "3", "4")
QUASI = tuple(TREES)
SENSITIVE = ("ill", "wage")
MISSING = ""

Columns = dict[str, list[str]]


@dataclass(frozen=True)
class Patients:
    """Rows by column, the people they are of, a population that holds them all, and a schema.

    With `marked` every row carries its number in a column that is released as it is, so that a
    judge knows which released row was which.
    """

    columns: Columns
    population: Columns
    unit: str
    marked: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns["id"])

    @property
    def people(self) -> list[str]:
        """Whose every row is: the unit's name of a person."""
        if self.unit == "row":
            return [str(i) for i in range(self.rows)]
        return self.columns["id"]

    def schema(self) -> Schema:
        """Return the schema of the table."""
        trees: dict[str, Any] = {
            name: Hierarchy.from_rows(rows, ordered=name in ORDERED) for name, rows in TREES.items()
        }
        return Schema(
            identifiers=["id"],
            quasi=trees,
            sensitive={"ill": Hierarchy.from_rows(ILL), "wage": None},
            insensitive=["mark"] if self.marked else [],
            unit=self.unit,
        )


def draw_patients(rng: random.Random) -> Patients:
    """Draw a table; in most people have several rows, which may differ in every cell."""
    people = rng.randint(6, 16)
    unit = rng.choice(("id", "id", "row"))
    most = rng.choice((1, 2, 4))
    steady = rng.random()  # how much of a person stays the same from row to row
    columns: Columns = {name: [] for name in ("id", *QUASI, *SENSITIVE, "mark")}
    population: Columns = {name: [] for name in QUASI}
    for person in range(people):
        home = _draw_cells(rng)
        for _ in range(rng.randint(1, most)):
            row = home if rng.random() < steady else _draw_cells(rng)
            row = {**row, "wage": rng.choice(WAGES[: rng.randint(1, 4)])}
            for name in (*QUASI, *SENSITIVE):
                columns[name].append(row[name])
            columns["id"].append("" if person == 0 and rng.random() < 0.2 else f"p{person}")
            for name in QUASI:
                population[name].append(row[name])
        for _ in range(rng.randint(0, 3)):
            other = _draw_cells(rng)
            for name in QUASI:
                population[name].append(other[name])
    columns["mark"] = [str(1000 + i) for i in range(len(columns["id"]))]
    marked = rng.random() < 0.5
    if not marked:
        del columns["mark"]
    return Patients(columns, population, unit, marked)


def _draw_cells(rng: random.Random) -> dict[str, str]:
    cells = {name: rng.choice(rows)[0] for name, rows in TREES.items()}
    if rng.random() < 0.08:
        cells["job"] = MISSING
    cells["ill"] = rng.choice(("flu", "flu", "acne", "ulcer"))
    return cells


def covers(name: str, label: str, leaf: str) -> bool:
    """Tell whether a released label stands for a value."""
    if leaf == MISSING:
        return label in {MISSING, ROOT}
    if name in ORDERED and label.startswith("["):
        leaves = [row[0] for row in TREES[name]]
        low, high = (leaves.index(end) for end in label[1:-1].split(","))
        return low <= leaves.index(leaf) <= high
    return any(label in row for row in TREES[name] if row[0] == leaf)
