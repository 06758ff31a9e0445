"""The cheapest degrees under which every degree is shared by k nodes: dynamic programming.

Liu, Terzi: Towards identity anonymization on graphs, SIGMOD 2008. Degrees in falling order are cut
into runs of k to 2k − 1 nodes, each of which gets one degree: a longer run could be cut without
changing any degree. The sum of the new degrees must be even, or no graph has them; so the
table carries the parity of the sum, and a run of odd length may take the next degree above or
below its best one. A cost that is convex in the degree of a run makes those three degrees enough,
so the result is the cheapest among all sequences with an even sum.

Memory is linear: runs are told by their length and a bit, one byte and one bit per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ADD, REMOVE = 0.0, 1.0
"""Balances at which degrees only rise, and only fall."""

CELLS = 1 << 18
"""Costs held at once while the table is filled."""


@dataclass(frozen=True, eq=False)
class _Runs:
    """Degrees in falling order, ready to price any run of them.

    `sums[i]` is the sum of the first i, `above[t]` how many exceed t; `balance` is the share that
    raising has in the price of a run's degree (one half: the least number of changes).
    """

    degrees: NDArray[np.int64]
    sums: NDArray[np.int64]
    above: NDArray[np.int64]
    balance: float

    def best(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cheapest degree of each run: a quantile of its degrees."""
        size = end - begin
        place = np.minimum((size * self.balance).astype(np.int64), size - 1)
        found: NDArray[np.int64] = self.degrees[begin + place]
        return found

    def cost(
        self, begin: NDArray[np.int64], end: NDArray[np.int64], degree: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the price of giving each run a degree; infinite where that is no degree."""
        allowed = (degree >= 0) & (degree < len(self.degrees))
        safe = np.where(allowed, degree, 0)
        middle = np.clip(self.above[safe], begin, end)
        down = self.sums[middle] - self.sums[begin] - safe * (middle - begin)
        up = safe * (end - middle) - (self.sums[end] - self.sums[middle])
        if self.balance == ADD:
            allowed &= down == 0
        if self.balance == REMOVE:
            allowed &= up == 0
        price = 2 * (self.balance * up + (1 - self.balance) * down)
        if self.balance in {ADD, REMOVE}:
            price = (up + down).astype(np.float64)
        return np.where(allowed, price, np.inf)

    def other(
        self, begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the cheapest degree that changes the parity of each run's sum, and its price."""
        best = self.best(begin, end)
        up, down = self.cost(begin, end, best + 1), self.cost(begin, end, best - 1)
        price = np.where((end - begin) % 2 == 1, np.minimum(up, down), np.inf)
        return price, np.where(up < down, best + 1, best - 1)


def anonymous_degrees(
    degrees: NDArray[np.int64], k: int, *, balance: float = 0.5
) -> NDArray[np.int64]:
    """Return the cheapest degrees, one per node, each shared by k, with an even sum.

    `balance` is what raising a degree by one costs beside lowering it; at `ADD` degrees only rise,
    at `REMOVE` they only fall. There must be k nodes.
    """
    order = np.argsort(-degrees, kind="stable")
    falling = degrees[order].astype(np.int64)
    n = len(falling)
    above = n - np.searchsorted(falling[::-1], np.arange(n + 1), side="right")
    sums = np.concatenate([[0], np.cumsum(falling)])
    found = np.empty(n, dtype=np.int64)
    found[order] = _cut(_Runs(falling, sums, above, balance), k)
    return found


def _cut(runs: _Runs, k: int) -> NDArray[np.int64]:
    """Fill the table from the left and read the cheapest cut from its right end."""
    n = len(runs.degrees)
    # price[j, p]: the cheapest way to cut the first j nodes with a sum of parity p
    price = np.full((n + 1, 2), np.inf)
    price[0, 0] = 0.0
    length = np.zeros((n + 1, 2), dtype=np.int64)  # of the last run
    turned = np.zeros((n + 1, 2), dtype=np.bool_)  # whether it took its other degree
    sizes = np.arange(k, 2 * k)
    step = max(k, CELLS // k // k * k)
    for first in range(k, n + 1, step):
        ends = np.arange(first, min(first + step, n + 1))
        begins = ends[:, None] - sizes[None, :]
        safe, wide = np.maximum(begins, 0), np.broadcast_to(ends[:, None], begins.shape)
        wide = np.maximum(wide, safe + 1)
        best = runs.best(safe, wide)
        plain = np.where(begins >= 0, runs.cost(safe, wide, best), np.inf)
        other = np.where(begins >= 0, runs.other(safe, wide)[0], np.inf)
        odd = (sizes[None, :] * best) % 2
        for low in range(0, len(ends), k):  # the last runs of k neighbours begin before them all
            block = slice(low, low + k)
            _fill(price, length, turned, ends[block], safe[block], plain[block], other[block],
                  odd[block], sizes)  # fmt: skip
    return _read(runs, length, turned)


def _fill(
    price: NDArray[np.float64],
    length: NDArray[np.int64],
    turned: NDArray[np.bool_],
    ends: NDArray[np.int64],
    begins: NDArray[np.int64],
    plain: NDArray[np.float64],
    other: NDArray[np.float64],
    odd: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Choose the last run of some prefixes whose earlier runs are known."""
    rows = np.arange(len(ends))
    for parity in (0, 1):
        before = odd ^ parity
        straight = price[begins, before] + plain
        bent = price[begins, 1 - before] + other
        whole = np.concatenate([straight, bent], axis=1)
        choice = np.argmin(whole, axis=1)
        price[ends, parity] = whole[rows, choice]
        length[ends, parity] = sizes[choice % len(sizes)]
        turned[ends, parity] = choice >= len(sizes)


def _read(runs: _Runs, length: NDArray[np.int64], turned: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Walk back from the whole sequence with an even sum."""
    end, parity = len(runs.degrees), 0
    found = np.empty(end, dtype=np.int64)
    while end > 0:
        size = int(length[end, parity])
        begin, stop = np.array([end - size]), np.array([end])
        bent = bool(turned[end, parity])
        degree = int(runs.other(begin, stop)[1][0] if bent else runs.best(begin, stop)[0])
        found[end - size : end] = degree
        parity ^= (size * degree) % 2
        end -= size
    return found
