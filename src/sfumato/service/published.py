"""The ledger's tree as everybody may see it: as it was when the last minute began.

Contract: an entry is appended when a question is charged and when its work ends, and the second
moment depends on rows. So what is public (checkpoints, proofs, certificates) is about the
entries before a moment of a fixed grid: whole minutes, or the longest tick of a dataset if that is
longer. Two who look between two of these moments see the same, whatever was asked. The tree of a
moment is hashed once, in a thread; a proof from it costs no hash.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.govern.certificates.checkpoints import Checkpoint, sign_checkpoint
from sfumato.govern.certificates.merkle import Levels
from sfumato.govern.office.catalogue import list_datasets
from sfumato.govern.office.office import now

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from sfumato.govern.certificates.checkpoints import LedgerTree
    from sfumato.govern.office.office import Office

GRID = 60.0
_MOST = 1000


class PublicTree(NamedTuple):
    """The public tree of a moment."""

    at: datetime
    leaves: list[bytes]
    levels: Levels
    signed: dict[str, Any]


class PublicTreeKeeper:
    """Gives the public tree; safe for threads, and to be called in one."""

    def __init__(self, tree: LedgerTree, office: Office, key: Ed25519PrivateKey) -> None:
        self._tree, self._office, self._key = tree, office, key
        self._lock = threading.Lock()
        self._shown: PublicTree | None = None
        self._made: dict[tuple[Any, ...], dict[str, Any]] = {}

    def grid(self) -> float:
        """Give the seconds between two public moments."""
        return max([GRID, *(listed.facts.tick for listed in list_datasets(self._office))])

    def wait(self) -> int:
        """Give the seconds until the next public moment, rounded up."""
        grid = self.grid()
        return int(grid - now() % grid) + 1

    def shown(self) -> PublicTree:
        """Give the tree as it was at the last public moment."""
        grid = self.grid()
        at = datetime.fromtimestamp(now() // grid * grid, UTC)
        with self._lock:
            leaves = self._tree.leaves(at)
            kept = self._shown
            if kept is not None and kept.at == at and len(kept.leaves) == len(leaves):
                return kept
            same = kept is not None and len(kept.leaves) == len(leaves)
            levels = kept.levels if kept is not None and same else Levels(leaves)
            when = at.isoformat(timespec="seconds")
            signed = sign_checkpoint(Checkpoint(levels.size, levels.root.hex(), when), self._key)
            self._shown = PublicTree(at, leaves, levels, signed)
            return self._shown

    def once(self, what: tuple[Any, ...], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Make something that everybody may ask for once, and give it again."""
        with self._lock:
            if what not in self._made:
                if len(self._made) >= _MOST:
                    self._made.clear()
                self._made[what] = make()
            return self._made[what]
