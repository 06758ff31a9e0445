"""A judge of releases that shares nothing with search, recheck or `verify`: brute force.

It is told which released row was which original row, and whose. So it counts the people who are
really in a class, in plain Python with fractions, from the definitions as papers state them; a
person counts once per class, and once per class and value.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.definitions.presence import DeltaPresence, KMap
from sfumato.testing.fuzz.patients import ILL, QUASI, SENSITIVE, TREES, covers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sfumato.anonymize.definitions.definition import Definition

SLACK = 1e-9

Labels = tuple[str, ...]
Counts = dict[str, int]


@dataclass(frozen=True)
class SeenRow:
    """One released row: what it shows, whose it is, and its sensitive values."""

    labels: Labels
    person: str
    values: Mapping[str, str]


class Judge:
    """Judges classes of released rows."""

    def __init__(self, rows: Sequence[SeenRow], population: Mapping[str, Sequence[str]]) -> None:
        self.classes: dict[Labels, list[SeenRow]] = defaultdict(list)
        for row in rows:
            self.classes[row.labels].append(row)
        self.population = list(zip(*(population[name] for name in QUASI), strict=True))

    def size(self, labels: Labels) -> int:
        """Return how many people are in a class."""
        return len({row.person for row in self.classes[labels]})

    def counts(self, labels: Labels, attribute: str) -> Counts:
        """Return how many people of a class have each value."""
        found: dict[str, set[str]] = defaultdict(set)
        for row in self.classes[labels]:
            found[row.values[attribute]].add(row.person)
        return {value: len(people) for value, people in found.items()}

    def total(self, attribute: str) -> Counts:
        """Return the same over the whole release: the sum over its classes."""
        found: dict[str, int] = defaultdict(int)
        for labels in self.classes:
            for value, people in self.counts(labels, attribute).items():
                found[value] += people
        return dict(found)

    def fitting(self, labels: Labels) -> int:
        """Return how many people of the population fit a class."""
        return sum(_fits(labels, person) for person in self.population)

    def holds(self, part: Definition) -> bool:
        """Return whether a definition holds in every class."""
        if isinstance(part, DeltaPresence) and part.low > 0 and self.outside():
            return False
        return all(self._holds(part, labels) for labels in self.classes)

    def outside(self) -> int:
        """Return how many people of the population fit no class, and are known to be absent."""
        return sum(
            not any(_fits(labels, person) for labels in self.classes) for person in self.population
        )

    def _holds(self, part: Definition, labels: Labels) -> bool:
        size = self.size(labels)
        if isinstance(part, KAnonymity):
            return size >= part.k
        if isinstance(part, KMap):
            return self.fitting(labels) >= part.k
        if isinstance(part, DeltaPresence):
            fitting = self.fitting(labels)
            share = size / fitting if fitting else math.inf
            return part.low - SLACK <= share <= part.high + SLACK
        attribute: str = part.sensitive[0]
        counts, total = self.counts(labels, attribute), self.total(attribute)
        diverse = DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
        if isinstance(part, diverse) and part.l > 1 and max(counts.values()) == size:
            return False  # everybody has it: nothing is hidden about anybody
        return _SENSITIVE[type(part)](part, counts, total)


def _fits(labels: Labels, person: Sequence[str]) -> bool:
    cells = zip(QUASI, labels, person, strict=True)
    return all(covers(name, label, leaf) for name, label, leaf in cells)


def _shares(counts: Counts, total: Counts) -> list[tuple[Fraction, Fraction, str]]:
    n, m = sum(counts.values()), sum(total.values())
    return [(Fraction(counts.get(v, 0), n), Fraction(total[v], m), v) for v in total]


def _distinct(part: Any, counts: Counts, _: Counts) -> bool:
    return bool(len(counts) >= part.l)


def _entropy(part: Any, counts: Counts, _: Counts) -> bool:
    n = sum(counts.values())
    entropy = -sum(c / n * math.log(c / n) for c in counts.values())
    return bool(entropy >= math.log(part.l) - SLACK)


def _recursive(part: Any, counts: Counts, _: Counts) -> bool:
    ranked = sorted(counts.values(), reverse=True)
    return ranked[0] < Fraction(repr(float(part.c))) * sum(ranked[part.l - 1 :])


def _close(part: Any, counts: Counts, total: Counts) -> bool:
    distance = _DISTANCES[part.distance](_shares(counts, total))
    return bool(distance <= part.t + SLACK)


def _variational(shares: list[tuple[Fraction, Fraction, str]]) -> float:
    return float(sum(abs(p - q) for p, q, _ in shares) / 2)


def _divergence(shares: list[tuple[Fraction, Fraction, str]]) -> float:
    return sum(float(p) * math.log(p / q) for p, q, _ in shares if p)


def _ordered(shares: list[tuple[Fraction, Fraction, str]]) -> float:
    inline = sorted(shares, key=lambda share: share[2])
    if len(inline) < 2:
        return 0.0
    flow, moved = Fraction(0), Fraction(0)
    for p, q, _ in inline:
        flow += p - q
        moved += abs(flow)
    return float(moved / (len(inline) - 1))


def _hierarchical(shares: list[tuple[Fraction, Fraction, str]]) -> float:
    """Add up what passes every edge of the tree, an edge of the root being ½ of the whole way."""
    moved = Fraction(0)
    for level in (0, 1):
        flow: dict[str, Fraction] = defaultdict(Fraction)
        for p, q, value in shares:
            flow[next(row[level] for row in ILL if row[0] == value)] += p - q
        moved += sum((abs(f) for f in flow.values()), Fraction(0))
    return float(moved / 4)


def _like(part: Any, counts: Counts, total: Counts) -> bool:
    for p, q, _ in _shares(counts, total):
        bound = min(part.beta, -math.log(q)) if part.enhanced else part.beta
        if p > q and float((p - q) / q) > bound + SLACK:
            return False
    return True


def _disclosed(part: Any, counts: Counts, total: Counts) -> bool:
    shares = _shares(counts, total)
    return all(p > 0 and abs(math.log(p / q)) < part.delta - SLACK for p, q, _ in shares)


_DISTANCES: dict[str, Callable[[list[tuple[Fraction, Fraction, str]]], float]] = {
    "equal": _variational,
    "kl": _divergence,
    "ordered": _ordered,
    "hierarchical": _hierarchical,
}
_SENSITIVE: dict[type, Callable[[Any, Counts, Counts], bool]] = {
    DistinctLDiversity: _distinct,
    EntropyLDiversity: _entropy,
    RecursiveLDiversity: _recursive,
    TCloseness: _close,
    BetaLikeness: _like,
    DeltaDisclosure: _disclosed,
}


def one_class(
    columns: Mapping[str, Sequence[str]], people: Sequence[str], labels: Labels
) -> list[SeenRow]:
    """Return everybody as one class that shows these labels."""
    return [
        SeenRow(labels, person, {name: columns[name][i] for name in SENSITIVE})
        for i, person in enumerate(people)
    ]


def common_labels(columns: Mapping[str, Sequence[str]]) -> Labels:
    """Return the lowest labels that stand for every row."""
    found = []
    for name in QUASI:
        labels = dict.fromkeys(label for level in zip(*TREES[name], strict=True) for label in level)
        fitting = (x for x in labels if all(covers(name, x, leaf) for leaf in columns[name]))
        found.append(next(fitting, "*"))
    return tuple(found)
