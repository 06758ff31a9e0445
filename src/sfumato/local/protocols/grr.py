"""Generalised randomised response: the value itself, or any other one.

Promise: ε-local differential privacy (Kairouz, Oh and Viswanath, "Extremal mechanisms for local
differential privacy", NIPS 2014; d-ary form of Warner 1965).

A person with value v reports v with probability p = e^ε/(e^ε + d − 1) and each other value with
q = (1−p)/(d−1). Proof: a report w has probability p or q, whatever the value; p/q is at most e^ε.
p is rounded down to 32 binary digits, which lowers the ratio; the ε stated is that of the p used.
It is the most accurate protocol for d < 3·e^ε + 2, and the smallest report: one number below d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError
from sfumato.local.protocols import coins
from sfumato.local.protocols.protocol import FrequencyProtocol, Support
from sfumato.local.reports import Field, Reports

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

    import numpy.typing as npt

_BLOCK = 1 << 15  # people at a time: the arrays stay in the second-level cache


@dataclass(frozen=True, init=False, repr=False)
class GRR(FrequencyProtocol):
    """Report the true value with probability p, and another one otherwise."""

    name: ClassVar[str] = "GRR"

    @property
    def probabilities(self) -> Support:
        """Exactly p and q."""
        if self.size > coins.ONE:
            raise ParameterError("GRR serves at most 2^32 values; use OLH for larger domains.")
        favour = coins.power_down(self.epsilon)
        return pair(coins.coin_down(favour / (favour + self.size - 1)), self.size)

    @property
    def ratio(self) -> Fraction:
        """p/q."""
        p, q = self.probabilities
        return p / q

    @property
    def fields(self) -> tuple[Field, ...]:
        """One number: the value reported."""
        return (Field.number("value", self.size),)

    def distribution(self, value: Hashable) -> dict[Any, Fraction]:
        """List the probability of every value being reported."""
        own = self.domain.number(value)
        p, q = self.probabilities
        return {code: p if code == own else q for code in range(self.size)}

    def randomize(self, codes: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
        """Keep each value or exchange it for another one."""
        return {"value": answer(codes, self.probabilities.p, self.size, self.fields[0].dtype)}

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count how often each value was reported."""
        return tally(reports.payload["value"], self.size)


def pair(p: Fraction, size: int) -> Support:
    """Give p and the probability of each other value."""
    return Support(p, (1 - p) / (size - 1))


def answer(codes: npt.NDArray[np.int64], keep: Fraction, size: int, dtype: str) -> npt.NDArray[Any]:
    """Keep each number below ``size`` with a probability; else put a uniform other one."""
    out = np.empty(codes.size, dtype=dtype)
    limit = np.uint64(coins.threshold(keep))
    source = stream()
    for start in range(0, codes.size, _BLOCK):
        own = codes[start : start + _BLOCK].view(np.uint64)
        coin, rest = coins.split(source.uint64(own.size))
        other = coins.below(size - 1, rest, source=source)
        other += other >= own
        out[start : start + own.size] = np.where(coin < limit, own, other)
    return out


def tally(values: npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    """Count how often each number below ``size`` occurs."""
    return np.bincount(values, minlength=size).astype(np.int64, copy=False)
