"""Files of reports: messages one after the other, read without holding them all.

Contract: ``write_messages`` writes reports as messages of at most ``TOGETHER`` people each, and the
file appears whole or not at all. ``pieces`` gives back one message at a time, for a collector;
files may be joined end to end. It judges nothing: what cannot be cut into messages is handed on as
it is, for the collector to count and drop.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import DataError, OutputError
from sfumato.local.wire.framing import spans
from sfumato.local.wire.json_lines import encode_json
from sfumato.local.wire.messages import Address, encode, new_nonce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from sfumato.local.reports import Reports

TOGETHER = 1 << 14
"""People in one message of a file."""

LONGEST = 1 << 26
"""Bytes of one message at most; a longer one is not read further."""


AT_ONCE = 1 << 20
"""Bytes read from a file at least."""


def write_messages(
    path: str | Path, reports: Reports, address: Address, *, as_json: bool = False
) -> None:
    """Write reports to a file."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{new_nonce().hex()}")
    try:
        try:
            with beside.open("xb") as file:
                for part in reports.batches(TOGETHER):
                    line = encode_json(part, address) + b"\n" if as_json else encode(part, address)
                    file.write(line)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written ({error.strerror}); choose a folder that exists and may "
            "be written to."
        ) from None


def pieces(path: str | Path) -> Iterator[bytes]:
    """Read a file message by message."""
    try:
        with Path(path).open("rb") as file:
            yield from _cut(file)
    except OSError as error:
        raise _unreadable(path, error) from None


def refuse_unreadable(path: str | Path) -> None:
    """Refuse a file that cannot be opened."""
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str | Path, error: OSError) -> DataError:
    return DataError(f"Reports {path} cannot be read ({error.strerror}).")


def _cut(file: BinaryIO) -> Iterator[bytes]:
    """Cut what was read so far; what touches its end may go on, and waits for more."""
    held = b""
    while True:
        more = file.read(max(AT_ONCE, len(held)))
        held += more
        used = 0
        for start, end, wanted in spans(held):
            if more and max(end, wanted) >= len(held) and len(held) - start <= LONGEST:
                break
            yield held[start:end]
            used = end
        if not more:
            return
        held = held[used:]
