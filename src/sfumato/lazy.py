"""Names that load on first use, so that importing a room costs nothing.

A room lists its public names and the modules they live in; `lazy_names` makes the two functions
that Python asks for (PEP 562). `find` loads a value by its place: a noun that offers what is
built upon it (a shape its parts, a guarantee its calculus, a hierarchy its rules) has a table of
places and imports none of them. `tests/test_layers.py` reads those tables like imports. `later` is
for a heavy library that a module needs only when it computes, and not when it is described.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # `typing` would be most of what `import sfumato` costs
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def find(place: str) -> Any:
    """Load a value by its place, such as "sfumato.shapes.tables:TABLES"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class _Later(ModuleType):
    """A library that loads when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        loaded = vars(import_module(self.__name__))
        self.__dict__.update(loaded)  # from now on as quick as the library itself
        if name in loaded:
            return loaded[name]
        return getattr(sys.modules[self.__name__], name)


def later(name: str) -> Any:
    """Return a library by name, loaded now only if somebody else has loaded it."""
    return sys.modules.get(name) or _Later(name)


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    `homes` maps a public name to the module it lives in, relative to the package or
    in full; `rooms` are submodules that are public themselves.
    """
    inside = frozenset(rooms)

    def load(name: str) -> Any:
        if name in inside:
            return import_module(f"{package}.{name}")
        if name in homes:
            home = homes[name]
            inner = home if home.startswith("sfumato.") else f"{package}.{home}"
            value = getattr(import_module(inner), name)
            setattr(sys.modules[package], name, value)
            return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *homes, *inside})

    return load, names
