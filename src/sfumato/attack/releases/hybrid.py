"""Attacks on hybrid records: somebody knows a person's row, and some items of her set.

Knowing both is what makes hybrid records dangerous: rows alone may be alike, and items alone
frequent, and still the two together belong to one person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.attack.attack import BY_GROUP, Knowledge, NamedAttack
from sfumato.attack.finding import NEARLY, SHOWN, Finding, Outcome
from sfumato.attack.releases.known_item_kernels import BUDGET, fewest_candidates

if TYPE_CHECKING:
    from sfumato.attack.attack import Attack
    from sfumato.released.hybrid import HybridView

USUAL = 2


def hybrid_attacks(view: HybridView, knowledge: Knowledge) -> tuple[Attack, ...]:
    """Return the attack by rows, and by rows and items of each attribute of sets."""
    known = int(knowledge.further.get("known") or 0)
    return (BY_GROUP, *(_by_both(view, name, known) for name in view.sets))


def _by_both(view: HybridView, attribute: str, known: int) -> NamedAttack:
    parts = getattr(view.promise, "parts", ())
    stated = [p.m for p in parts if isinstance(p, KmAnonymity) and p.attribute == attribute]
    m = known or max(stated, default=USUAL)

    def attack(seen: Any, knowledge: Knowledge) -> Outcome:
        return row_and_items(seen, attribute=attribute, m=m, confidence=knowledge.confidence)

    return NamedAttack(f"row and items of {attribute}", attack)


def row_and_items(
    view: HybridView, *, attribute: str, m: int = USUAL, confidence: float = 0.9, most: int = SHOWN
) -> Outcome:
    """Find the people whom their row and their best m items leave with too few records."""
    seen = view.within(attribute)
    left, chosen, _ = fewest_candidates(
        seen.starts, seen.items, seen.weights, max(len(seen.labels), 1), m, BUDGET
    )
    exposed = [t for t in range(len(left)) if 1 / max(int(left[t]), 1) >= confidence - NEARLY]
    k = int(1 / confidence) + 1
    stop = KAnonymity(k) & KmAnonymity(k, m, attribute)
    least = int(left.min(initial=view.records))
    return Outcome(
        attack=f"row and items of {attribute}",
        knows=f"all quasi-identifiers of a person, and {m} item(s) of {attribute}",
        measure="confidence",
        people=view.records,
        exposed=int(sum(int(seen.weights[t]) for t in exposed)),
        prior=1 / max(view.records, 1),
        posterior=1 / max(least, 1),
        threshold=confidence,
        findings=tuple(
            Finding(
                attack=f"row and items of {attribute}",
                who=f"a person known by a row and {sum(a >= 0 for a in chosen[t])} item(s)",
                people=int(seen.weights[t]),
                learnt="which record is theirs",
                prior=1 / max(view.records, 1),
                posterior=1 / max(int(left[t]), 1),
                evidence={"items": [seen.labels[a].split("\x1f")[0] for a in chosen[t] if a >= 0]},
            )
            for t in exposed[:most]
        ),
        remedy=f"{stop}, counted together",
        stopped_by=stop,
        figures={"fewest records left": float(least)},
    )
