"""Conformance kits: the rules our parts follow, to be run on parts of your own.

Each kit takes one object, tries it on inputs it makes itself, and raises `AssertionError`
at the first broken rule. The names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "DefinitionCheck": "definitions",
    "MechanismCheck": "mechanisms",
    "check_algorithm": "algorithms",
    "check_definition": "definitions",
    "check_mechanism": "mechanisms",
    "epsilon_lower_bound": "blackbox",
    "lowest_bits": "blackbox",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"sfumato.testing.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sfumato.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
