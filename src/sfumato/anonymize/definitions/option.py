"""How a definition is asked for in one line of text: `-k 5`, `-l 2:disease:entropy`.

A definition states its `Option` beside its formulas; commands and forms are made from that.
Several definitions may share one, as the three kinds of l-diversity share `-l`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.anonymize.definitions.definition import Definition


@dataclass(frozen=True)
class Option:
    """One option: its name in a request, its flags, and how its text becomes a definition.

    `read` gets one text and returns an instance, or raises with the flag in its words; where
    `several` is true the option may be repeated, and each text is a promise of its own.
    """

    name: str
    flags: tuple[str, ...]
    metavar: str
    help: str
    read: Callable[[str], Definition]
    several: bool = True


def number_and_attribute(flag: str, text: str) -> tuple[str, str]:
    """Cut `2:diagnosis` into the number and the attribute, both still text."""
    number, mark, attribute = text.partition(":")
    if not mark or not attribute:
        raise ParameterError(
            f"{flag} wants a number and an attribute, such as {flag} 2:diagnosis, not '{text}'."
        )
    return number, attribute


def whole_number(flag: str, text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"{flag} wants a whole number, not '{text}'.") from None


def number(flag: str, text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{flag} wants a number, not '{text}'.") from None
