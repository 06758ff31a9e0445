"""`sfumato hierarchy`: build a hierarchy over the values a column really has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sfumato.data.hierarchies.hierarchy import Hierarchy


class RuleName(StrEnum):
    """The rules by which a hierarchy can be built."""

    automatic = "automatic"
    intervals = "intervals"
    quantiles = "quantiles"
    cuts = "cuts"
    mask = "mask"
    dates = "dates"
    frequency = "frequency"
    flat = "flat"


class Side(StrEnum):
    """Where masking begins."""

    left = "left"
    right = "right"


def hierarchy(
    data: Annotated[Path, typer.Argument(help="The data: a CSV or Parquet file.")],
    column: Annotated[str, typer.Argument(help="The column to build a hierarchy over.")],
    rule: Annotated[
        RuleName, typer.Option(help="How to join values; automatic goes by the values.")
    ] = RuleName.automatic,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write (.csv or .yaml); default: print the CSV."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    width: Annotated[
        float | None, typer.Option(help="intervals: width of the narrowest ones.")
    ] = None,
    fanout: Annotated[
        int | None, typer.Option(help="intervals, quantiles: neighbours joined per level.")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(help="intervals: how many; dates: which, such as month,year,decade."),
    ] = None,
    low: Annotated[float | None, typer.Option(help="intervals: where they start.")] = None,
    high: Annotated[float | None, typer.Option(help="intervals: where they end.")] = None,
    n: Annotated[int | None, typer.Option("-n", help="quantiles: number of groups.")] = None,
    points: Annotated[
        str | None,
        typer.Option(help="cuts: cut points, levels apart by a slash: 20,40,60/40."),
    ] = None,
    length: Annotated[int | None, typer.Option(help="mask: number of positions.")] = None,
    side: Annotated[Side | None, typer.Option(help="mask: where hiding begins.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="frequency: groups left on each level: 8,4,2.")
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="dates: how they are written, such as %d.%m.%Y.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the cells.")] = None,
    encoding: Annotated[str | None, typer.Option(help="The file's encoding.")] = None,
) -> None:
    """Build a hierarchy over the values of a column: which coarser value may stand for which.

    Each line goes from a value to the root: 37;[35,40);[30,40);*. Write it to a file, change
    it by hand if you like, and name the file in the schema.

    Example: sfumato hierarchy patients.csv age --rule intervals --width 5 -o age.csv
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    given = {
        "width": width, "fanout": fanout, "levels": _levels(rule, levels), "low": low,
        "high": high, "n": n, "points": _lists(points), "length": length,
        "side": None if side is None else side.value, "groups": _numbers(groups),
        "format": format,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    if output is not None and not force:
        refuse_existing(output, "--force")
    built = _built(data, column, rule.value, options, delimiter=delimiter, encoding=encoding)
    if output is None:
        from sfumato.data.hierarchies.files import hierarchy_text  # noqa: PLC0415 - as above

        typer.echo(hierarchy_text(built), nl=False)
        return
    built.write(output)
    sizes = " → ".join(f"{len(labels):,}" for labels in built.labels)
    typer.echo(f"{output}: {built.height} levels with {sizes} nodes.")


def _built(
    data: Path, column: str, rule: str, options: dict[str, Any], **reading: str | None
) -> Hierarchy:
    from sfumato.data.hierarchies.levels import rule as make  # noqa: PLC0415 - help stays quick
    from sfumato.data.hierarchies.rule_specs import RULES  # noqa: PLC0415 - help stays quick
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - help stays quick
    from sfumato.data.tables.table import value_counts  # noqa: PLC0415 - help stays quick
    from sfumato.data.wording import did_you_mean, listed  # noqa: PLC0415 - help stays quick
    from sfumato.errors import SchemaError  # noqa: PLC0415 - help stays quick

    made = make(RULES[rule], options)
    table = read(data, delimiter=reading["delimiter"], encoding=reading["encoding"])
    if column not in table.columns:
        raise SchemaError(
            f"{data} has no column '{column}'; its columns are {listed(table.columns)}."
            f"{did_you_mean(column, table.columns)}"
        )
    counted = table.count([column])
    return made.over(counted.values[0], column, value_counts(counted, 0))


def _levels(rule: RuleName, levels: str | None) -> Any:
    if levels is None or rule is not RuleName.dates:
        return levels
    return levels.split(",")


def _numbers(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")


def _lists(text: str | None) -> list[list[str]] | None:
    return None if text is None else [part.split(",") for part in text.split("/")]
