"""Diversity of values counted from a file: one formula per definition, on plain counts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.anonymize.definitions.branches import VertexDiversity
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping

SLACK = 1e-9
"""What the last bit of a sum of logarithms may add before it is too little."""

K = TypeVar("K")


def _distinct(part: Any, counts: Counter[str]) -> tuple[float, bool]:
    return float(len(counts)), len(counts) >= part.l


def _entropy(part: Any, counts: Counter[str]) -> tuple[float, bool]:
    n = sum(counts.values())
    bits = math.log(n) - sum(r * math.log(r) for r in counts.values()) / n
    return math.exp(bits), bits >= math.log(part.l) - SLACK


def _recursive(part: Any, counts: Counter[str]) -> tuple[float, bool]:
    ranked = sorted(counts.values(), reverse=True)
    tail = sum(ranked[part.l - 1 :])
    ratio = ranked[0] / tail if tail else math.inf
    return ratio, Fraction(ranked[0]) < Fraction(repr(float(part.c))) * tail


def _most_frequent(part: Any, counts: Counter[str]) -> tuple[float, bool]:
    top, n = max(counts.values()), sum(counts.values())
    return n / top, top * part.l <= n


FORMULAS: dict[type, Callable[[Any, Counter[str]], tuple[float, bool]]] = {
    DistinctLDiversity: _distinct,
    EntropyLDiversity: _entropy,
    RecursiveLDiversity: _recursive,
    VertexDiversity: _most_frequent,
}
NAMES: dict[type, str] = {
    DistinctLDiversity: "distinct l",
    EntropyLDiversity: "entropy l",
    RecursiveLDiversity: "recursive c",
    VertexDiversity: "l at every vertex",
}


def worst_of(part: Any, counted: Mapping[K, Counter[str]]) -> tuple[K, float, bool]:
    """Return the worst group, its figure, and whether all groups hold.

    Where some do not hold, the worst of those is shown.
    """
    formula = FORMULAS[type(part)]
    figures = {group: formula(part, counts) for group, counts in counted.items()}
    holds = all(kept for _, kept in figures.values())
    among = {group: figure for group, (figure, kept) in figures.items() if holds or not kept}
    pick = max if type(part) is RecursiveLDiversity else min
    worst = pick(among, key=among.__getitem__)
    return worst, among[worst], holds
