"""Verify cloaked places from points and boxes alone, by code that shares nothing with their maker.

* every user is in her own box;
* the users who got exactly the same box are at least as many as any of them asked for: different
  users, not requests. These are the ones who can have asked, so nothing smaller protects anybody;
* where the cloaking can be run again (`again`), it is, with another member of the group asking:
  reciprocity says that the same box comes out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, PromiseBroken
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOLERANCE = 1e-6
"""Metres by which a place may lie outside its box for rounding."""


@dataclass(frozen=True)
class CloaksVerification(Shown):
    """What was found: users outside their box, groups too small, boxes that changed with the asker.

    `smallest` is the least number of different users with one box; `late` counts requests that
    left after their deadline, `far` those whose box reaches beyond what they tolerate.
    """

    users: int
    boxes: int
    smallest: int
    outside: int
    too_small: int
    changed: int = 0
    late: int = 0
    far: int = 0

    @property
    def holds(self) -> bool:
        """Whether everything promised was found to be so."""
        return not (self.outside or self.too_small or self.changed or self.late or self.far)

    def raise_if_broken(self) -> None:
        """Raise `PromiseBroken` where something does not hold."""
        if not self.holds:
            raise PromiseBroken(f"The cloaking does not hold: {self}.")

    def __str__(self) -> str:
        faults = {
            "outside their box": self.outside, "in a box with too few users": self.too_small,
            "whose box depends on who asks": self.changed, "that left too late": self.late,
            "whose box reaches too far": self.far,
        }  # fmt: skip
        told = ", ".join(f"{count:,} {what}" for what, count in faults.items() if count)
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
    again: Callable[[int], Sequence[float]] | None = None,
    samples: int = 100,
) -> CloaksVerification:
    """Check a snapshot: places (rows x, y) and a box each (low x, high x, low y, high y).

    `k` is a number or one per user, `people` names the user of each place. `again(i)` cloaks anew
    with user i asking and returns her box.
    """
    places, drawn = [list(row) for row in points], [tuple(map(float, row)) for row in boxes]
    if len(places) != len(drawn):
        raise DataError(
            f"There are {len(places)} places and {len(drawn)} boxes; give one for each."
        )
    wanted = [int(k)] * len(places) if not hasattr(k, "__len__") else [int(number) for number in k]
    who = list(range(len(places))) if people is None else list(people)
    members: dict[tuple[float, ...], list[int]] = defaultdict(list)
    for i, box in enumerate(drawn):
        members[box].append(i)
    outside = sum(not _holds(box, place) for box, place in zip(drawn, places, strict=True))
    counts = {box: len({who[i] for i in inside}) for box, inside in members.items()}
    small = sum(counts[box] < wanted[i] for i, box in enumerate(drawn))
    changed = 0
    if again is not None and drawn:
        step = max(len(drawn) // samples, 1)
        for i in range(0, len(drawn), step):
            group = members[drawn[i]]
            other = group[(group.index(i) + 1) % len(group)]
            changed += tuple(map(float, again(other))) != drawn[i]
    return CloaksVerification(
        len(places), len(members), min(counts.values(), default=0), outside, small, changed
    )


def _holds(box: tuple[float, ...], place: Sequence[float]) -> bool:
    x0, x1, y0, y1 = box[:4]
    return (
        x0 - TOLERANCE <= place[0] <= x1 + TOLERANCE
        and y0 - TOLERANCE <= place[1] <= y1 + TOLERANCE
    )


def verify_stream(requests: Any, result: Any, *, wait: float) -> CloaksVerification:
    """Check what left a stream: `requests` has columns user, time, x, y; `result` says what became.

    A box holds its requests in space and time, has as many different users as each asked for, lies
    within `reach` of each, and left before any of them had waited longer than `wait`.
    """
    rows = zip(requests["user"], requests["time"], requests["x"], requests["y"], strict=True)
    members: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    outside = late = far = 0
    for i, (user, time, x, y) in enumerate(rows):
        if not result.released[i]:
            continue
        number = int(result.together[i])
        x0, x1, y0, y1, first, last = result.boxes[number]
        outside += not (_holds((x0, x1, y0, y1), (x, y)) and first <= time <= last)
        late += float(result.moment[i]) > float(time) + wait + TOLERANCE
        reach = float(result.reach[i]) + TOLERANCE
        far += not (x - reach <= x0 and x1 <= x + reach and y - reach <= y0 and y1 <= y + reach)
        members[number].append((user, int(result.k[i]), float(result.moment[i])))
    sizes = {number: len({user for user, _, _ in left}) for number, left in members.items()}
    small = sum(k > sizes[number] for number, left in members.items() for _, k, _ in left)
    apart = sum(len({moment for _, _, moment in left}) > 1 for left in members.values())
    released = sum(map(len, members.values()))
    return CloaksVerification(
        released, len(members), min(sizes.values(), default=0), outside, small, apart, late, far
    )
