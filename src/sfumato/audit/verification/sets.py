"""Verify released sets: supports counted from the file alone, with the itemset that decides.

Every promise has a formula of its own here; what an algorithm thought it did plays no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.itemsets import (
    Coherence,
    ItemConstraints,
    ItemDiversity,
    KmAnonymity,
    RhoUncertainty,
    secret_items,
)
from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.item_rules import Rule, surest_rule
from sfumato.audit.verification.itemset_counts import count_matches, find_rarest
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.audit.verification.verify import Verification
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.promise import StatedPromise
    from sfumato.released.sets import SetsView

SLACK = 1e-9
"""What the last bit of a quotient may add to a share before it is too large."""


def verify_sets(view: SetsView, stated: StatedPromise) -> Verification:
    """Hold a promise against released sets."""
    parts = () if stated.definition is None else stated.definition.parts
    hidden = () if stated.definition is None else secret_items(stated.definition)
    return Verification(
        source=view.source,
        records=view.records,
        classes=len(view.weights),
        promises=tuple(_check(part, view, hidden) for part in parts),
        measured=(_classes(view, ()),) if len(view.weights) else (),
        findings=_unknown_secrets(view, hidden),
        unchecked=stated.own,
        unit="set",
    )


def _check(part: Definition, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:
    check = CHECKS.get(type(part))
    if check is None:
        raise ParameterError(f"{part} says nothing about sets of items.")
    return check(part, view, hidden)


# -- one function per definition ---------------------------------------------------------


def _check_anonymity(part: KAnonymity, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:
    row = _classes(view, hidden)
    kept = row.found is None or row.found >= part.k
    return FigureRow(row.measure, "", row.found, row.bottleneck, str(part), holds=kept)


def _classes(view: SetsView, hidden: tuple[str, ...]) -> FigureRow:
    """Measure the smallest group of sets that look alike beside hidden items."""
    if not len(view.weights):
        return FigureRow("k", "", None, None)
    group, sizes, example = _alike(view, hidden)
    worst = int(np.argmin(sizes))
    shown = view.describe(int(example[worst]))
    del group
    return FigureRow("k", "", float(sizes[worst]), Bottleneck(shown, int(sizes[worst])))


def _alike(
    view: SetsView, hidden: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Group distinct sets by their items that are not hidden: group of each, sizes, an example."""
    secret = _flags(view, hidden)
    keys: dict[tuple[int, ...], int] = {}
    group = np.empty(len(view.weights), dtype=np.int64)
    example: list[int] = []
    for i, (b, e) in enumerate(zip(view.starts[:-1], view.starts[1:], strict=True)):
        members = view.items[b:e]
        key = tuple(members[~secret[members]].tolist())
        if key not in keys:
            example.append(i)
        group[i] = keys.setdefault(key, len(keys))
    sizes = np.bincount(group, weights=view.weights, minlength=len(keys)).astype(np.int64)
    return group, sizes, np.array(example, dtype=np.int64)


