"""Mechanisms that add noise to numbers: scalars, vectors and arrays of any shape.

Contract: a subclass says how noise for d values is drawn and on which grid. Here values are
read, moved to the grid, noised as integers without wrap-around, and given back in kind: a number
for a number, an array of the same shape for everything else. The sensitivity is that of
all values of one release together. ``size`` is the number of values; when it is given, a
release of another size is refused, because the stated error would not be the true one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.base import Mechanism
from sfumato.dp.mechanisms.grid import Grid, add, numeric
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.dp.rounding import Stated

WHOLE = Grid(0)


@dataclass(frozen=True, kw_only=True)
class Additive(Mechanism):
    """Noise added to each value; ``sensitivity`` bounds the change of all of them together."""

    sensitivity: Stated

    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.bound(self.sensitivity)

    @abstractmethod
    def grid_for(self, size: int) -> Grid:
        """Choose the grid for ``size`` values, from public parameters."""

    @abstractmethod
    def noise(self, size: int, count: int) -> npt.NDArray[Any]:
        """Draw noise, in steps of the grid, for ``count`` releases of ``size`` values."""

    def release(self, value: Any) -> Any:
        """Release a value or an array with noise, spending the guarantee once."""
        array = numeric(value, whole=self.whole)
        released = self._noised(array, 1)
        if array.ndim:
            return released[0]
        return int(released[0]) if self.whole else float(released[0])

    def simulate(self, value: Any, count: int) -> npt.NDArray[Any]:
        """Make ``count`` independent releases of one value, for study: each costs again."""
        return self._noised(numeric(value, whole=self.whole), count)

    def _noised(self, array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
        if self.size not in {None, array.size}:
            raise ParameterError(
                f"This mechanism was declared for size={self.size} and is given {array.size} "
                "values; declare the size that is released, so that the stated error is the true "
                "one."
            )
        shape = (count, *array.shape)
        if not array.size:
            return np.empty(shape, dtype=np.int64 if self.whole else np.float64)
        grid = self.grid_for(array.size)
        noise = self.noise(array.size, count).reshape(shape)
        multiples = np.broadcast_to(grid.multiples(array), shape)
        return add(multiples, noise) if self.whole else grid.noised(multiples, noise)
