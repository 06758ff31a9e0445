"""Memory on a person's device: the same answer gives the same report, for ever.

Contract: a :class:`Memo` holds a secret of 32 random bytes that never leaves the device. The report
of an answer is the protocol's ordinary one, with its randomness drawn from a stream keyed by
HMAC-SHA-256(secret, survey and answer). To anybody without the secret it is distributed exactly
like a fresh report (HMAC is a pseudo-random function), but asking again brings nothing new: without
memory, the average of fifty fresh reports gives the answer away.

ε over time, stated honestly (:class:`OverTime`):

* An answer that never changes: all reports together keep the ε of one, however many are sent.
* An answer that takes c different values, where it is no secret *when* it changes: c·ε, because
  there are c independent reports and the rest are copies.
* If the moment of a change is itself the secret, memory alone promises nothing: two different
  reports prove that the answer changed. Full RAPPOR (:mod:`sfumato.local.protocols.rappor`) blurs
  that by perturbing the remembered report once more each time, without a useful worst-case bound.
* The report follows from the secret by the way in which this package draws it. That way is pinned
  by tests, because a change would make every device send a second, independent report.
* Copies can be recognised as copies: whoever sees all messages can tell which came from one
  device, once reports are long enough to differ between people.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.noise.stream import keyed, stream
from sfumato.dp.rounding import stated, stated_up
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from sfumato.local.protocols.protocol import FrequencyProtocol
    from sfumato.local.reports import Reports

SECRET_BYTES = 32


def new_secret() -> bytes:
    """Draw the secret of a device."""
    return stream().bytes(SECRET_BYTES)


def derived(secret: bytes, context: bytes, value: bytes) -> bytes:
    """Derive the key of one answer in one survey: HMAC-SHA-256, with lengths written out."""
    if len(secret) != SECRET_BYTES:
        raise ParameterError(f"A device's secret has {SECRET_BYTES} bytes, not {len(secret)}.")
    text = len(context).to_bytes(4, "little") + context + value
    return hmac.digest(secret, text, "sha256")


@dataclass(frozen=True)
class OverTime:
    """What all reports of one person promise together."""

    epsilon: float
    reports: int
    distinct_answers: int

    @property
    def guarantee(self) -> LocalDP:
        """The promise about the answers, given when they changed."""
        return LocalDP(self.epsilon)

    def __str__(self) -> str:
        if self.distinct_answers == 1:
            return (
                f"{self.reports:,} reports of an answer that never changed are together "
                f"ε = {self.epsilon:g}: all but the first are copies."
            )
        return (
            f"{self.reports:,} reports of {self.distinct_answers} different answers are together "
            f"ε = {self.epsilon:g} about the answers; that and when the answer changed is not "
            "protected, because different reports prove a change."
        )


@dataclass(frozen=True)
class Memo(Shown):
    """A device that answers a question in the same way again; ``question`` names it."""

    protocol: FrequencyProtocol
    question: str
    secret: bytes = field(default_factory=new_secret, repr=False)

    def __post_init__(self) -> None:
        derived(self.secret, b"", b"")

    def perturb(self, value: Hashable) -> Reports:
        """Give the one report that this device has for a value."""
        number = self.protocol.domain.number(value)
        key = derived(self.secret, self._context, number.to_bytes(8, "little"))
        with keyed(key):
            return self.protocol.perturb([value])

    @property
    def _context(self) -> bytes:
        """Name what a key is for; another protocol, ε or domain is another report."""
        p = self.protocol
        return f"sfumato memory {p.name} {p.epsilon} {p.size} {self.question}".encode()

    def over_time(self, reports: int, *, distinct_answers: int = 1) -> OverTime:
        """State what a number of reports promises together."""
        if reports < 1 or not 1 <= distinct_answers <= reports:
            raise ParameterError(
                "Over time there is at least one report, and there are at most as many different "
                "answers as reports."
            )
        once = stated(self.protocol.guarantee.epsilon)
        return OverTime(stated_up(distinct_answers * once), reports, distinct_answers)
