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
