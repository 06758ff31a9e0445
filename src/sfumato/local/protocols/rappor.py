"""Full RAPPOR: strings that nobody listed beforehand, asked again and again.

Promise: ε-local differential privacy for ever, as long as the string stays the same, and a smaller
ε for every single report (Erlingsson, Pihur and Korolova, "RAPPOR", CCS 2014).

A device belongs to one of ``cohorts`` cohorts by chance. Its string sets h = ``hashes`` of the
``bits`` bits of a Bloom filter, chosen by the cohort. Each bit, 1 or 0 alike, is kept with
probability keep = e^(ε/2h)/(e^(ε/2h)+1), else turned around: the *permanent response*, remembered
for ever by deriving its coins from a secret (:mod:`sfumato.local.collect.memo`). Each time a report
is due, every bit of the permanent response is said truly with probability say and else turned
around again.

Proof. Filters of two strings differ in at most 2h bits, so permanent responses have a ratio of at
most (keep/(1−keep))^2h, which is at most e^ε; all reports ever sent are computed from it. For one
report a bit is right with probability q* = keep·say + (1−keep)(1−say), so its ratio is at most
(q*/(1−q*))^2h. For T reports the largest ratio of a bit is reached when all say the same:

    (keep·say^T + (1−keep)(1−say)^T) / ((1−keep)·say^T + keep·(1−say)^T),

which grows with T from the single report's to the permanent response's; ``over(T)`` states it.
Cohort and secret do not depend on the string. When the string changes, the new one has a permanent
response of its own and costs ε again; *that* it changed is blurred, but not bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.stream import keyed, stream
from sfumato.dp.rounding import stated_up
from sfumato.errors import DataError, ParameterError
from sfumato.local.collect.memo import SECRET_BYTES, derived
from sfumato.local.protocols import bits as packed
from sfumato.local.protocols import coins
from sfumato.local.protocols.bits import places_of
from sfumato.local.protocols.domain import encoded
from sfumato.local.protocols.protocol import Protocol
from sfumato.local.reports import Aggregate, Field, Reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated
    from sfumato.local.protocols.rappor_decoding import FoundStrings

MOST_EXACT = 1024
"""Reports up to which the ratio is computed exactly; for more, the permanent ε is stated."""


@dataclass(frozen=True, init=False, repr=False)
class RAPPOR(Protocol):
    """Bloom filters by cohort, a permanent response and a fresh one for every report."""

    report_epsilon: Fraction
    bits: int
    hashes: int
    cohorts: int

    name: ClassVar[str] = "RAPPOR"

    def __init__(
        self,
        *,
        epsilon: Stated,
        report_epsilon: Stated,
        bits: int = 128,
        hashes: int = 2,
        cohorts: int = 64,
    ) -> None:
        """Take the ε for ever (``epsilon``) and of a single report (``report_epsilon``)."""
        object.__setattr__(self, "epsilon", parameters.budget(epsilon))
        object.__setattr__(self, "report_epsilon", parameters.budget(report_epsilon))
        for name, number in (("bits", bits), ("cohorts", cohorts)):
            if number < 1 or number > 1 << 16 or number & (number - 1):
                raise ParameterError(f"RAPPOR's {name} are a power of two up to 65536.")
        if bits < 8 or not 1 <= hashes <= 8:
            raise ParameterError("RAPPOR takes at least 8 bits, and 1 to 8 hashes.")
        for name, number in (("bits", bits), ("hashes", hashes), ("cohorts", cohorts)):
            object.__setattr__(self, name, number)
        coins.refuse_extremes(self.epsilon)
        if not self.report_epsilon < self.epsilon:
            raise ParameterError(
                "A single report's ε (report_epsilon) is below the ε for ever (epsilon); "
                f"{float(self.report_epsilon):g} and {float(self.epsilon):g} were given."
            )
        if self.say <= Fraction(1, 2):
            raise coins.too_small(self.report_epsilon, self.bits)

    @cached_property
    def keep(self) -> Fraction:
        """The exact probability that the permanent response keeps a bit, rounded down."""
        favour = coins.power_down(self.epsilon / (2 * self.hashes))
        return coins.coin_down(favour / (favour + 1))

    @cached_property
    def say(self) -> Fraction:
        """The exact probability that a report says a permanent bit truly, rounded down."""
        favour = coins.power_down(self.report_epsilon / (2 * self.hashes))
        right, keep = favour / (favour + 1), self.keep
        if keep <= Fraction(1, 2):
            raise coins.too_small(self.epsilon, self.bits)
        return coins.coin_down((right - (1 - keep)) / (2 * keep - 1))

    @cached_property
    def right(self) -> Fraction:
        """The exact probability q* that a bit of a report is what the filter has."""
        return self.keep * self.say + (1 - self.keep) * (1 - self.say)

    @property
    def guarantee(self) -> LocalDP:
        """The promise about all reports ever sent about one string."""
        ratio = (self.keep / (1 - self.keep)) ** (2 * self.hashes)
        return LocalDP(coins.stated_epsilon(ratio, self.epsilon))

    def over(self, reports: int) -> LocalDP:
        """State the promise about a number of reports on one unchanged string together."""
        if reports < 1:
            raise ParameterError("Over time there is at least one report.")
        if reports > MOST_EXACT:
            return self.guarantee
        keep, true, false = self.keep, self.say**reports, (1 - self.say) ** reports
        ratio = (keep * true + (1 - keep) * false) / ((1 - keep) * true + keep * false)
        found = stated_up(2 * self.hashes * coins.epsilon_up(ratio))
        return LocalDP(min(found, self.guarantee.epsilon))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The cohort, and the bits."""
        return (
            Field.number("cohort", self.cohorts),
            Field("bits", "uint8", packed.row_bytes(self.bits), 256),
        )

    def device(self, question: str, *, secret: bytes | None = None) -> RapporDevice:
        """Give a device with a secret, to answer one question again and again."""
        drawn = stream().bytes(SECRET_BYTES) if secret is None else secret
        return RapporDevice(self, question, drawn)

    def perturb(self, values: Any) -> Reports:
        """Make the first report of new devices, one for each string."""
        texts = as_texts(values)
        words = stream().uint64(len(texts))
        cohorts = (words & np.uint64(self.cohorts - 1)).astype(np.int64)
        rows = self.filters(texts, cohorts)
        rows ^= packed.coin_rows(len(texts), self.bits, 1 - self.keep)
        rows ^= packed.coin_rows(len(texts), self.bits, 1 - self.say)
        return self.reports(cohorts, rows)

    def reports(self, cohorts: npt.NDArray[np.int64], rows: npt.NDArray[np.uint8]) -> Reports:
        """Put cohorts and bits together."""
        number, filled = self.fields
        shaped = rows.reshape(len(rows), *filled.shape)
        return Reports(self, {"cohort": cohorts.astype(number.dtype), "bits": shaped})

    def filters(
        self, texts: Sequence[str], cohorts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint8]:
        """Give the Bloom filter of each string in its cohort, packed."""
        rows = np.zeros((len(texts), packed.row_bytes(self.bits)), dtype=np.uint8)
        places = np.array(
            [
                places_of(text, cohort, self.bits, self.hashes)
                for text, cohort in zip(texts, cohorts.tolist(), strict=True)
            ],
            dtype=np.int64,
        ).reshape(len(texts), self.hashes)
        everybody = np.ones(len(texts), dtype=np.bool_)
        for i in range(self.hashes):
            packed.put(rows, np.ascontiguousarray(places[:, i]), everybody)
        return rows

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count people and ones per cohort: a row of 1 + bits numbers for each."""
        out = np.zeros((self.cohorts, 1 + self.bits), dtype=np.int64)
        rows = reports.payload["bits"].reshape(len(reports), -1)
        order = np.argsort(reports.payload["cohort"], kind="stable")
        out[:, 0] = np.bincount(reports.payload["cohort"], minlength=self.cohorts)
        ends = np.cumsum(out[:, 0])
        for cohort, end in enumerate(ends.tolist()):
            members = rows[order[end - out[cohort, 0] : end]]
            out[cohort, 1:] = packed.column_counts(members, self.bits)
        return out

    def decode(
        self,
        collected: Aggregate | Reports,
        candidates: Sequence[str],
        *,
        alpha: float = 0.05,
    ) -> FoundStrings:
        """Find which candidates people have, and how often, by regression."""
        from sfumato.local.protocols.rappor_decoding import decode  # noqa: PLC0415 - server side only

        return decode(self, self.aggregated(collected), as_texts(candidates), alpha=alpha)

    def __repr__(self) -> str:
        return (
            f"RAPPOR(epsilon={float(self.epsilon):.6g}, "
            f"report_epsilon={float(self.report_epsilon):.6g}, bits={self.bits}, "
            f"hashes={self.hashes}, cohorts={self.cohorts})"
        )


@dataclass(frozen=True)
class RapporDevice:
    """One person's device: it remembers its permanent response through its secret.

    Memory is per question: equal answers to two questions have nothing in common.
    """

    rappor: RAPPOR
    question: str
    secret: bytes = field(repr=False)

    @property
    def cohort(self) -> int:
        """The cohort of this device, for ever."""
        drawn = derived(self.secret, self._context(b"cohort"), b"")
        return int.from_bytes(drawn[:4], "little") & (self.rappor.cohorts - 1)

    def report(self, value: str) -> Reports:
        """Report a string: its permanent response, freshly perturbed."""
        rappor, cohorts = self.rappor, np.array([self.cohort], dtype=np.int64)
        row = rappor.filters(as_texts([value]), cohorts)
        with keyed(derived(self.secret, self._context(b"response"), encoded(value))):
            row ^= packed.coin_rows(1, rappor.bits, 1 - rappor.keep)
        row ^= packed.coin_rows(1, rappor.bits, 1 - rappor.say)
        return rappor.reports(cohorts, row)

    def _context(self, purpose: bytes) -> bytes:
        """Name what a key is for; another ε or another filter is another response."""
        r = self.rappor
        settings = f"{r.epsilon} {r.bits} {r.hashes} {r.cohorts} "
        return b"sfumato RAPPOR " + purpose + b" " + settings.encode() + self.question.encode()


def as_texts(values: Any) -> list[str]:
    """Take a list or array of strings."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise DataError("Strings are given as a list or an array, one per person.")
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    if not all(isinstance(value, str) for value in plain):
        raise DataError("RAPPOR reports strings; something else was found among the values.")
    return plain
