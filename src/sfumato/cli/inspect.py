"""`sfumato inspect`: suggest roles and hierarchies, and write the schema."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid

from sfumato.cli.display.terminal import out, result
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.inspect import InspectCommand

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.tables.suggestions import ColumnSuggestion, Suggestions

COLOURS = {
    "identifier": "red",
    "quasi": "yellow",
    "sensitive": "magenta",
    "insensitive": "green",
}


@takes_request
def inspect(request: InspectCommand) -> None:
    """Look at a data set and suggest its schema: what each column is, and why.

    Shows which columns identify people, which small sets of columns single people out and
    how many, and which columns look sensitive; suggests a hierarchy for each
    quasi-identifier; and writes all this as a schema with the reasons beside it. Nothing is
    decided for you: read it, change what is wrong, then anonymise.

    Example: sfumato inspect patients.csv
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    data, shape = request.data, request.shape
    target = request.output or _beside(data)
    if not request.force:
        refuse_existing(target, "--force")
    found = _look(data, shape, request.delimiter, request.encoding)
    found.write(target, force=request.force)
    result({"schema": str(target), "columns": [_plain(column) for column in found.columns]})
    show(found, out)
    typer.echo(f"Schema written to {target}. Read it and change what is wrong. Then:")
    told = f" --shape {shape}" if shape else ""
    # The password is left out: libpq takes it from ~/.pgpass or PGPASSWORD.
    source = re.sub(r"(//[^:@/]*):[^?]*@", r"\1@", data)
    files = f"{shlex.quote(source)} -s {shlex.quote(str(target))}"
    typer.echo(f"  sfumato anonymize {files}{told} -k 5 -o out/")


def _beside(data: str) -> Path:
    """Return where the schema goes: beside a file, for a table of a database here."""
    from sfumato.data.engines.addresses import is_database  # noqa: PLC0415 - help stays quick

    if not is_database(data):
        return Path(data).with_suffix(".yaml")
    name = data.partition("table=")[2].partition("&")[0] or data.partition("::")[2] or "table"
    return Path(f"{name}.yaml")


def _look(data: str, shape: str | None, delimiter: str | None, encoding: str | None) -> Suggestions:
    from sfumato.data.tables.suggestions import inspect as look  # noqa: PLC0415 - help stays quick
    from sfumato.shape import find_shape  # noqa: PLC0415 - help stays quick

    if shape in {None, "table"}:
        return look(data, delimiter=delimiter, encoding=encoding)
    found: Suggestions = find_shape(str(shape)).suggest(data)
    return found


def show(found: Suggestions, console: Console) -> None:
    """Print the suggestions as a table, and what columns do together."""
    from sfumato.data.tables.singling_out import telling  # noqa: PLC0415 - help stays quick

    console.print(f"{found.source}: {found.size()}", markup=False, highlight=False)
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("column", overflow="fold", max_width=20)
    grid.add_column("role")
    grid.add_column("values", justify="right")
    grid.add_column("hierarchy", overflow="fold", max_width=20)
    grid.add_column("why", ratio=1)
    for column in found.columns:
        grid.add_row(*_cells(column))
    console.print(grid)
    for found_set in telling(found.sets):
        console.print(found_set.sentence(found.people), markup=False, highlight=False)


def _cells(column: ColumnSuggestion) -> list[str]:
    from rich.markup import escape  # noqa: PLC0415 - help stays quick

    missing = f"; {column.facts.missing:,} missing" if column.facts.missing else ""
    colour = COLOURS[column.role]
    return [
        escape(column.name),
        f"[{colour}]{column.role}[/{colour}]",
        f"{column.facts.distinct:,}",
        escape(_hierarchy(column)),
        escape("; ".join(filter(None, (column.reason + missing, column.safe_harbor)))),
    ]


def _plain(column: ColumnSuggestion) -> dict[str, Any]:
    return {
        "name": column.name,
        "role": column.role,
        "values": column.facts.distinct,
        "missing": column.facts.missing,
        "hierarchy": _hierarchy(column),
        "why": column.reason,
        "safe harbor": column.safe_harbor,
    }


def _hierarchy(column: ColumnSuggestion) -> str:
    from sfumato.data.hierarchies.rule_specs import spec_of  # noqa: PLC0415 - help stays quick

    if column.rule is None:
        return ""
    spec = spec_of(column.rule)
    if isinstance(spec, str):
        return spec
    [(name, options)] = spec.items()
    return f"{name} " + " ".join(f"{key}={value}" for key, value in options.items())
