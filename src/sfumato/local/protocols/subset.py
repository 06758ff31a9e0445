"""Subset selection: a set of values that contains the true one more often than chance.

Promise: ε-local differential privacy (Ye and Barg, "Optimal schemes for discrete distribution
estimation under locally differential privacy", IEEE Trans. Inf. Theory 2018; Wang et al. 2016).

A person with value v reports a set of ω values: with probability p = ω·e^ε/(ω·e^ε + d − ω) one that
contains v, otherwise one that does not, each uniform among its kind. Proof: a set has probability
p/C(d−1, ω−1) under the values in it and (1−p)/C(d−1, ω) under the others; the ratio is
p(d−ω)/((1−p)ω), at most e^ε. Another value is in the set with probability
q = (p(ω−1) + (1−p)ω)/(d−1). ω is the whole number near d/(e^ε+1) with the least variance, which is
optimal among all protocols as n grows; a report is d bits.

How a uniform set is drawn: coins for all bits, the true value's bit by its own coin, then random
other bits dropped or added until there are ω. Given how many ones the coins gave, they are a
uniform set of that size, and dropping uniformly chosen ones, or adding uniformly chosen zeros,
keeps it uniform, whatever the probability of the coins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.dp.noise.uniform import integer_below
from sfumato.errors import ParameterError
from sfumato.local.protocols import bits, coins
from sfumato.local.protocols.domain import MOST_LISTED
from sfumato.local.protocols.protocol import FrequencyProtocol, Support
from sfumato.local.protocols.unary import MOST_ENUMERATED
from sfumato.local.reports import Field, Reports

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import numpy.typing as npt

_PEOPLE = 1 << 12
_FEW_PEOPLE = 16


@dataclass(frozen=True, init=False, repr=False)
class SubsetSelection(FrequencyProtocol):
    """Report a set of ω values that tends to contain the true one."""

    name: ClassVar[str] = "SubsetSelection"

    @cached_property
    def omega(self) -> int:
        """The size of the set: the best whole number near d/(e^ε+1)."""
        best = self.size / (float(coins.power_down(self.epsilon)) + 1)
        choices = {min(max(1, int(best) + step), self.size - 1) for step in (0, 1)}
        return min(sorted(choices), key=self._mean_variance)

    @cached_property
    def include(self) -> Fraction:
        """The exact probability that the set contains the true value."""
        return self._support(self.omega).p

    @property
    def probabilities(self) -> Support:
        """The exact probabilities of being in the set."""
        return self._support(self.omega)

    @property
    def ratio(self) -> Fraction:
        """p(d−ω)/((1−p)ω)."""
        p, omega = self.include, self.omega
        return p * (self.size - omega) / ((1 - p) * omega)

    @property
    def fields(self) -> tuple[Field, ...]:
        """One bit per value, packed; ω of them are set."""
        if self.size > MOST_LISTED:
            raise ParameterError(
                f"Subset selection sends one bit per value; for {self.size} values use OLH."
            )
        return (Field("bits", "uint8", bits.row_bytes(self.size), 256),)

    def plausible(self, payload: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        """Refuse rows with a bit beyond the last value, or not exactly ω bits."""
        rows = payload["bits"].reshape(-1, bits.row_bytes(self.size))
        ones = _ONES[rows].sum(axis=1, dtype=np.int64)
        clean = rows[:, -1] & np.uint8(bits.spare_mask(self.size)) == 0
        return np.asarray(clean & (ones == self.omega))

    def distribution(self, value: Hashable) -> dict[Any, Fraction]:
        """List the probability of every set, as a sorted tuple of value numbers."""
        if self.size > MOST_ENUMERATED:
            raise ParameterError(f"All reports are listed for up to {MOST_ENUMERATED} values.")
        own, p = self.domain.number(value), self.include
        inside = p / math.comb(self.size - 1, self.omega - 1)
        outside = (1 - p) / math.comb(self.size - 1, self.omega)
        sets = combinations(range(self.size), self.omega)
        return {chosen: inside if own in chosen else outside for chosen in sets}

    def randomize(self, codes: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
        """Draw a set for each person."""
        own = coins.toss(self.include, codes.size)
        if codes.size <= _FEW_PEOPLE:
            rows = self._few(codes, own)
        else:
            rows = np.empty((codes.size, bits.row_bytes(self.size)), dtype=np.uint8)
            for start in range(0, codes.size, _PEOPLE):
                part = slice(start, start + _PEOPLE)
                rows[part] = self._many(codes[part], own[part])
        return {"bits": rows.reshape(codes.size, *self.fields[0].shape)}

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count how many sets contain each value."""
        rows = reports.payload["bits"].reshape(len(reports), bits.row_bytes(self.size))
        return bits.column_counts(rows, self.size)

    def _many(
        self, codes: npt.NDArray[np.int64], own: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.uint8]:
        from sfumato.local.protocols import bit_kernels  # noqa: PLC0415 - a few sets need no compiler

        # Adding is quicker than dropping, so the coins aim one standard deviation too low.
        aim = max(self.omega - math.isqrt(self.omega), 0)
        rows = bits.coin_rows(codes.size, self.size, coins.coin_near(Fraction(aim, self.size)))
        bits.put(rows, codes, own)
        source, done = stream(), 0
        while done < codes.size:
            halves = source.uint64(8 * (codes.size - done) + 64).view(np.uint32)
            done = bit_kernels.trim_rows(rows, codes, self.omega, self.size, _ONES, halves, done)
        return rows

    def _few(
        self, codes: npt.NDArray[np.int64], own: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.uint8]:
        """Draw sets without the compiled kernels (Floyd's sampling, CACM 1987)."""
        plain = np.zeros((codes.size, self.size), dtype=np.bool_)
        for row, (code, inside) in enumerate(zip(codes.tolist(), own.tolist(), strict=True)):
            others = [other for other in range(self.size) if other != code]
            wanted, chosen = self.omega - inside, set[int]()
            for last in range(len(others) - wanted, len(others)):
                pick = integer_below(last + 1)
                chosen.add(last if pick in chosen else pick)
            plain[row, [others[i] for i in chosen]] = True
            plain[row, code] = inside
        return np.packbits(plain, axis=1, bitorder="little")

    def _support(self, omega: int) -> Support:
        favour = omega * coins.power_down(self.epsilon)
        p = coins.coin_down(favour / (favour + self.size - omega))
        return Support(p, (p * (omega - 1) + (1 - p) * omega) / (self.size - 1))

    def _mean_variance(self, omega: int) -> Fraction:
        p, q = self._support(omega)
        if p <= q:
            return Fraction(1 << 200)
        share = Fraction(1, self.size)
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2


_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)
