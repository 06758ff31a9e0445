"""What an answer is made of, as a stored record: written once, and read back to be given again."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.intervals import DerivedColumn
from sfumato.ask.answers.noisy_column import NoisyColumn
from sfumato.ask.answers.note import note_from_json
from sfumato.ask.answers.stacked_column import StackedColumn
from sfumato.ask.language.request import Grid
from sfumato.ask.price.measures import Recipe
from sfumato.ask.price.noise import Noise
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.answers.answer import Answer
    from sfumato.ask.answers.stacked_column import AnyColumn


def dump_answer(answer: Answer) -> str:
    """Write what an answer is made of, so that it can be given again."""
    return json.dumps({
        "question": answer.question,
        "tree": answer.tree,
        "columns": answer.columns,
        "rows": plain_rows(answer),
        "notes": [note.to_json() for note in answer.notes],
        "keys": answer.keys,
        "places": answer.places,
        "ranges": answer.ranges,
        "measures": {name: _column(column) for name, column in answer.measures.items()},
        "derived": {name: _derived(column) for name, column in answer.derived.items()},
        "cost": answer.cost.to_json(),
        "guarantee": guarantee_to_json(answer.guarantee),
    })  # fmt: skip


def plain_rows(answer: Answer) -> list[list[Any]]:
    """Give the cells of an answer as JSON holds them."""
    return [[_plain(cell) for cell in row] for row in answer.rows]


def _plain(value: Any) -> Any:
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value


def _read(value: Any) -> Any:
    return dt.date.fromisoformat(value["date"]) if isinstance(value, dict) else value


def _column(column: NoisyColumn | StackedColumn[NoisyColumn]) -> dict[str, Any]:
    if isinstance(column, StackedColumn):
        return {"stack": [_column(part) for part in column.columns], "rows": column.rows}
    recipe = column.recipe
    grid = recipe.grid
    return {
        "name": recipe.name,
        "aggregate": recipe.aggregate,
        "spelling": recipe.spelling,
        "grid": None if grid is None else [str(n) for n in (*grid.bounds, grid.step, grid.centre)],
        "noises": [None if n is None else [n.kind, str(n.size)] for n in column.noises],
        "parts": column.parts,
    }


def _derived(column: DerivedColumn | StackedColumn[DerivedColumn]) -> dict[str, Any]:
    if isinstance(column, StackedColumn):
        return {"stack": [_derived(part) for part in column.columns], "rows": column.rows}
    return {
        "formula": column.formula,
        "numbers": {name: _column(number) for name, number in column.numbers.items()},
        "ranges": column.ranges,
        "keys": {name: [_plain(cell) for cell in cells] for name, cells in column.keys.items()},
    }


def _derived_read(entry: dict[str, Any]) -> DerivedColumn | StackedColumn[DerivedColumn]:
    return (
        _stack_read(entry, _derived_column_read)
        if "stack" in entry
        else _derived_column_read(entry)
    )


def _stack_read(
    entry: dict[str, Any], read: Callable[[dict[str, Any]], AnyColumn]
) -> StackedColumn[AnyColumn]:
    rows = tuple((column, row) for column, row in entry["rows"])
    return StackedColumn(tuple(map(read, entry["stack"])), rows)


def _derived_column_read(entry: dict[str, Any]) -> DerivedColumn:
    return DerivedColumn(
        entry["formula"],
        {name: _noisy_read(number) for name, number in entry["numbers"].items()},
        {name: (pair[0], pair[1]) for name, pair in entry["ranges"].items()},
        {name: [_read(cell) for cell in cells] for name, cells in entry["keys"].items()},
    )


def load_fields(text: str) -> dict[str, Any]:
    """Read what :func:`dump_answer` wrote: the fields of the answer."""
    entry = json.loads(text)
    derived = entry.get("derived", {})
    return {
        "question": entry["question"],
        "tree": entry.get("tree"),
        "columns": tuple(entry["columns"]),
        "rows": tuple(tuple(_read(cell) for cell in row) for row in entry["rows"]),
        "notes": tuple(map(note_from_json, entry["notes"])),
        "keys": tuple(entry["keys"]),
        "places": tuple(entry["places"]),
        "ranges": {name: (pair[0], pair[1]) for name, pair in entry["ranges"].items()},
        "measures": {name: _column_read(column) for name, column in entry["measures"].items()},
        "derived": {name: _derived_read(column) for name, column in derived.items()},
        "guarantee": guarantee_from_json(entry["guarantee"]),
        "cost": Cost.from_json(entry["cost"]),
    }


def _column_read(entry: dict[str, Any]) -> NoisyColumn | StackedColumn[NoisyColumn]:
    return _stack_read(entry, _noisy_read) if "stack" in entry else _noisy_read(entry)


def _noisy_read(entry: dict[str, Any]) -> NoisyColumn:
    grid = None
    if entry["grid"] is not None:
        low, high, step, centre = (Fraction(text) for text in entry["grid"])
        grid = Grid((low, high), step, centre)
    recipe = Recipe(entry["name"], entry["aggregate"], entry["spelling"], (), grid)
    noises = tuple(None if n is None else Noise(n[0], Fraction(n[1])) for n in entry["noises"])
    return NoisyColumn(recipe, noises, tuple(tuple(parts) for parts in entry["parts"]))
