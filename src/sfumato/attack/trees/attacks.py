"""The attacks that `precheck` tries on trees: by the whole tree, by a few facts, on values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.branches import KmnAnonymity, VertexDiversity
from sfumato.attack.attack import Knowledge, NamedAttack
from sfumato.attack.finding import NEARLY, SHOWN, Finding, Outcome, described
from sfumato.released.tree_points import shown_trees
from sfumato.released.view import see

if TYPE_CHECKING:
    from sfumato.attack.attack import Attack
    from sfumato.released.trees import TreesView

WHOLE, FACTS, VALUES = "the whole tree", "two labels and how they are related", "value at a vertex"


def tree_attacks(view: TreesView, _knowledge: Knowledge) -> tuple[Attack, ...]:
    """Return the attacks, one on values per sensitive label."""
    return (
        NamedAttack(WHOLE, lambda seen, known: whole_tree(seen, confidence=known.confidence)),
        NamedAttack(FACTS, lambda seen, known: known_facts(seen, confidence=known.confidence)),
        *(_on_values(label) for label in view.secret),
    )


def _on_values(label: str) -> NamedAttack:
    def attack(view: Any, knowledge: Knowledge) -> Outcome:
        return vertex_values(view, label, confidence=knowledge.confidence)

    return NamedAttack(f"{VALUES} of {label}", attack)


def whole_tree(release: Any, *, confidence: float = 0.9, **options: Any) -> Outcome:
    """Find people who are known by the shape of their tree and all labels others may know."""
    view: TreesView = see(release, shape="trees", **options)
    sizes = view.classes
    alone = [n for n, form in enumerate(view.class_of) if 1 / sizes[form] >= confidence - NEARLY]
    wanted = int(1 / confidence) + 1
    return Outcome(
        attack=WHOLE,
        knows="the whole tree of a person, without sensitive values",
        measure="confidence",
        people=view.records,
        exposed=len(alone),
        prior=1.0 / max(view.records, 1),
        posterior=1.0 / min(sizes.values(), default=1),
        threshold=confidence,
        findings=tuple(_found(view, WHOLE, n, sizes[view.class_of[n]]) for n in alone[:SHOWN]),
        remedy=str(KAnonymity(wanted)),
        stopped_by=KAnonymity(wanted),
    )


def _found(view: TreesView, attack: str, tree: int, fits: int, known: str = "") -> Finding:
    return Finding(
        attack=attack,
        who=known or described(view.describe_tree(tree)),
        people=fits,
        learnt="which tree is theirs",
        prior=1.0 / view.records,
        posterior=1.0 / fits,
        evidence={"tree": tree},
    )


def known_facts(release: Any, *, confidence: float = 0.9, **options: Any) -> Outcome:
    """Find people by any two of their labels, known to be related or not."""
    view: TreesView = see(release, shape="trees", **options)
    facts = []
    for tree in shown_trees(view):
        mine: set[tuple[str, ...]] = {("", *pair) for pair in tree.label_pairs()}
        mine |= {("related", *pair) for pair in tree.related_pairs()}
        mine |= {("", label) for label in tree.places}
        facts.append(mine)
    support = Counter(fact for mine in facts for fact in mine)
    best = [min(mine, key=lambda f: (support[f], f), default=None) for mine in facts]
    fits = [support[fact] if fact else view.records for fact in best]
    alone = [n for n, size in enumerate(fits) if 1 / size >= confidence - NEARLY]
    wanted = KmnAnonymity(int(1 / confidence) + 1, m=2, n=1)
    return Outcome(
        attack=FACTS,
        knows="two labels of a person's tree, and whether their vertices are related",
        measure="confidence",
        people=view.records,
        exposed=len(alone),
        prior=1.0 / max(view.records, 1),
        posterior=1.0 / min(fits, default=1),
        threshold=confidence,
        findings=tuple(
            _found(view, FACTS, n, fits[n], " and ".join((best[n] or ("",))[1:]))
            for n in alone[:SHOWN]
        ),
        remedy=str(wanted),
        stopped_by=wanted,
    )


def vertex_values(release: Any, label: str, *, confidence: float = 0.9, **options: Any) -> Outcome:
    """Learn sensitive values of people whose trees look alike and share them at some vertex."""
    view: TreesView = see(release, shape="trees", **options)
    counted = view.values_by_orbit(label)
    overall: Counter[str] = Counter()
    for counts in counted.values():
        overall.update(counts)
    total = max(sum(overall.values()), 1)
    top = {orbit: max(counts.values()) / sum(counts.values()) for orbit, counts in counted.items()}
    sure = {orbit for orbit, share in top.items() if share >= confidence - NEARLY}
    owners: dict[int, int] = {}
    for vertex, orbit in enumerate(view.orbits):
        if orbit in sure:
            owners.setdefault(int(view.trees.record[vertex]), orbit)
    wanted = VertexDiversity(int(1 / confidence) + 1, label)
    findings = []
    for tree, orbit in list(owners.items())[:SHOWN]:
        value, _ = counted[orbit].most_common(1)[0]
        findings.append(
            Finding(
                attack=f"{VALUES} of {label}",
                who=described(view.describe_tree(tree)),
                people=view.classes[view.class_of[tree]],
                learnt=f"their {label} at a vertex",
                prior=overall[value] / total,
                posterior=top[orbit],
                evidence={"tree": tree},
                attribute=label,
                secret=(value,),
            )
        )
    return Outcome(
        attack=VALUES,
        attribute=label,
        knows="the whole tree of a person, without sensitive values",
        measure="confidence",
        people=view.records,
        exposed=len(owners),
        prior=max(overall.values(), default=0) / total,
        posterior=max(top.values(), default=0.0),
        threshold=confidence,
        findings=tuple(findings),
        remedy=str(wanted),
        stopped_by=wanted,
    )
