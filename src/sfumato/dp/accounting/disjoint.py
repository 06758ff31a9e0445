"""Prove that releases read disjoint parts of the records, and charge accordingly.

Contract: a :class:`Part` is a conjunction of conditions, one per attribute. Two parts are
*provably* disjoint when some attribute has no value that both allow, in any engine and any type of
column (:mod:`sfumato.dp.accounting.values`); anything less, and they are taken to overlap. NaN is
refused: it is unequal to itself, and two parts of the same records would seem disjoint.
``compose_parts`` then charges the worst record: parallel composition where disjointness is proved,
sequential composition elsewhere.

``Part(hiv=True)`` and ``Part(hiv=False)`` are disjoint; ``Part(hiv=True, hair="blonde")`` and
``Part(hiv=True)`` are not; nor are ``Part(hiv=True)`` and ``Part(age=(10, 20))``. A tuple of two
numbers is a half-open interval [low, high), a set or list the values allowed, anything else one
value.

Why it holds. A record lies in a set of parts of which no two are disjoint, so adding or removing
it changes only the releases of such a set: a clique of the graph "may overlap". The largest
total over cliques bounds what one record costs. A unit of several records may lie in several
cliques, and a replaced record may move between them: both are charged for everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.dp.accounting.composition import compose
from sfumato.dp.accounting.values import comes_before, never_equal, outside
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.dp.guarantees import Guarantee

_SEARCH_LIMIT = 20_000


class Part(Shown, Mapping[str, object]):
    """A conjunction of conditions on attributes; ``Part()`` is the whole data set."""

    def __init__(self, **conditions: object) -> None:
        self._allowed = {name: _allowed(value) for name, value in conditions.items()}

    def disjoint(self, other: Part) -> bool:
        """Tell whether no record can satisfy both, as the conditions alone prove."""
        shared = self._allowed.keys() & other._allowed.keys()
        return any(_apart(self._allowed[name], other._allowed[name]) for name in shared)

    def __getitem__(self, name: str) -> object:
        return self._allowed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._allowed)

    def __len__(self) -> int:
        return len(self._allowed)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in self._allowed.items())
        return f"Part({shown})"


def compose_parts(releases: Sequence[tuple[Part, Guarantee]]) -> Guarantee:
    """Give the guarantee of releases that each read one part of the records."""
    if not releases:
        raise ParameterError("Composition needs at least one release.")
    everything = compose(*(guarantee for _, guarantee in releases))
    neighbours = releases[0][1].neighbours
    touched = neighbours.unit.parts
    if neighbours.bounded or touched != 1:
        return everything  # a record may change parts, or a unit touch several
    worst: Guarantee | None = None
    for clique in _cliques([part for part, _ in releases]):
        cost = compose(*(releases[k][1] for k in clique))
        if worst is None or worst.implies(cost):
            worst = cost
        elif not cost.implies(worst):
            return everything  # neither is the larger: no single clique is the worst
    return everything if worst is None else worst


def _cliques(parts: Sequence[Part]) -> Iterator[list[int]]:
    """List the maximal sets of parts of which no two are disjoint (Bron and Kerbosch 1973).

    Yields nothing when there are too many, which the caller reads as "all may overlap".
    """
    count = len(parts)
    overlaps = [
        {k for k in range(count) if k != i and not parts[i].disjoint(parts[k])}
        for i in range(count)
    ]
    found: list[list[int]] = []
    work = [(set[int](), set(range(count)), set[int]())]
    for _ in range(_SEARCH_LIMIT):
        if not work:
            return iter(found)
        chosen, open_, closed = work.pop()
        if not open_ and not closed:
            found.append(sorted(chosen))
            continue
        pivot = max(open_ | closed, key=lambda k: len(overlaps[k] & open_))
        for k in sorted(open_ - overlaps[pivot]):
            work.append((chosen | {k}, open_ & overlaps[k], closed & overlaps[k]))
            open_ = open_ - {k}
            closed = closed | {k}
    return iter(())


def _allowed(value: object) -> frozenset[Any] | tuple[float, float]:
    if isinstance(value, tuple):
        if len(value) != 2 or not all(isinstance(end, (int, float)) for end in value):
            raise ParameterError(
                "An interval is a pair of numbers (low, high); use a set for values."
            )
        if not value[0] < value[1]:
            raise ParameterError(f"The interval [{value[0]}, {value[1]}) is empty.")
        return value
    values = list(value) if isinstance(value, (set, frozenset, list)) else [value]
    if any(_unequal_to_itself(item) for item in values):
        raise ParameterError(
            "A condition cannot be NaN or another missing value that is unequal to itself, since "
            "engines disagree on which records it selects; use None, or leave the condition out."
        )
    try:
        return frozenset(values)
    except TypeError:
        raise ParameterError(
            "A condition is one value, a set of values or an interval (low, high); values are "
            "numbers, texts or truth values."
        ) from None


def _unequal_to_itself(value: object) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return any(_unequal_to_itself(item) for item in value)
    try:
        return bool(value != value)  # noqa: PLR0124 - NaN, NaT and their like
    except (TypeError, ValueError, ArithmeticError):
        return True  # not even that can be told, as of pandas.NA


def _apart(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return comes_before(first[1], second[0]) or comes_before(second[1], first[0])
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return all(never_equal(mine, theirs) for mine in first for theirs in second)
    interval, values = (first, second) if isinstance(first, tuple) else (second, first)
    assert isinstance(interval, tuple)
    assert isinstance(values, frozenset)
    return all(outside(value, *interval) for value in values)


def _shown(value: object) -> str:
    return f"[{value[0]}, {value[1]})" if isinstance(value, tuple) else str(set(value))  # type: ignore[call-overload]
