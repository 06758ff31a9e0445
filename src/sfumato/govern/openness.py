"""Openness: what everybody may know of what is held, why, and under which guarantees.

Contract: everything here is public: the owner's rules, what was spent of the limit for all, the
releases that were published, and the mistakes that are known. No analyst is named, and no answer.
(The openness principle of the OECD's guidelines; articles 13 and 14 of the GDPR ask for as much.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.dp.accounting.filters import left, total
from sfumato.govern.limits import in_short
from sfumato.govern.office.catalogue import list_datasets, list_mistakes
from sfumato.govern.office.releases import list_releases
from sfumato.govern.policies import amount_of

if TYPE_CHECKING:
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.ledger.registrations import Registration
    from sfumato.govern.office.catalogue import CatalogueEntry
    from sfumato.govern.office.office import Office


@dataclass(frozen=True)
class HeldDataset:
    """What everybody may know of one dataset."""

    listed: CatalogueEntry
    registration: Registration
    limit: str
    spent: str
    remaining: str
    share: float
    releases: tuple[dict[str, Any], ...]
    mistakes: tuple[dict[str, Any], ...]

    @property
    def purposes(self) -> tuple[str, ...]:
        """What it may be used for."""
        return self.registration.purposes


def list_held(office: Office, ledger: Ledger) -> list[HeldDataset]:
    """List what is held, for everybody."""
    return [held for listed in list_datasets(office) if (held := tell_held(office, ledger, listed))]


def tell_held(office: Office, ledger: Ledger, listed: CatalogueEntry) -> HeldDataset | None:
    """Tell what everybody may know of a dataset; None where it is not registered."""
    if ledger.registration(listed.name) is None:
        return None
    now = ledger.snapshot(listed.name, "")
    limit, spent = next((allowed, used) for (_, scope, _), allowed, used in now.limits()
                        if scope == "dataset")  # fmt: skip
    used, whole = total(limit, spent), amount_of(limit)
    return HeldDataset(
        listed,
        now.registration,
        in_short(limit),
        in_short(used),
        in_short(left(limit, spent)),
        min(float(amount_of(used) / whole), 1.0) if whole else 1.0,
        tuple(list_releases(office, listed.name)),
        tuple(list_mistakes(office, listed.name)),
    )
