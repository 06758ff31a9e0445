"""What can be promised and written where people have several rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection

    from sfumato.anonymize.definitions.definition import Definition

NUMBER = "person_in_class"
"""Column of a release that tells the people of one class apart."""


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
