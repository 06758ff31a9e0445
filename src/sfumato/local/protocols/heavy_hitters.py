"""Heavy hitters: the frequent values of a domain too large to list, such as 48-bit strings.

Promise: ε-local differential privacy; every person sends one report.

Prefix extension (Wang, Li and Jha, "Locally differentially private heavy hitter identification",
IEEE TDSC 2021). Each device draws one of several groups by chance. Group i reports a prefix of the
value, of length start + i·step bits, by optimised local hashing
(:mod:`sfumato.local.protocols.olh`); the last group reports all bits. The server decodes candidates
only: all prefixes of the first length, then for each of the best ``width`` prefixes its 2^step
extensions, and so on. Proof of the promise: the group does not depend on the value, and given the
group the report is that of OLH.

People of the last group had no part in choosing the candidates, so the estimate of each candidate
is unbiased; those that stand out from 0 among all last candidates at level α are reported, by the
exact binomial tail (Bonferroni). Because of this choice reported frequencies tend to be too large,
borderline ones most. A value
is found if its prefix survives every round, which values above the noise of a group do; what is not
found may still exist. Standard errors include that the last group is a sample of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.stream import stream
from sfumato.errors import DataError, ParameterError
from sfumato.local.estimate import Estimate
from sfumato.local.protocols import coins
from sfumato.local.protocols.domain import encoded
from sfumato.local.protocols.olh import OLH
from sfumato.local.protocols.protocol import Protocol
from sfumato.local.reports import Field, Reports, same_protocol

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.dp.guarantees import LocalDP
    from sfumato.dp.rounding import Stated

MOST_BITS = 60


@dataclass(frozen=True, init=False, repr=False)
class HeavyHitters(Protocol):
    """Find the frequent ones among 2^bits values."""

    bits: int
    start: int
    step: int
    width: int

    name: ClassVar[str] = "HeavyHitters"

    def __init__(
        self,
        *,
        epsilon: Stated,
        bits: int = 48,
        start: int = 12,
        step: int = 6,
        width: int = 32,
    ) -> None:
        """Take the size of a value in bits, and how prefixes grow."""
        object.__setattr__(self, "epsilon", parameters.budget(epsilon))
        if not 2 <= bits <= MOST_BITS:
            raise ParameterError(f"Heavy hitters have 2 to {MOST_BITS} bits; {bits} were given.")
        if not 1 <= start <= 20 or not 1 <= step <= 12 or not 1 <= width <= 4096:
            raise ParameterError(
                "Prefixes start with 1 to 20 bits, grow by 1 to 12 and are 1 to 4096 in number."
            )
        for name, number in (
            ("bits", bits), ("start", min(start, bits)), ("step", step), ("width", width)
        ):  # fmt: skip
            object.__setattr__(self, name, number)
        coins.refuse_extremes(self.epsilon)
        _ = self.hashing.guarantee

    @property
    def hashing(self) -> OLH:
        """The protocol by which a prefix is reported."""
        return OLH(range(1 << self.bits), epsilon=self.epsilon)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of the prefix that each group reports."""
        return (*range(self.start, self.bits, self.step), self.bits)

    @property
    def guarantee(self) -> LocalDP:
        """The promise of a report, which is that of its hash."""
        return self.hashing.guarantee

    @property
    def fields(self) -> tuple[Field, ...]:
        """The group, and the report of its prefix."""
        return (Field.number("group", len(self.lengths)), *self.hashing.fields)

    def perturb(self, values: Any) -> Reports:
        """Draw a group for each person and report the prefix that it asks for."""
        codes = self._numbers(values)
        lengths = np.array(self.lengths, dtype=np.int64)
        _, halves = coins.split(stream().uint64(codes.size))
        group = coins.below(lengths.size, halves)
        prefixes = codes >> (self.bits - lengths[group.astype(np.int64)])
        hashed = self.hashing.randomize(prefixes)
        return Reports(self, {"group": group.astype(self.fields[0].dtype), **hashed})

    def _numbers(self, values: Any) -> npt.NDArray[np.int64]:
        """Take whole numbers below 2^bits, or texts of at most bits/8 bytes."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            return self.hashing.domain.encode(values)
        plain = values.tolist() if hasattr(values, "tolist") else list(values)
        if plain and all(isinstance(value, str) for value in plain):
            plain = [text_number(value, self.bits) for value in plain]
        return self.hashing.domain.encode(plain)

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:  # noqa: ARG002 - an interface
        """Refuse: which sums are needed depends on the reports themselves."""
        raise ParameterError("Heavy hitters are found from reports; keep them, not sums.")

    def find(self, reports: Reports, *, alpha: float = 0.05, texts: bool = False) -> Estimate:
        """Find the values that stand out, the most frequent first."""
        same_protocol(self, reports.protocol)
        if not 0 < alpha < 1:
            raise ParameterError(f"α (alpha) is above 0 and below 1, and {alpha} was given.")
        candidates = np.arange(1 << self.start, dtype=np.int64)
        for group, length in enumerate(self.lengths):
            hashed = self._of_group(reports, group)
            found = self.hashing.estimate(hashed, candidates=candidates.tolist())
            if length == self.bits:
                return self._standing_out(found, len(reports), alpha=alpha, texts=texts)
            best = np.argsort(-found.frequencies, kind="stable")[: self.width]
            more = self.lengths[group + 1] - length
            tails = np.arange(1 << more, dtype=np.int64)
            candidates = (np.sort(candidates[best])[:, None] << more | tails).reshape(-1)
        raise ArithmeticError("the last group reports all bits")

    def _of_group(self, reports: Reports, group: int) -> Reports:
        rows = reports.payload["group"] == group
        if not rows.any():
            raise DataError(
                f"Group {group} of {len(self.lengths)} sent no report; more people are needed."
            )
        parts = {field.name: reports.payload[field.name][rows] for field in self.hashing.fields}
        return Reports(self.hashing, parts)

    def _standing_out(self, found: Estimate, n: int, *, alpha: float, texts: bool) -> Estimate:
        f = found.unbiased
        kept = np.flatnonzero(f > found.absent_limit(alpha))
        kept = kept[np.argsort(-f[kept], kind="stable")]
        inside = np.clip(f[kept], 0.0, 1.0)
        sampling = inside * (1 - inside) / found.n * (1 - found.n / n)
        numbers = [int(found.values[i]) for i in kept.tolist()]
        return Estimate(
            values=tuple(number_text(v, self.bits) for v in numbers) if texts else tuple(numbers),
            n=n,
            frequencies=f[kept],
            standard_error=np.sqrt(found.standard_error[kept] ** 2 + sampling),
            unbiased=f[kept],
            absent_error=found.absent_error[kept],
            guarantee=self.guarantee,
            absent_support=found.absent_support,
            selected=True,
        )

    def __repr__(self) -> str:
        return (
            f"HeavyHitters(bits={self.bits}, epsilon={float(self.epsilon):.6g}, "
            f"{len(self.lengths)} groups)"
        )


def text_number(text: str, bits: int) -> int:
    """Write a short text as a number: its UTF-8 bytes, padded with zeros at the end."""
    raw = encoded(text)
    room = bits // 8
    if len(raw) > room or b"\0" in raw:
        raise DataError(f"A text of {bits} bits has at most {room} bytes in UTF-8, and no NUL.")
    return int.from_bytes(raw.ljust(room, b"\0"), "big") << (bits % 8)


def number_text(number: int, bits: int) -> str:
    """Read a number as the text it stands for; bytes that are no text are shown as hexadecimal."""
    room = bits // 8
    raw = (number >> (bits % 8)).to_bytes(room, "big").rstrip(b"\0")
    return raw.decode(errors="backslashreplace")
