"""Entries of the ledger, each chained by a hash to the one before.

Contract: an :class:`Entry` has one canonical text: JSON with sorted keys, no spaces and ASCII
only. Its hash is the SHA-256 of that text, which contains the hash of the entry before. So no
entry can be changed, removed, inserted or moved without changing every hash after it, and
whoever noted the last hash elsewhere can tell (Haber and Stornetta, J. Cryptology 1991). The chain
has no secret: somebody who may write to the database can rewrite it whole, and only a noted hash
gives that away.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

GENESIS = "0" * 64
"""What stands for the hash before the first entry."""

CHARGED, ANSWERED, FAILED, REPEATED = "charged", "answered", "failed", "repeated"
REGISTERED, AMENDED, BLOCK_ADDED = "registered", "amended", "block-added"
_HALF = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)
RESERVED = frozenset({CHARGED, ANSWERED, FAILED, REPEATED, REGISTERED, AMENDED, BLOCK_ADDED})
"""Kinds that only the ledger itself writes."""


@dataclass(frozen=True)
class Entry(Shown):
    """One line of the ledger."""

    kind: str
    number: int = 0
    time: str = ""
    dataset: str | None = None
    blocks: tuple[str, ...] = ()
    analyst: str | None = None
    purpose: str | None = None
    fingerprint: str | None = None
    question: str | None = None
    guarantee: str | None = None
    cost: dict[str, str] | None = None
    refers: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    previous: str = GENESIS
    hash: str = ""

    def placed(self, number: int, previous: str) -> Entry:
        """Give this entry its place in the chain, the time and its hash."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        fields = {**vars(self), "number": number, "previous": previous, "time": now}
        return Entry(**{**fields, "hash": _digest(fields)})

    def digest(self) -> str:
        """Compute the hash from everything else in the entry."""
        return _digest(vars(self))


def _digest(fields: dict[str, Any]) -> str:
    told = {name: value for name, value in fields.items() if name != "hash"}
    return hashlib.sha256(canonical(told).encode("ascii")).hexdigest()


def canonical(value: Any) -> str:
    """Write a value of plain JSON in its one canonical form."""
    return _ENCODER.encode(value)


def key_of(question: str) -> str:
    """Give the key under which the answer to a canonical question is found."""
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()


def joined(questions: Sequence[str]) -> str:
    """Write several questions that are charged together as one text."""
    return canonical(list(questions))


def parts_of(question: str, count: int) -> tuple[str, ...]:
    """Read the questions of a charge that has so many answers."""
    if count == 1:
        return (question,)
    return tuple(json.loads(question))


def check_text(text: str) -> None:
    """Refuse a text that a database cannot keep."""
    if "\0" in text or (not text.isascii() and _HALF.search(text)):
        raise ParameterError(
            "A text for the ledger holds a character that cannot be kept: a NUL or half of a "
            "surrogate pair."
        )
