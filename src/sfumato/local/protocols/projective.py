"""Projective geometry response: a point of a finite projective space near the value's hyperplane.

Promise: ε-local differential privacy (Feldman, Nelson, Nguyen and Talwar, "Private frequency
estimation via projective geometry", ICML 2022).

Points are the vectors of length t over the integers modulo a prime r, up to a factor: those whose
first entry other than 0 is 1. There are K = (r^t−1)/(r−1) of them, at least d; value number v has
the v-th. Each point x is orthogonal to the c₁ = (r^(t−1)−1)/(r−1) points of its hyperplane; two
hyperplanes share c₂ = (r^(t−2)−1)/(r−1). A person reports a point of the hyperplane of her value
with probability p = c₁e^ε/(c₁e^ε + K − c₁), another point otherwise, uniformly. Proof: a point has
probability p/c₁ or (1−p)/(K−c₁), whatever the value; their ratio is at most e^ε. Another value's
hyperplane is hit with q = p·c₂/c₁ + (1−p)(c₁−c₂)/(K−c₁).

It is nearly as accurate as subset selection, with a report of ⌈log₂ K⌉ bits. Of the primes near
e^ε + 1 the one with the least variance is used. Decoding: with N(y) reports of point y and
ω = e^(2πi/r), the hyperplane of x got (1/r)·Σ_c Σ_y N(y)·ω^(c·⟨x,y⟩) reports, a discrete Fourier
transform over all r^t vectors; the results are whole numbers and are rounded to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError
from sfumato.local.protocols import coins
from sfumato.local.protocols.grr import tally
from sfumato.local.protocols.protocol import FrequencyProtocol, Support
from sfumato.local.reports import Aggregate, Field, Reports

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]

_BLOCK = 1 << 14
_MOST_VECTORS = 1 << 24  # entries of the transform
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


class ProjectiveSpace(NamedTuple):
    """A projective space: the prime r and the length t of its vectors."""

    prime: int
    length: int

    def count(self, length: int) -> int:
        """Give the number of points of the space of vectors of this length."""
        return int((self.prime**length - 1) // (self.prime - 1))


@dataclass(frozen=True, init=False, repr=False)
class ProjectiveGeometry(FrequencyProtocol):
    """Report a point that tends to be orthogonal to the point of the true value."""

    name: ClassVar[str] = "ProjectiveGeometry"

    @cached_property
    def space(self) -> ProjectiveSpace:
        """The space with the least variance that has a point for every value."""
        spaces = []
        for prime in _PRIMES:
            length = 2
            while ProjectiveSpace(prime, length).count(length) < self.size:
                length += 1
            if prime**length <= _MOST_VECTORS:
                spaces.append(ProjectiveSpace(prime, length))
        if not spaces:
            raise ParameterError(
                f"Projective geometry response transforms all {self.size} values; use OLH for so "
                "many."
            )
        return min(spaces, key=self._mean_variance)

    @property
    def outputs(self) -> int:
        """The number K of points."""
        return self.space.count(self.space.length)

    @property
    def probabilities(self) -> Support:
        """The exact probabilities of the hyperplanes of the true value and of another one."""
        return self._support(self.space)

    @property
    def ratio(self) -> Fraction:
        """The ratio between a point of the hyperplane and another one."""
        p, flat = self.probabilities.p, self.space.count(self.space.length - 1)
        return p * (self.outputs - flat) / ((1 - p) * flat)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The number of one point."""
        return (Field.number("point", self.outputs),)

    def distribution(self, value: Hashable) -> dict[Any, Fraction]:
        """List the probability of every point."""
        own = self._vectors(self.domain.encode([value]))
        points = self._vectors(np.arange(self.outputs))
        inside = (points @ own[0]) % self.space.prime == 0
        p, flat = self.probabilities.p, self.space.count(self.space.length - 1)
        yes, no = p / flat, (1 - p) / (self.outputs - flat)
        return {point: yes if hit else no for point, hit in enumerate(inside.tolist())}

    def randomize(self, codes: Integers) -> Mapping[str, npt.NDArray[Any]]:
        """Draw a point for each person."""
        out = np.empty(codes.size, dtype=self.fields[0].dtype)
        for start in range(0, codes.size, _BLOCK):
            part = codes[start : start + _BLOCK]
            out[start : start + part.size] = self._points(part)
        return {"point": out}

    def _points(self, codes: Integers) -> Integers:
        """Draw vectors with a given product with one's own, and number their points.

        All entries but the one at the leading 1 of the own vector are free, and this one makes the
        product 0 inside the hyperplane or a uniform other number outside. Of the vectors inside, 0
        is no point and is drawn again. Every point consists of r−1 vectors, so it stays uniform.
        """
        prime = self.space.prime
        source = stream()
        coin, rest = coins.split(source.uint64(codes.size))
        inside = coin < np.uint64(coins.threshold(self.probabilities.p))
        product = coins.below(prime - 1, rest, source=source).astype(np.int64) + 1
        product[inside] = 0
        own = self._vectors(codes)
        vectors = self._free(codes.size)
        lead = (own != 0).argmax(axis=1)
        rows = np.arange(codes.size)
        vectors[rows, lead] = 0
        vectors[rows, lead] = (product - np.einsum("ij,ij->i", vectors, own)) % prime
        out = self._numbers(vectors)
        again = np.flatnonzero(~vectors.any(axis=1))
        while again.size:
            out[again] = self._again(own[again], lead[again])
            again = again[out[again] < 0]
        return out

    def _again(self, own: Integers, lead: Integers) -> Integers:
        """Draw points of hyperplanes; −1 where the vector was 0 once more."""
        vectors, rows = self._free(len(own)), np.arange(len(own))
        vectors[rows, lead] = 0
        vectors[rows, lead] = -np.einsum("ij,ij->i", vectors, own) % self.space.prime
        return np.where(vectors.any(axis=1), self._numbers(vectors), -1)

    def _free(self, count: int) -> Integers:
        """Draw uniform vectors."""
        prime, length = self.space
        _, whole = coins.split(stream().uint64(count))
        number = coins.below(prime**length, whole).astype(np.int64)
        return number[:, None] // prime ** np.arange(length - 1, -1, -1) % prime

    def _vectors(self, numbers: Integers) -> Integers:
        """Give the vector of each point: those with a later leading 1 come first."""
        prime, length = self.space
        firsts = np.array([self.space.count(k) for k in range(length)])
        tail = np.searchsorted(firsts, numbers, side="right") - 1
        whole = numbers - firsts[tail] + prime**tail
        return np.asarray(whole[:, None] // prime ** np.arange(length - 1, -1, -1) % prime)

    def _numbers(self, vectors: Integers) -> Integers:
        """Give the number of the point of each vector other than 0."""
        prime, length = self.space
        lead = (vectors != 0).argmax(axis=1)
        first = vectors[np.arange(len(vectors)), lead]
        inverses = np.array([0, *(pow(x, -1, prime) for x in range(1, prime))])
        scaled = vectors * inverses[first][:, None] % prime
        whole = scaled @ (prime ** np.arange(length - 1, -1, -1))
        tail = length - 1 - lead
        firsts = np.array([self.space.count(k) for k in range(length)])
        return np.asarray(whole - prime**tail + firsts[tail])

    def sums(self, reports: Reports) -> Integers:
        """Count how often each point was reported."""
        return tally(reports.payload["point"], self.outputs)

    def support(self, found: Aggregate) -> Integers:
        """Count the reports in the hyperplane of every value."""
        prime, length = self.space
        weights = prime ** np.arange(length - 1, -1, -1)
        grid = np.zeros(prime**length)
        grid[self._vectors(np.arange(self.outputs)) @ weights] = found.sums
        turned = np.fft.fftn(grid.reshape((prime,) * length)).real.reshape(-1)
        own = self._vectors(np.arange(self.size))
        total = sum(turned[(own * factor % prime) @ weights] for factor in range(prime))
        return np.asarray(np.rint(total / prime), dtype=np.int64)

    def _support(self, space: ProjectiveSpace) -> Support:
        points, flat = space.count(space.length), space.count(space.length - 1)
        line = space.count(space.length - 2)
        favour = flat * coins.power_down(self.epsilon)
        p = coins.coin_down(favour / (favour + points - flat))
        return Support(p, p * line / flat + (1 - p) * (flat - line) / (points - flat))

    def _mean_variance(self, space: ProjectiveSpace) -> float:
        p, q = map(float, self._support(space))
        if p <= q:
            return math.inf
        share = 1 / self.size
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
