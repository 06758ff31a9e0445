"""Where messages begin and end in a stream of bytes.

Contract: ``spans`` cuts input into pieces: a binary message, a line of JSON messages, or something
unreadable, which lasts up to the next place where a message may begin. Messages of both forms may
follow one another with or without spaces, line ends and byte-order marks between them, as they do
in files that were joined. It judges nothing beyond lengths.

The work is linear in the input, whoever wrote it: a line of JSON ends before the letters and the
version that begin a binary message, because no JSON text has a byte 1 in it.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"SFL"
FORMAT = 1

HEADER = struct.Struct("<3sB4sH6s8sII")
"""Letters, format version, survey key, survey version, terms, nonce, number of reports, bytes of
each."""

_BETWEEN = re.compile(rb"(?:[ \t\r\n]|\xef\xbb\xbf)*")
_LINE_END = re.compile(rb"\n|SFL\x01")
_BEGINNING = re.compile(rb'SFL\x01|\{"sfumato"|(?<=\n)\{"')


_AHEAD = 16
"""Bytes after a message that tell whether it is whole."""


class Span(NamedTuple):
    """A piece of input, and up to where input is needed to judge it."""

    start: int
    end: int
    wanted: int


def spans(data: bytes) -> Iterator[Span]:
    """Cut input into messages, lines of JSON, and what is neither."""
    place = _skip(data, 0)
    while place < len(data):
        found = _line(data, place) if data[place : place + 1] == b"{" else _binary(data, place)
        yield found
        place = _skip(data, found.end)


def _skip(data: bytes, place: int) -> int:
    between = _BETWEEN.match(data, place)
    return between.end() if between else place


def _line(data: bytes, place: int) -> Span:
    ending = _LINE_END.search(data, place)
    end = ending.start() if ending else len(data)
    return Span(place, end, end)


def _torn(data: bytes, place: int, end: int) -> bool:
    """Say whether a message broke off and its length takes in the beginning of the next one."""
    after = _skip(data, end)
    if after == len(data) or data[after : after + 1] == b"{" or data.startswith(MAGIC, after):
        return False
    inside = _BEGINNING.search(data, place + HEADER.size)
    return inside is not None and inside.start() < end


def _binary(data: bytes, place: int) -> Span:
    begins = data[place : place + len(MAGIC) + 1] == MAGIC + bytes([FORMAT])
    if begins and len(data) - place >= HEADER.size:
        *_, count, size = HEADER.unpack_from(data, place)
        wanted = place + HEADER.size + count * size
        if count and size and wanted <= len(data) and not _torn(data, place, wanted):
            return Span(place, wanted, wanted + _AHEAD)
    else:
        wanted = place + HEADER.size if begins else place
    following = _BEGINNING.search(data, place + 1)
    return Span(place, following.start() if following else len(data), wanted)
