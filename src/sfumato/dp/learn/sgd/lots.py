"""Examples, and secret random lots of them.

Contract: a lot is a Poisson sample: each example is in it with probability q, independently of all
others, by coins of the cryptographic stream (:func:`sfumato.dp.noise.bernoulli`). A lot may be
empty. Its examples sit at random seats, distinct and in a number that is fixed for all steps.

Why seats. What a processor makes of an example depends, in the last bits, on the row of the batch
it is in and on the batch's shape. Were examples lined up, one more would move those behind it, and
each might then add something else. Seats of k examples drawn at random among S are those of k + 1
without the last: so the seats of all others, and with them their values to the last bit, have the
same distribution with and without one example, as long as k < S. Otherwise, with a probability of
at most δ/1000 over all steps by :func:`seats_of`, more seats are added; the account is made for the
rest of δ. Where the number of rows was bought, and may be too small, seats are for as many rows as
there are but for another δ/1000 (``TrainingPlan.mean``). (If ``rows`` is declared smaller than it
is, lots are larger than planned, and this rests on the last bits alone.)

Coins of others. What a module or a data set draws itself (dropout, changes of examples) comes from
torch's generator, which gets a secret seed before each micro-batch and before each example of a
data set (:func:`draw_coins`): so one example more shifts no coins of another.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sfumato.dp.noise.stream import stream
from sfumato.dp.noise.uniform import bernoulli, permutation
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
            taken = list(torch.utils.data.default_collate([self._item(int(k)) for k in places]))
        return tuple(taken[:-1]), taken[-1]

    def _item(self, place: int) -> Any:
        draw_coins()
        return self.source[place]

    def shapes(self) -> tuple[tuple[Any, ...], Any]:
        """Give made-up examples with the shapes and types of the true ones: all zeros."""
        if self.columns is None and not len(self):
            raise DataError("An empty data set does not say what its examples look like.")
        try:
            inputs, target = self.take(np.zeros(min(1, len(self)), dtype=np.int64))
            fits = bool(inputs) and all(isinstance(x, torch.Tensor) for x in (*inputs, target))
        except Exception:  # noqa: BLE001 - whatever it is, its message may quote an example
            fits = False
        if not fits:
            raise DataError(
                "The examples of the data set are no pairs of inputs and a target, as tensors, "
                "arrays or numbers."
            )
        blank = [torch.zeros((2, *x.shape[1:]), dtype=x.dtype) for x in (*inputs, target)]
        return tuple(blank[:-1]), blank[-1]


def seats_of(lot: int, delta: Fraction, steps: int) -> int:
    """Choose how many seats a step has: so many that a lot does not fill them, but for δ/1000.

    Of Poisson samples with mean m, Pr[more than m + t] ≤ exp(−t²/(2(m + t/3))) (Bernstein), which
    is at most δ/(1000·steps) here; a multiple of 64.
    """
    odds = math.log(1000 * steps / delta)
    more = odds / 3 + math.sqrt(odds**2 / 9 + 2 * odds * lot)
    return 64 * math.ceil((lot + more) / 64)


def draw_lot(count: int, rate: float, seats: int, most: int) -> Iterator[tuple[Any, Any, int]]:
    """Draw a lot and seat it, in micro-batches of at most ``most`` rows.

    Gives the numbers of the examples, their rows in the micro-batch, and how many rows that has.
    """
    chosen = np.flatnonzero(bernoulli(Fraction(rate), count))
    tables = max(1, -(-len(chosen) // seats))
    seated = permutation(seats * tables)[: len(chosen)]
    parts = -(-seats // most)
    size = -(-seats // parts)
    for first in range(0, seats * tables, size):
        here = (seated >= first) & (seated < first + size)
        if here.any():
            yield chosen[here], seated[here] - first, size


def draw_coins() -> None:
    """Give torch's generator a seed that nobody knows and that depends on nothing."""
    torch.default_generator.manual_seed(int(stream().uint64(1)[0]) >> 1)


def seat(x: Any, rows: Any, size: int) -> Any:
    """Put examples into their rows of a batch; empty seats hold zeros."""
    out = x.new_zeros((size, *x.shape[1:]))
    return out.index_copy_(0, torch.from_numpy(rows), x)


def _is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


def _tensor(value: Any) -> Any:
    return (
        value if isinstance(value, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(value))
    )
