"""Reports as JSON: readable by a person, one message per line.

Contract: the same message as in :mod:`sfumato.local.wire.messages`, with the keys in this order and
no spaces, so that every client writes the same bytes:

    {"sfumato":1,"survey":"coffee","version":1,"terms":"…","nonce":"…","reports":[{"value":3}]}

A report is an object with one entry per field: a whole number; a string of decimal digits where
the field has 64 bits (other languages lose digits there); the bytes in lower-case hexadecimal where
the field is a bit vector or several numbers. Reading accepts any order and spacing, but no other
type, no missing and no additional entry: what is not exactly a report is counted and dropped.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.wire.framing import FORMAT
from sfumato.local.wire.messages import (
    NONCE_BYTES,
    Address,
    DroppedReports,
    Message,
    Reason,
    new_nonce,
    refuse_count,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sfumato.local.reports import Field, Reports
    from sfumato.local.wire.reader import Reader

_KEYS = {"sfumato", "survey", "version", "terms", "nonce", "reports"}
_BETWEEN = re.compile(r"(?:[ \t\r\n]|\xef\xbb\xbf)*")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")


def encode_json(reports: Reports, address: Address, *, nonce: bytes | None = None) -> bytes:
    """Write reports as one line of JSON, without the line end."""
    refuse_count(len(reports))
    fields = reports.protocol.fields
    columns = [_texts(field, reports.payload[field.name]) for field in fields]
    names = [field.name for field in fields]
    message = {
        "sfumato": FORMAT,
        "survey": address.survey,
        "version": address.version,
        "terms": address.terms.hex(),
        "nonce": (new_nonce() if nonce is None else nonce).hex(),
        "reports": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)],
    }
    return json.dumps(message, separators=(",", ":")).encode()


def in_hexadecimal(field: Field) -> bool:
    """Say whether a field is written as its bytes: a bit vector or several numbers."""
    return field.entries > 1 or field.name == "bits"


def _texts(field: Field, part: npt.NDArray[Any]) -> list[Any]:
    if in_hexadecimal(field):
        rows = np.ascontiguousarray(part, dtype=np.dtype(field.dtype).newbyteorder("<"))
        return [row.tobytes().hex() for row in rows]
    numbers: list[int] = part.tolist()
    return [str(number) for number in numbers] if field.dtype == "uint64" else numbers


def read_line(line: bytes, reader: Reader) -> Iterator[Message | DroppedReports]:
    """Read the messages on a line, mostly one. What the rows say is not judged here.

    Objects follow one another where files were joined that end without a line end.
    """
    # One character per byte, so that places agree; JSON's own signs are the same in UTF-8.
    text, place, ascii_only = line.decode("latin-1"), 0, line.isascii()
    while place < len(text):
        try:
            found, end = _DECODER.raw_decode(text, place)
            if not ascii_only:
                found = _DECODER.decode(line[place:end].decode("utf-8"))
        except (ValueError, RecursionError):
            yield DroppedReports(Reason.MALFORMED)
            return
        yield _read(found, reader)
        between = _BETWEEN.match(text, end)
        place = between.end() if between else end


def _read(found: object, reader: Reader) -> Message | DroppedReports:
    if not isinstance(found, dict):
        return DroppedReports(Reason.MALFORMED)
    if "sfumato" in found and not _is(found["sfumato"], FORMAT):
        return DroppedReports(Reason.FORMAT)
    reports = found.get("reports")
    if set(found) != _KEYS or not isinstance(reports, list) or not reports:
        return DroppedReports(Reason.MALFORMED)
    nonce = _bytes(found["nonce"], NONCE_BYTES)
    if nonce is None:
        return DroppedReports(Reason.MALFORMED, len(reports))
    refusal = _refusal(found, reader.address)
    return DroppedReports(refusal, len(reports)) if refusal else _message(nonce, reports, reader)


def _refuse(text: str) -> None:
    raise ValueError(f"{len(text)} characters are not a whole number")


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_refuse)


def _is(value: object, number: int) -> bool:
    return type(value) is int and value == number


def _refusal(found: dict[str, Any], address: Address) -> Reason | None:
    if found["survey"] != address.survey:
        return Reason.SURVEY
    if not _is(found["version"], address.version):
        return Reason.VERSION
    return None if found["terms"] == address.terms.hex() else Reason.TERMS


def _message(nonce: bytes, reports: list[Any], reader: Reader) -> Message:
    """Take the rows that are written as they must be."""
    read = [_row(reader.fields, report) for report in reports]
    rows = [row for row in read if isinstance(row, bytes)]
    beyond = sum(row is Reason.RANGE for row in read)
    return Message(
        nonce,
        np.frombuffer(b"".join(rows), dtype=reader.layout),
        out_of_range=beyond,
        malformed=len(read) - len(rows) - beyond,
    )


def _row(fields: tuple[Field, ...], report: object) -> bytes | Reason:
    if not isinstance(report, dict) or report.keys() != {field.name for field in fields}:
        return Reason.MALFORMED
    row = b""
    for field in fields:
        part = _part(field, report[field.name])
        if isinstance(part, Reason):
            return part
        row += part
    return row


def _part(field: Field, value: object) -> bytes | Reason:
    """Read one entry as bytes, or say why it is not written as a client writes it."""
    if in_hexadecimal(field):
        return _bytes(value, field.bits // 8) or Reason.MALFORMED
    if field.dtype == "uint64":
        if not isinstance(value, str) or not _DECIMAL.fullmatch(value):
            return Reason.MALFORMED
        value = int(value)
    if type(value) is not int:
        return Reason.MALFORMED
    return value.to_bytes(field.bits // 8, "little") if 0 <= value < field.bound else Reason.RANGE


def _bytes(value: object, count: int) -> bytes | None:
    """Read lower-case hexadecimal of a known length."""
    if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{2 * count}}}", value):
        return None
    return bytes.fromhex(value)
