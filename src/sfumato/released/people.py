"""How the people of a released table are told apart: what is claimed, and whether it can be.

A class is as large as the number of *people* in it. Where every record is a person, records are
counted. Where people may have several, the release carries a column of numbers that mean one person
within one class, and `release.json` names it. A file that lacks it says nothing about people, and
then nothing can be said to hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.data.schema import ROW_UNIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table
    from sfumato.released.manifest import Manifest

NUMBER = "person_in_class"
"""What the column of numbers is called where nothing names it, as in a frame."""


@dataclass(frozen=True)
class Persons:
    """The column that tells people apart, if there is one.

    `numbers` says that its cells are numbers that mean a person within one class only. `trouble` is
    why people cannot be counted, where they cannot; `stated` says that the release is believed
    when it states that everybody has one record.
    """

    column: str | None = None
    numbers: bool = False
    trouble: str = ""
    stated: bool = False


def stated_people(manifest: Manifest | None) -> Mapping[str, Any]:
    """Return what a release says of whose its records are."""
    stated = None if manifest is None else manifest.facts.get("people")
    return stated if isinstance(stated, dict) else {}


def stated_unit(manifest: Manifest | None) -> str:
    """Return the privacy unit that a release states."""
    unit = stated_people(manifest).get("unit")
    return unit if isinstance(unit, str) else ROW_UNIT


def find_persons(table: Table, schema: Schema, manifest: Manifest) -> Persons:
    """Find out how the people of a released table are told apart."""
    stated = stated_people(manifest)
    column = stated.get("column")
    if isinstance(column, str):
        if column in table.columns:
            return Persons(column, numbers=True)
        return Persons(
            trouble=f"The release is said to number people in the column '{column}', which it does "
            "not have, so nobody can tell how many people a class holds."
        )
    unit = schema.unit
    if unit == ROW_UNIT:
        return Persons()
    if stated.get("unit") == unit:
        return Persons(stated=True)
    if unit in table.columns:
        return Persons(unit)
    if NUMBER in table.columns and NUMBER not in schema.attributes:
        return Persons(NUMBER, numbers=True)
    return Persons(
        trouble=f"The schema names '{unit}' as the privacy unit, and the release has no column "
        "that tells people apart, so nobody can tell how many people a class holds: its records "
        "may all be of one person."
    )
