"""Messages of the library in the words of the command line: options, not arguments of Python.

The library speaks to whoever calls it, as in ``epsilon=0.1``; the commands that ask questions have
an option for each of those arguments, under the same name.
"""

from __future__ import annotations

from typing import Any

from sfumato.message import Argument, Call, Message, Part


def in_options(text: str) -> str:
    """Tell a message with ``--epsilon 0.1`` for ``epsilon=0.1``; any other text as it is."""
    return text.told(spell) if isinstance(text, Message) else text


def spell(part: Part) -> str:
    """Spell an argument as an option, and a way to do something as a command."""
    if not isinstance(part, Argument):
        return f"`{part.command}`"
    option, example = f"--{part.name.replace('_', '-')}", part.example
    if example is None:
        return option
    if isinstance(example, dict):
        return " ".join(f"{option} {name}={_listed(item)}" for name, item in example.items())
    return f"{option} {_called(example) if isinstance(example, Call) else _listed(example)}"


def _called(call: Call) -> str:
    """Write ``Unit('user_id', rows=5)`` as ``user_id --rows 5``."""
    rest = [f"--{name.replace('_', '-')} {value}" for name, value in (call.rest or {}).items()]
    return " ".join([_listed(call.first), *rest])


def _listed(value: Any) -> str:
    """Write values with commas between them, and one with blanks in quotes."""
    if value is ...:
        return "…"
    if isinstance(value, list | tuple):
        return ",".join(_listed(item) for item in value)
    return f'"{value}"' if isinstance(value, str) and " " in value else str(value)
