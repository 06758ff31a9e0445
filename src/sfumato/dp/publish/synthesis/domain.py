"""What is public about coded columns: how many codes each has, and how they lie.

Contract: a :class:`Domain` is known before any data are read. The engine sees rows of codes
0 … size−1 and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ORDERED = 1024
"""Ordered columns have at most so many codes: fitting pieces to them takes quadratic time."""


@dataclass(frozen=True)
class CodedColumn:
    """One column of codes.

    ``ordered`` codes are grouped with their neighbours; the ``alone`` codes, such as that of
    missing cells, are never grouped with others; a ``doubtful`` code counts only where it stands
    out of the noise.
    """

    name: str
    size: int
    ordered: bool = False
    alone: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ParameterError(f"Column '{self.name}' has no values at all; declare some.")
        if self.ordered and self.size - len(self.alone) > MOST_ORDERED:
            raise ParameterError(
                f"Column '{self.name}' has {self.size} ordered values, and at most {MOST_ORDERED} "
                "are told apart; give it fewer bins."
            )


@dataclass(frozen=True)
class Domain:
    """The columns of a table of codes."""

    columns: tuple[CodedColumn, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise ParameterError("A synthetic table needs at least one column.")

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each column has."""
        return tuple(column.size for column in self.columns)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """List all pairs of columns, in the one order in which tables of pairs stand."""
        return combinations(range(len(self.columns)), 2)
