"""Verify what left mix zones: by passages, batches and points alone, in plain loops.

* a batch has at least k different people, who entered one zone through one side;
* its moment is not before any of them has left;
* no point is shown inside a zone's silence, and no pseudonym is on both sides of one.
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
        float(mixed.moment[p]) < max(float(passages.left[q]) for q in left) - 1e-6
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
    owner: dict[tuple[float, float, float], set[int]] = defaultdict(set)
    for trace in range(len(traces)):
        for x, y, t in traces.trace(trace).tolist():
            owner[x, y, t].add(trace)
    spans: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for p, trace in enumerate(mixed.passages.trace.tolist()):
        back = float(mixed.moment[p]) if mixed.batch[p] >= 0 else float("inf")
        spans[trace].append((float(mixed.passages.entered[p]), back))
    seen: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    bad = 0
    for (x, y, t), name in zip(mixed.points.tolist(), mixed.pseudonym.tolist(), strict=True):
        whose = owner.get((x, y, t), set())
        if len(whose) != 1:
            continue  # two people at one place and moment: nobody can tell whose it is
        [trace] = whose
        begun = [s for s in spans[trace] if s[0] <= t]
        bad += bool(begun) and t < max(begun)[1]
        seen[int(name)].add((trace, len(begun)))
    return bad + sum(len(pieces) > 1 for pieces in seen.values())
