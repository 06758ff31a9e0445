"""Heat grids: a cell per pair of keys, and a map's grid on latitude and longitude.

Contract: the strength of the colour is the size of the number, from 0 to the largest; numbers below
0, which noise makes of small counts, have a colour of their own and are not moved to 0. A cell
without a number is grey. The legend says how far noise may have moved a cell, and every
cell tells its number and interval under the pointer, unless a map has so many that none has room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup

from sfumato.ask.binned.bin_labels import read_edges
from sfumato.ask.pictures.bars import MARGIN, tick_text
from sfumato.pictures.marks import (
    WIDTH,
    box,
    figure,
    fitted,
    line,
    minus,
    plain,
    span,
    text,
    text_width,
)
from sfumato.pictures.planes import ticks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEGEND = 92.0
_TALLEST = 520.0
_FAINT = 0.04
_MOST_TITLES = 5_000
_SHADES = 48


@dataclass(frozen=True)
class Cells:
    """One measure over two keys: values and intervals by (row, column) of the grid."""

    name: str
    across: tuple[object, ...]
    down: tuple[object, ...]
    values: Mapping[tuple[int, int], float | None]
    intervals: Mapping[tuple[int, int], tuple[float, float] | None]

    @cached_property
    def most(self) -> float:
        """The largest size of a number, at least something above 0."""
        return max((abs(v) for v in self.values.values() if v is not None), default=1.0) or 1.0

    def title(self, place: tuple[int, int]) -> str:
        """Tell a cell in words."""
        down, across = self.down[place[0]], self.across[place[1]]
        number = figure(self.values.get(place))
        pair = self.intervals.get(place)
        told = f"{plain(down)}, {plain(across)}: {number}"
        return told if pair is None else f"{told}, interval {span(pair)}"

    @property
    def noise(self) -> float | None:
        """The half-width of the intervals, where it is the same for all cells."""
        halves = {
            round((pair[1] - pair[0]) / 2, 9)
            for pair in self.intervals.values()
            if pair is not None
        }
        return halves.pop() if len(halves) == 1 else None


def grid(cells: Cells, top: float) -> tuple[list[Markup], float]:
    """Draw a cell per pair of keys, with names beside rows and above columns."""
    named = min(190.0, max(text_width(plain(label)) for label in cells.down) + 6)
    left, right = MARGIN + named + 8, WIDTH - MARGIN - _LEGEND
    width = min((right - left) / len(cells.across), 110.0)
    height = min(30.0, max(6.0, _TALLEST / len(cells.down)))
    head, turned = _head(cells.across, width)
    first = top + head
    marks = _names_across(cells.across, left, first - 6, width, turned=turned)
    step = max(1, math.ceil(14 / height))
    for row, name in list(enumerate(cells.down))[::step]:
        words = plain(name)
        shown = fitted(words, named)
        middle = first + height * (row + 0.5) + 4
        told = words if shown != words else ""
        marks.append(text(left - 8, middle, shown, "label", "end", told))
    widest = max((text_width(figure(v)) for v in cells.values.values()), default=0.0)
    written = width >= widest + 8 and height >= 16
    for row in range(len(cells.down)):
        for column in range(len(cells.across)):
            x, y = left + width * column, first + height * row
            marks += _cell(cells, (row, column), (x, y, width, height), written=written)
    bottom = first + height * len(cells.down)
    end = left + width * len(cells.across)
    marks.append(box(left, first, end - left, bottom - first, "frame"))
    legend, low = _legend(cells, end + 16, first)
    return [*marks, *legend], max(bottom, low) + 12


def _head(names: Sequence[object], width: float) -> tuple[float, bool]:
    widest = max(text_width(plain(name)) for name in names)
    if widest <= width - 6:
        return 20.0, False
    return min(110.0, 0.72 * min(widest, 130.0) + 18), True


def _names_across(
    names: Sequence[object], left: float, y: float, width: float, *, turned: bool
) -> list[Markup]:
    step = max(1, math.ceil(15 / width)) if turned else 1
    marks = []
    for column, name in list(enumerate(names))[::step]:
        words = plain(name)
        x = left + width * (column + 0.5)
        if not turned:
            marks.append(text(x, y, words, "label", "middle"))
            continue
        shown = fitted(words, 130.0)
        marks.append(
            Markup(
                '<text class="label" transform="translate({:.1f},{:.1f}) rotate(-45)">'
                "<title>{}</title>{}</text>"
            ).format(x + 2, y, words, shown)
        )
    return marks


def _cell(
    cells: Cells,
    place: tuple[int, int],
    where: tuple[float, float, float, float],
    *,
    written: bool,
) -> list[Markup]:
    x, y, width, height = where
    gap = 1.0 if min(width, height) > 8 else 0.0
    value = cells.values.get(place)
    inner = (x + gap / 2, y + gap / 2, width - gap, height - gap)
    if value is None:
        return [box(*inner, "void", title=cells.title(place))]
    share = abs(value) / cells.most
    strength = _FAINT + (1 - _FAINT) * share
    kind = "hot" if value >= 0 else "cold"
    marks = [box(*inner, kind, title=cells.title(place), shade=strength)]
    if written:
        middle = y + height / 2 + 4
        marks.append(
            Markup(
                '<text class="value halo" x="{:.1f}" y="{:.1f}" text-anchor="middle" '
                'pointer-events="none">{}</text>'
            ).format(x + width / 2, middle, figure(value))
        )
    return marks


def _legend(cells: Cells, x: float, top: float) -> tuple[list[Markup], float]:
    """Draw the scale of colours from the largest number down to the lowest."""
    values = [v for v in cells.values.values() if v is not None]
    most = max((v for v in values if v >= 0), default=0.0)
    least = min((v for v in values if v < 0), default=0.0)
    marks, y, step, count = [text(x, top + 10, fitted(cells.name, _LEGEND - 6))], top + 20, 11.0, 10
    span_ = (most - least) or 1.0
    for i in range(count):
        level = most - span_ * (i + 0.5) / count
        strength = _FAINT + (1 - _FAINT) * min(abs(level) / cells.most, 1)
        kind = "hot" if level >= 0 else "cold"
        marks.append(box(x, y + step * i, 16, step, kind, shade=strength))
    end = y + step * count
    marks.append(box(x, y, 16, end - y, "frame"))
    written: list[float] = []
    for value in (most, least, 0.0):
        at = y + (most - value) / span_ * (end - y)
        if all(abs(at - other) >= 13 for other in written):
            written.append(at)
            marks.append(text(x + 22, at + 4, figure(value), "tick"))
    if any(value is None for value in cells.values.values()):
        end += 18
        marks += [box(x, end, 16, 11, "void"), text(x + 22, end + 10, "no number", "tick")]
        end += 11
    if cells.noise is not None:
        end += 22
        marks.append(text(x, end, f"± {figure(cells.noise)}", "value", "start"))
    return marks, end + 6


def chart(cells: Cells, top: float) -> tuple[list[Markup], float] | None:
    """Draw a grid on latitude (down) and longitude (across), north up; None if it is none."""
    lat, lon = read_edges(cells.down), read_edges(cells.across)
    if lat is None or lon is None:
        return None
    left, right = MARGIN + 62, WIDTH - MARGIN - _LEGEND - 16
    shrink = max(math.cos(math.radians((lat[0] + lat[-1]) / 2)), 0.05)
    ratio = (lat[-1] - lat[0]) / ((lon[-1] - lon[0]) * shrink)
    width = min(right - left, _TALLEST / ratio)
    height = min(max(width * ratio, 60.0), _TALLEST)
    to_x = _Degrees(lon[0], lon[-1], left, left + width)
    to_y = _Degrees(lat[0], lat[-1], top + height, top)
    x = [to_x.at(edge) for edge in lon]
    y = [to_y.at(edge) for edge in lat]
    if len(cells.down) * len(cells.across) > _MOST_TITLES:
        marks = _areas(cells, x, y)
    else:
        marks = []
        for row in range(len(lat) - 1):
            for column in range(len(lon) - 1):
                where = (x[column], y[row + 1], x[column + 1] - x[column], y[row] - y[row + 1])
                marks += _cell(cells, (row, column), where, written=False)
    marks.append(box(left, top, width, height, "frame"))
    marks += _degrees_below(to_x, top + height) + _degrees_beside(to_y, left)
    legend, low = _legend(cells, left + width + 16, top)
    return [*marks, *legend], max(top + height + 26, low) + 8


def _areas(cells: Cells, x: Sequence[float], y: Sequence[float]) -> list[Markup]:
    """Draw many small cells: one area per shade, of runs of cells that have it.

    There is no room for a pointer on them, so that they tell no numbers.
    """
    runs: dict[tuple[str, int], list[str]] = {}
    for row in range(len(y) - 1):
        first = 0
        shades = [_shade(cells, (row, column)) for column in range(len(x) - 1)]
        for column in range(1, len(shades) + 1):
            if column == len(shades) or shades[column] != shades[first]:
                across, down = x[column] - x[first], y[row] - y[row + 1]
                runs.setdefault(shades[first], []).append(
                    f"M{x[first]:.2f} {y[row + 1]:.2f}h{across:.2f}v{down:.2f}h{-across:.2f}z"
                )
                first = column
    return [
        Markup('<path class="{}" fill-opacity="{:.3f}" d="{}"/>').format(
            kind, 1.0 if kind == "void" else level / _SHADES, "".join(parts)
        )
        for (kind, level), parts in sorted(runs.items())
    ]


def _shade(cells: Cells, place: tuple[int, int]) -> tuple[str, int]:
    """Give the colour of a cell, in one of so many shades."""
    value = cells.values.get(place)
    if value is None:
        return "void", 0
    strength = _FAINT + (1 - _FAINT) * abs(value) / cells.most
    return "hot" if value >= 0 else "cold", max(1, round(strength * _SHADES))


@dataclass(frozen=True)
class _Degrees:
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def degrees(value: float, positive: str, negative: str) -> str:
    """Write a coordinate with its side of the globe."""
    shown = tick_text(abs(value))
    side = "" if not float(shown.replace(",", "")) else positive if value > 0 else negative
    return minus(f"{shown}°{side and ' '}{side}")


def _degrees_below(scale: _Degrees, bottom: float) -> list[Markup]:
    wanted = max(1, int((scale.end - scale.start) // 80))
    marks = []
    for value in ticks(scale.low, scale.high, wanted):
        x = scale.at(value)
        marks.append(line(x, bottom, x, bottom + 5, "axis"))
        marks.append(text(x, bottom + 19, degrees(value, "E", "W"), "tick", "middle"))
    return marks


def _degrees_beside(scale: _Degrees, left: float) -> list[Markup]:
    wanted = max(1, int((scale.start - scale.end) // 50))
    marks = []
    for value in ticks(scale.low, scale.high, wanted):
        y = scale.at(value)
        marks.append(line(left - 5, y, left, y, "axis"))
        marks.append(text(left - 9, y + 4, degrees(value, "N", "S"), "tick", "end"))
    return marks
