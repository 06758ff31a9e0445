"""An answer as a table: in kind, as text, and as lines of a stored record."""

from __future__ import annotations

import datetime as dt
import json
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.answer import Answer, NoisyColumn
from sfumato.ask.answers.intervals import DerivedColumn
from sfumato.ask.answers.note import note_from_json
from sfumato.ask.language.request import Grid
from sfumato.ask.price.measures import Recipe
from sfumato.ask.price.noise import Noise
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.govern.standing import Standing

_SHOWN = 50


def frame(columns: Sequence[str], rows: Sequence[Sequence[Any]], kind: str) -> Any:
    """Make a table of the kind that was read; a mapping of lists where no library is at hand."""
    cells = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    if kind == "polars":
        import polars  # noqa: ICN001, PLC0415 - the caller handed us one of its frames

        return polars.DataFrame(cells, strict=False)
    if kind == "arrow":
        import pyarrow  # noqa: ICN001, PLC0415 - the same

        return pyarrow.table(cells)
    if kind in {"pandas", "csv", "parquet", "duckdb", "postgres"}:
        pandas = _pandas(required=kind == "pandas")
        if pandas is not None:
            return pandas.DataFrame(cells, columns=list(columns))
    if kind == "spark":
        return _pandas(required=True).DataFrame(cells, columns=list(columns))
    return cells


def _pandas(*, required: bool) -> Any:
    if "pandas" not in sys.modules and not required:
        from importlib.util import find_spec  # noqa: PLC0415 - asked for once per table

        if find_spec("pandas") is None:
            return None
    import pandas  # noqa: ICN001, PLC0415 - an optional library of the caller's

    return pandas


def as_text(answer: Answer) -> str:
    """Print an answer with its intervals, for terminals and logs: all of it may be shown."""
    intervals = answer.intervals()
    header = [*answer.columns]
    lines = [[_cell(cell) for cell in row] for row in answer.rows[:_SHOWN]]
    for name in answer.columns:
        pairs = intervals.get(name)
        if pairs is None or name in answer.ranges or all(pair is None for pair in pairs):
            continue
        header.append(f"{name} 95 %")
        for line, pair in zip(lines, pairs, strict=False):
            line.append("" if pair is None else f"{_cell(pair[0])} … {_cell(pair[1])}")
    widths = [max(len(cell) for cell in column) for column in zip(header, *lines, strict=True)]
    shown = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (header, *lines)
    ]
    if len(answer.rows) > _SHOWN:
        shown.append(f"… and {len(answer.rows) - _SHOWN} more rows")
    paid = "nothing: the same answer was given before" if answer.stored else str(answer.guarantee)
    return "\n".join([*shown, "", f"cost: {paid}", *(f"note: {n}" for n in answer.notes)])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def dump_answer(answer: Answer) -> str:
    """Write what an answer is made of, so that it can be given again."""
    return json.dumps({
        "question": answer.question,
        "tree": answer.tree,
        "columns": answer.columns,
        "rows": [[_plain(cell) for cell in row] for row in answer.rows],
        "notes": [note.to_json() for note in answer.notes],
        "keys": answer.keys,
        "places": answer.places,
        "ranges": answer.ranges,
        "measures": {name: _column(one) for name, one in answer.measures.items()},
        "derived": {name: _derived(one) for name, one in answer.derived.items()},
        "cost": answer.cost.to_json(),
        "guarantee": guarantee_to_json(answer.guarantee),
    })  # fmt: skip


def _plain(value: Any) -> Any:
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value


def _read(value: Any) -> Any:
    return dt.date.fromisoformat(value["date"]) if isinstance(value, dict) else value


def _column(column: NoisyColumn) -> dict[str, Any]:
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


def _derived(column: DerivedColumn) -> dict[str, Any]:
    return {
        "formula": column.formula,
        "numbers": {name: _column(one) for name, one in column.numbers.items()},
        "ranges": column.ranges,
        "keys": {name: [_plain(cell) for cell in cells] for name, cells in column.keys.items()},
    }


def _derived_read(entry: dict[str, Any]) -> DerivedColumn:
    return DerivedColumn(
        entry["formula"],
        {name: _column_read(one) for name, one in entry["numbers"].items()},
        {name: (pair[0], pair[1]) for name, pair in entry["ranges"].items()},
        {name: [_read(cell) for cell in cells] for name, cells in entry["keys"].items()},
    )


def load_answer(text: str, *, standing: Standing | None, kind: str) -> Answer:
    """Read what :func:`dump_answer` wrote, as an answer that costs nothing more."""
    entry = json.loads(text)
    return Answer(
        question=entry["question"],
        tree=entry.get("tree"),
        columns=tuple(entry["columns"]),
        rows=tuple(tuple(_read(cell) for cell in row) for row in entry["rows"]),
        notes=tuple(map(note_from_json, entry["notes"])),
        keys=tuple(entry["keys"]),
        places=tuple(entry["places"]),
        ranges={name: (pair[0], pair[1]) for name, pair in entry["ranges"].items()},
        measures={name: _column_read(one) for name, one in entry["measures"].items()},
        derived={name: _derived_read(one) for name, one in entry.get("derived", {}).items()},
        guarantee=guarantee_from_json(entry["guarantee"]),
        cost=Cost.from_json(entry["cost"]),
        standing=standing,
        kind=kind,
        stored=True,
    )


def _column_read(entry: dict[str, Any]) -> NoisyColumn:
    grid = None
    if entry["grid"] is not None:
        low, high, step, centre = (Fraction(text) for text in entry["grid"])
        grid = Grid((low, high), step, centre)
    recipe = Recipe(entry["name"], entry["aggregate"], entry["spelling"], (), grid)
    noises = tuple(None if n is None else Noise(n[0], Fraction(n[1])) for n in entry["noises"])
    return NoisyColumn(recipe, noises, tuple(tuple(parts) for parts in entry["parts"]))
