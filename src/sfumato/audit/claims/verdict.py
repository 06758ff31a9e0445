"""What a check found: refuted or not, the witness, the bounds, and how sure they are.

Contract: a ``Verdict`` is a value. ``refuted`` means the claim is false, at the stated confidence,
or with certainty where the witness is ``certain``. Not refuted is not proven: only ``proved``
says so. ``epsilon_lower_bound`` is an ε that every true promise exceeds or equals, at the same
confidence, whatever is refuted. All numbers of a verdict hold together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.audit.claims.outputs import Raised
from sfumato.errors import PromiseBroken

if TYPE_CHECKING:
    from sfumato.audit.claims.bounds import Masses
    from sfumato.audit.claims.events import Event
    from sfumato.dp.guarantees import Guarantee

_LONGEST = 120


@dataclass(frozen=True, eq=False)
class Witness:
    """Two neighbouring data sets and an event that is too likely on the first."""

    first: Any
    second: Any
    event: str
    family: str
    outputs: tuple[Any, Any]
    """One output on each data set."""
    counts: tuple[int, int]
    """How often the event happened on each."""
    runs: tuple[int, int]
    certain: bool = False
    verified: bool = True
    """Whether the two were found to be neighbours, or are so by the user's word."""
    test: Event | None = field(default=None, repr=False)

    def holds(self, output: Any) -> bool:
        """Tell whether the event happened in an output."""
        if self.test is None:
            from sfumato.audit.claims.neighbouring import same  # noqa: PLC0415 - small

            return same(output, self.outputs[0])
        return self.test.holds(output)

    def __str__(self) -> str:
        if self.certain:
            return (
                f"D = {_short(self.first)} gives {_short(self.outputs[0])} and its neighbour "
                f"D′ = {_short(self.second)} gives {_short(self.outputs[1])}, always"
            )
        (a, b), (n, m) = self.counts, self.runs
        return (
            f"D = {_short(self.first)}, D′ = {_short(self.second)}, event: {self.event}; it "
            f"happened in {a:,} of {n:,} runs on D and in {b:,} of {m:,} on D′"
        )


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result of a check."""

    claim: Guarantee
    refuted: bool
    proved: bool
    epsilon_lower_bound: float
    """At the claim's δ; infinite where no ε at all would do."""
    delta_lower_bound: float
    """At the claim's ε; 0 says nothing."""
    confidence: float
    witness: Witness | None
    pairs: int
    """How many pairs of neighbours were tried."""
    looks: int
    """How many measurements shared the permitted error."""
    calls: int
    """How many outputs were drawn in all."""
    seconds: float
    notes: tuple[str, ...] = ()
    measured: tuple[Masses, ...] = field(default=(), repr=False)

    def delta_at(self, epsilon: float) -> float:
        """Bound from below the δ that goes with an ε: the border of the refuted region."""
        return max((masses.delta(epsilon) for masses in self.measured), default=0.0)

    def epsilon_at(self, delta: float) -> float:
        """Bound from below the ε that goes with a δ: the same border, read the other way."""
        return max((masses.epsilon(delta) for masses in self.measured), default=0.0)

    def require(self) -> None:
        """Raise `PromiseBroken` if the claim is refuted; for tests and pipelines."""
        if self.refuted:
            raise PromiseBroken(str(self))

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.proved:
            return "proved: the function never reads its data, so it is private for every ε ≥ 0"
        sure = f"{self.confidence:.6g}"
        if self.refuted and self.witness is not None and self.witness.certain:
            return f"refuted with certainty: not {_name(self.claim)}"
        bound = f"ε ≥ {self.epsilon_lower_bound:.4g}"
        if self.refuted:
            return f"refuted: not {_name(self.claim)}; shown {bound} with confidence {sure}"
        return f"not refuted: {_name(self.claim)}; shown {bound} with confidence {sure}"

    def __str__(self) -> str:
        lines = [self.headline]
        if self.witness is not None and (self.refuted or self.epsilon_lower_bound > 0):
            lines.append(str(self.witness))
        return ". ".join([*lines, *self.notes]) + "."


def _name(claim: Guarantee) -> str:
    """Shorten a guarantee to the words before its explanation."""
    return str(claim).split(":", maxsplit=1)[0]


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Raised) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
