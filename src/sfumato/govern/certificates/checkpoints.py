"""Checkpoints: the size and root of a ledger's tree at a moment, signed.

Contract: whoever keeps a checkpoint can later ask for a proof that the ledger only grew. Without
that proof two checkpoints of different sizes say nothing about each other: a ledger that was cut
and has grown again has more entries, too.
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


class LedgerTree:
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


def compare_checkpoints(noted: Checkpoint, found: Checkpoint, growth: Any = None) -> None:
    """Refuse a checkpoint that does not prove, beside one noted elsewhere, that entries only came.

    ``growth`` is the proof for their sizes, as ``/api/v1/ledger/growth/{size}?to={size}`` gives it.
    """
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
    if noted.size != found.size:
        old, new = sorted((noted, found), key=lambda checkpoint: checkpoint.size)
        _check_growth(old, new, growth)


def _check_growth(old: Checkpoint, new: Checkpoint, growth: Any) -> None:
    if growth is None:
        raise ParameterError(
            f"The checkpoints are of {old.size:,} and {new.size:,} entries; that nothing was cut "
            "off between them needs a proof: get /api/v1/ledger/growth/"
            f"{old.size}?to={new.size} from the office, and give the file with --growth."
        )
    try:
        sizes = (growth["size"], growth["to"])
        path = [bytes.fromhex(step) for step in growth["proof"]]
    except (KeyError, TypeError, ValueError):
        raise PromiseBroken("The proof of growth does not say what such a proof says.") from None
    if sizes != (old.size, new.size):
        raise PromiseBroken(
            f"The proof of growth is for {sizes[0]} and {sizes[1]} entries, and the checkpoints "
            f"are of {old.size:,} and {new.size:,}."
        )
    roots = bytes.fromhex(old.root), bytes.fromhex(new.root)
    if not merkle.is_extension(roots[0], old.size, roots[1], new.size, path):
        raise PromiseBroken(
            f"The ledger of {new.size:,} entries does not begin with the {old.size:,} that were "
            "noted: entries were cut off or rewritten."
        )


def prove(leaves: list[bytes], number: int) -> list[str]:
    """Prove that the entry with a number is in the tree."""
    if not 1 <= number <= len(leaves):
        raise ParameterError(f"The ledger has no entry {number}; it has {len(leaves):,}.")
    return [step.hex() for step in merkle.inclusion(leaves, number - 1)]