def _check_known_items(part: KmAnonymity, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:  # noqa: ARG001 - all items may be known
    found, shown = rarest_itemset(view, part.m)
    kept = found is None or found >= part.k
    return FigureRow(f"support of {part.m} items", "", found, shown, str(part), holds=kept)


def rarest_itemset(view: SetsView, m: int) -> tuple[float | None, Bottleneck | None]:
    """Return the smallest support of up to m items that occur together, and the itemset."""
    if not len(view.items):
        return None, None
    support, witness = find_rarest(view.starts, view.items, view.weights, len(view.labels), m)
    shown = {"itemset": view.shown([a for a in witness if a >= 0])}
    return float(support), Bottleneck(shown, int(support))


def _check_rules(part: RhoUncertainty, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:  # noqa: ARG001 - its own items
    rule = _rule(view, part.sensitive_items, m=part.m, secrets_known=True)
    share, shown = _told(view, rule)
    return FigureRow("ρ", "", share, shown, str(part), holds=share <= part.rho + SLACK)


def _check_coherence(part: Coherence, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:  # noqa: ARG001 - its own items
    secret = _flags(view, part.private)
    starts, items = _without(view, secret)
    rule = _rule(view, part.private, m=part.p, secrets_known=False)
    share, shown = _told(view, rule)
    if len(items):
        support, witness = find_rarest(starts, items, view.weights, len(view.labels), part.p)
        if support < part.k:
            found = {"itemset": view.shown([a for a in witness if a >= 0])}
            worst = Bottleneck(found, int(support))
            return FigureRow("support", "", float(support), worst, str(part), holds=False)
    return FigureRow("h", "", share, shown, str(part), holds=share <= part.h + SLACK)


def _check_constraints(part: ItemConstraints, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:  # noqa: ARG001 - its own items
    if mixed := _outside_groups(view, part):
        shown = Bottleneck({"label": mixed}, 0)
        return FigureRow(
            "labels outside of the utility groups", "", 1.0, shown, str(part), holds=False
        )
    worst: tuple[int, tuple[str, ...]] | None = None
    for wanted in part.itemsets:
        support = matches(view, wanted)
        if support and (worst is None or support < worst[0]):
            worst = (support, wanted)
    if worst is None:
        return FigureRow("support", "", None, None, str(part), holds=True)
    shown = Bottleneck({"itemset": "{" + ", ".join(worst[1]) + "}"}, worst[0])
    return FigureRow("support", "", float(worst[0]), shown, str(part), holds=worst[0] >= part.k)


def _outside_groups(view: SetsView, part: ItemConstraints) -> str:
    """Return a released group of items that lies within no utility group; nothing if all do."""
    if not part.groups:
        return ""
    allowed = [set(group) for group in part.groups]
    for label in view.labels:
        covered = set(view.covers.get(label, ()))
        if label == view.anything or (covered and not any(covered <= group for group in allowed)):
            return label
    return ""


def matches(view: SetsView, wanted: tuple[str, ...]) -> int:
    """Return how many sets show every wanted item, or a label that may stand for it."""
    words = -(-len(wanted) // 64)
    bits = np.zeros((len(view.labels), words), dtype=np.uint64)
    every = np.zeros(words, dtype=np.uint64)
    for place, item in enumerate(wanted):
        word, bit = place // 64, np.uint64(1 << place % 64)
        every[word] |= bit
        for code, label in enumerate(view.labels):
            if view.may_be(label, (item,)):
                bits[code, word] |= bit
    return int(count_matches(view.starts, view.items, view.weights, bits, every))


def _check_diversity(part: ItemDiversity, view: SetsView, hidden: tuple[str, ...]) -> FigureRow:
    group, sizes, example = _alike(view, tuple({*hidden, *part.sensitive_items}))
    worst, share = 0, 0.0
    for item in part.sensitive_items:
        code = view.codes.get(item)
        if code is None:
            continue
        rows = np.repeat(np.arange(len(view.weights)), np.diff(view.starts))
        having = rows[view.items == code]
        held = np.bincount(group[having], weights=view.weights[having], minlength=len(sizes))
        shares = held / sizes
        if shares.max(initial=0.0) > share:
            worst, share = int(np.argmax(shares)), float(shares.max())
    least = float("inf") if share == 0 else 1 / share
    shown = (
        Bottleneck(view.describe(int(example[worst])), int(sizes[worst])) if len(sizes) else None
    )
    kept = share * part.l <= 1 + SLACK
    return FigureRow("l", "items", least, shown, str(part), holds=kept)


CHECKS: dict[type[Definition], Callable[..., FigureRow]] = {
    KAnonymity: _check_anonymity,
    KmAnonymity: _check_known_items,
    RhoUncertainty: _check_rules,
    Coherence: _check_coherence,
    ItemConstraints: _check_constraints,
    ItemDiversity: _check_diversity,
}


# -- what they share ---------------------------------------------------------------------


def _flags(view: SetsView, items: tuple[str, ...]) -> NDArray[np.bool_]:
    """Tell for every label whether it is one of the items."""
    wanted = set(items)
    return np.array([label in wanted for label in view.labels], dtype=np.bool_)


def _without(
    view: SetsView, secret: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    kept = ~secret[view.items] if len(view.items) else np.zeros(0, dtype=np.bool_)
    counts = np.concatenate([[0], np.cumsum(kept)])
    return counts[view.starts].astype(np.int64), view.items[kept]


def _rule(view: SetsView, secret: tuple[str, ...], **options: Any) -> Rule | None:
    flags = _flags(view, secret)
    if not len(view.weights):
        return None
    return surest_rule(view.starts, view.items, view.weights, flags, **options)


def _told(view: SetsView, rule: Rule | None) -> tuple[float, Bottleneck | None]:
    if rule is None:
        return 0.0, None
    shown = {"known": view.shown(rule.known)}
    return rule.share, Bottleneck(shown, rule.support)


def _unknown_secrets(view: SetsView, hidden: tuple[str, ...]) -> tuple[FileFinding, ...]:
    """Warn where a released group covers a sensitive item, so that its rules are not seen."""
    covered = [
        label
        for label in view.labels
        if label not in hidden and label != view.anything and view.may_be(label, hidden)
    ]
    if not covered:
        return ()
    text = (
        f"{len(covered)} released label(s) may stand for a sensitive item; what follows from known "
        "items was counted for the items themselves only"
    )
    return (FileFinding("labels", "", text, serious=True),)
