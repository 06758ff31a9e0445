"""How texts of requests are read: numbers, and pairs of a name and a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence


def float_of(option: str, text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{option} wants a number, and {text!r} was given.") from None


def pairs_of(option: str, given: Sequence[str] | None, form: str) -> dict[str, str]:
    """Read options of the form NAME=VALUE."""
    found: dict[str, str] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ParameterError(f"{option} wants {form}, and {text!r} was given.")
        if name.strip() in found:
            raise ParameterError(f"{option} names {name.strip()!r} twice; give it once.")
        found[name.strip()] = value.strip()
    return found
