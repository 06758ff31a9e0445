"""Who is a person: the privacy unit of the schema, read for rows.

`unit: row` says that every record is a person. Any other text names the column that tells whose a
record is. Where nobody has more than one record the two come to the same.
"""

# SQL here is built from names that the table quotes.

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.data.schema import ROW_UNIT
from sfumato.data.wording import its_columns
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table


def person_column(table: Table) -> str | None:
    """Return the column that names people, checked; None where every record is a person."""
    schema = table.schema
    if schema.unit == ROW_UNIT:
        return None
    if schema.unit not in table.columns:
        raise SchemaError(
            f"{schema.source} names '{schema.unit}' as the privacy unit, which is no column of "
            f"{table.source}; name the column that tells whose a record is, or 'row' if every "
            f"record is a person; {its_columns(table.columns, schema.unit)}"
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
