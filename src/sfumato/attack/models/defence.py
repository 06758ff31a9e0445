"""A defence against poison: keep rows that their neighbours vouch for.

A row whose nearest neighbours mostly carry another label is left out (Paudice, Muñoz-González and
Lupu, 2018). By itself this fails as soon as poison rows stand together and vouch for each other. So
the defender states how many poison rows to expect, q: 4q neighbours are asked, and q of them must
agree. Poison rows can give each other q − 1 votes and no more, so one of them passes only where
clean rows vouch for it, too. The price is told: how many rows are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Vouched:
    """Which rows are kept, and how many neighbours were asked."""

    kept: NDArray[np.bool_]
    neighbours: int

    @property
    def left_out(self) -> int:
        """How many rows the defence costs, poison or not."""
        return int((~self.kept).sum())

    def __repr__(self) -> str:
        return (
            f"<{self.left_out:,} of {len(self.kept):,} rows left out; {self.neighbours} "
            "neighbours asked>"
        )


def vouch(
    rows: Any,
    labels: Any,
    *,
    neighbours: int = 10,
    agree: float = 0.5,
    expected: int = 0,
) -> Vouched:
    """Tell which rows have enough neighbours with their own label.

    `agree` is the share of the neighbours that must carry the same label. Where `expected` poison
    rows are stated, 4·expected neighbours are asked and `expected` must agree, so that poison
    rows cannot vouch for each other.

    >>> X = [[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3], [0.15]]
    >>> vouch(X, [0, 0, 0, 0, 1, 1, 1, 1, 1], neighbours=3).kept.tolist()[-1]
    False
    """
    table, names = np.asarray(rows, dtype=np.float64), np.asarray(labels)
    asked = max(int(neighbours), 4 * int(expected))
    if table.ndim != 2 or len(names) != len(table) or not np.isfinite(table).all():
        raise ParameterError("Rows are a matrix of finite numbers, with a label for each.")
    if not 0 < agree <= 1 or asked < 1 or expected < 0:
        raise ParameterError("agree is above 0 and at most 1; neighbours and expected are counts.")
    if asked >= len(table):
        raise ParameterError(
            f"{asked} neighbours are asked, so there must be more than {asked} rows."
        )
    squares = (table * table).sum(axis=1)
    share = np.empty(len(table))
    for start in range(0, len(table), _BLOCK):
        part = slice(start, min(start + _BLOCK, len(table)))
        away = squares[None] - 2 * table[part] @ table.T  # the row's own square changes no order
        away[np.arange(part.stop - start), np.arange(start, part.stop)] = np.inf
        near = np.argpartition(away, asked - 1, axis=1)[:, :asked]
        share[part] = (names[near] == names[part, None]).mean(axis=1)
    needed = expected / asked if expected else agree
    return Vouched(share >= needed - 1e-12, asked)
