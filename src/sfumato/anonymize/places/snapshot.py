"""Cloak everybody at one moment: a box per user that at least k users share.

**Reciprocal** methods divide all users into groups of at least k and give every member the box of
the group. Whoever knows all places and the method learns from a box only that one of its group
asked: for every member v of the group of u, the group of v is that of u (Kalnis, Ghinita,
Mouratidis, Papadias, TKDE 2007). Proof: the division is a function of the places alone, not of who
asks; a box is a function of its group; so all k and more members have the same box.

* "kd": cuts where the area saved is largest (`partition_kernel`);
* "hilbert": buckets of k along the Hilbert curve;
* "grid": columns of equal numbers, cut into runs of k;
* "best": all three, and the one with the smallest mean area, which is a function of the places,
  too;
* "auto": cuts for small k and columns for large, which were best on traffic (`bench/places.py`).

**Not reciprocal**, and labelled so: "casper" (Mokbel, Chow, Aref, VLDB 2006; cells of a pyramid)
and "nearest" (the user with her k − 1 nearest). Their boxes hold k users, but the method tells
which of them can have asked; `sf.attack.who_asked` counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.anonymize.definitions.definition import positive_integer
from sfumato.anonymize.places import orders
from sfumato.anonymize.places.diversity import join_alike, label_codes
from sfumato.data.places.points import Points, read_points
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

RECIPROCAL = ("kd", "hilbert", "grid")
OTHERS = ("casper", "nearest")
METHODS = ("auto", "best", *RECIPROCAL, *OTHERS)
LARGE_K = 12
"""From this k on columns make smaller boxes than cuts."""


@dataclass(frozen=True, eq=False, repr=False)
class Cloaks(Shown):
    """A box per user: low x, high x, low y, high y in metres of the plane of `points`.

    `group` numbers the users who share a box where the method is reciprocal; None otherwise.
    """

    points: Points
    boxes: NDArray[np.float64]
    k: NDArray[np.int64]
    method: str
    group: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.boxes)

    def __repr__(self) -> str:
        label = "reciprocal" if self.reciprocal else "NOT reciprocal"
        return (
            f"<Cloaks of {len(self):,} users by {self.method}, {label}: mean area "
            f"{self.mean_area:,.0f} m²>"
        )

    @property
    def reciprocal(self) -> bool:
        """Whether nobody can tell from a box who of its users asked."""
        return self.group is not None

    @property
    def areas(self) -> NDArray[np.float64]:
        """The area of each user's box, in square metres."""
        found: NDArray[np.float64] = (self.boxes[:, 1] - self.boxes[:, 0]) * (
            self.boxes[:, 3] - self.boxes[:, 2]
        )
        return found

    @property
    def mean_area(self) -> float:
        """The mean area of a user's box, in square metres."""
        return float(self.areas.mean()) if len(self) else 0.0

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the boxes in the coordinates that the points came in."""
        across, up = self.points.frame.names
        restore = self.points.frame.restore
        return {
            f"{across}_low": restore(self.boxes[:, 0], 0),
            f"{across}_high": restore(self.boxes[:, 1], 0),
            f"{up}_low": restore(self.boxes[:, 2], 1),
            f"{up}_high": restore(self.boxes[:, 3], 1),
        }


def cloak(
    points: Any,
    *,
    k: Any = 5,
    method: str = "auto",
    min_area: Any = 0.0,
    diversity: int = 1,
    labels: Any = None,
    people: Any = None,
    degrees: bool | None = None,
) -> Cloaks:
    """Give every user a box that at least k users are in.

    `k` and `min_area` (square metres) are one number for all, or one per user; a group keeps the
    largest of its members. With `diversity`, the users of a box are at places of as many different
    `labels` (one per point, None where nothing is known). `people` names the user of each point.

    >>> import sfumato as sf
    >>> sf.places.cloak([[0, 0], [1, 2], [50, 50], [53, 50]], k=2).boxes.tolist()
    [[0.0, 1.0, 0.0, 2.0], [0.0, 1.0, 0.0, 2.0], [50.0, 53.0, 50.0, 50.0], [50.0, 53.0, 50.0, 50.0]]
    """
    if method not in METHODS:
        raise ParameterError(
            f"There is no method '{method}'; there are {listed(METHODS)}."
            f"{did_you_mean(method, METHODS)}"
        )
    found = read_points(points, people=people, degrees=degrees)
    wanted = _per_user(k, len(found))
    least = _areas(min_area, len(found))
    if len(found) and wanted.max() > len(found):
        raise Unsatisfiable(
            f"k = {wanted.max():,} asks for as many users in a box, and there are {len(found):,}."
        )
    if not len(found):
        return Cloaks(found, np.zeros((0, 4)), wanted, method, np.zeros(0, np.int64))
    kinds = label_codes(labels, positive_integer("diversity", diversity), len(found))
    if method in OTHERS:
        if diversity > 1:
            raise ParameterError(
                f"'{method}' cannot keep diversity; use a reciprocal method: {listed(RECIPROCAL)}."
            )
        from sfumato.anonymize.places import not_reciprocal  # noqa: PLC0415 - rarely wanted

        boxes = getattr(not_reciprocal, method)(found.places, wanted)
        return Cloaks(found, _enlarged(boxes, least), wanted, method)
    if method == "auto":
        method = "kd" if wanted.mean() < LARGE_K else "grid"
    return _reciprocal(found, _Asked(wanted, least, kinds, diversity), method)


class _Asked(NamedTuple):
    """What each user asks for: k, square metres; the kind of place she is at, and how many."""

    k: NDArray[np.int64]
    area: NDArray[np.float64]
    label: NDArray[np.int64]
    diversity: int


def _reciprocal(points: Points, asked: _Asked, method: str) -> Cloaks:
    """Divide in the order of people, so that the order in which they are given plays no part."""
    places, mine = points.places, asked
    order = None
    if not bool(np.all(points.people[1:] > points.people[:-1])):
        order = np.argsort(points.people, kind="stable")
        places = places[order]
        mine = _Asked(asked.k[order], asked.area[order], asked.label[order], asked.diversity)
    best: tuple[float, str, Any, Any] | None = None
    for name in RECIPROCAL if method == "best" else (method,):
        group = _DIVIDE[name](places, mine.k)
        if mine.diversity > 1:
            group = join_alike(places, group, mine.label, mine.diversity)
        boxes = _boxes(places, group, mine.area)
        mean = float(((boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])).mean())
        if best is None or mean < best[0]:
            best = mean, name, group, boxes
    assert best is not None
    if order is None:
        return Cloaks(points, best[3], asked.k, best[1], best[2])
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return Cloaks(points, best[3][back], asked.k, best[1], best[2][back])


def _boxes(
    places: NDArray[np.float64], group: NDArray[np.int64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each user's box: that of the group, enlarged to what any member asks for."""
    from sfumato.anonymize.places.order_kernel import boxes_around  # noqa: PLC0415 - compiles

    groups = int(group.max()) + 1
    boxes = boxes_around(places, group, groups)
    if least.any():
        most = np.zeros(groups)
        np.maximum.at(most, group, least)
        boxes = _enlarged(boxes, most)
    found: NDArray[np.float64] = boxes[group]
    return found


