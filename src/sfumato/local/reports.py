"""What people sent: perturbed reports in compact arrays, and their sums.

Contract: :class:`Reports` holds the reports of some people under one protocol, as arrays with one
row per person and nothing else (no order of arrival beyond the rows, no identity). They concatenate
(``+``, :meth:`Reports.concatenate`), slice and come in batches. :class:`Aggregate` is what the
server needs to keep: the number of people and whole-number sums. Sums add exactly, so
``aggregate(a + b) == aggregate(a) + aggregate(b)`` and a collector can restart from what it stored.

A protocol describes its arrays by :class:`Field`: a name, a type, how many entries a row has and
below which bound every entry lies. Reports from outside are checked against it
(:meth:`Reports.of`); :func:`well_formed` says which rows pass, so that a collector can drop the
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import DataError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from sfumato.local.protocols.protocol import Protocol


@dataclass(frozen=True)
class Field(Shown):
    """One array of a report: ``entries`` numbers of a type per person, each below ``bound``."""

    name: str
    dtype: str
    entries: int
    bound: int

    @classmethod
    def number(cls, name: str, bound: int) -> Field:
        """Describe one number below a bound, in the smallest type that holds it."""
        for dtype, limit in (("uint8", 1 << 8), ("uint16", 1 << 16), ("uint32", 1 << 32)):
            if bound <= limit:
                return cls(name, dtype, 1, bound)
        return cls(name, "uint64", 1, bound)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row; a single number is not wrapped."""
        return () if self.entries == 1 else (self.entries,)

    @property
    def bits(self) -> int:
        """Bits of one row as sent."""
        return 8 * np.dtype(self.dtype).itemsize * self.entries


@dataclass(frozen=True, eq=False)
class Reports(Shown):
    """Perturbed reports under one protocol; make them by ``perturb`` or :meth:`of`."""

    protocol: Protocol
    payload: Mapping[str, npt.NDArray[Any]]

    @classmethod
    def of(cls, protocol: Protocol, payload: Mapping[str, Any]) -> Reports:
        """Take reports from outside, refusing any that the protocol cannot have made."""
        arrays = _arrays(protocol, payload)
        bad = int((~well_formed(protocol, arrays)).sum())
        if bad:
            raise DataError(
                f"{bad} reports are malformed for {protocol.name}: a number is out of range or an "
                "unused bit is set. Keep the rows that well_formed() accepts."
            )
        return cls(protocol, arrays)

    @classmethod
    def empty(cls, protocol: Protocol) -> Reports:
        """Give no reports at all, to start a sum from."""
        return cls(
            protocol,
            {field.name: np.zeros((0, *field.shape), field.dtype) for field in protocol.fields},
        )

    @classmethod
    def concatenate(cls, parts: Iterable[Reports]) -> Reports:
        """Put reports under one protocol one after the other."""
        several = list(parts)
        if not several:
            raise DataError("There are no reports to concatenate.")
        protocol = several[0].protocol
        for part in several[1:]:
            same_protocol(protocol, part.protocol)
        names = [field.name for field in protocol.fields]
        return cls(protocol, {n: np.concatenate([p.payload[n] for p in several]) for n in names})

    def __len__(self) -> int:
        return len(self.payload[self.protocol.fields[0].name])

    def __add__(self, other: Reports) -> Reports:
        if not isinstance(other, Reports):
            return NotImplemented
        return Reports.concatenate([self, other])

    def __getitem__(self, rows: slice | npt.NDArray[Any]) -> Reports:
        """Select people by a slice, a mask or row numbers."""
        return Reports(self.protocol, {name: part[rows] for name, part in self.payload.items()})

    def batches(self, size: int) -> Iterator[Reports]:
        """Cut into batches of at most ``size`` people."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    @property
    def nbytes(self) -> int:
        """Memory held by the reports."""
        return sum(part.nbytes for part in self.payload.values())

    def __repr__(self) -> str:
        return f"Reports of {len(self):,} people under {self.protocol.name}"


@dataclass(frozen=True, eq=False)
class Aggregate(Shown):
    """Sums over the reports of ``n`` people: all that an estimate needs."""

    protocol: Protocol
    n: int
    sums: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        sums = np.ascontiguousarray(self.sums, dtype=np.int64)
        if sums is self.sums and sums.flags.writeable:
            sums = sums.view()
        sums.flags.writeable = False
        object.__setattr__(self, "sums", sums)

    def __add__(self, other: Aggregate) -> Aggregate:
        if not isinstance(other, Aggregate):
            return NotImplemented
        same_protocol(self.protocol, other.protocol)
        return Aggregate(self.protocol, self.n + other.n, self.sums + other.sums)

    def __radd__(self, other: object) -> Aggregate:
        return self if other == 0 else NotImplemented  # lets sum() start from 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Aggregate)
            and (self.protocol, self.n) == (other.protocol, other.n)
            and bool(np.array_equal(self.sums, other.sums))
        )

    __hash__ = None  # type: ignore[assignment]  # sums are arrays

    def __repr__(self) -> str:
        return f"Aggregate of {self.n:,} people under {self.protocol.name}"


def well_formed(protocol: Protocol, payload: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    """Say for every row whether the protocol could have made it."""
    arrays = _arrays(protocol, payload)
    good = np.ones(len(arrays[protocol.fields[0].name]), dtype=np.bool_)
    for field in protocol.fields:
        array = arrays[field.name]
        if field.bound <= np.iinfo(array.dtype).max:
            fits = array < np.asarray(field.bound, dtype=array.dtype)
            good &= fits if array.ndim == 1 else fits.all(axis=1)
    good &= protocol.plausible(arrays)
    return good


def same_protocol(first: Protocol, second: Protocol) -> None:
    """Refuse to mix what was reported under different promises or domains."""
    if first != second:
        raise DataError(
            f"Reports under {first!r} and {second!r} cannot be put together; estimate them apart."
        )


def _arrays(protocol: Protocol, payload: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    names = [field.name for field in protocol.fields]
    if set(payload) != set(names):
        raise DataError(
            f"Reports under {protocol.name} consist of {', '.join(names)}; other parts were given."
        )
    arrays = {}
    for field in protocol.fields:
        array = np.asarray(payload[field.name])
        if array.dtype != np.dtype(field.dtype) or array.shape[1:] != field.shape or not array.ndim:
            raise DataError(
                f"The part {field.name} of a report under {protocol.name} is {field.entries} × "
                f"{field.dtype} per person; {array.dtype.name} of shape {array.shape} was given."
            )
        arrays[field.name] = array
    if len({len(array) for array in arrays.values()}) > 1:
        raise DataError("The parts of reports have one row per person, and their lengths differ.")
    return arrays
