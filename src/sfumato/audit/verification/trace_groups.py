"""Verify groups that a released file of traces states: who runs together, what lies between cuts.

Distances are those between the farthest corners of what is shown, in degrees by the latitude at
which they are; all in plain loops over the file's own numbers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.rows import Bottleneck

if TYPE_CHECKING:
    from sfumato.released.trajectories import TracesView

EQUATOR, MERIDIAN = 111_320.0, 110_574.0
"""Metres of a degree of longitude at the equator, and of a degree of latitude."""
CLOSE = 1e-6


def run_together(view: TracesView, delta: float) -> tuple[float | None, Bottleneck | None]:
    """Return the fewest people of a group whose traces are within `delta` at every moment.

    A group in which two traces are farther apart, or have other moments, or that the file does
    not tell from others, protects nobody: it counts as one person.
    """
    if not view.records:
        return None, None
    found: list[tuple[int, int]] = []
    for number, traces in _members(view).items():
        together = number >= 0 and all(
            _apart(view, a, b) <= delta + CLOSE
            for place, a in enumerate(traces)
            for b in traces[place + 1 :]
        )
        people = len({int(view.person[i]) for i in traces}) if together else 1
        found.append((people, len(traces)))
    people, traces_there = min(found)
    return float(people), Bottleneck({"traces": str(traces_there)}, people, people=True)


def _members(view: TracesView) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for trace, number in enumerate(view.group.tolist()):
        found[number].append(trace)
    return found


def _apart(view: TracesView, a: int, b: int) -> float:
    """Return the largest distance of two traces; infinite where their moments differ."""
    first = view.written[view.starts[a] : view.starts[a + 1]].tolist()
    second = view.written[view.starts[b] : view.starts[b + 1]].tolist()
    if len(first) != len(second):
        return math.inf
    farthest = 0.0
    for (w, e, s, n, begin, end), (west, east, south, north, start, stop) in zip(
        first, second, strict=True
    ):
        if (begin, end) != (start, stop):
            return math.inf
        across, up = max(e - west, east - w), max(n - south, north - s)
        if view.frame.degrees:
            nearest = min(map(abs, (s, n, south, north)))
            across *= EQUATOR * math.cos(math.radians(nearest))
            up *= MERIDIAN
        farthest = max(farthest, math.hypot(across, up))
    return farthest


def look_at_windows(view: TracesView) -> tuple[FileFinding, ...]:
    """Check pieces between cuts: windows do not overlap, and each has one piece of a person.

    Two pieces of one person in a window would count as two people; a piece that reaches into
    another window would be linked with what is shown there.
    """
    spans: list[tuple[float, float]] = []
    twice = 0
    for traces in _members(view).values():
        rows = [r for i in traces for r in range(view.starts[i], view.starts[i + 1])]
        begins, ends = view.spans[rows, 0].min(), view.spans[rows, 1].max()
        spans.append((float(begins), float(ends)))
        twice += len(traces) - len({int(view.person[i]) for i in traces})
    spans.sort()
    found = []
    if any(after[0] < before[1] for before, after in pairwise(spans)):
        text = "Pieces reach from one window into another, so a cut is none; the file is damaged."
        found.append(FileFinding("windows overlap", "", text))
    if twice:
        text = f"{twice:,} piece(s) are of a person who has another in the same window."
        found.append(FileFinding("one person twice", "", text))
    return tuple(found)
