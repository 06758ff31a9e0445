"""What a node must stay within to be of interest, and when it is beyond: judging ends there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Bar(NamedTuple):
    """What a node must stay within to be of interest.

    At most `limit` records are suppressed, adding at most `price`, and at least so many `classes`
    are released.
    """

    limit: int
    price: float = math.inf
    classes: int = 0


class Over:
    """Tells when a node is beyond the bar."""

    def __init__(
        self,
        sizes: NDArray[np.int64],
        bar: Bar | None,
        price: Callable[[NDArray[np.bool_]], float],
    ) -> None:
        self._sizes = sizes
        self._bar = bar
        self._price = price

    def limit(self, removed: NDArray[np.int64] | int) -> bool:
        """Whether so many records, of each class or in all, are more than may be suppressed."""
        return self._bar is not None and int(np.sum(removed)) > self._bar.limit

    def classes(self, fails: NDArray[np.bool_]) -> bool:
        """Whether fewer classes are left than must be released."""
        if self._bar is None or not self._bar.classes:
            return False
        return int(np.count_nonzero(self._sizes[~fails])) < self._bar.classes

    def fails(self, fails: NDArray[np.bool_]) -> bool:
        """Whether suppressing these classes is too much, by number or by price."""
        if self._bar is None:
            return False
        if int(self._sizes[fails].sum()) > self._bar.limit or self.classes(fails):
            return True
        return self._bar.price < math.inf and self._price(fails) > self._bar.price
