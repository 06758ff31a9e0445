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
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import DataError
from sfumato.local.wire.framing import FORMAT, HEADER, MAGIC

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.local.protocols.protocol import Protocol
    from sfumato.local.reports import Reports

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
class DroppedReports:
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
