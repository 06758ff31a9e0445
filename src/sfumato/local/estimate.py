"""What the reports say about the people together, with its uncertainty.

Contract: an :class:`Estimate` gives a frequency and a count for every value, with standard errors
and intervals. ``unbiased`` is always kept, and intervals are always around it; ``frequencies`` is
the same array unless a repair was asked for (:mod:`sfumato.local.consistency`), and ``bias`` says
what that did.

The standard error counts the coins of the devices alone: it is about the n people who answered.
With ``population=True`` an interval is about the population they were drawn from at random, which
adds f(1−f)/n to the variance. Intervals use the normal approximation: n coins are summed, so it is
good once n·p·(1−p) is a few dozen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.binomial import tail_limit
from sfumato.dp.publish.numbers import NumberTable, release_numbers
from sfumato.errors import ParameterError
from sfumato.local.consistency import BIAS, Consistency, repair
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sfumato.dp.guarantees import LocalDP
    from sfumato.release import Release

    Floats = npt.NDArray[np.float64]

SELECTED = (
    "selected: only what stands out from chance is listed, so frequencies tend to be too large, "
    "those near the limit most"
)
"""What is said of estimates that were chosen by their size."""


@dataclass(frozen=True)
class AbsentSupport:
    """How many of n reports support a value that nobody has: n coins of q, exactly."""

    n: int
    p: float
    q: float

    def limit(self, level: float) -> float:
        """Give the frequency that such a value exceeds with at most this probability.

        The binomial tail is exact also where n·q is a few and the normal one is far too thin.
        """
        reached = tail_limit(self.n, self.q, level)
        # Half a report below the first count that is too rare, so that rounding decides nothing.
        return ((reached - 0.5) / self.n - self.q) / (self.p - self.q)

    @property
    def half(self) -> float:
        """Half of what one report moves an estimate by."""
        return 0.5 / self.n / (self.p - self.q)

    @property
    def slope(self) -> float:
        """How much the variance of an estimate grows with the share of those who have the value."""
        gained = self.p * (1 - self.p) - self.q * (1 - self.q)
        return gained / (self.p - self.q) ** 2 / self.n


@dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """Estimated frequencies of the values of a domain among ``n`` people."""

    values: Sequence[Any]
    n: int
    frequencies: Floats
    standard_error: Floats
    unbiased: Floats
    absent_error: Floats
    guarantee: LocalDP
    consistency: Consistency = "none"
    absent_support: AbsentSupport | None = None
    selected: bool = False

    @property
    def counts(self) -> Floats:
        """Estimated numbers of people."""
        return self.n * self.frequencies

    @property
    def bias(self) -> str:
        """What was done to the unbiased estimates, in words."""
        return SELECTED if self.selected else BIAS[self.consistency]

    @property
    def biased(self) -> bool:
        """Whether a repair was applied, or only what stands out is listed."""
        return self.selected or self.consistency != "none"

    def interval(
        self, level: float = 0.95, *, population: bool = False, together: bool = False
    ) -> Floats:
        """Give lower and upper bounds of each frequency, one row per value.

        With ``together`` all intervals hold at once with this probability (Bonferroni).

        They are Wilson's: all shares f from which the estimate is at most z standard deviations
        away, those that f itself would give, after half a report's worth of it for the
        steps in which estimates come. So they also hold where few reports are expected, and an
        estimate of about 0 has not a deviation of 0. They lie within 0 and 1, as shares do.
        """
        if not 0 < level < 1:
            raise ParameterError(f"A level is above 0 and below 1, and {level} was given.")
        miss = (1 - level) / (len(self.values) if together else 1)
        z = NormalDist().inv_cdf(1 - miss / 2)
        inside = np.clip(self.unbiased, 0.0, 1.0)
        # The variance of the estimate at a share f is none + more·f, and − f²/n for a population.
        more, half = np.zeros_like(inside), 0.0
        if self.absent_support is not None:
            more, half = np.full_like(inside, self.absent_support.slope), self.absent_support.half
        none = np.maximum(self.standard_error**2 - more * inside, 0.0)
        curved = 0.0
        if population:
            more, curved = more + 1 / self.n, 1 / self.n
        ends = []
        for side in (-1.0, 1.0):
            heard = self.unbiased + side * half
            middle = heard + z * z * more / 2
            root = middle**2 - (1 + z * z * curved) * (heard**2 - z * z * none)
            ends.append((middle + side * np.sqrt(np.maximum(root, 0.0))) / (1 + z * z * curved))
        low = np.where(self.unbiased <= half, 0.0, ends[0])
        high = np.where(self.unbiased >= 1 - half, 1.0, ends[1])
        return np.asarray(np.clip(np.stack([low, high], axis=1), 0.0, 1.0))

    def release(self, name: str = "estimate", *, level: float = 0.95) -> Release:
        """Hand the estimate over as a release: a row per value, with its interval."""
        ends = self.interval(level)
        rows = [
            (value, float(share), float(low), float(high))
            for value, share, (low, high) in zip(
                self.values, self.frequencies, ends.tolist(), strict=True
            )
        ]
        facts = {"people": self.n, "level": level, "bias": self.bias}
        table = NumberTable(("value", "frequency", "low", "high"), rows, self, facts)
        return release_numbers(table, self.guarantee, name=name, mechanism="local protocol")

    def consistent(self, how: Consistency, *, alpha: float = 0.05) -> Estimate:
        """Repair the estimates so that they look like a distribution; this biases them."""
        repaired = repair(self.unbiased, how, lambda: self.absent_limit(alpha))
        return replace(self, frequencies=repaired, consistency=how)

    def absent_limit(self, alpha: float = 0.05) -> Floats:
        """Give what no absent one among all the values exceeds, but with probability ``alpha``.

        Bonferroni over the exact binomial tail of each, or over the normal one for protocols whose
        coins are fair (Hadamard), where it is close.
        """
        if not 0 < alpha < 1:
            raise ParameterError(f"α (alpha) is above 0 and below 1, and {alpha} was given.")
        level = alpha / max(1, len(self.values))
        if self.absent_support is None:
            return np.asarray(NormalDist().inv_cdf(1 - level) * self.absent_error)
        return np.full(len(self.values), self.absent_support.limit(level))

    def frequency(self, value: Any) -> float:
        """Give the frequency of one value."""
        return float(self.frequencies[self._places[value]])

    def count(self, value: Any) -> float:
        """Give the estimated number of people with one value."""
        return self.n * self.frequency(value)

    def top(self, k: int) -> list[tuple[Any, float]]:
        """Give the k most frequent values with their frequencies."""
        order = np.argsort(-self.frequencies, kind="stable")[:k]
        return [(self.values[i], float(self.frequencies[i])) for i in order.tolist()]

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {value: place for place, value in enumerate(self.values)}

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        bounds = self.interval()
        lines = [f"{self.n:,} reports, ε = {self.guarantee.epsilon:.6g} each; {self.bias}"]
        order = np.argsort(-self.frequencies, kind="stable")[:10].tolist()
        lines += [
            f"{self.values[i]!s:>20}  {self.frequencies[i]:9.5f}  ± {self.standard_error[i]:.5f}"
            f"  95 %: {bounds[i, 0]:.5f} … {bounds[i, 1]:.5f}"
            for i in order
        ]
        if len(self.values) > len(order):
            lines.append(f"{'…':>20}  and {len(self.values) - len(order):,} more values")
        return "\n".join(lines)

    __repr__ = __str__
