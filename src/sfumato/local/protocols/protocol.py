"""What every local protocol is: a promise to one person, a perturbation and an estimate.

Contract: a :class:`Protocol` is a frozen value. ``perturb`` is what a person's device does and
the only place where a true value appears; ``aggregate`` and ``estimate`` are what the server does
with the reports. ``guarantee`` is the ε of the probabilities that are really used
(:mod:`sfumato.local.protocols.coins`), never more than the ``epsilon`` asked for. Randomness comes
from :func:`sfumato.dp.noise.stream` alone.

A :class:`FrequencyProtocol` is *pure* in the sense of Wang, Blocki, Li and Jha, "Locally
differentially private protocols for frequency estimation" (USENIX Security 2017): every report
supports a set of values. The true value is supported with probability p, any other value with
q < p. With I(v) reports in support of v,

    f̂(v) = (I(v)/n − q)/(p − q)                                  is unbiased,
    Var f̂(v) = (f·p(1−p) + (1−f)·q(1−q)) / (n·(p−q)²)            for the n people who answered,

because I(v) is a sum of n·f coins of p and n·(1−f) coins of q, all independent.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.mechanisms import parameters
from sfumato.errors import DataError, ParameterError
from sfumato.local.estimate import AbsentSupport, Estimate
from sfumato.local.protocols import coins
from sfumato.local.protocols.domain import MOST_LISTED, Domain, DomainLike
from sfumato.local.reports import Aggregate, Field, Reports, same_protocol
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated
    from sfumato.local.consistency import Consistency


class Support(NamedTuple):
    """The exact probabilities that a report supports the true value, and any other one."""

    p: Fraction
    q: Fraction

    def __repr__(self) -> str:
        return f"supports the true value with {float(self.p):.6g}, another with {float(self.q):.6g}"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"


@dataclass(frozen=True, init=False, repr=False)
class Protocol(Shown, ABC):
    """A randomised report of one person, and what can be learnt from many."""

    epsilon: Fraction

    name: ClassVar[str] = "protocol"

    @property
    @abstractmethod
    def guarantee(self) -> LocalDP:
        """What each report promises to the person who sends it."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The arrays that make up a report."""

    @abstractmethod
    def perturb(self, values: Any) -> Reports:
        """Do what the device of each person does: make one report of one value."""

    @abstractmethod
    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Add up what the reports of many people say."""

    @property
    def report_bits(self) -> int:
        """The size of one report."""
        return sum(field.bits for field in self.fields)

    def plausible(self, payload: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        """Say for every row whether it could have been made, given that all numbers fit."""
        return np.ones(len(payload[self.fields[0].name]), dtype=np.bool_)

    def aggregate(self, reports: Reports) -> Aggregate:
        """Reduce reports to sums that can be stored and added."""
        same_protocol(self, reports.protocol)
        return Aggregate(self, len(reports), self.sums(reports))

    def aggregated(self, collected: Aggregate | Reports) -> Aggregate:
        """Take sums or reports, and refuse none at all."""
        found = self.aggregate(collected) if isinstance(collected, Reports) else collected
        same_protocol(self, found.protocol)
        if found.n < 1:
            raise DataError("An estimate needs at least one report, and there is none.")
        return found


@dataclass(frozen=True, init=False, repr=False)
class FrequencyProtocol(Protocol):
    """A protocol over a finite domain, for how often each value occurs."""

    domain: Domain

    def __init__(self, domain: DomainLike, *, epsilon: Stated) -> None:
        object.__setattr__(self, "domain", Domain.of(domain))
        object.__setattr__(self, "epsilon", parameters.budget(epsilon))
        coins.refuse_extremes(self.epsilon)
        if self.probabilities.p <= self.probabilities.q:
            raise coins.too_small(self.epsilon, self.size)

    @property
    @abstractmethod
    def probabilities(self) -> Support:
        """The exact probabilities of support."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio between the probabilities of one report under two values."""

    @abstractmethod
    def randomize(self, codes: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
        """Make one report for each numbered value."""

    @abstractmethod
    def distribution(self, value: Hashable) -> dict[Any, Fraction]:
        """List every possible report of a value with its exact probability, for small domains."""

    @property
    def size(self) -> int:
        """The number of values, d."""
        return len(self.domain)

    @property
    def guarantee(self) -> LocalDP:
        """The ε of the probabilities really used, for each person."""
        return LocalDP(coins.stated_epsilon(self.ratio, self.epsilon))

    def perturb(self, values: Any) -> Reports:
        """Make one report for the value of each person."""
        return Reports(self, dict(self.randomize(self.domain.encode(values))))

    def estimate(
        self, collected: Aggregate | Reports, *, consistency: Consistency = "none"
    ) -> Estimate:
        """Estimate how often each value occurs, without bias unless a repair is asked for."""
        if self.size > MOST_LISTED:
            raise ParameterError(
                f"A domain of {self.size} values is too large to estimate every one; use OLH with "
                "candidates=, or find the heavy hitters first."
            )
        found = self.aggregated(collected)
        frequencies = self.frequencies(found)
        return self._estimate(self.domain.values, found, frequencies).consistent(consistency)

    def _estimate(
        self, values: Any, found: Aggregate, frequencies: npt.NDArray[np.float64]
    ) -> Estimate:
        inside = np.clip(frequencies, 0.0, 1.0)
        return Estimate(
            values=values,
            n=found.n,
            frequencies=frequencies,
            standard_error=np.sqrt(self.variances(found, inside)),
            unbiased=frequencies,
            absent_error=np.sqrt(self.variances(found, np.zeros_like(inside))),
            guarantee=self.guarantee,
            absent_support=self.absent_support(found.n),
        )

    def absent_support(self, n: int) -> AbsentSupport | None:
        """Give the law of the support of a value nobody has; None where it is not so simple."""
        p, q = map(float, self.probabilities)
        return AbsentSupport(n, p, q)

    def frequencies(self, found: Aggregate) -> npt.NDArray[np.float64]:
        """Turn sums into unbiased frequencies."""
        p, q = map(float, self.probabilities)
        return np.asarray((self.support(found) / found.n - q) / (p - q))

    def support(self, found: Aggregate) -> npt.NDArray[np.int64]:
        """Give the number of reports in support of each value."""
        return found.sums

    def variances(
        self, found: Aggregate, frequencies: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Give the variance of every estimated frequency, where the frequencies are these."""
        none, all_of_them = self.variance(found.n, 0.0), self.variance(found.n, 1.0)
        return none + (all_of_them - none) * frequencies

    def variance(self, n: int, f: float = 0.0) -> float:
        """Give the variance of the estimated frequency of a value that a share f of n people has.

        Averaged over all values it is ``variance(n, 1/d)``, whatever the data are, where this is
        linear in f; of the protocols here only Hadamard with several blocks is not.
        """
        if n < 1 or not 0 <= f <= 1:
            raise ParameterError("A variance needs n of at least 1 and f between 0 and 1.")
        p, q = map(float, self.probabilities)
        return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)

    def error(self, n: int, f: float = 0.0) -> float:
        """Give the standard error of the estimated frequency."""
        return math.sqrt(self.variance(n, f))

    def __repr__(self) -> str:
        return f"{self.name}({self.domain!r}, epsilon={float(self.epsilon):.6g})"
