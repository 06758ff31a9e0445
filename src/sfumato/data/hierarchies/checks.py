"""Is it a tree? The checks every hierarchy passes before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Sequence


def checked_rows(rows: Sequence[Sequence[str]], source: str) -> list[tuple[str, ...]]:
    """Return the rows as tuples, or say in which row which rule of a tree is broken."""
    table = [tuple(row) for row in rows]
    if not table:
        raise HierarchyError(f"Hierarchy {source} is empty; it needs one row per value.")
    _check_widths(table, source)
    _check_leaves(table, source)
    _check_root(table, source)
    _check_nesting(table, source)
    return table


def _check_widths(table: list[tuple[str, ...]], source: str) -> None:
    width = len(table[0])
    if width == 0 or (width == 1 and len(table) > 1):  # a single value may be its own root
        raise HierarchyError(
            f"Hierarchy {source}, row 1: there is one level; a row goes from a value to the root, "
            "as in 'flu;*'."
        )
    for number, row in enumerate(table, start=1):
        if len(row) != width:
            raise HierarchyError(
                f"Hierarchy {source}, row {number}: {len(row)} levels where the first row has "
                f"{width}; every row must name a node on every level, from the value to the root."
            )


def _check_leaves(table: list[tuple[str, ...]], source: str) -> None:
    seen: dict[str, int] = {}
    for number, row in enumerate(table, start=1):
        first = seen.setdefault(row[0], number)
        if first != number:
            raise HierarchyError(
                f"Hierarchy {source}, row {number}: the value in the first column already stands "
                f"in row {first}; each value may be listed once."
            )


def _check_root(table: list[tuple[str, ...]], source: str) -> None:
    roots = {row[-1] for row in table}
    if len(roots) > 1:
        raise HierarchyError(
            f"Hierarchy {source} has {len(roots)} roots; the last column must be the same in "
            "every row, usually '*'. Add a column of '*' to join them."
        )


def _check_nesting(table: list[tuple[str, ...]], source: str) -> None:
    for level in range(len(table[0]) - 1):
        parent: dict[str, tuple[str, int]] = {}
        for number, row in enumerate(table, start=1):
            above, first = parent.setdefault(row[level], (row[level + 1], number))
            if above != row[level + 1]:
                raise HierarchyError(
                    f"Hierarchy {source}, rows {first} and {number}: a node of column "
                    f"{level + 1} has two different parents in column {level + 2}; values that "
                    "are together on one level must stay together above it."
                )
