"""Features: what an attacker may change about a row, and how far.

Every feature has a range; some cannot be changed (a protocol that the victim fixes), some are whole
numbers, and the columns of a one-hot code are a single choice. An attack that ignores this finds
rows that nobody can send.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Features(Shown):
    """Ranges of the columns of a matrix, and which of them are fixed, whole or one choice together.

    `free` tells which columns can be moved by any amount; those of `choices` move only together.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    free: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    choices: tuple[NDArray[np.int64], ...] = ()

    @classmethod
    def of(
        cls,
        columns: int,
        *,
        bounds: Any = (0.0, 1.0),
        immutable: Sequence[int] = (),
        integer: Sequence[int] = (),
        one_hot: Sequence[Sequence[int]] = (),
    ) -> Features:
        """State what may be changed.

        `bounds` is (low, high) for all columns or a pair of arrays; `immutable` and `integer` list
        columns; `one_hot` lists the columns of each choice.

        >>> features = Features.of(3, bounds=(0, 10), immutable=[2], integer=[1])
        >>> features.free.tolist()
        [True, True, False]
        """
        low, high = (np.broadcast_to(np.asarray(end, float), (columns,)).copy() for end in bounds)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
            raise ParameterError("bounds are a low and a high end, finite, the low one first.")
        fixed = _marked(columns, immutable, "immutable")
        groups = tuple(np.flatnonzero(_marked(columns, group, "one_hot")) for group in one_hot)
        if groups and len(np.unique(np.concatenate(groups))) != sum(map(len, groups)):
            raise ParameterError("one_hot lists columns of several choices; each is of one only.")
        free = ~fixed
        for group in groups:
            free[group] = False
        movable = tuple(group for group in groups if not fixed[group].any())
        return cls(low, high, free, _marked(columns, integer, "integer"), movable)

    def room(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far each cell may go down and up; nowhere where it is fixed."""
        down = np.where(self.free, np.maximum(rows - self.low, 0.0), 0.0)
        up = np.where(self.free, np.maximum(self.high - rows, 0.0), 0.0)
        return down, up

    def settle(self, rows: NDArray[np.float64], origin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Round whole columns away from where they came from, and keep everything in its range."""
        if self.whole.any():
            away = np.where(rows > origin, np.ceil(rows - 1e-9), np.floor(rows + 1e-9))
            rows = np.where(self.whole & self.free, away, rows)
        return np.clip(rows, np.minimum(self.low, origin), np.maximum(self.high, origin))


def _marked(columns: int, places: Sequence[int], name: str) -> NDArray[np.bool_]:
    marks = np.zeros(columns, dtype=np.bool_)
    chosen = np.asarray(list(places), dtype=np.int64)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= columns):
        raise ParameterError(f"{name} names a column outside 0 … {columns - 1}.")
    marks[chosen] = True
    return marks
