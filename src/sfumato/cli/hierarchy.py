"""`sfumato hierarchy`: build a hierarchy over the values a column really has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.options.bridge import takes_request
from sfumato.requests.hierarchy import HierarchyCommand

if TYPE_CHECKING:
    from sfumato.data.hierarchies.hierarchy import Hierarchy


@takes_request
def hierarchy(request: HierarchyCommand) -> None:
    """Build a hierarchy over the values of a column: which coarser value may stand for which.

    Each line goes from a value to the root: 37;[35,40);[30,40);*. Write it to a file, change
    it by hand if you like, and name the file in the schema.

    Example: sfumato hierarchy patients.csv age --rule intervals --width 5 -o age.csv
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    output = request.output
    if output is not None and not request.force:
        refuse_existing(output, "--force")
    built = _built(
        request.data, request.column, request.rule.value, request.stated.parameters(request.rule),
        delimiter=request.delimiter, encoding=request.encoding,
    )  # fmt: skip
    if output is None:
        from sfumato.data.hierarchies.files import text_of_rows  # noqa: PLC0415 - as above

        typer.echo(text_of_rows(built.rows()), nl=False)
        return
    built.write(output)
    sizes = " → ".join(f"{len(labels):,}" for labels in built.labels)
    typer.echo(f"{output}: {built.height} levels with {sizes} nodes.")


def _built(
    data: Path, column: str, rule: str, options: dict[str, Any], **reading: str | None
) -> Hierarchy:
    from sfumato.data.hierarchies.rule_table import make_rule  # noqa: PLC0415 - help stays quick
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - help stays quick
    from sfumato.data.tables.table import value_counts  # noqa: PLC0415 - help stays quick
    from sfumato.data.wording import its_columns  # noqa: PLC0415 - help stays quick
    from sfumato.errors import SchemaError  # noqa: PLC0415 - help stays quick

    made = make_rule(rule, options)
    table = read(data, delimiter=reading["delimiter"], encoding=reading["encoding"])
    if column not in table.columns:
        raise SchemaError(f"{data} has no column '{column}'; {its_columns(table.columns, column)}")
    counted = table.count([column])
    return made.over(counted.values[0], column, value_counts(counted, 0))
