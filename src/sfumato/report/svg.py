"""Charts as inline SVG: pure functions from numbers to markup, no scripts.

Geometry across is in per cent and text in pixels, so a chart fills whatever width it gets,
from a phone to a sheet of paper, without its letters shrinking. Colours come from the
page's style sheet by class name, so one chart serves light, dark and print. Every text is
escaped here; what these functions return is safe to put into a page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = 12
"""Height of the letters in a chart, in pixels."""

NARROW_LETTERS, WIDE_LETTERS = 46, 130
"""Letters that fit beside each other on a phone and on a desk; labels of class `dense` fit
only the latter, and the page hides them on narrow screens."""


@dataclass(frozen=True)
class Series:
    """One colour of a chart: a value per place, each with the text that stands above it."""

    name: str
    tone: str
    values: tuple[float, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Point:
    """A point of a curve; `marked` is the one the page is about."""

    x: float
    y: float
    x_text: str
    y_text: str
    title: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Dot:
    """A node of a lattice; `tone` is its verdict, `text` its name if it has one."""

    node: tuple[int, ...]
    tone: str
    title: str
    text: str = ""


def bar(share: float, tone: str = "after", estimate: float | None = None) -> Markup:
    """Return one horizontal bar, with a thin one below it where there is an estimate.

    Its numbers stand beside it in the table, so it is hidden from screen readers.
    """
    thick = 12 if estimate is None else 8
    marks = [_bar(share, 0, thick, tone)]
    if estimate is not None:
        marks.append(_bar(estimate, 10, 4, "after"))
    return Markup('<svg class="bar" width="100%" height="{}" aria-hidden="true">{}</svg>').format(
        12 if estimate is None else 14, Markup().join(marks)
    )


def _bar(share: float, y: int, height: int, tone: str) -> Markup:
    width = 100 * min(max(share, 0.0), 1.0)
    return Markup('<rect class="{}" y="{}" width="{:.2f}%" height="{}" rx="2"/>').format(
        tone, y, width, height
    )


def histogram(
    places: Sequence[str], series: Sequence[Series], *, label: str, height: int = 190
) -> Markup:
    """Return columns side by side per place, with the values written above them."""
    top, bottom = 2 * TEXT, height - 2 * TEXT
    largest = max((v for s in series for v in s.values), default=0) or 1.0
    slot = 100 / max(len(places), 1)
    width = 0.82 * min(slot, 25.0) / max(len(series), 1)
    marks = [_axis(bottom)]
    for p, place in enumerate(places):
        centre = (p + 0.5) * slot
        marks.append(_text(centre, bottom + TEXT + 4, place))
        for s, shown in enumerate(series):
            left = centre + (s - len(series) / 2) * width
            tall = (bottom - top) * shown.values[p] / largest
            text = shown.texts[p] if shown.texts else ""
            title = f"{shown.name}, {place}: {text or f'{shown.values[p]:g}'}"
            marks.append(_column(left, bottom - tall, 0.94 * width, tall, shown.tone, title))
            if text and shown.values[p] > 0:
                marks.append(_text(left + width / 2, bottom - tall - 5, text, "value"))
    return _chart(marks, height, label)


def curve(points: Sequence[Point], *, label: str, x_name: str, height: int = 240) -> Markup:
    """Return a line through points whose y lies in [0, 1]; x is drawn on a log scale."""
    top, bottom = 3 * TEXT, height - 3 * TEXT
    left, right = 9.0, 93.0
    lowest = min((math.log(p.x) for p in points), default=0.0)
    highest = max((math.log(p.x) for p in points), default=0.0)
    ceiling = _ceiling(max((p.y for p in points), default=1.0))
    across = (right - left) / ((highest - lowest) or 1.0)
    places = [
        (left + (math.log(p.x) - lowest) * across, bottom - (bottom - top) * p.y / ceiling)
        for p in points
    ]
    marks = [_grid(ceiling, top, bottom), _text(51, height - 4, x_name)]
    marks += [
        Markup('<line class="curve" x1="{:.2f}%" y1="{:.1f}" x2="{:.2f}%" y2="{:.1f}"/>').format(
            *a, *b
        )
        for a, b in pairwise(places)
    ]
    for point, (x, y) in zip(points, places, strict=True):
        tone = "chosen" if point.marked else "after"
        marks.append(_circle(x, y, 6 if point.marked else 4, tone, point.title))
        marks.append(_text(x, bottom + TEXT + 4, point.x_text))
        marks.append(_text(x, y - 10, point.y_text, "value"))
    return _chart(marks, height, label)


def lattice(dots: Sequence[Dot], *, label: str) -> Markup:
    """Return the nodes of a lattice in layers by height, the top one first, with their edges."""
    layers: dict[int, list[Dot]] = {}
    for dot in dots:
        layers.setdefault(sum(dot.node), []).append(dot)
    widest = max(len(layer) for layer in layers.values())
    radius = 7.0 if widest <= 12 else 5.0 if widest <= 24 else 3.5
    step = 56 if widest <= 12 else 44
    heights = sorted(layers, reverse=True)
    where: dict[tuple[int, ...], tuple[float, float]] = {}
    for row, total in enumerate(heights):
        layer = sorted(layers[total], key=lambda dot: dot.node, reverse=True)
        for i, dot in enumerate(layer):
            where[dot.node] = (100 * (i + 0.5) / len(layer), 20.0 + row * step)
    marks = [_edge(where[dot.node], where[up]) for dot in dots for up in _above(dot, where)]
    for dot in dots:
        x, y = where[dot.node]
        title = f"{', '.join(str(v) for v in dot.node)}: {dot.title}"
        size = radius * 1.5 if dot.tone == "chosen" else radius
        marks.append(_circle(x, y, size, dot.tone, title))
        text = dot.text or ",".join(str(v) for v in dot.node)
        room = len(layers[sum(dot.node)]) * (len(text) + 2)
        if room <= WIDE_LETTERS:
            kind = "tick dense" if room > NARROW_LETTERS else "tick"
            marks.append(_text(x, y + size + TEXT + 1, text, kind))
    return _chart(marks, 20 + (len(heights) - 1) * step + 34, label)


def _above(dot: Dot, where: dict[tuple[int, ...], tuple[float, float]]) -> list[tuple[int, ...]]:
    node = dot.node
    steps = [(*node[:a], node[a] + 1, *node[a + 1 :]) for a in range(len(node))]
    return [step for step in steps if step in where]


# -- marks -----------------------------------------------------------------------------


def _chart(marks: Sequence[Markup], height: float, label: str) -> Markup:
    return Markup(
        '<svg class="chart" width="100%" height="{:.0f}" role="img" aria-label="{}">{}</svg>'
    ).format(height, label, Markup().join(marks))


def _text(x: float, y: float, text: str, kind: str = "tick", anchor: str = "middle") -> Markup:
    return Markup('<text class="{}" x="{:.2f}%" y="{:.1f}" text-anchor="{}">{}</text>').format(
        kind, x, y, anchor, text
    )


def _column(x: float, y: float, width: float, height: float, tone: str, title: str) -> Markup:
    return Markup(
        '<rect class="{}" x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}" rx="1.5">'
        "<title>{}</title></rect>"
    ).format(tone, x, y, width, max(height, 0.0), title)


def _circle(x: float, y: float, radius: float, tone: str, title: str) -> Markup:
    inner = Markup("<title>{}</title>").format(title) if title else escape("")
    return Markup('<circle class="{}" cx="{:.2f}%" cy="{:.1f}" r="{:.1f}">{}</circle>').format(
        tone, x, y, radius, inner
    )


def _edge(a: tuple[float, float], b: tuple[float, float]) -> Markup:
    return Markup('<line class="edge" x1="{:.2f}%" y1="{:.1f}" x2="{:.2f}%" y2="{:.1f}"/>').format(
        *a, *b
    )


def _axis(y: float) -> Markup:
    return Markup('<line class="axis" x1="0" y1="{0:.1f}" x2="100%" y2="{0:.1f}"/>').format(y)


def _ceiling(largest: float) -> float:
    """Return the next round number from which quarters are round too."""
    for round_number in (0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8):
        if largest <= round_number:
            return round_number
    return 1.0


def _grid(ceiling: float, top: float, bottom: float) -> Markup:
    lines = []
    for quarter in range(5):
        y = bottom - (bottom - top) * quarter / 4
        lines.append(_axis(y) if quarter == 0 else _faint(y))
        lines.append(_text(0, y - 4, f"{ceiling * quarter / 4:g}", "tick", "start"))
    return Markup().join(lines)


def _faint(y: float) -> Markup:
    return Markup('<line class="grid" x1="0" y1="{0:.1f}" x2="100%" y2="{0:.1f}"/>').format(y)
