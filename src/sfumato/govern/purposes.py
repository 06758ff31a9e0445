"""Purpose specification and use limitation: data serve the purposes they were registered for.

Contract: a dataset that names purposes answers questions that state one of them. A dataset that
names none answers questions that state none; a question that states a purpose nobody named is
refused there, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import PurposeRefused

if TYPE_CHECKING:
    from collections.abc import Sequence


def purpose_for(dataset: str, named: Sequence[str], wanted: str | None) -> str | None:
    """Choose the purpose of a use: the dataset's only one when none is stated; refuse others."""
    chosen = named[0] if wanted is None and len(named) == 1 else wanted
    check_purpose(dataset, named, chosen)
    return chosen


def check_purpose(dataset: str, named: Sequence[str], purpose: str | None) -> None:
    """Refuse a purpose that the dataset does not name."""
    if (purpose or "") in (named or ("",)):
        return
    allowed = f"it names {', '.join(map(repr, named))}" if named else "it names none"
    given = f"{purpose!r} was given" if purpose else "none was given"
    raise PurposeRefused(
        f"The dataset {dataset!r} may be used for the purposes its owner named ({allowed}), and "
        f"{given}."
    )
