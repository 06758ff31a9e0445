"""A ledger that nothing is written to until a first question has proved to be one.

Contract: :class:`TentativeLedger` stands before the ledger at a place, which need not exist yet.
What is registered, and charged to see whether it would fit, stays in memory; what others have
registered is read from the place. :meth:`TentativeLedger.keep` registers at the place what was
registered here, and from then on this is the ledger at that place. Totals are never carried over,
so nothing may be answered before. :class:`~sfumato.govern.spending.Spending` keeps it as soon as a
first plan has proved to fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from sfumato.errors import GovernanceError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.ledger.registrations import check_other_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from sfumato.govern.ledger.chain import Entry
    from sfumato.govern.ledger.charges import Receipt
    from sfumato.govern.ledger.registrations import Registration


class TentativeLedger(Ledger):
    """A ledger in memory before another, until it is kept."""

    def __init__(self, place: str) -> None:
        super().__init__(None)
        self._at = place
        self._behind = Ledger(place) if "://" in place or Path(place).exists() else None
        self._steps: list[Callable[[Ledger], None]] = []
        self.pending = True

    @classmethod
    def before(cls, place: str, dataset: str) -> Self:
        """Stand before the ledger at a place; where that knows the dataset, be it at once."""
        made = cls(place)
        if made.registration(dataset) is not None:
            made.keep()
        return made

    @property
    def is_new(self) -> bool:
        """Whether there is nothing yet at the place."""
        return self.pending and self._behind is None

    def registration(self, dataset: str) -> Registration | None:
        """Read what the owner of a dataset fixed, here or at the place."""
        found = super().registration(dataset)
        if found is None and self.pending and self._behind is not None:
            return self._behind.registration(dataset)
        return found

    def entries(self, dataset: str | None = None, *, last: int | None = None) -> list[Entry]:
        """Read the entries of the place, and those that are here alone."""
        found = super().entries(dataset, last=last)
        if self.pending and self._behind is not None:
            return [*self._behind.entries(dataset, last=last), *found]
        return found

    def register(
        self,
        registration: Registration,
        *,
        salt: bytes | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """Register a dataset, here until this ledger is kept."""
        if self.pending and self._behind is not None:
            check_other_names(registration.dataset, self._behind.names())
        super().register(registration, salt=salt, fingerprint=fingerprint)
        self._steps.append(lambda kept: kept.register(registration, salt=salt,
                                                      fingerprint=fingerprint))  # fmt: skip

    def add_block(self, dataset: str, block: str, *, fingerprint: str | None = None) -> None:
        """Add a block, here until this ledger is kept."""
        super().add_block(dataset, block, fingerprint=fingerprint)
        self._steps.append(lambda kept: kept.add_block(dataset, block, fingerprint=fingerprint))

    def settle(
        self,
        receipt: Receipt,
        *answers: str,
        beside: Callable[[Connection], None] | None = None,
    ) -> None:
        """Record an answer; there is none before this ledger is kept."""
        if self.pending:
            raise GovernanceError("Nothing is answered before the dataset is registered.")
        super().settle(receipt, *answers, beside=beside)

    def keep(self) -> None:
        """Register at the place what was registered here, and be the ledger of that place."""
        if not self.pending:
            return
        kept = self._behind or Ledger(self._at)
        self._behind = kept
        try:
            for step in self._steps:
                step(kept)
        except GovernanceError:
            raise GovernanceError(
                "Somebody else registered this dataset at the same moment; nothing was spent. Ask "
                "again: what is registered now holds."
            ) from None
        self._store.close()
        self._store, self.pending = kept._store, False  # noqa: SLF001 - of the same class

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._behind is not None:
            self._behind.close()
