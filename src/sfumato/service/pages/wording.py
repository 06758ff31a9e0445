"""Messages of the library in the words of a page: its fields, not arguments of Python."""

from __future__ import annotations

from typing import Any

from sfumato.message import Argument, Message, Part

_FIELDS = {
    "epsilon": "‘ε to spend’",
    "accuracy": "‘Accuracy wanted’",
    "bounds": "‘Bounds’",
    "keys": "‘Values of groups’",
}
"""Labels of the form that asks, by the argument that each of them gives."""


def in_fields(text: str) -> str:
    """Tell a message with ‘Bounds’ (age=0,100) for ``bounds={'age': (0, 100)}``."""
    return text.told(spell) if isinstance(text, Message) else text


def spell(part: Part) -> str:
    """Name the field that an argument is given by, with its example as one writes it there."""
    if not isinstance(part, Argument) or part.name not in _FIELDS:
        return str(part)
    field, example = _FIELDS[part.name], part.example
    if example is None or example is ...:
        return field
    if isinstance(example, dict):
        lines = "; ".join(f"{name}={_listed(value)}" for name, value in example.items())
        return f"{field} ({lines})"
    return f"{field} ({_listed(example)})"


def _listed(value: Any) -> str:
    if value is ...:
        return "…"
    return ",".join(map(_listed, value)) if isinstance(value, list | tuple) else str(value)
