"""Bars with intervals: one number, a bar per category, or a column per step of a scale.

Contract: a bar begins at 0 and ends at the noisy number, below 0 too, and the whisker is its
interval: nothing is cut or moved to look like a count. A number that could not be given has no bar.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.ask.binned.bin_labels import read_edges, read_label
from sfumato.pictures.marks import WIDTH, box, figure, fitted, line, minus, plain, span, text
from sfumato.pictures.marks import text_width as wide
from sfumato.pictures.planes import ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

MARGIN = 18.0
_MOST_LABEL = 230.0
_COLUMN_HEIGHT = 240.0


@dataclass(frozen=True)
class Panel:
    """One measure of an answer: a value per place, with its interval if it has one."""

    name: str
    places: tuple[object, ...]
    values: tuple[float | None, ...]
    intervals: tuple[tuple[float, float] | None, ...]

    def title(self, row: int) -> str:
        """Tell a cell in words."""
        whole = f"{plain(self.places[row])}: {figure(self.values[row])}"
        pair = self.intervals[row]
        return whole if pair is None else f"{whole}, interval {span(pair)}"

    @property
    def reach(self) -> tuple[float, float]:
        """The scale that shows 0 and everything drawn."""
        ends = [0.0]
        ends += [float(value) for value in self.values if value is not None]
        ends += [
            float(end)
            for value, pair in zip(self.values, self.intervals, strict=True)
            if pair is not None and value is not None
            for end in pair
        ]
        low, high = min(ends), max(ends)
        if low == high:
            return 0.0, 1.0
        room = 0.03 * (high - low)
        return (low - room if low < 0 else 0.0), (high + room if high > 0 else 0.0)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def across(self) -> list[float]:
        """Choose ticks that have room beside each other."""
        widest = max(wide(tick_text(v)) for v in (self.low, self.high)) + 18
        return ticks(self.low, self.high, max(1, min(6, int((self.end - self.start) / widest))))


def tick_text(value: float) -> str:
    """Write a round number at an axis."""
    shown = 0.0 if abs(value) < 1e-12 else value
    return minus(f"{shown:,.10g}" if 1e-4 <= abs(shown) < 1e10 or not shown else f"{shown:.3g}")


def is_scale(places: Sequence[object]) -> bool:
    """Tell whether places are steps of a scale, to be drawn from left to right."""
    known = [place for place in places if place is not None]
    return len(known) > 1 and all(
        (isinstance(p, (int, float, dt.date)) and not isinstance(p, bool)) or read_label(p)
        for p in known
    )


def rows(panel: Panel, top: float) -> tuple[list[Markup], float]:
    """Draw a horizontal bar per place; give the marks and where they end."""
    labels = [plain(place) for place in panel.places]
    named = min(_MOST_LABEL, max(wide(label) for label in labels) + 4)
    numbers = max(wide(figure(value)) for value in panel.values) + 12
    scale = _Scale(*panel.reach, MARGIN + named + 10, WIDTH - MARGIN - numbers)
    step = 24.0 if len(labels) <= 40 else 17.0
    bottom = top + step * len(labels)
    marks = [
        mark
        for value in scale.across()
        for mark in (
            line(scale.at(value), top, scale.at(value), bottom + 4, "grid"),
            text(scale.at(value), bottom + 18, tick_text(value), "tick", "middle"),
        )
    ]
    for row, label in enumerate(labels):
        middle = top + step * (row + 0.5)
        words = fitted(label, named)
        told = label if words != label else ""
        marks.append(text(MARGIN + named, middle + 4, words, "label", "end", told))
        marks += _bar(panel, row, scale, middle, 0.68 * step)
        marks.append(text(WIDTH - MARGIN, middle + 4, figure(panel.values[row]), "value", "end"))
    marks.append(line(scale.at(0), top - 2, scale.at(0), bottom + 4, "axis"))
    return marks, bottom + 26


def _bar(panel: Panel, row: int, scale: _Scale, middle: float, thick: float) -> list[Markup]:
    value = panel.values[row]
    if value is None:
        return []
    start, end = sorted((scale.at(0), scale.at(value)))
    kind = "above" if value >= 0 else "below"
    title = panel.title(row)
    marks = [box(start, middle - thick / 2, end - start, thick, kind, title=title)]
    pair = panel.intervals[row]
    if pair is not None:
        low, high = scale.at(pair[0]), scale.at(pair[1])
        cap = min(4.0, thick / 3)
        marks.append(line(low, middle, high, middle, "whisker"))
        marks += [line(x, middle - cap, x, middle + cap, "whisker") for x in (low, high)]
    return marks


def columns(panel: Panel, top: float) -> tuple[list[Markup], float]:
    """Draw a column per place from left to right; give the marks and where they end."""
    bottom = top + _COLUMN_HEIGHT
    scale = _Scale(*panel.reach, bottom, top)
    levels = ticks(scale.low, scale.high, 5)
    left = MARGIN + max(wide(tick_text(value)) for value in levels) + 8
    marks = []
    for value in levels:
        marks.append(line(left, scale.at(value), WIDTH - MARGIN, scale.at(value), "grid"))
        marks.append(text(left - 7, scale.at(value) + 4, tick_text(value), "tick", "end"))
    slot = (WIDTH - MARGIN - left) / len(panel.places)
    for row in range(len(panel.places)):
        marks += _column(panel, row, scale, left + slot * (row + 0.5), slot)
    marks.append(line(left, scale.at(0), WIDTH - MARGIN, scale.at(0), "axis"))
    marks += _below(panel.places, left, slot, bottom)
    return marks, bottom + 26


def _column(panel: Panel, row: int, scale: _Scale, centre: float, slot: float) -> list[Markup]:
    value = panel.values[row]
    if value is None:
        return [text(centre, scale.at(0) - 4, "–", "tick", "middle", panel.title(row))]
    start, end = sorted((scale.at(0), scale.at(value)))
    thick = slot * (0.92 if slot > 8 else 1.0)
    kind = "above" if value >= 0 else "below"
    marks = [box(centre - thick / 2, start, thick, end - start, kind, title=panel.title(row))]
    pair = panel.intervals[row]
    if pair is not None:
        high, low = scale.at(pair[1]), scale.at(pair[0])
        marks.append(line(centre, low, centre, high, "whisker"))
        if slot > 6:
            cap = min(4.0, slot / 4)
            marks += [line(centre - cap, y, centre + cap, y, "whisker") for y in (low, high)]
    return marks


def _below(places: Sequence[object], left: float, slot: float, bottom: float) -> list[Markup]:
    """Name the columns, or the edges between them, as many as there is room for."""
    edges = read_edges(places)
    if edges is not None and not _whole(places):
        marked = [(left + slot * i, tick_text(edge)) for i, edge in enumerate(edges)]
    else:
        marked = [(left + slot * (i + 0.5), plain(place)) for i, place in enumerate(places)]
    widest = max(wide(words) for _, words in marked) + 8
    every = _round_up(min(widest, 120.0) / slot)
    room = max(every * slot - 4, 20.0)
    return [
        text(
            min(x, WIDTH - 6 - min(wide(words), room) / 2),
            bottom + 18,
            fitted(words, room),
            "tick",
            "middle",
            words,
        )
        for x, words in marked[::every]
    ]


def _round_up(steps: float) -> int:
    """Choose how many places one name stands for: 1, 2, 5, 10, 20, …."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= steps:
                return factor * power
        power *= 10


def _whole(places: Sequence[object]) -> bool:
    return not any(str(place).startswith("[") for place in places)


def single(panel: Panel, top: float) -> tuple[list[Markup], float]:
    """Draw one number large, with its interval beside it."""
    value = panel.values[0]
    shown = figure(value)
    marks = [text(MARGIN, top + 26, shown, "big")]
    pair = panel.intervals[0]
    if value is not None:
        scale = _Scale(*panel.reach, MARGIN + 230, WIDTH - MARGIN - 10)
        for tick in scale.across():
            marks.append(line(scale.at(tick), top, scale.at(tick), top + 36, "grid"))
            marks.append(text(scale.at(tick), top + 50, tick_text(tick), "tick", "middle"))
        marks += _bar(panel, 0, scale, top + 18, 18)
        marks.append(line(scale.at(0), top - 2, scale.at(0), top + 38, "axis"))
    marks.append(text(MARGIN, top + 50, span(pair) if value is not None else "no number", "tick"))
    return marks, top + 64
