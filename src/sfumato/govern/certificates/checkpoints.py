"""Checkpoints: the size and root of a ledger's tree at a moment, signed.

Contract: whoever keeps a checkpoint can later ask for a proof that the ledger only grew; a later
one of fewer entries, or one of as many with another root, shows that it was rolled back.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from sfumato.errors import ParameterError, PromiseBroken
from sfumato.govern.certificates import merkle
from sfumato.govern.certificates.envelope import opened, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    from sfumato.govern.ledger.connection import Store

KIND = "application/vnd.sfumato.checkpoint+json"
_HASHES = text("SELECT hash, time FROM sfumato_entries WHERE number > :after ORDER BY number")


@dataclass(frozen=True)
class Checkpoint:
    """How many entries a ledger had, the root over them, and when."""

    size: int
    root: str
    time: str


class Tree:
    """The leaves of a ledger, read as they come; safe for threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._leaves: list[bytes] = []
        self._times: list[str] = []
        self._lock = threading.Lock()

    def leaves(self, until: datetime | None = None) -> list[bytes]:
        """Read the leaves, those that are new from the ledger; those before a moment, or all."""
        with self._lock:
            with self._store.reading() as connection:
                rows = connection.execute(_HASHES, {"after": len(self._leaves)})
                for found, time in rows:
                    self._leaves.append(merkle.leaf_of(found))
                    self._times.append(max(time, self._times[-1] if self._times else ""))
            if until is None:
                return list(self._leaves)
            moment = until.astimezone(UTC).isoformat(timespec="microseconds")
            return self._leaves[: bisect_left(self._times, moment)]


def make_checkpoint(leaves: list[bytes], at: datetime | None = None) -> Checkpoint:
    """State size and root of a tree, as it is now or was at a moment."""
    when = (at or datetime.now(UTC)).isoformat(timespec="seconds")
    return Checkpoint(len(leaves), merkle.root(leaves).hex(), when)


def sign_checkpoint(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> dict[str, Any]:
    """Sign a checkpoint."""
    return sign(KIND, asdict(checkpoint), key)


def read_checkpoint(envelope: Any, keys: Mapping[str, Ed25519PublicKey]) -> Checkpoint:
    """Check and read a signed checkpoint."""
    content = opened(envelope, KIND, keys)
    try:
        found = Checkpoint(**content)
        datetime.fromisoformat(found.time)
        bytes.fromhex(found.root)
    except (TypeError, ValueError):
        raise PromiseBroken("The checkpoint does not say what a checkpoint says.") from None
    return found


def compare_checkpoints(noted: Checkpoint, found: Checkpoint) -> None:
    """Refuse a checkpoint that shows, beside one noted elsewhere, that entries were cut off."""
    if noted.size == found.size and noted.root != found.root:
        raise PromiseBroken(
            f"Both checkpoints are of {found.size:,} entries and have other roots: the ledger was "
            "rewritten."
        )
    later = datetime.fromisoformat(found.time) > datetime.fromisoformat(noted.time)
    if later and found.size < noted.size:
        raise PromiseBroken(
            f"The checkpoint of {found.time} is of {found.size:,} entries, and an earlier one is "
            f"of {noted.size:,}: the ledger was rolled back."
        )


def prove(leaves: list[bytes], number: int) -> list[str]:
    """Prove that the entry with a number is in the tree."""
    if not 1 <= number <= len(leaves):
        raise ParameterError(f"The ledger has no entry {number}; it has {len(leaves):,}.")
    return [step.hex() for step in merkle.inclusion(leaves, number - 1)]
