"""The options that state a promise: those of the definitions, and that of a user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.anonymize.definitions.definition import Definition
from sfumato.anonymize.definitions.option import Option
from sfumato.cli.options.objects import import_object
from sfumato.errors import ParameterError
from sfumato.requests.promises import options

if TYPE_CHECKING:
    from collections.abc import Sequence


def _own(text: str) -> Definition:
    """Return a user's own definition, given as module:object."""
    found = import_object("--definition", text)
    if not isinstance(found, Definition):
        raise ParameterError(
            f"--definition {text} is not a definition; it must be an instance of a subclass of "
            "sfumato's Definition, such as my_rules:promise."
        )
    return found


OPTIONS: Sequence[Option] = (
    *options(),
    Option(
        "own",
        ("--definition",),
        "MODULE:NAME",
        "Your own definition, an object in a Python module; may be repeated.",
        _own,
    ),
)
