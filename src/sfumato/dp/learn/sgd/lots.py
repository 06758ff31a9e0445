"""Examples, and secret random lots of them.

Contract: a lot is a Poisson sample: each example is in it with probability q, independently of all
others, by coins of the cryptographic stream (:func:`sfumato.dp.noise.bernoulli`). A lot may be
empty.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sfumato.dp.noise.uniform import bernoulli
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Examples:
    """Inputs and targets by number: tensors or arrays side by side, or a map-style data set."""

    def __init__(self, data: Any) -> None:
        self.columns: tuple[Any, ...] | None = None
        self.source: Any = None
        if isinstance(data, torch.utils.data.TensorDataset):
            data = data.tensors
        if isinstance(data, tuple | list) and len(data) >= 2 and all(map(_is_array, data)):
            self.columns = tuple(_tensor(x) for x in data)
            if len({len(x) for x in self.columns}) > 1:
                raise DataError("Inputs and targets have different numbers of rows.")
        elif hasattr(data, "__len__") and hasattr(data, "__getitem__"):
            self.source = data
        else:
            raise DataError(
                "The data are (inputs, targets), as tensors or arrays with a row for each example, "
                "or a data set with a length whose items are such pairs."
            )

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns is not None else len(self.source)

    def take(self, places: Any) -> tuple[tuple[Any, ...], Any]:
        """Give the inputs and the target of some examples."""
        if self.columns is not None:
            rows = torch.from_numpy(places)
            taken = [x.index_select(0, rows) for x in self.columns]
        else:
            items = [self.source[int(place)] for place in places]
            taken = list(torch.utils.data.default_collate(items))
        return tuple(taken[:-1]), taken[-1]

    def shapes(self) -> tuple[tuple[Any, ...], Any]:
        """Give made-up examples with the shapes and types of the true ones: all zeros."""
        if not len(self):
            raise DataError("There is no example to learn from.")
        inputs, target = self.take(np.zeros(1, dtype=np.int64))
        blank = [torch.zeros((2, *x.shape[1:]), dtype=x.dtype) for x in (*inputs, target)]
        return tuple(blank[:-1]), blank[-1]


def draw_lot(count: int, rate: float, most: int) -> Iterator[Any]:
    """Draw a lot and give it in micro-batches of at most ``most`` examples."""
    chosen = np.flatnonzero(bernoulli(Fraction(rate), count))
    for start in range(0, len(chosen), most):
        yield chosen[start : start + most]


def _is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


def _tensor(value: Any) -> Any:
    return (
        value if isinstance(value, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(value))
    )
