"""What an algorithm of k-means hands over: centres and sizes, with their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Clusters:
    """Released centres (k, d) and sizes (k), in the unit cube.

    ``size_deviation`` and ``centre_deviation`` are the standard deviations that noise alone gives a
    size, and one coordinate of a centre in a unit cube: of the last measurement, for
    the rows as they were assigned. How far the assignment itself is from the best is not in them.
    """

    centres: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_deviation: NDArray[np.float64]
    centre_deviation: NDArray[np.float64]
