"""Read what arrives for one survey: binary messages and lines of JSON, in any mixture.

Contract: a :class:`Reader` never raises on what arrived. Every message is either read or dropped
for a named reason, and every report inside is checked against its protocol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.reports import Reports, well_formed
from sfumato.local.wire.framing import FORMAT, HEADER, MAGIC, spans
from sfumato.local.wire.json_lines import read_line
from sfumato.local.wire.messages import Address, DroppedReports, Message, Reason, row_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from sfumato.local.protocols.protocol import Protocol


class Reader:
    """Reads what arrives for one survey; what its reports look like is worked out once."""

    def __init__(self, address: Address, protocol: Protocol) -> None:
        self.address, self.protocol = address, protocol
        self.fields, self.layout = protocol.fields, row_type(protocol)
        self._key = address.key

    def read(self, several: Iterable[bytes | memoryview]) -> list[Message | DroppedReports]:
        """Read all messages in some pieces of input; never raises on what arrived."""
        return self._checked([found for data in several for found in self._cut(data)])

    def read_each(
        self, several: Iterable[bytes | memoryview]
    ) -> list[list[Message | DroppedReports]]:
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

    def _cut(self, data: bytes | memoryview) -> Iterator[Message | DroppedReports]:
        whole = bytes(data)
        nothing = True
        for start, end, _ in spans(whole):
            nothing = False
            if whole[start : start + 1] == b"{":
                yield from read_line(whole[start:end], self)
            else:
                yield self._binary(memoryview(whole)[start:end])
        if nothing:
            yield DroppedReports(Reason.MALFORMED)

    def _binary(self, view: memoryview) -> Message | DroppedReports:
        """Read one message, or say why what stands in its place is none."""
        if len(view) < HEADER.size or bytes(view[: len(MAGIC)]) != MAGIC:
            return DroppedReports(Reason.MALFORMED)
        _, written, key, version, terms, nonce, count, size = HEADER.unpack_from(view)
        if written != FORMAT:
            return DroppedReports(Reason.FORMAT)
        if not count or not size or HEADER.size + count * size != len(view):
            return DroppedReports(Reason.MALFORMED)
        refusal = self.refusal(key, version, terms)
        if refusal:
            return DroppedReports(refusal, count)
        if size != self.layout.itemsize:
            return DroppedReports(Reason.MALFORMED, count)
        return Message(nonce, np.frombuffer(view[HEADER.size :], dtype=self.layout))

    def _checked(self, found: list[Message | DroppedReports]) -> list[Message | DroppedReports]:
        """Keep the rows that the protocol could have made; all messages are checked at once."""
        messages = [message for message in found if isinstance(message, Message)]
        if not messages:
            return found
        rows = np.concatenate([message.rows for message in messages])
        good = well_formed(self.protocol, self._columns(rows))
        if good.all():
            return found
        ends = np.cumsum([len(message.rows) for message in messages])
        parts = iter(zip(np.split(rows, ends[:-1]), np.split(good, ends[:-1]), strict=True))
        return [
            self._kept(message, *next(parts)) if isinstance(message, Message) else message
            for message in found
        ]

    def _kept(
        self, message: Message, rows: npt.NDArray[np.void], good: npt.NDArray[np.bool_]
    ) -> Message:
        bad = int(good.size - good.sum())
        return replace(message, rows=rows[good], out_of_range=message.out_of_range + bad)

    def _columns(self, rows: npt.NDArray[np.void]) -> dict[str, npt.NDArray[Any]]:
        return {field.name: np.array(rows[field.name], dtype=field.dtype) for field in self.fields}
