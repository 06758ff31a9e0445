"""What a check found: refuted or not, the witness, the bounds, and how sure they are.

Contract: a ``Verdict`` is a value. ``refuted`` means the claim is false, at the stated confidence,
or with certainty where the witness is ``certain``. Not refuted is not proven: only ``proved``
says so. ``epsilon_lower_bound`` is an ε that every true promise exceeds or equals, at the same
confidence, whatever is refuted. All numbers of a verdict hold together.

``floating_point_leak`` is the witness that rounding errors alone give the data away: what the
function computes may be private for the real numbers of a textbook and not for those of a
computer. Whether that refutes the claim depends on the ``arithmetic`` the check was asked to judge.

``records`` are those that data sets were made of, 0 and 1 unless named; ``wider`` is a witness with
other records, such as 1000 or a text, where these would refute what stands for the former.

Nothing that is printed shows the user's own data sets, or outputs on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.outputs import Raised, read_objects
from sfumato.audit.claims.picture import picture
from sfumato.errors import ParameterError, PromiseBroken
from sfumato.representation import Shown

if TYPE_CHECKING:
    from sfumato.audit.claims.bounds import Masses
    from sfumato.audit.claims.evidence.events import Event
    from sfumato.audit.claims.samples import Sampler
    from sfumato.dp.guarantees import Guarantee

_LONGEST = 120
_MOST_RECORDS = 12


@dataclass(frozen=True, eq=False, repr=False)
class Witness(Shown):
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
    guesses: tuple[int, int] | None = None
    """Right and wrong guesses between the two, where an event for each was measured at once."""
    certain: bool = False
    verified: bool = True
    """Whether the two were found to be neighbours, or are so by the user's word."""
    own_data: bool = False
    """Whether the data sets are the user's own, whose values are then not printed."""
    epsilon_lower_bound: float = 0.0
    """What this event shows by itself."""
    test: Event | None = field(default=None, repr=False)
    runner: Sampler | None = field(default=None, repr=False)

    def draw(self, path: str | Path, *, runs: int = 20_000, reveal: bool = False) -> Path:
        """Draw fresh outputs on both data sets with the event marked; write and return an SVG.

        Outputs on the user's own data are drawn without their values, unless to ``reveal`` them.
        """
        if self.test is None or self.runner is None:
            raise ParameterError(
                "There is nothing to draw: the outputs of this function are always the same."
            )
        first, second = (self.runner.draw(data, runs) for data in (self.first, self.second))
        self.runner.close()
        target = Path(path)
        event = self.event if reveal else self.show_event()
        shown = reveal or not self.own_data
        target.write_text(
            picture(first, second, self.test, f"Event: {event}", named=shown), encoding="utf-8"
        )
        return target

    def holds(self, output: Any) -> bool:
        """Tell whether the event happened in an output."""
        if self.test is None:
            codes = read_objects([output, self.outputs[0]]).whole()
            return bool(codes[0] == codes[1])
        return self.test.holds(output)

    def __str__(self) -> str:
        first, second = (self.show(data) for data in (self.first, self.second))
        here, there = (self.show(output) for output in self.outputs)
        if self.certain:
            return f"D = {first} gives {here} and its neighbour D′ = {second} gives {there}, always"
        (a, b), (n, m) = self.counts, self.runs
        if self.guesses is not None:
            right, wrong = self.guesses
            return (
                f"D = {first}, D′ = {second}, event: {self.show_event()}; such a guess was right "
                f"{right:,} times and wrong {wrong:,} times, in {n:,} runs on D and {m:,} on D′"
            )
        return (
            f"D = {first}, D′ = {second}, event: {self.show_event()}; it happened in {a:,} of "
            f"{n:,} runs on D and in {b:,} of {m:,} on D′ (outputs such as {here} and {there})"
        )

    def __repr__(self) -> str:
        return f"Witness({self})"

    def show(self, value: Any) -> str:
        """Print a data set or an output, or only its size where it is the user's own data."""
        if not self.own_data:
            return _short(value)
        return f"{len(value)} records" if isinstance(value, (list, tuple)) else "(not shown)"

    def show_event(self) -> str:
        """Print the event, or only its kind where it could quote the user's own data."""
        return f"one of {self.family}" if self.own_data else self.event


@dataclass(frozen=True, eq=False)
class Verdict(Shown):
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
    floating_point_leak: Witness | None = None
    """An event made of rounding errors that the claim forbids; only asked for where outputs are
    floating-point numbers and ``arithmetic`` is not "real"."""
    records: tuple[Any, ...] | None = None
    """The records that data sets were made of; None where the inputs were given."""
    wider: Witness | None = None
    """Data sets of other records with which the claim would fall; apart from the verdict, since the
    function may not be made for them. Only looked for where no records were named."""
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
        real = "" if self.floating_point_leak is None else " for real numbers"
        stands = f"not refuted{real}: {_name(self.claim)}; shown {bound} with confidence {sure}"
        return ". But ".join([stands, *self._beside()])

    def _beside(self) -> list[str]:
        """Say what is known against the function without refuting the claim."""
        said = []
        if self.floating_point_leak is not None:
            shown = f"shown ε ≥ {self.floating_point_leak.epsilon_lower_bound:.4g}"
            said.append(f"floating-point rounding errors give the data away: {shown}")
        if self.wider is not None:
            shown = f"ε ≥ {self.wider.epsilon_lower_bound:.4g}"
            said.append(f"only for records {_listed(self.records)}: with others it falls, {shown}")
        return said

    def __str__(self) -> str:
        lines = [self.headline]
        if self.witness is not None and (self.refuted or self.epsilon_lower_bound > 0):
            lines.append(str(self.witness))
        if self.wider is not None:
            lines.append(f"With wider records: {self.wider}")
        if self.records is not None and not self.refuted:
            lines.append(f"Data sets were made of the records {_listed(self.records)}")
        return ". ".join([*lines, *self.notes]) + "."


def _listed(records: tuple[Any, ...] | None) -> str:
    shown = [_short(record) for record in (records or ())[:_MOST_RECORDS]]
    more = len(records or ()) - len(shown)
    return ", ".join([*shown, f"and {more} more"] if more else shown)


def _name(claim: Guarantee) -> str:
    """Shorten a guarantee to the words before its explanation."""
    return str(claim).split(":", maxsplit=1)[0]


def _short(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    text = str(plain) if isinstance(plain, Raised) else repr(plain)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
