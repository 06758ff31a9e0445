"""How reports travel: one message of 32 bytes and then the reports, or the same as JSON.

Contract: ``encode`` and ``encode_json`` turn reports into bytes that depend on nothing but the
reports, the address and the nonce, so that any client, in any language, produces the same ones.
A :class:`Reader` takes whatever arrived and never raises on it: every message is either read or
dropped for a named reason, and every report inside is checked against its protocol. Numbers are
little-endian; a bit vector is bits, least significant first; a hash report is its seed and value.
``docs/reference/wire-format.md`` is the specification.

    0  3  the letters SFL             16  8  nonce
    3  1  version of this format      24  4  number of reports
    4  4  key of the survey           28  4  bytes of each report
    8  2  version of the survey       32     the reports, one after the other
   10  6  terms of the survey

A nonce is drawn for every message and for nothing else. It names no person; it lets a collector see
that a message was sent twice, so that a client that heard no answer can safely send it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import DataError
from sfumato.local.reports import Reports, well_formed
from sfumato.local.wire.framing import FORMAT, HEADER, MAGIC, spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from sfumato.local.protocols.protocol import Protocol

NONCE_BYTES = 8
MOST_REPORTS = (1 << 32) - 1


class Reason(StrEnum):
    """Why a report was not taken."""

    MALFORMED = "malformed"
    FORMAT = "unknown format version"
    SURVEY = "another survey"
    VERSION = "another version of the survey"
    TERMS = "other terms"
    RANGE = "out of range"
    DUPLICATE = "sent twice"
    OVERSIZED = "too large"


@dataclass(frozen=True)
class Address:
    """Which survey, in which version and on which terms, a report answers."""

    survey: str
    version: int
    terms: bytes

    @property
    def key(self) -> bytes:
        """The name of the survey in four bytes."""
        return hashlib.sha256(self.survey.encode()).digest()[:4]


@dataclass(frozen=True, eq=False)
class Message:
    """A message that could be read: the rows of good reports, and how many others it had."""

    nonce: bytes
    rows: npt.NDArray[np.void]
    out_of_range: int = 0
    malformed: int = 0


@dataclass(frozen=True)
class Dropped:
    """Reports that were not read, and why; an unreadable message counts as one report."""

    reason: Reason
    reports: int = 1


def new_nonce() -> bytes:
    """Draw the nonce of a message."""
    return stream().bytes(NONCE_BYTES)


def row_type(protocol: Protocol) -> np.dtype[Any]:
    """Give the layout of one report: its fields in order, little-endian, without gaps."""
    return np.dtype(
        [(f.name, np.dtype(f.dtype).newbyteorder("<"), f.shape) for f in protocol.fields]
    )


def encode(reports: Reports, address: Address, *, nonce: bytes | None = None) -> bytes:
    """Write reports as one binary message."""
    refuse_count(len(reports))
    layout = row_type(reports.protocol)
    rows = np.empty(len(reports), dtype=layout)
    for name, part in reports.payload.items():
        rows[name] = part
    mark = new_nonce() if nonce is None else nonce
    head = (MAGIC, FORMAT, address.key, address.version, address.terms, mark)
    return HEADER.pack(*head, len(reports), layout.itemsize) + rows.tobytes()


def refuse_count(reports: int) -> None:
    """Refuse to write a message without reports, or with more than its header can count."""
    if not 0 < reports <= MOST_REPORTS:
        raise DataError(f"A message carries 1 to {MOST_REPORTS} reports, and {reports} were given.")


class Reader:
    """Reads what arrives for one survey; what its reports look like is worked out once."""

    def __init__(self, address: Address, protocol: Protocol) -> None:
        self.address, self.protocol = address, protocol
        self.fields, self.layout = protocol.fields, row_type(protocol)
        self._key = address.key

    def read(self, several: Iterable[bytes | memoryview]) -> list[Message | Dropped]:
        """Read all messages in some pieces of input; never raises on what arrived."""
        return self._checked([found for data in several for found in self._cut(data)])

    def read_each(self, several: Iterable[bytes | memoryview]) -> list[list[Message | Dropped]]:
        """Read all messages of several senders, each by itself; checked all at once."""
        cut = [list(self._cut(data)) for data in several]
        checked = iter(self._checked([found for part in cut for found in part]))
        return [[next(checked) for _ in part] for part in cut]

    def reports(self, rows: npt.NDArray[np.void] | bytes) -> Reports:
        """Give rows as reports, refusing any that the protocol cannot have made."""
        return Reports.of(self.protocol, self._columns(np.frombuffer(rows, dtype=self.layout)))

    def refusal(self, key: bytes, version: int, terms: bytes) -> Reason | None:
        """Say why a message with this address does not belong here, if it does not."""
        if key != self._key:
            return Reason.SURVEY
        if version != self.address.version:
            return Reason.VERSION
        return None if terms == self.address.terms else Reason.TERMS

    def _cut(self, data: bytes | memoryview) -> Iterator[Message | Dropped]:
        from sfumato.local.wire.json_lines import read_line  # noqa: PLC0415 - it builds on this module

        whole = bytes(data)
        nothing = True
        for start, end, _ in spans(whole):
            nothing = False
            if whole[start : start + 1] == b"{":
                yield from read_line(whole[start:end], self)
            else:
                yield self._binary(memoryview(whole)[start:end])
        if nothing:
            yield Dropped(Reason.MALFORMED)

    def _binary(self, view: memoryview) -> Message | Dropped:
        """Read one message, or say why what stands in its place is none."""
        if len(view) < HEADER.size or bytes(view[: len(MAGIC)]) != MAGIC:
            return Dropped(Reason.MALFORMED)
        _, written, key, version, terms, nonce, count, size = HEADER.unpack_from(view)
        if written != FORMAT:
            return Dropped(Reason.FORMAT)
        if not count or not size or HEADER.size + count * size != len(view):
            return Dropped(Reason.MALFORMED)
        refusal = self.refusal(key, version, terms)
        if refusal:
            return Dropped(refusal, count)
        if size != self.layout.itemsize:
            return Dropped(Reason.MALFORMED, count)
        return Message(nonce, np.frombuffer(view[HEADER.size :], dtype=self.layout))

    def _checked(self, found: list[Message | Dropped]) -> list[Message | Dropped]:
        """Keep the rows that the protocol could have made; all messages are checked at once."""
        messages = [one for one in found if isinstance(one, Message)]
        if not messages:
            return found
        rows = np.concatenate([one.rows for one in messages])
        good = well_formed(self.protocol, self._columns(rows))
        ends = np.cumsum([len(one.rows) for one in messages])
        parts = iter(zip(np.split(rows, ends[:-1]), np.split(good, ends[:-1]), strict=True))
        return [self._kept(one, *next(parts)) if isinstance(one, Message) else one for one in found]

    def _kept(
        self, message: Message, rows: npt.NDArray[np.void], good: npt.NDArray[np.bool_]
    ) -> Message:
        bad = int(good.size - good.sum())
        return replace(message, rows=rows[good], out_of_range=message.out_of_range + bad)

    def _columns(self, rows: npt.NDArray[np.void]) -> dict[str, npt.NDArray[Any]]:
        return {field.name: np.array(rows[field.name], dtype=field.dtype) for field in self.fields}
