"""What an algorithm decided, apart from doing it.

Contract: a decision stays in the house. It may hold counts of the original data, so nothing in it
is written into a release; what a receiver may know of the search is in its :class:`SearchRecord`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """How the decision was reached, for the report: nothing here is needed to apply it."""

    algorithm: str
    proven_optimal: bool = False
    label: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Decision:
    """A decision of any shape: how it was found, and what was decided.

    ``records`` counts what came in (the length of the dataset where None), ``suppressed`` what is
    left out and ``allowed`` what might have been (None where nobody set a limit), in the unit of
    the shape; ``settings`` is what was asked for; ``untruthful`` names what is done after which
    single units are no longer facts.
    """

    record: SearchRecord
    content: Any = None
    records: int | None = None
    suppressed: int = 0
    allowed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    untruthful: tuple[str, ...] = ()
