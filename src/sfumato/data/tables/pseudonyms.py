"""Keyed pseudonyms: one lasting name for each person, told by nobody without the key.

A pseudonym is the beginning of HMAC-SHA-256 (Bellare, Canetti and Krawczyk, 1996) over the
value, under a key derived for its attribute, written in base 32. The same key gives the same
person the same pseudonym in every batch, so records can be joined over time; without the
key neither the value nor a guess at it can be checked.

Contract: the key lies in a file of its own with permissions for its owner only, and never
in a release. Two values never share a pseudonym in one call: if the short form cannot
tell them apart, that is an error, not a merged person. A missing cell stays missing.
A pseudonym hides who somebody is, not what the rest of the record tells: whoever holds the
key can undo it, so in law the data stays personal.
"""

from __future__ import annotations

import base64
import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.errors import DataError, OutputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEY_BYTES = 32
SHORT = 16
"""Characters of a pseudonym: 80 bits, so among a million people the odds of a clash are
below one in 10¹²."""

LONGEST = 51
"""Characters that the 256 bits of the HMAC fill."""

_HEADER = "sfumato pseudonym key v1"


def create_key(path: str | Path) -> bytes:
    """Make a random key in a new file that only its owner may read; return the key."""
    key = os.urandom(KEY_BYTES)
    text = f"{_HEADER}\n{key.hex()}\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise DataError(
            f"{path} exists already; a key is never overwritten, because the pseudonyms made "
            "with it could not be made again. Use it, or choose another name."
        ) from None
    except OSError as error:
        raise OutputError(
            f"The key {path} cannot be written ({error.strerror}); choose a folder that exists "
            "and may be written to."
        ) from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return key


def read_key(path: str | Path) -> bytes:
    """Return the key in a file made by `create_key`, if only its owner may read it."""
    path = Path(path)
    try:
        open_to_others = path.stat().st_mode & 0o077
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        raise DataError(
            f"The key {path} does not exist; make one with `create_key`, and keep it: only with "
            "the same key does a person keep the same pseudonym."
        ) from None
    except OSError as error:
        raise DataError(f"The key {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        text = ""
    if open_to_others and os.name == "posix":
        raise DataError(
            f"The key {path} may be read by others than its owner; run `chmod 600 {path}` and "
            "consider whether it is still secret."
        )
    return _parsed(text, path)


def _parsed(text: str, path: Path) -> bytes:
    lines = text.split()
    try:
        key = bytes.fromhex(lines[-1]) if " ".join(lines[:-1]) == _HEADER else b""
    except (IndexError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise DataError(
            f"{path} is not a pseudonym key; it must hold the line '{_HEADER}' and "
            f"{2 * KEY_BYTES} hexadecimal digits, as `create_key` writes them."
        )
    return key


def key_beside(path: str | Path, release_folder: str | Path) -> bytes:
    """Return the key in a file, made if it does not exist, outside the release's folder."""
    if Path(path).resolve().is_relative_to(Path(release_folder).resolve()):
        raise ParameterError(
            f"The key {path} would lie in the release's folder {release_folder}; keep it apart, "
            "because whoever has both can undo the pseudonyms."
        )
    return read_key(path) if Path(path).exists() else create_key(path)


def pseudonyms(
    values: Iterable[str], key: bytes, attribute: str, *, length: int = SHORT
) -> list[str]:
    """Return a pseudonym for each value; equal values get equal ones, in every batch."""
    if len(key) < KEY_BYTES:
        raise ParameterError(
            f"A pseudonym key must have at least {KEY_BYTES} bytes, but {len(key)} were given; "
            "make one with `create_key`."
        )
    if not 8 <= length <= LONGEST:
        raise ParameterError(
            f"The length of a pseudonym must be from 8 to {LONGEST} characters, not {length}."
        )
    cells = list(values)
    distinct = [cell for cell in dict.fromkeys(cells) if cell != MISSING]
    made = dict(zip(distinct, _made(distinct, key, attribute, length), strict=True))
    if len(set(made.values())) < len(made):
        raise ParameterError(
            f"Two values of attribute '{attribute}' would share a pseudonym of {length} "
            f"characters; ask for more, up to {LONGEST}."
        )
    return [made.get(cell, MISSING) for cell in cells]


def _made(distinct: Sequence[str], key: bytes, attribute: str, length: int) -> list[str]:
    """Return the pseudonyms; each attribute has a key of its own, derived from the one given."""
    own = hmac.digest(key, attribute.encode(), "sha256")
    blocks = -(-length * 5 // 40)  # base 32 writes five bytes as eight characters
    parts = [hmac.digest(own, _bytes(value), "sha256").ljust(35, b"\0") for value in distinct]
    text = base64.b32encode(b"".join(part[: 5 * blocks] for part in parts)).decode("ascii").lower()
    return [text[at : at + length] for at in range(0, len(text), 8 * blocks)]


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
