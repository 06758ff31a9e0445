"""Which neighbouring data sets to try: built-in families, the user's own, and a search.

Contract: ``Pairs.first`` gives the pairs to begin with, the simplest first, and ``Pairs.near``
gives variations of a promising one. Every pair that leaves this module has passed
:func:`~sfumato.audit.claims.neighbours.require_neighbours`.

Families of records. Small data sets over a pool of records (0 and 1 unless the user names
others): one record is put in front or at the end of a small data set, or removed from one, or, for
bounded neighbours, exchanged. Small ones come first, because a counter-example should fit on a
blackboard; the empty one comes last, because many functions are not meant for it.

Families of answers, for functions of query results: one answer moves; one moves against all
others; half move against the other half; all move (Ding, Wang, Wang, Zhang and Kifer, CCS 2018).
Moves start from equal answers and from unequal ones, since the best place for noise to be seen
depends on how far the answers are from a threshold or from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.audit.claims.neighbours import (
    RECORD_UNITS,
    Key,
    are_neighbours,
    key_of,
    records_of,
    require_neighbours,
    same,
)
from sfumato.dp.neighbours import Group, Neighbours, PrivacyUnit, Unit
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

POOL: tuple[Any, ...] = (0, 1)
MOST = 24
"""So many pairs are tried at first."""

_OF_A_DATA_SET = 12


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring inputs; ``verified`` unless that they are is the user's word alone."""

    first: Any
    second: Any
    verified: bool = True


