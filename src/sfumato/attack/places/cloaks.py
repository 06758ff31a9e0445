"""Attacks on cloaked requests: who can have asked, who is in the middle, who is in every box.

All know where everybody is. `who_asked` knows the method, too: users in the box whose own box
would have been another did not ask. `centre_of_box` guesses whoever is nearest to the middle.
`intersection` links the requests of a user over time and keeps those who were in every box.
Each returns the mean chance that the guess is right, to be held against 1/k.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


CENTRE = "centre of the box"


@dataclass(frozen=True)
class Guess:
    """How often an attacker is right about who asked, and how often 1/k would be.

    `worst` is the best chance that she has about anybody; whoever guesses one user (the centre of
    the box) is right or wrong.
    """

    attack: str
    people: int
    success: float
    bound: float
    worst: float

    @property
    def succeeds(self) -> bool:
        """Whether the attacker does better than 1/k, beyond what chance explains."""
        spread = 3 * np.sqrt(self.bound * (1 - self.bound) / max(self.people, 1))
        return bool(self.success > self.bound + spread)

    def __str__(self) -> str:
        verdict = "succeeds" if self.succeeds else "fails"
        return (
            f"{self.attack}: {verdict}; right in {100 * self.success:.1f} % of {self.people:,}, "
            f"1/k is {100 * self.bound:.1f} %"
        )


def who_asked(boxes: Any, *, k: Any) -> Guess:
    """Find, for each box, the users whose own box it is: only they can have asked."""
    drawn = np.asarray(boxes, dtype=np.float64)
    _, index, counts = np.unique(drawn, axis=0, return_inverse=True, return_counts=True)
    chance = 1.0 / counts[index.reshape(-1)]
    return _guess("who can have asked", chance, k)


def centre_of_box(points: Any, boxes: Any, *, k: Any, most: int | None = None) -> Guess:
    """Guess that whoever is nearest to the middle of the box asked.

    It is tried for everybody, or for so many users of all at `most`, evenly chosen.
    """
    places, drawn = np.asarray(points, np.float64), np.asarray(boxes, np.float64)
    few = np.linspace(0, len(places) - 1, min(most or len(places), len(places))).astype(int)
    order = np.argsort(places[:, 0], kind="stable")
    sorted_x = places[order, 0]
    right = np.zeros(len(few))
    for number, i in enumerate(few.tolist()):
        x0, x1, y0, y1 = drawn[i]
        left, end = np.searchsorted(sorted_x, [x0 - 1e-9, x1 + 1e-9], side="left")
        inside = order[left : end + 1]
        held = places[inside]
        inside = inside[
            (held[:, 0] <= x1 + 1e-9) & (held[:, 1] >= y0 - 1e-9) & (held[:, 1] <= y1 + 1e-9)
        ]
        away = np.hypot(*(places[inside] - [(x0 + x1) / 2, (y0 + y1) / 2]).T)
        nearest = inside[away <= away.min() + 1e-9]
        right[number] = (i in nearest) / len(nearest)
    return _guess(CENTRE, right, np.asarray(k)[few] if np.ndim(k) else k)


def intersection(sessions: Iterable[Sequence[Iterable[Any]]], *, k: int) -> Guess:
    """Intersect the users of all boxes of each session; one in as many as are left is hers."""
    chance = []
    for boxes in sessions:
        left: set[Any] | None = None
        for users in boxes:
            left = set(users) if left is None else left & set(users)
        if left:
            chance.append(1.0 / len(left))
    return _guess("intersection of successive boxes", np.array(chance), k)


def sessions_of(user: Any, together: Any, session: Any = None) -> list[list[set[Any]]]:
    """Return the users of every box of each user who left in several, from a stream's result.

    `session` names what the attacker can link, one name per request; all of a user's if None.
    """
    members: dict[int, set[Any]] = defaultdict(set)
    boxes: dict[Any, list[int]] = defaultdict(list)
    linked = user if session is None else session
    for who, name, box in zip(user, linked, together, strict=True):
        if box >= 0:
            members[int(box)].add(who)
            boxes[name].append(int(box))
    return [[members[box] for box in several] for several in boxes.values() if len(several) > 1]


def _guess(attack: str, chance: NDArray[np.float64], k: Any) -> Guess:
    bound = float(np.mean(1.0 / np.asarray(k, dtype=np.float64))) if np.size(k) else 0.0
    success = float(chance.mean()) if len(chance) else 0.0
    return Guess(attack, len(chance), success, bound, float(chance.max(initial=0.0)))
