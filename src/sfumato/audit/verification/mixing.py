"""Verify what left mix zones: by passages, batches and points alone, in plain loops.

* a batch has at least k different people, who entered one zone through one side;
* its moment is not before any of them has left (without delay: not before each has), at the moments
  at which all of that is seen;
* every point shown is one of a trace, at its true time or later by what was waited at a zone;
  none is shown inside a zone's silence, and no pseudonym is on both sides of one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixingVerification:
    """What was found: the smallest batch, and how many batches and points break a rule."""

    batches: int
    smallest: int
    too_small: int
    uneven: int
    early: int
    linked: int

    @property
    def holds(self) -> bool:
        """Whether everything promised was found to be so."""
        return not (self.too_small or self.uneven or self.early or self.linked)


def verify_mixing(mixed: Any, traces: Any, *, k: int) -> MixingVerification:
    """Check pieces of traces that were mixed, against the traces they came from."""
    passages = mixed.passages
    members: dict[int, list[int]] = defaultdict(list)
    for p, number in enumerate(mixed.batch.tolist()):
        if number >= 0:
            members[number].append(p)
    people = {n: {int(passages.person[p]) for p in left} for n, left in members.items()}
    doors = {
        n: {(int(passages.box[p]), int(passages.side_in[p])) for p in left}
        for n, left in members.items()
    }
    early = sum(
        float(mixed.moment[p])
        < max(float(mixed.seen.left[q]) for q in (left if mixed.zones.waits else [p])) - 1e-6
        for left in members.values()
        for p in left
    )
    return MixingVerification(
        batches=len(members),
        smallest=min(map(len, people.values()), default=0),
        too_small=sum(len(who) < k for who in people.values()),
        uneven=sum(len(which) > 1 for which in doors.values()),
        early=early,
        linked=_linked(mixed, traces),
    )


def _linked(mixed: Any, traces: Any) -> int:
    """Count shown points that should be silent, or whose pseudonym is also before a passage."""
    pieces = _pieces(mixed, traces)
    seen: dict[int, set[tuple[int, int]]] = defaultdict(set)
    bad = 0
    for (x, y, t), name in zip(mixed.points.tolist(), mixed.pseudonym.tolist(), strict=True):
        whose = pieces.get((x, y, t), set())
        bad += not whose
        if len(whose) == 1:  # else two people at one place and moment: nobody can tell whose it is
            seen[int(name)] |= whose
    return bad + sum(len(both) > 1 for both in seen.values())


def _pieces(mixed: Any, traces: Any) -> dict[tuple[float, float, float], set[tuple[int, int]]]:
    """Return what may be shown: places with moments, with the trace and its passages so far."""
    gone: dict[int, list[int]] = defaultdict(list)
    for p in sorted(range(len(mixed.batch)), key=lambda p: float(mixed.passages.entered[p])):
        gone[int(mixed.passages.trace[p])].append(p)
    found: dict[tuple[float, float, float], set[tuple[int, int]]] = defaultdict(set)
    for trace in range(len(traces)):
        for x, y, t in traces.trace(trace).tolist():
            behind = [p for p in gone[trace] if mixed.passages.entered[p] <= t]
            shown = t
            if behind:
                p = behind[-1]
                left, moment = float(mixed.passages.left[p]), float(mixed.moment[p])
                if mixed.zones.late:
                    shown = t + (moment - left)
                if mixed.batch[p] < 0 or t < left or shown < moment - 1e-6:
                    continue
            found[x, y, shown].add((trace, len(behind)))
    return found
