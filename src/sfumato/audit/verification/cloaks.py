"""Verify cloaked places from points and boxes alone, by code that shares nothing with their maker.

* every user is in her own box;
* the users who got exactly the same box are at least as many as any of them asked for: different
  users, not requests. These are the ones who can have asked, so nothing smaller protects anybody;
* a box is as large as any of its users asked for (`min_area`), and its users are at places of as
  many different labels as were promised (`diversity`);
* where the cloaking can be run again (`again`), it is, with another member of the group asking:
  reciprocity says that the same box comes out.

A stream is verified in `request_stream`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, ParameterError, PromiseBroken
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

TOLERANCE = 1e-6
"""Metres by which a place may lie outside its box for rounding."""


@dataclass(frozen=True)
class CloaksVerification(Shown):
    """What was found: users outside their box, groups too small, boxes that changed with the asker.

    `smallest` is the least number of different users with one box; `late` counts requests that
    left after their deadline, `far` those whose box reaches beyond what they tolerate, `narrow`
    those whose box is smaller than they asked for, `alike` those in a box with places of too few
    labels, `linked` those whose boxes so far, intersected, leave fewer users than they asked for.
    """

    users: int
    boxes: int
    smallest: int
    outside: int
    too_small: int
    changed: int = 0
    late: int = 0
    far: int = 0
    narrow: int = 0
    alike: int = 0
    linked: int = 0

    @property
    def faults(self) -> dict[str, int]:
        """How many faults of each kind there are, in words."""
        return {
            "outside their box": self.outside,
            "in a box with too few users": self.too_small,
            "whose box depends on who asks": self.changed,
            "that left too late": self.late,
            "whose box reaches too far": self.far,
            "in a box smaller than asked for": self.narrow,
            "in a box with places too much alike": self.alike,
            "whose boxes together leave too few users": self.linked,
        }

    @property
    def holds(self) -> bool:
        """Whether everything promised was found to be so."""
        return not any(self.faults.values())

    def raise_if_broken(self) -> None:
        """Raise `PromiseBroken` where something does not hold."""
        if not self.holds:
            raise PromiseBroken(f"The cloaking does not hold: {self}.")

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {what}" for what, count in self.faults.items() if count)
        return (
            f"{self.users:,} places in {self.boxes:,} boxes of at least {self.smallest:,} users: "
            f"{told or 'holds'}"
        )


def verify_cloaks(
    points: Any,
    boxes: Any,
    *,
    k: Any,
    people: Sequence[Any] | None = None,
    min_area: Any = 0.0,
    diversity: int = 1,
    labels: Sequence[Hashable] | None = None,
    again: Callable[[int], Sequence[float]] | None = None,
    samples: int = 100,
) -> CloaksVerification:
    """Check a snapshot: places (rows x, y) and a box each (low x, high x, low y, high y).

    `k` and `min_area` (square metres) are a number or one per user, `people` names the user of each
    place, `labels` what kind of place it is (None for nothing known), of which a box has
    `diversity`. `again(i)` cloaks anew with user i asking and returns her box.
    """
    places, drawn = [list(row) for row in points], [tuple(map(float, row)) for row in boxes]
    if len(places) != len(drawn):
        raise DataError(
            f"There are {len(places)} places and {len(drawn)} boxes; give one for each."
        )
    wanted = asked_by_each("k", k, len(places))
    least = asked_by_each("min_area", min_area, len(places))
    who = list(range(len(places))) if people is None else list(people)
    members: dict[tuple[float, ...], list[int]] = defaultdict(list)
    for i, box in enumerate(drawn):
        members[box].append(i)
    counts = {box: len({who[i] for i in inside}) for box, inside in members.items()}
    changed = 0
    if again is not None and drawn:
        step = max(len(drawn) // samples, 1)
        for i in range(0, len(drawn), step):
            group = members[drawn[i]]
            other = group[(group.index(i) + 1) % len(group)]
            changed += tuple(map(float, again(other))) != drawn[i]
    return CloaksVerification(
        len(places), len(members), min(counts.values(), default=0),
        sum(not is_inside(box, place) for box, place in zip(drawn, places, strict=True)),
        sum(counts[box] < wanted[i] for i, box in enumerate(drawn)),
        changed,
        narrow=sum(area_of(box) < least[i] * (1 - TOLERANCE) for i, box in enumerate(drawn)),
        alike=count_alike(members.values(), labels, diversity),
    )  # fmt: skip


def asked_by_each(name: str, asked: Any, count: int) -> list[float]:
    """Return what each of them asked for, where it was one number for all or one for each."""
    each = list(asked) if hasattr(asked, "__len__") else [asked] * count
    if len(each) != count:
        raise ParameterError(f"{name} is one number, or one for each of {count:,}.")
    return [float(number) for number in each]


def count_alike(
    groups: Iterable[Sequence[int]], labels: Sequence[Hashable] | None, diversity: int
) -> int:
    """Count who is in a group whose places have fewer different labels than promised."""
    if diversity <= 1:
        return 0
    if labels is None:
        raise ParameterError("diversity is about kinds of places; say them with labels=….")
    named = list(labels)
    return sum(
        len(group)
        for group in groups
        if len({named[i] for i in group if named[i] is not None}) < diversity
    )


def area_of(box: Sequence[float]) -> float:
    """Return the area of a box."""
    return (box[1] - box[0]) * (box[3] - box[2])


def is_inside(box: Sequence[float], place: Sequence[float]) -> bool:
    """Tell whether a place lies in a box, edges included."""
    x0, x1, y0, y1 = box[:4]
    return (
        x0 - TOLERANCE <= place[0] <= x1 + TOLERANCE
        and y0 - TOLERANCE <= place[1] <= y1 + TOLERANCE
    )
