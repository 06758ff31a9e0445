"""The attacks that `precheck` tries on released sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.itemsets import secret_items
from sfumato.attack.attack import BY_GROUP, Knowledge, NamedAttack
from sfumato.attack.releases import known_items

if TYPE_CHECKING:
    from sfumato.attack.attack import Attack
    from sfumato.attack.finding import Outcome
    from sfumato.released.chunks import ChunksView
    from sfumato.released.sets import SetsView

USUAL = 2
"""How many items somebody knows, where neither the promise nor the user says."""


def set_attacks(view: SetsView | ChunksView, knowledge: Knowledge) -> tuple[Attack, ...]:
    """Return attacks with known items, with absences where asked for, and on further items.

    `knowledge.further` may state `known` (how many items), `absent` (how many absences) and
    `items` (which ones are secret).
    """
    m = int(knowledge.further.get("known") or _promised(view))
    absent = int(knowledge.further.get("absent") or 0)
    secret = knowledge.further.get("items") or _protected(view) or None

    def find(seen: Any, known: Knowledge) -> Outcome:
        return known_items.known_items(seen, m=m, confidence=known.confidence)

    def exclude(seen: Any, known: Knowledge) -> Outcome:
        return known_items.known_absences(seen, m=m, absent=absent, confidence=known.confidence)

    def infer(seen: Any, known: Knowledge) -> Outcome:
        return known_items.item_inference(
            seen, m=m, items=secret, confidence=known.confidence, gain=known.gain
        )

    wanted = (NamedAttack("known items and absences", exclude),) if absent else ()
    return (
        NamedAttack("known items", find),
        *wanted,
        BY_GROUP,
        NamedAttack("inference of items", infer),
    )


def _promised(view: SetsView | ChunksView) -> int:
    parts = getattr(view.promise, "parts", ())
    return max((int(getattr(part, "m", None) or 0) for part in parts), default=0) or USUAL


def _protected(view: SetsView | ChunksView) -> tuple[str, ...]:
    return () if view.promise is None or not hasattr(view.promise, "parts") else secret_items(
        view.promise
    )  # fmt: skip
