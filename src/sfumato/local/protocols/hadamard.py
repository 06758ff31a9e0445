"""Hadamard response: one index into a Hadamard matrix, decoded by a fast transform.

Promise: ε-local differential privacy (Acharya, Sun and Zhang, "Hadamard response: estimating
distributions privately, efficiently, and with little communication", AISTATS 2019).

The K = B·b indices fall into B blocks of b, powers of two. Values are spread over the blocks, at
most b−1 in each; value number v has block v mod B and row r = v div B + 1 of the Hadamard matrix of
size b, H[r, j] = (−1)^|r & j|. Its set C(v) is the b/2 indices j of its block with H[r, j] = +1. A
person reports an index in C(v) with probability p = e^ε/(e^ε + 2B − 1), any other one otherwise,
uniformly. Proof: an index has probability p/(b/2) or (1−p)/(K−b/2), whatever the value, and
K = 2B·(b/2), so their ratio is p(2B−1)/(1−p), at most e^ε. B is the power of two with the least
variance, near (e^ε+1)/2; a report is ⌈log₂ K⌉ bits.

Estimate. Two rows of a block agree in half of their places, so for N(j) reports of index j,

    f̂(v) = (1/(n·c))·Σ_{j in the block} H[r, j]·N(j),    c = p − (1−p)/(2B−1),

is unbiased: other values of the block give +1 and −1 equally often, values of other blocks report
this block uniformly. All sums are one Walsh–Hadamard transform per block. Each person adds
±1/c or 0, so Var f̂(v) = (Pr[a report falls in the block]/c² − f)/n, where the people who have v
add a mean of 1 and the others 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError
from sfumato.local.estimate import AbsentSupport
from sfumato.local.protocols import coins
from sfumato.local.protocols.domain import MOST_LISTED
from sfumato.local.protocols.grr import tally
from sfumato.local.protocols.protocol import FrequencyProtocol, Support
from sfumato.local.reports import Aggregate, Field, Reports

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

_BLOCK = 1 << 15


@dataclass(frozen=True, init=False, repr=False)
class Hadamard(FrequencyProtocol):
    """Report an index where the true value's row of a Hadamard matrix tends to be +1."""

    name: ClassVar[str] = "Hadamard"

    @cached_property
    def blocks(self) -> int:
        """B: the power of two, near half of e^ε + 1, with the least variance."""
        favour, choices = coins.power_down(self.epsilon), [1]
        while choices[-1] < favour and 2 * choices[-1] <= self.size:
            choices.append(2 * choices[-1])
        return min(choices, key=self._mean_variance)

    @property
    def width(self) -> int:
        """The size b of a block: a power of two with room for its values beside row 0."""
        return self._width(self.blocks)

    @property
    def outputs(self) -> int:
        """The number K of indices."""
        return self.blocks * self.width

    @property
    def inside(self) -> Fraction:
        """The exact probability of an index in the true value's set."""
        if self.size > MOST_LISTED:
            raise ParameterError(
                f"Hadamard response transforms all {self.size} values; use OLH for so many."
            )
        return self._inside(self.blocks)

    @property
    def probabilities(self) -> Support:
        """The exact probabilities of the set: of the true value, and of another in its block."""
        p = self.inside
        return Support(p, (p + (1 - p) / (2 * self.blocks - 1)) / 2)

    @property
    def ratio(self) -> Fraction:
        """The ratio between an index in the set and one outside."""
        return self.inside * (2 * self.blocks - 1) / (1 - self.inside)

    @property
    def fields(self) -> tuple[Field, ...]:
        """One index."""
        return (Field.number("index", self.outputs),)

    def distribution(self, value: Hashable) -> dict[Any, Fraction]:
        """List the probability of every index."""
        code = self.domain.number(value)
        block, row, half = code % self.blocks, code // self.blocks + 1, self.width // 2
        yes, no = self.inside / half, (1 - self.inside) / (self.outputs - half)
        return {
            index: yes
            if index // self.width == block and not (row & index % self.width).bit_count() & 1
            else no
            for index in range(self.outputs)
        }

    def randomize(self, codes: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
        """Draw an index for each person."""
        out = np.empty(codes.size, dtype=self.fields[0].dtype)
        for start in range(0, codes.size, _BLOCK):
            part = codes[start : start + _BLOCK]
            out[start : start + part.size] = self._indices(part.astype(np.uint64))
        return {"index": out}

    def _indices(self, codes: Words) -> Words:
        """Draw indices; a uniform column of the wrong sign is mirrored in a set bit of its row.

        Outside the set lie 2B−1 halves of blocks: the other half of one's own, or any half of the
        other blocks. A half of another block is any one column of both, so its number is halved.
        """
        source, unit = stream(), np.uint64(1)
        shift, blocks = np.uint64(self.width.bit_length() - 1), np.uint64(self.blocks)
        block, row = codes % blocks, codes // blocks + unit
        coin, rest = coins.split(source.uint64(codes.size))
        column = rest & np.uint64(self.width - 1)
        yes = coin < np.uint64(coins.threshold(self.inside))
        stay = np.ones(codes.size, dtype=np.bool_)
        if self.blocks > 1:
            _, other = coins.split(source.uint64(codes.size))
            half = coins.below(2 * self.blocks - 1, other, source=source)
            move = np.where(yes, np.uint64(0), (half + unit) >> unit)
            block = (block + move) % blocks
            stay = move == 0
        wrong = (_parity(row & column) == yes) & stay
        column ^= np.where(wrong, row & (~row + unit), np.uint64(0))
        return np.asarray(block << shift | column)

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count how often each index was reported."""
        return tally(reports.payload["index"], self.outputs)

    def frequencies(self, found: Aggregate) -> npt.NDArray[np.float64]:
        """Transform the counts of each block."""
        sums = walsh_hadamard(found.sums.reshape(self.blocks, self.width))
        # Value v is in block v mod B, row v div B + 1.
        ordered = sums[:, 1:].T.reshape(-1)[: self.size]
        return ordered / (found.n * self._lever)

    def variances(
        self, found: Aggregate, frequencies: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Give the variance of every estimate from the share of reports in its block.

        Two reports more are counted in each: where none fell, more might have.
        """
        counts = found.sums.reshape(self.blocks, self.width).sum(axis=1)
        shares = np.minimum((counts + 2) / found.n, 1.0)
        own = shares[np.arange(self.size) % self.blocks]
        return np.asarray(np.maximum(own / self._lever**2 - frequencies, 0.0) / found.n)

    def absent_support(self, n: int) -> AbsentSupport | None:
        """Give the law for one block; of several, a block's reports are few or many by chance."""
        return AbsentSupport(n, float(self.inside), 0.5) if self.blocks == 1 else None

    def variance(self, n: int, f: float = 0.0) -> float:
        """Give the variance for a value of share f, the others spread evenly over the blocks."""
        if n < 1 or not 0 <= f <= 1:
            raise ParameterError("A variance needs n of at least 1 and f between 0 and 1.")
        return self._variance(self.blocks, f) / n

    @property
    def _lever(self) -> float:
        """By how much the true value's set is favoured over the other half of its block."""
        return float(_lever(self.inside, self.blocks))

    def _width(self, blocks: int) -> int:
        return 1 << int(-(-self.size // blocks)).bit_length()

    def _inside(self, blocks: int) -> Fraction:
        # The set is one of the 2B halves of blocks.
        favour = coins.power_down(self.epsilon)
        return coins.coin_down(favour / (favour + 2 * blocks - 1))

    def _variance(self, blocks: int, f: float) -> float:
        inside = self._inside(blocks)
        lever = float(_lever(inside, blocks))
        if lever <= 0:
            return math.inf
        mates = (-(-self.size // blocks) - 1) / (self.size - 1)
        away = 2 * float(1 - inside) / (2 * blocks - 1)
        share = away + (f + (1 - f) * mates) * lever
        return share / lever**2 - f

    def _mean_variance(self, blocks: int) -> float:
        return self._variance(blocks, 1 / self.size)


def _lever(inside: Fraction, blocks: int) -> Fraction:
    return inside - (1 - inside) / (2 * blocks - 1)


def _parity(words: Words) -> npt.NDArray[np.bool_]:
    """Say for each word whether an odd number of its bits is set."""
    folded = words ^ words >> np.uint64(32)
    for shift in (16, 8, 4, 2, 1):
        folded ^= folded >> np.uint64(shift)
    return np.asarray(folded & np.uint64(1), dtype=np.bool_)


def walsh_hadamard(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Transform each row, exactly: out[r] = Σ_j (−1)^|r & j| · row[j]."""
    out = rows.copy()
    half = 1
    while half < rows.shape[1]:
        pairs = out.reshape(rows.shape[0], -1, 2, half)
        out = np.stack(
            [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2
        ).reshape(rows.shape)
        half *= 2
    return out
