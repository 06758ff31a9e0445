"""Who is a person: the privacy unit of the schema, read for tables.

`unit: row` says that every record is a person. Any other text names the column that tells whose a
record is. Where nobody has more than one record the two come to the same.
"""

# SQL here is built from names that the table quotes.
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.data.schema import ROW_UNIT
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table

NUMBER = "person_in_class"
"""Column of a release that tells the people of one class apart."""


def person_column(table: Table) -> str | None:
    """Return the column that names people, checked; None where every record is a person."""
    schema = table.schema
    if schema.unit == ROW_UNIT:
        return None
    if schema.unit not in table.columns:
        raise SchemaError(
            f"{schema.source} names '{schema.unit}' as the privacy unit, which is no column of "
            f"{table.source}; name the column that tells whose a record is, or 'row' if every "
            f"record is a person. Its columns are {listed(table.columns)}."
            f"{did_you_mean(schema.unit, table.columns)}"
        )
    _check_role(schema)
    return schema.unit


def _check_role(schema: Schema) -> None:
    role = schema.attributes[schema.unit].role if schema.unit in schema.attributes else "identifier"
    if role != "identifier":
        raise SchemaError(
            f"{schema.source} names '{schema.unit}' as the privacy unit and gives it the role "
            f"'{role}': a column that tells whose a record is names people. Give it the role "
            "'identifier'."
        )


def repeats(table: Table, column: str) -> bool:
    """Tell whether somebody has more than one record; a missing name counts as one person."""
    rows, people = table.run(
        f"SELECT count(*), count(DISTINCT {table.text(column)}) FROM {table.scan}"
    )[0]
    return bool(people < rows)


def check_promise(promise: Definition, *, pseudonyms: bool) -> None:
    """Refuse what cannot be promised where people have several rows."""
    for part in promise.parts:
        if part.combination:
            raise ParameterError(
                f"{part} is about groups that span classes, and where people have several rows "
                "nobody who reads the release can count the people of such a group: their numbers "
                "mean a person within one class only. Promise it for all quasi-identifiers."
            )
    if pseudonyms:
        raise ParameterError(
            "Pseudonyms would link the rows of a person across classes, and who is in all of those "
            "classes may be one person alone; release data with several rows per person without "
            "pseudonyms."
        )


def number_column(columns: Collection[str]) -> str:
    """Return a name for the column of numbers that no other column has."""
    taken = {column.casefold() for column in columns}
    name = NUMBER
    while name in taken:
        name += "_"
    return name
