"""Whether two released labels can stand for the same value.

Where the hierarchy is declared as a tree or file, labels are sets of leaves and the answer
is exact. Where it is a rule, labels are read as the rules write them: intervals `[a,b)`,
`<a`, `>=a` and ranges `[a,b]`, days, months, quarters, years and decades, masks with `*`
for any character, groups `{a, b}`. A group too long to be written out may hold anything,
and counts as compatible: a warning too many is better than one too few.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy
from sfumato.released.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{4})(?:(s)|-Q([1-4])|-(\d{2})(?:-(\d{2}))?)?")
_OPEN_GROUP = re.compile(r"\{.*, and \d+ more\} *")

Span = tuple[float, float, bool]
"""Low end, high end, and whether the high end is included."""


def compatible(first: Sequence[str], second: Sequence[str], hierarchy: Any) -> NDArray[np.bool_]:
    """Return for every two labels whether one value can be behind both."""
    if isinstance(hierarchy, Hierarchy):
        labels = Labels(hierarchy)
        sets = [[labels.leaves(text) for text in side] for side in (first, second)]
        return np.array(
            [
                [
                    bool((x & y).any()) if x is not None and y is not None else a == b
                    for b, y in zip(second, sets[1], strict=True)
                ]
                for a, x in zip(first, sets[0], strict=True)
            ],
            dtype=np.bool_,
        )
    return np.array([[may_meet(a, b) for b in second] for a in first], dtype=np.bool_)


def may_meet(first: str, second: str) -> bool:
    """Return whether two labels, read as the rules write them, can stand for one value."""
    if first == second or ROOT in {first, second}:
        return True
    if MISSING in {first, second}:
        return False
    for read in (_number, _day):
        spans = _span(first, read), _span(second, read)
        if spans[0] is not None and spans[1] is not None:
            return _intersect(spans[0], spans[1])
    if ROOT in first or ROOT in second:
        return _masks_meet(first, second)
    if is_open_group(first) or is_open_group(second):
        return True
    return not _members(first).isdisjoint(_members(second))


def stands_for(label: str, cell: str) -> bool:
    """Return whether a released label covers a cell of somebody known.

    Like `may_meet`, except that a number is not another way of writing it: `010` does not cover
    `10`. Cells are compared as the text they are, and whoever counts the people behind a label
    must rather count too few than too many.
    """
    if _number(label) is not None and _number(cell) is not None:
        return label == cell
    return may_meet(label, cell)


def is_open_group(label: str) -> bool:
    """Return whether a label is a group of values too long to be written out."""
    return _OPEN_GROUP.fullmatch(label) is not None


def _number(text: str) -> Span | None:
    return (float(text), float(text), True) if _NUMBER.fullmatch(text) else None


def _day(text: str) -> Span | None:
    """Read a day, month, quarter, year or decade as a span of day numbers of 31-day months."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, decade, quarter, month, day = found.groups()
    start = int(year) * 372
    if decade:
        return start, start + 3720, False
    if quarter:
        return start + (int(quarter) - 1) * 93, start + int(quarter) * 93, False
    if month is None:
        return start, start + 372, False
    start += (int(month) - 1) * 31
    if day is None:
        return start, start + 31, False
    return start + int(day) - 1, start + int(day), False


def _span(label: str, read: Callable[[str], Span | None]) -> Span | None:
    """Return the span of a single value or of an interval between two."""
    if (alone := read(label)) is not None:
        return alone
    if label.startswith("<"):
        edge = read(label[1:])
        return None if edge is None else (-math.inf, edge[0], False)
    if label.startswith(">="):
        edge = read(label[2:])
        return None if edge is None else (edge[0], math.inf, True)
    ends = label[1:-1].split(",")
    if not label.startswith("[") or len(ends) != 2:
        return None
    low, high = read(ends[0]), read(ends[1])
    if low is None or high is None:
        return None
    return (low[0], high[1], high[2]) if label.endswith("]") else (low[0], high[0], False)


def _intersect(first: Span, second: Span) -> bool:
    low = max(first[0], second[0])
    return all(low < high or (low == high and closed) for _, high, closed in (first, second))


def _masks_meet(first: str, second: str) -> bool:
    return len(first) == len(second) and all(
        a == b or ROOT in {a, b} for a, b in zip(first, second, strict=True)
    )


def _members(label: str) -> set[str]:
    """Return the values a group lists; any other label is a value."""
    text = label.rstrip()
    return set(text[1:-1].split(", ")) if text.startswith("{") and text.endswith("}") else {label}
