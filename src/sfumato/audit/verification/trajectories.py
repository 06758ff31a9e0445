"""Verify released traces from the file alone: who shares boxes with how many people.

Groups are found by sorting rows of text, people are counted in sets, supports by listing who
shows what: none of it is shared with what made the release.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.anonymize.definitions.nearness import CoLocalization
from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.itemset_counts import find_rarest
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.audit.verification.trace_groups import look_at_windows, run_together
from sfumato.audit.verification.verify import Verification
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.promise import StatedPromise
    from sfumato.released.trajectories import TracesView

FEW_BOXES = 30
"""Up to so many boxes per trace and few traces, sets of boxes are simply listed."""


def verify_traces(view: TracesView, stated: StatedPromise) -> Verification:
    """Hold a promise against released traces, and measure the smallest group of people."""
    parts = () if stated.definition is None else stated.definition.parts
    people = _people_by_trace_text(view)
    return Verification(
        source=view.source,
        records=view.records,
        classes=len(people),
        promises=tuple(_check(part, view, people) for part in parts),
        measured=(_smallest(people),),
        findings=(*_look(view), *_look_at_groups(view, parts)),
        unchecked=stated.own,
        unit="trace",
    )


def _people_by_trace_text(view: TracesView) -> dict[str, set[int]]:
    """Gather, for every text that a whole trace is written as, the people who show it."""
    lines = [" ".join(format(v, ".17g") for v in row) for row in view.written.tolist()]
    found: dict[str, set[int]] = defaultdict(set)
    for i in range(view.records):
        text = "\n".join(lines[view.starts[i] : view.starts[i + 1]])
        owner = int(view.person[i])
        found[text].add(owner if owner >= 0 else -2 - i)  # nothing tells: every trace somebody's
    return found


def _check(part: Definition, view: TracesView, people: dict[str, set[int]]) -> FigureRow:
    if isinstance(part, KAnonymity):
        row = _smallest(people)
        kept = row.found is None or row.found >= part.k
        return FigureRow(row.measure, "", row.found, row.bottleneck, str(part), holds=kept)
    if isinstance(part, KmAnonymity):
        found, shown = rarest_observations(view, part.m)
        kept = found is None or found >= part.k
        return FigureRow(f"people seen {part.m} times", "", found, shown, str(part), holds=kept)
    if isinstance(part, CoLocalization):
        found, shown = run_together(view, part.delta)
        kept = found is None or found >= part.k
        return FigureRow(f"people within {part.delta:g} m", "", found, shown, str(part), holds=kept)
    raise ParameterError(f"{part} says nothing about traces.")


def _smallest(people: dict[str, set[int]]) -> FigureRow:
    if not people:
        return FigureRow("k", "", None, None)
    text, owners = min(people.items(), key=lambda item: len(item[1]))
    boxes = text.count("\n") + 1
    return FigureRow(
        "k", "", float(len(owners)), Bottleneck({"boxes": str(boxes)}, len(owners), people=True)
    )


def rarest_observations(view: TracesView, m: int) -> tuple[float | None, Bottleneck | None]:
    """Return the fewest traces that show the same up to m boxes, of those that any trace shows."""
    rows, codes = np.unique(view.written, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    if not len(codes):
        return None, None
    sets = [
        sorted(set(codes[b:e].tolist()))
        for b, e in zip(view.starts[:-1], view.starts[1:], strict=True)
    ]
    if view.records <= FEW_BOXES and max(map(len, sets)) <= FEW_BOXES:
        least = _list_all(sets, m)
    else:
        starts = np.concatenate([[0], np.cumsum([len(members) for members in sets])]).astype(
            np.int64
        )
        flat = np.fromiter((a for members in sets for a in members), np.int64, int(starts[-1]))
        ones = np.ones(len(sets), np.int64)
        least = int(find_rarest(starts, flat, ones, len(rows), m)[0])
    return float(least), Bottleneck({"boxes": f"up to {m}"}, least)


def _list_all(sets: list[list[int]], m: int) -> int:
    counted: dict[tuple[int, ...], int] = defaultdict(int)
    for members in sets:
        for size in range(1, m + 1):
            for chosen in combinations(members, size):
                counted[chosen] += 1
    return min(counted.values(), default=0)


def _look_at_groups(view: TracesView, parts: tuple[Definition, ...]) -> tuple[FileFinding, ...]:
    """Report what the column of groups shows, which means something else for each promise."""
    if (view.group < 0).any():
        return ()
    if any(isinstance(part, CoLocalization) for part in parts):
        text = (
            "Traces of a group run near each other and differ: this is no k-anonymity, and whoever "
            "knows places of a person more closely can tell her trace."
        )
        return (FileFinding("no k-anonymity", "", text, serious=False),)
    return look_at_windows(view)


def _look(view: TracesView) -> tuple[FileFinding, ...]:
    """Report what is wrong with the file beside its groups."""
    found = [
        FileFinding(
            "further column", name,
            f"Column '{name}' is not part of such a release; nothing protects it; leave it out.",
        )
        for name in view.further
    ]  # fmt: skip
    if not view.original and len(view.boxes):
        ends = (view.boxes[:, 1] < view.boxes[:, 0]) | (view.boxes[:, 3] < view.boxes[:, 2])
        if (ends | (view.spans[:, 1] < view.spans[:, 0])).any():
            text = "A box or a span of time ends before it begins; the file is damaged."
            found.append(FileFinding("reversed box", "", text))
    if view.records and (view.person < 0).any():
        text = "No column tells the people of a group apart, so traces were counted as people."
        found.append(FileFinding("people", "", text, serious=False))
    return tuple(found)
