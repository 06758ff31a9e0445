"""Several attributes per person: split the budget, or ask each person about one of them.

Contract: :class:`Attributes` collects the frequencies of k attributes under one ε per person.

* ``"split"``: every person reports all k attributes, each with ε/k. The guarantees of one person's
  reports add up.
* ``"sample"`` (default): every person reports one attribute, drawn uniformly and told openly, with
  the whole ε. The draw does not depend on her values, so the guarantee is that of the one report.

Why sampling wins. The variance of a frequency is about 4e^ε/(n(e^ε−1)²), close to 4/(nε²) for small
ε. Splitting replaces ε by ε/k, which multiplies it by k²; sampling replaces n by n/k, which
multiplies it by k only (Nguyên, Xiao, Yang, Hui, Shin and Shin 2016; Wang et al., ICDE 2019). The
price of sampling is the luck of who is asked, f(1−f)(1/n_k − 1/n), and is included in the
standard errors. :meth:`Attributes.compare` shows both for given n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.uniform import below
from sfumato.dp.rounding import stated, stated_up
from sfumato.errors import DataError, ParameterError
from sfumato.local.comparison import best
from sfumato.local.protocols.domain import Domain
from sfumato.local.reports import Aggregate, Reports
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from sfumato.dp.rounding import Stated
    from sfumato.local.consistency import Consistency
    from sfumato.local.estimate import Estimate
    from sfumato.local.protocols.domain import DomainLike
    from sfumato.local.protocols.protocol import FrequencyProtocol

Method: TypeAlias = Literal["sample", "split"]
_TYPICAL = 1_000_000


@dataclass(frozen=True, init=False, repr=False)
class Attributes(Shown):
    """Frequencies of several attributes, under one ε per person.

    ``protocol`` is a class such as ``OUE``, used for all attributes; without it the best one for
    each domain is chosen.
    """

    domains: Mapping[str, Domain]
    epsilon: Fraction
    method: Method
    protocols: Mapping[str, FrequencyProtocol]

    def __init__(
        self,
        domains: Mapping[str, DomainLike],
        *,
        epsilon: Stated,
        method: Method = "sample",
        protocol: type[FrequencyProtocol] | None = None,
    ) -> None:
        if method not in {"sample", "split"}:
            raise ParameterError(f"The method is 'sample' or 'split', and {method!r} was given.")
        if not domains:
            raise ParameterError("There is at least one attribute.")
        exact = parameters.budget(epsilon)
        read = {str(name): Domain.of(domain) for name, domain in domains.items()}
        share = exact / len(read) if method == "split" else exact
        made = {
            name: best(domain, share, _TYPICAL).protocol
            if protocol is None
            else protocol(domain, epsilon=share)
            for name, domain in read.items()
        }
        for field, value in (
            ("domains", read), ("epsilon", exact), ("method", method), ("protocols", made),
        ):  # fmt: skip
            object.__setattr__(self, field, value)

    @property
    def guarantee(self) -> LocalDP:
        """What all reports of one person together promise her."""
        each = [stated(protocol.guarantee.epsilon) for protocol in self.protocols.values()]
        return LocalDP(
            stated_up(sum(each, start=stated(0)) if self.method == "split" else max(each))
        )

    def perturb(self, columns: Mapping[str, Any]) -> AttributeReports:
        """Make the reports of each person, from one column of values per attribute."""
        codes = {name: self._column(columns, name) for name in self.domains}
        sizes = {column.size for column in codes.values()}
        if len(sizes) > 1:
            raise DataError("The columns of the attributes have one value per person each.")
        people = sizes.pop()
        asked = below(len(codes), people) if self.method == "sample" and people else None
        parts = {}
        for place, (name, protocol) in enumerate(self.protocols.items()):
            chosen = codes[name] if asked is None else codes[name][asked == place]
            parts[name] = Reports(protocol, dict(protocol.randomize(chosen)))
        return AttributeReports(self, parts)

    def estimate(
        self,
        collected: AttributeReports | Mapping[str, Aggregate],
        *,
        consistency: Consistency = "none",
    ) -> dict[str, Estimate]:
        """Estimate the frequencies of every attribute."""
        parts = collected.parts if isinstance(collected, AttributeReports) else collected
        sums = {name: self.protocols[name].aggregated(part) for name, part in parts.items()}
        if self.method == "split":
            return {
                name: self.protocols[name].estimate(found, consistency=consistency)
                for name, found in sums.items()
            }
        people = sum(found.n for found in sums.values())
        return {
            name: self._sampled(self.protocols[name].estimate(found), found.n, people).consistent(
                consistency
            )
            for name, found in sums.items()
        }

    def compare(self, n: int, f: float = 0.0) -> dict[str, dict[str, float]]:
        """Give the variance of a frequency f per attribute, for both methods and n people."""
        out = {}
        count = len(self.domains)
        for name, protocol in self.protocols.items():
            kind = type(protocol)
            whole = kind(self.domains[name], epsilon=self.epsilon)
            part = kind(self.domains[name], epsilon=self.epsilon / count)
            sampled = count * whole.variance(n, f) + f * (1 - f) * (count - 1) / n
            out[name] = {"sample": sampled, "split": part.variance(n, f)}
        return out

    def _sampled(self, estimate: Estimate, asked: int, people: int) -> Estimate:
        """Restate an estimate from those who were asked for all the people."""
        inside = np.clip(estimate.unbiased, 0.0, 1.0)
        luck = inside * (1 - inside) * (1 / asked - 1 / people)
        error = np.sqrt(estimate.standard_error**2 + luck)
        return replace(estimate, n=people, standard_error=error)

    def _column(self, columns: Mapping[str, Any], name: str) -> Any:
        try:
            column = columns[name]
        except KeyError:
            raise DataError(f"The attribute {name!r} has no column of values.") from None
        return self.domains[name].encode(column)

    def __repr__(self) -> str:
        used = ", ".join(f"{name}: {p.name}" for name, p in self.protocols.items())
        return f"Attributes({used}; epsilon={float(self.epsilon):.6g}, {self.method})"


@dataclass(frozen=True, eq=False, repr=False)
class AttributeReports(Shown):
    """Reports about several attributes; where one was sampled, each person is in one part."""

    attributes: Attributes
    parts: Mapping[str, Reports]

    def __add__(self, other: AttributeReports) -> AttributeReports:
        if not isinstance(other, AttributeReports):
            return NotImplemented
        if set(self.parts) != set(other.parts):
            raise DataError("Reports about different attributes cannot be put together.")
        joined = {name: part + other.parts[name] for name, part in self.parts.items()}
        return AttributeReports(self.attributes, joined)

    def aggregate(self) -> dict[str, Aggregate]:
        """Reduce the reports of every attribute to sums."""
        return {name: part.protocol.aggregate(part) for name, part in self.parts.items()}

    def __len__(self) -> int:
        sizes = [len(part) for part in self.parts.values()]
        return sum(sizes) if self.attributes.method == "sample" else sizes[0]

    def __repr__(self) -> str:
        return f"Reports of {len(self):,} people about {len(self.parts)} attributes"
