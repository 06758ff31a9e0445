"""Groups of users whose places are of l kinds at least: groups that lack kinds join others.

A box that k users share says where all of them are if they are all in one clinic. So a group whose
places have fewer than l different labels is joined with one near it on the Hilbert curve, that
which makes boxes grow least among those that bring another label, until it has enough. Everything
is decided by places and labels, never by who asks, so what was reciprocal stays so: groups are
joined as wholes, and have at least as many users as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.places.orders import hilbert_index
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

NEAR = 8
"""Groups before and behind on the curve that a group may join."""


def label_codes(labels: Any, diversity: int, count: int) -> NDArray[np.int64]:
    """Return the labels of places as numbers, −1 where nothing is known."""
    if diversity <= 1:
        return np.full(count, -1, np.int64)
    if labels is None:
        raise ParameterError("diversity is about kinds of places; say them with labels=….")
    named = list(labels)
    if len(named) != count:
        raise ParameterError(f"labels must name what kind each of {count:,} places is of.")
    known: dict[Any, int] = {}
    codes = [
        -1 if label is None or label != label else known.setdefault(label, len(known))  # noqa: PLR0124 - not a number
        for label in named
    ]
    if count and len(known) < diversity:
        raise Unsatisfiable(
            f"diversity = {diversity:,} asks for as many kinds of places in a box, and there are "
            f"{len(known):,}."
        )
    return np.array(codes, dtype=np.int64)


@dataclass
class _Group:
    """Users who share a box, and the kinds of places they are at."""

    box: tuple[float, float, float, float]
    size: int
    kinds: set[int]

    @property
    def area(self) -> float:
        return (self.box[1] - self.box[0]) * (self.box[3] - self.box[2])

    def joined(self, other: _Group) -> _Group:
        a, b = self.box, other.box
        box = (min(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3]))
        return _Group(box, self.size + other.size, self.kinds | other.kinds)

    def growth(self, other: _Group) -> float:
        """Return the square metres by which boxes grow, added over their users."""
        union = self.joined(other)
        return union.area * union.size - self.area * self.size - other.area * other.size


def join_alike(
    places: NDArray[np.float64],
    group: NDArray[np.int64],
    labels: NDArray[np.int64],
    diversity: int,
) -> NDArray[np.int64]:
    """Return groups of places with `diversity` labels each, made of those given."""
    groups = _describe(places, group, labels)
    middles = np.array([[(g.box[0] + g.box[1]) / 2, (g.box[2] + g.box[3]) / 2] for g in groups])
    order = np.argsort(hilbert_index(middles), kind="stable").tolist()
    chain = _Chain(order)
    into = list(range(len(groups)))
    for g in order:
        while into[g] == g and len(groups[g].kinds) < diversity:
            near = list(chain.around(g))
            fresh = [n for n in near if not groups[n].kinds <= groups[g].kinds]
            _, other = min((groups[g].growth(groups[n]), n) for n in fresh or near)
            groups[g] = groups[g].joined(groups[other])
            into[other] = g
            chain.remove(other)
    for g in range(len(into)):
        while into[into[g]] != into[g]:
            into[g] = into[into[g]]
    _, number = np.unique(np.array(into)[group], return_inverse=True)
    found: NDArray[np.int64] = number.reshape(-1).astype(np.int64)
    return found


def _describe(
    places: NDArray[np.float64], group: NDArray[np.int64], labels: NDArray[np.int64]
) -> list[_Group]:
    from sfumato.anonymize.places.order_kernel import boxes_around  # noqa: PLC0415 - compiles

    count = int(group.max()) + 1
    kinds: list[set[int]] = [set() for _ in range(count)]
    for g, label in zip(group.tolist(), labels.tolist(), strict=True):
        if label >= 0:
            kinds[g].add(label)
    boxes = boxes_around(places, group, count)
    sizes = np.bincount(group, minlength=count)
    return [
        _Group((box[0], box[1], box[2], box[3]), size, known)
        for box, size, known in zip(boxes.tolist(), sizes.tolist(), kinds, strict=True)
    ]


class _Chain:
    """Groups in the order of the curve, from which joined ones are taken out."""

    def __init__(self, order: list[int]) -> None:
        self.behind = dict(pairwise(order))
        self.before = {right: left for left, right in pairwise(order)}

    def around(self, g: int) -> Iterator[int]:
        """Give the nearest before and behind."""
        for links in (self.before, self.behind):
            at: int | None = g
            for _ in range(NEAR):
                at = links.get(at) if at is not None else None
                if at is not None:
                    yield at

    def remove(self, g: int) -> None:
        left, right = self.before.pop(g, None), self.behind.pop(g, None)
        if right is not None:
            self.before.pop(right, None)
        if left is not None:
            self.behind.pop(left, None)
        if left is not None and right is not None:
            self.before[right], self.behind[left] = left, right
