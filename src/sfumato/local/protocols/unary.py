"""Unary encodings: one bit per possible value, each bit perturbed on its own.

Promise: ε-local differential privacy.

A person with value v has the bit vector that is 1 at v alone. Each bit is reported as 1 with
probability p if it is 1 and q if it is 0, independently. Proof: the vectors of two values differ in
two bits, so the probabilities of any report differ by at most (p/q)·((1−q)/(1−p)).

* :class:`SUE`, symmetric unary encoding, is basic RAPPOR (Erlingsson, Pihur and Korolova, CCS
  2014): a bit is kept with p = e^(ε/2)/(e^(ε/2)+1) and flipped otherwise, in both directions.
* :class:`OUE`, optimised unary encoding (Wang, Blocki, Li and Jha, USENIX Security 2017): p = 1/2
  and q = 1/(e^ε+1), which has the least variance for rare values.

p is rounded down and q up to 32 binary digits; both lower the ratio. A report is d bits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.protocols import bits, coins
from sfumato.local.protocols.domain import MOST_LISTED
from sfumato.local.protocols.protocol import FrequencyProtocol, Support
from sfumato.local.reports import Field, Reports

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import numpy.typing as npt

MOST_ENUMERATED = 20
"""Bits up to which all reports can be listed."""


@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(FrequencyProtocol):
    """One bit per value, perturbed with p where it is 1 and q where it is 0."""

    @property
    @abstractmethod
    def probabilities(self) -> Support:
        """The exact probabilities of a 1 where the bit is 1, and where it is 0."""

    @property
    def ratio(self) -> Fraction:
        """(p/q)·((1−q)/(1−p))."""
        p, q = self.probabilities
        return p * (1 - q) / (q * (1 - p))

    @property
    def fields(self) -> tuple[Field, ...]:
        """One bit per value, packed."""
        if self.size > MOST_LISTED:
            raise ParameterError(
                f"A unary encoding sends one bit per value; for {self.size} values use OLH."
            )
        return (Field("bits", "uint8", bits.row_bytes(self.size), 256),)

    def plausible(self, payload: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        """Refuse rows in which a bit beyond the last value is set."""
        rows = payload["bits"].reshape(-1, bits.row_bytes(self.size))
        return np.asarray(rows[:, -1] & np.uint8(bits.spare_mask(self.size)) == 0)

    def distribution(self, value: Hashable) -> dict[Any, Fraction]:
        """List the probability of every bit vector."""
        if self.size > MOST_ENUMERATED:
            raise ParameterError(f"All reports are listed for up to {MOST_ENUMERATED} values.")
        own = self.domain.number(value)
        p, q = self.probabilities
        ones = [p if code == own else q for code in range(self.size)]
        return {
            report: Fraction(prod(c if b else 1 - c for c, b in zip(ones, report, strict=True)))
            for report in product((0, 1), repeat=self.size)
        }

    def randomize(self, codes: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
        """Draw all bits as those of other values, then each person's own bit."""
        p, q = self.probabilities
        rows = bits.coin_rows(codes.size, self.size, q)
        bits.put(rows, codes, coins.toss(p, codes.size))
        return {"bits": rows.reshape(codes.size, *self.fields[0].shape)}

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count the ones of every bit."""
        rows = reports.payload["bits"].reshape(len(reports), bits.row_bytes(self.size))
        return bits.column_counts(rows, self.size)


@dataclass(frozen=True, init=False, repr=False)
class SUE(UnaryEncoding):
    """Symmetric unary encoding, or basic RAPPOR: every bit is kept or flipped alike."""

    name: ClassVar[str] = "SUE"

    @property
    def probabilities(self) -> Support:
        """Exactly p = e^(ε/2)/(e^(ε/2)+1), rounded down, and q = 1 − p."""
        favour = coins.power_down(self.epsilon / 2)
        p = coins.coin_down(favour / (favour + 1))
        return Support(p, 1 - p)


@dataclass(frozen=True, init=False, repr=False)
class OUE(UnaryEncoding):
    """Optimised unary encoding: a 1 is kept with 1/2, a 0 becomes 1 with 1/(e^ε+1)."""

    name: ClassVar[str] = "OUE"

    @property
    def probabilities(self) -> Support:
        """Exactly p = 1/2 and q = 1/(e^ε+1), rounded up."""
        return Support(Fraction(1, 2), coins.coin_up(1 / (coins.power_down(self.epsilon) + 1)))
