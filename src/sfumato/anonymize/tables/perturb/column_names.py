"""The names an operation is given: one column, or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence


def names_of(columns: str | Sequence[str], operation: object) -> tuple[str, ...]:
    """Return the names as a tuple, each once, or raise."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    operation_name = type(operation).__name__
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(
            f"{operation_name} needs the name of a column, or a list of names, not {columns!r}."
        )
    if len(set(names)) < len(names):
        raise ParameterError(f"{operation_name} names a column twice: {', '.join(names)}.")
    return names
