"""The best protocol for so many values, this ε and so many people.

Contract: ``best(d, epsilon, n)`` compares all protocols for frequencies by the mean variance over
the d values, ``variance(n, 1/d)``, which holds whatever the data are (for Hadamard with several
blocks: where people spread evenly over the blocks), among those whose report fits
``max_report_bits``. Of protocols within one part in a thousand the one with the smaller report
wins. The :class:`Comparison` prints as a table, draws itself (``svg()``) and holds the winner,
ready to use. Nothing here looks at data, so choosing costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.local.protocols.domain import Domain, DomainLike
from sfumato.local.protocols.grr import GRR
from sfumato.local.protocols.hadamard import Hadamard
from sfumato.local.protocols.olh import OLH
from sfumato.local.protocols.projective import ProjectiveGeometry
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.unary import OUE, SUE
from sfumato.representation import Shown

if TYPE_CHECKING:
    from sfumato.dp.rounding import Stated
    from sfumato.local.protocols.protocol import FrequencyProtocol

PROTOCOLS: tuple[type[FrequencyProtocol], ...] = (
    GRR, SUE, OUE, OLH, Hadamard, SubsetSelection, ProjectiveGeometry,
)  # fmt: skip
"""The protocols compared."""

_ALIKE = 1.001


@dataclass(frozen=True)
class Candidate:
    """One protocol as it would do: the variance of a frequency, and the size of a report."""

    protocol: FrequencyProtocol
    variance: float
    fits: bool

    @property
    def name(self) -> str:
        """The protocol's name."""
        return self.protocol.name

    @property
    def standard_error(self) -> float:
        """The typical error of an estimated frequency."""
        return math.sqrt(self.variance)

    @property
    def report_bits(self) -> int:
        """The size of a report."""
        return self.protocol.report_bits


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """All protocols side by side, the best one first."""

    domain: Domain
    n: int
    candidates: tuple[Candidate, ...]
    max_report_bits: int | None = None

    @property
    def protocol(self) -> FrequencyProtocol:
        """The best protocol, ready to use."""
        return self.candidates[0].protocol

    @property
    def name(self) -> str:
        """The name of the best protocol."""
        return self.protocol.name

    @property
    def reason(self) -> str:
        """Why this one, in a sentence."""
        winner = self.candidates[0]
        room = "" if self.max_report_bits is None else f" within {self.max_report_bits} bits"
        return (
            f"{winner.name} has the least variance{room} for {len(self.domain):,} values, ε = "
            f"{float(self.protocol.epsilon):g} and {self.n:,} people: a frequency errs by about "
            f"{winner.standard_error:.2g}, with reports of {winner.report_bits} bits"
        )

    def svg(self) -> str:
        """Draw the comparison as a picture."""
        from sfumato.local.comparison_plot import draw  # noqa: PLC0415 - only when drawn

        return draw(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        lines = [
            f"{'protocol':<20}{'standard error':>16}{'variance':>12}{'bits':>9}{'ε used':>12}",
            "-" * 69,
        ]
        for candidate in self.candidates:
            note = "" if candidate.fits else "  too large"
            lines.append(
                f"{candidate.name:<20}{candidate.standard_error:>16.3g}{candidate.variance:>12.3g}"
                f"{candidate.report_bits:>9,}{candidate.protocol.guarantee.epsilon:>12.6g}{note}"
            )
        return "\n".join([*lines, f"{self.reason}."])

    __repr__ = __str__


def best(
    d: DomainLike, epsilon: Stated, n: int, *, max_report_bits: int | None = None
) -> Comparison:
    """Compare the protocols for a domain (or a number of values) and n people."""
    domain, people = Domain.of(d), parameters.count(n, "The number of people (n)")
    if people is None:
        raise ParameterError("The number of people (n) is a whole number of at least 1.")
    room = parameters.count(max_report_bits, "The size of a report (max_report_bits)")
    found = []
    for kind in PROTOCOLS:
        try:
            protocol = kind(domain, epsilon=epsilon)
            bits = protocol.report_bits
        except ParameterError:
            continue  # it does not serve so many values, or so small an ε
        variance = protocol.variance(people, 1 / len(domain))
        found.append(Candidate(protocol, variance, room is None or bits <= room))
    if not found:
        OLH(domain, epsilon=epsilon)  # says what is wrong with the parameters
    ordered = _ordered(found)
    if not ordered or not ordered[0].fits:
        least = min(candidate.report_bits for candidate in found)
        raise Unsatisfiable(
            f"No protocol for {len(domain):,} values has reports of at most {room} bits; the "
            f"smallest takes {least}."
        )
    return Comparison(domain, people, tuple(ordered), room)


def _ordered(found: list[Candidate]) -> list[Candidate]:
    """Put the best first, then by variance, those that do not fit last."""
    ordered = sorted(found, key=lambda c: (not c.fits, c.variance, c.report_bits))
    alike = [c for c in ordered if c.fits and c.variance <= _ALIKE * ordered[0].variance]
    if alike:
        winner = min(alike, key=lambda c: (c.report_bits, c.variance))
        ordered = [winner, *(c for c in ordered if c is not winner)]
    return ordered