@dataclass(frozen=True, eq=False)
class Pairs:
    """What is known about the inputs, and the pairs that follow from it."""

    relation: Neighbours
    records: tuple[Any, ...] = POOL
    datasets: tuple[Any, ...] = ()
    given: tuple[tuple[Any, Any], ...] | None = None
    answers: int | None = None
    """The number of answers, when inputs are query results instead of records."""
    values: bool = False
    """Whether inputs are values of a mechanism, whose distance is the caller's word."""

    def first(self, rng: np.random.Generator) -> list[Pair]:
        """Give the pairs to begin with, the simplest first."""
        if self.given is not None:
            return [self._checked(*pair) for pair in self.given]
        if self.answers is not None:
            return [self._checked(*pair) for pair in _answer_pairs(self.answers)]
        _require_records(self.relation.unit)
        if self.datasets:
            return [p for data in self.datasets for p in self._around(records_of(data), rng)]
        return self._thinned([p for base in self._bases() for p in self._steps(base)], rng)

    def near(self, pair: Pair, rng: np.random.Generator) -> list[Pair]:
        """Give variations of a pair: longer, shorter, repeated, with another record changed."""
        if self.given is not None or self.answers is not None or self.datasets:
            return []
        a, b = records_of(pair.first) or [], records_of(pair.second) or []
        varied = [
            ([*a, r], [*b, r]) for r in self.records[:4]
        ] + [([r, *a], [r, *b]) for r in self.records[:4]]  # fmt: skip
        shared = _shared(a, b)
        varied += [([*a, *shared], [*b, *shared]), ([*a, *shared * 3], [*b, *shared * 3])]
        varied += [(a[1:], b[1:]), (a[:-1], b[:-1])]
        kept = [v for v in varied if _neighbouring(v[0], v[1], self.relation)]
        return self._thinned([self._checked(x, y) for x, y in kept], rng, most=8)

    def _bases(self) -> list[list[Any]]:
        """Small data sets over the pool, the empty one last."""
        if isinstance(self.relation.unit, Unit):
            groups = _groups(self.records, self.relation.unit)
            return [groups[0], [r for group in groups for r in group], []]
        r, s = self.records[0], self.records[-1]
        middle = [[x] for x in self.records[1:-1][:3]]
        mixed = [[r, s], [s, r, s], [r, r, s, s, r]]
        return [[r], [s], *middle, *mixed, list(self.records[:8]), [r] * 10, [s] * 10, []]

    def _steps(self, base: list[Any]) -> list[Pair]:
        """All single steps from a data set over the pool."""
        unit = self.relation.unit
        if isinstance(unit, Unit):
            return self._unit_steps(base, unit, _groups(self.records, unit))
        size = unit.size if isinstance(unit, Group) else 1
        found: list[tuple[list[Any], list[Any]]] = []
        for record in (*self.records[1:], self.records[0]):  # first one unlike the base
            if self.relation.bounded:
                if len(base) >= size:
                    found.append(([record] * size + base[size:], base))
                    found.append((base[: len(base) - size] + [record] * size, base))
            else:
                found.append((base + [record] * size, base))
                found.append(([record] * size + base, base))
        kept = [p for p in _distinct(found) if _neighbouring(*p, self.relation)]
        return [self._checked(*p) for p in kept]

    def _unit_steps(self, base: list[Any], unit: Unit, groups: list[list[Any]]) -> list[Pair]:
        found: list[tuple[list[Any], list[Any]]] = []
        for group in groups:
            key = key_of(group[0], unit)
            rest = [r for r in base if not same(key_of(r, unit), key)]
            if self.relation.bounded:
                found += [(rest + group, rest + group[:1]), (rest + group[-1:], rest + group[:1])]
            else:
                found += [(rest + group, rest), (group + rest, rest), (rest + group[:1], rest)]
        return [self._checked(*p) for p in _distinct(found) if _neighbouring(*p, self.relation)]

    def _around(self, base: list[Any] | None, rng: np.random.Generator) -> list[Pair]:
        """Neighbours of a data set of the user's: its own records go, or come in its place."""
        if base is None:
            raise ParameterError("datasets= wants lists of records, and something else was given.")
        unit = self.relation.unit
        if isinstance(unit, Unit):
            groups = _groups(base, unit)
            if len(groups) > _OF_A_DATA_SET:
                groups = [groups[i] for i in _places(len(groups), rng, most=_OF_A_DATA_SET // 3)]
            steps = self._unit_steps(base, unit, groups)
            return self._thinned(steps, rng, most=_OF_A_DATA_SET)
        size = unit.size if isinstance(unit, Group) else 1
        found: list[tuple[list[Any], list[Any]]] = []
        for place in _places(len(base) - size + 1, rng):
            without = base[:place] + base[place + size :]
            if self.relation.bounded:
                others = self.records if self.records is not POOL else (base[0], base[-1])
                found += [
                    (base, [*base[:place], *[r] * size, *base[place + size :]]) for r in others
                ]
            else:
                found.append((base, without))
        kept = [self._checked(*p) for p in found if _neighbouring(*p, self.relation)]
        return self._thinned(kept, rng, most=_OF_A_DATA_SET)

    def _checked(self, first: Any, second: Any) -> Pair:
        if self.values:
            return Pair(first, second, verified=False)
        answers = self.answers is not None
        return Pair(
            first, second, require_neighbours(first, second, self.relation, answers=answers)
        )

    @staticmethod
    def _thinned(pairs: list[Pair], rng: np.random.Generator, most: int = MOST) -> list[Pair]:
        """Keep the first few, the last, and a random choice of those between, in order."""
        if len(pairs) <= most:
            return pairs
        kept = most // 4
        between = rng.choice(len(pairs) - kept - 1, most - kept - 1, replace=False) + kept
        return [*pairs[:kept], *(pairs[i] for i in sorted(between)), pairs[-1]]


def _answer_pairs(count: int) -> list[tuple[list[float], list[float]]]:
    half, rest = count // 2, count - count // 2
    shapes: list[tuple[list[int], list[int]]] = [
        ([1] * count, [0] + [1] * (count - 1)),
        ([0] + [1] * (count - 1), [1] + [0] * (count - 1)),
        ([0] * half + [1] * rest, [1] * half + [0] * rest),
        ([0] * (count - 1) + [1], [1] * (count - 1) + [0]),
        ([0] * count, [1] * count),
        ([1] * count, [0] + [2] * (count - 1)),
        ([1] * count, [2] + [0] * (count - 1)),
        ([1] * count, [2] * count),
        ([1] * count, [0] * half + [2] * rest),
        ([0] * count, [-1] * half + [1] * rest),
        ([2] * half + [0] * rest, [1] * half + [1] * rest),
    ]
    found = [([float(x) for x in a], [float(x) for x in b]) for a, b in _distinct(shapes) if a != b]
    return found[:MOST]


def _groups(records: Sequence[Any], unit: Unit) -> list[list[Any]]:
    """Pool records by their unit, no more of each than its limit."""
    groups: dict[Key, list[Any]] = {}
    for record in records:
        known = groups.setdefault(Key(key_of(record, unit)), [])
        if unit.max_rows is None or len(known) < unit.max_rows:
            known.append(record)
    return list(groups.values())


def _places(count: int, rng: np.random.Generator, most: int = 2 * _OF_A_DATA_SET) -> list[int]:
    """Give places to change a data set at, in order: all, or the ends and a random choice."""
    if count <= most + 2:
        return list(range(max(0, count)))
    between = rng.choice(count - 2, most, replace=False) + 1
    return [0, *sorted(between.tolist()), count - 1]


def _require_records(unit: PrivacyUnit) -> None:
    inner = unit.unit if isinstance(unit, Group) else unit
    if isinstance(inner, RECORD_UNITS) or isinstance(unit, Unit):
        return
    raise ParameterError(
        f"Data sets that differ by {unit} cannot be made from single records; give some with "
        "pairs=[(D, D′), …]."
    )


def _neighbouring(first: list[Any], second: list[Any], relation: Neighbours) -> bool:
    return are_neighbours(first, second, relation)


def _shared(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    shorter = a if len(a) <= len(b) else b
    return list(shorter)


def _distinct(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    kept: list[tuple[Any, Any]] = []
    for pair in pairs:
        if not any(same(list(pair), list(other)) for other in kept):
            kept.append(pair)
    return kept
