"""Optimised local hashing: a random hash function, and a perturbed hash of the value.

Promise: ε-local differential privacy (Wang, Blocki, Li and Jha, USENIX Security 2017).

A person draws a public seed of a hash function h into g cells
(:mod:`sfumato.local.protocols.hashing`) and reports it together with a cell: h(v) with probability
p = e^ε/(e^ε+g−1), each other one with (1−p)/(g−1). Proof: the seed does not depend on the value;
for every seed the cell is a generalised randomised response, whose ratio is at most p(g−1)/(1−p).

A report supports the values that its function sends to its cell: the true value with probability p,
any other one with q = q′ + (p−q′)·c, where q′ = (1−p)/(g−1) and c is the exact collision
probability, about 1/g. g is the whole number near e^ε + 1 with the least variance, which is that of
OUE; the report is a few bytes for any domain, up to 2⁶² values. ``estimate(…, candidates=[…])``
decodes chosen values only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import DataError, ParameterError
from sfumato.local.protocols import coins, hashing
from sfumato.local.protocols.domain import MOST_LISTED
from sfumato.local.protocols.grr import answer
from sfumato.local.protocols.protocol import FrequencyProtocol, Support
from sfumato.local.reports import Aggregate, Field, Reports, same_protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.local.consistency import Consistency
    from sfumato.local.estimate import Estimate

_BLOCK = 1 << 16


@dataclass(frozen=True, init=False, repr=False)
class OLH(FrequencyProtocol):
    """Report a perturbed hash of the value under a hash function of one's own."""

    name: ClassVar[str] = "OLH"

    @cached_property
    def g(self) -> int:
        """The number of cells: the best whole number near e^ε + 1."""
        best = float(coins.power_down(self.epsilon)) + 1
        choices = (max(2, math.floor(best)), max(2, math.ceil(best)))
        return min(choices, key=self._rare_variance)

    @cached_property
    def keep(self) -> Fraction:
        """The exact probability of reporting the true cell."""
        return self._keep(self.g)

    @property
    def probabilities(self) -> Support:
        """The exact probabilities of support."""
        return self._support(self.g)

    @property
    def ratio(self) -> Fraction:
        """The ratio between the true cell and another one."""
        return self.keep * (self.g - 1) / (1 - self.keep)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The seed of the hash function, and the cell."""
        return (
            Field("seed", "uint32", hashing.limbs_of(self.size) + 1, hashing.PRIME),
            Field.number("value", self.g),
        )

    def distribution(
        self, value: Hashable, *, seed: Sequence[int] | None = None
    ) -> dict[Any, Fraction]:
        """List the probability of every cell, given a seed; the seed itself is uniform."""
        if seed is None:
            raise ParameterError(
                "OLH draws one of about 2^62 seeds first; ask for the distribution under one, as "
                "in distribution(value, seed=(5, 7))."
            )
        seeds = np.array([seed], dtype=np.uint32)
        own = int(self._cells(seeds, self.domain.encode([value]))[0])
        other = (1 - self.keep) / (self.g - 1)
        return {cell: self.keep if cell == own else other for cell in range(self.g)}

    def randomize(self, codes: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
        """Draw a hash function for each person and perturb the cell of her value."""
        seeds = hashing.draw_seeds(codes.size, hashing.limbs_of(self.size))
        own = np.empty(codes.size, dtype=np.int64)
        for start in range(0, codes.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            own[part] = self._cells(seeds[part], codes[part])
        return {"seed": seeds, "value": answer(own, self.keep, self.g, self.fields[1].dtype)}

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count the reports in support of every value."""
        if self.size > MOST_LISTED:
            raise ParameterError(
                f"A domain of {self.size} values is too large to count every one; keep the reports "
                "and estimate with candidates=."
            )
        return hashing.support(reports.payload["seed"], reports.payload["value"], self.g, self.size)

    def support_of(self, reports: Reports, candidates: Any) -> npt.NDArray[np.int64]:
        """Count the reports in support of chosen values."""
        limbs = hashing.split_limbs(self.domain.encode(candidates), hashing.limbs_of(self.size))
        return hashing.support(reports.payload["seed"], reports.payload["value"], self.g, limbs)

    def estimate(
        self,
        collected: Aggregate | Reports,
        *,
        consistency: Consistency = "none",
        candidates: Sequence[Any] | None = None,
    ) -> Estimate:
        """Estimate how often each value occurs, or each of the candidates."""
        if candidates is None:
            return super().estimate(collected, consistency=consistency)
        if not isinstance(collected, Reports):
            raise DataError("Candidates are decoded from reports; sums have lost what is needed.")
        same_protocol(self, collected.protocol)
        found = Aggregate(self, len(collected), self.support_of(collected, candidates))
        if found.n < 1:
            raise DataError("An estimate needs at least one report, and there is none.")
        return self._estimate(tuple(candidates), found, self.frequencies(found)).consistent(
            consistency
        )

    def _cells(
        self, seeds: npt.NDArray[np.uint32], codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        limbs = hashing.split_limbs(codes, hashing.limbs_of(self.size))
        return hashing.cells(hashing.residues(seeds, limbs), self.g)

    def _keep(self, g: int) -> Fraction:
        favour = coins.power_down(self.epsilon)
        return coins.coin_down(favour / (favour + g - 1))

    def _support(self, g: int) -> Support:
        p = self._keep(g)
        other = (1 - p) / (g - 1)
        return Support(p, other + (p - other) * hashing.collision(g))

    def _rare_variance(self, g: int) -> float:
        p, q = self._support(g)
        return float(q * (1 - q) / (p - q) ** 2) if p > q else math.inf