def _enlarged(boxes: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move all sides of a box outwards by the same length, until it has the area asked for."""
    width, height = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    lacks = np.maximum(least - width * height, 0.0)
    total = width + height
    more = (np.sqrt(total**2 + 4 * lacks) - total) / 4 * (1 + 1e-12)
    found: NDArray[np.float64] = boxes + more[:, None] * [-1.0, 1.0, -1.0, 1.0]
    return found


def _per_user(k: Any, count: int) -> NDArray[np.int64]:
    if np.ndim(k) == 0:
        return np.full(count, positive_integer("k", k), np.int64)
    wanted = np.asarray(k)
    if wanted.shape != (count,) or wanted.dtype.kind not in "iu" or (count and wanted.min() < 1):
        raise ParameterError(f"k must be a whole number from 1, or one for each of {count} points.")
    return wanted.astype(np.int64)


def _areas(least: Any, count: int) -> NDArray[np.float64]:
    wanted = np.asarray(least, dtype=np.float64)
    if not wanted.ndim:
        wanted = np.full(count, wanted)
    if wanted.shape != (count,) or not np.isfinite(wanted).all() or (count and wanted.min() < 0):
        raise ParameterError("min_area must be a number of square metres from 0, or one per point.")
    return wanted


_DIVIDE: dict[str, Callable[..., NDArray[np.int64]]] = {
    "kd": orders.divide_by_cuts,
    "hilbert": orders.divide_along_the_curve,
    "grid": orders.divide_by_columns,
}
