"""Curves in a plane with linear axes, as inline SVG without scripts.

Contract: pure functions from numbers to markup; colours come from the page's style sheet by
class name, and every text is escaped here. Geometry is in a fixed view box, so a picture keeps
its shape at any width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 406, 40, 252


@dataclass(frozen=True)
class Line:
    """One curve: its name in the legend, its class, its points from left to right."""

    name: str
    tone: str
    points: tuple[tuple[float, float], ...]
    filled: bool = False


@dataclass(frozen=True)
class _Frame:
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, value: float) -> float:
        return _LEFT + (value - self.x[0]) / (self.x[1] - self.x[0]) * (_RIGHT - _LEFT)

    def up(self, value: float) -> float:
        return _BOTTOM - (value - self.y[0]) / (self.y[1] - self.y[0]) * (_BOTTOM - _TOP)


def plane(
    lines: Sequence[Line], *, label: str, x_name: str, y_name: str, stems: bool = False
) -> Markup:
    """Return a picture of curves; ``stems`` draws a bar per point instead of a line."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    wide = (max(xs) - min(xs)) or 1.0
    margin = 0.04 * wide if stems else 0.0 if max(xs) > min(xs) else 0.5
    top = max(ys) or 1.0
    frame = _Frame((min(xs) - margin, max(xs) + margin), (0.0, top * (1.0 if top == 1 else 1.06)))
    draw = _stems if stems else _line
    marks = [
        *_axes(frame, x_name, y_name),
        *(
            mark
            for k, line in enumerate(lines)
            for mark in draw(frame, line, k - (len(lines) - 1) / 2)
        ),
        *_legend(lines),
    ]
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, _HEIGHT, label, Markup("").join(marks)
    )


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Choose round numbers between two ends."""
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _line(frame: _Frame, line: Line, _: float) -> list[Markup]:
    path = " ".join(f"{frame.across(x):.1f},{frame.up(y):.1f}" for x, y in line.points)
    marks = []
    if line.filled:
        base = f"{_RIGHT},{_BOTTOM} {_LEFT},{_BOTTOM}"
        marks.append(
            Markup('<polygon class="area {}" points="{} {}"/>').format(line.tone, path, base)
        )
    marks.append(Markup('<polyline class="{}" points="{}"/>').format(line.tone, path))
    return marks


def _stems(frame: _Frame, line: Line, place: float) -> list[Markup]:
    shift = place * min(5.0, (_RIGHT - _LEFT) / len(line.points) / 2.5)
    return [
        Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
            line.tone, frame.across(x) + shift, frame.across(x) + shift, _BOTTOM, frame.up(y)
        )
        for x, y in line.points
    ]


def _axes(frame: _Frame, x_name: str, y_name: str) -> list[Markup]:
    marks = [
        Markup('<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>').format(
            _LEFT, _TOP, _RIGHT - _LEFT, _BOTTOM - _TOP
        ),
        _text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, x_name, "middle"),
        _text(6, 16, y_name, "start"),
    ]
    marks += [
        _text(frame.across(value), _BOTTOM + 18, f"{value:.4g}", "middle")
        for value in ticks(*frame.x)
    ]
    for value in ticks(*frame.y):
        y = frame.up(value)
        marks.append(_text(_LEFT - 7, y + 4, f"{value:.4g}", "end"))
        marks.append(
            Markup('<line class="rule" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
                _LEFT, _RIGHT, y, y
            )
        )
    return marks


def _legend(lines: Sequence[Line]) -> list[Markup]:
    marks, x = [], _RIGHT
    for line in reversed(lines):
        x -= 8 + round(7.2 * len(line.name))
        marks.append(_text(x + 4, 16, line.name, "start"))
        x -= 14
        marks.append(
            Markup('<rect class="{}" x="{}" y="7" width="12" height="9" rx="2"/>').format(
                line.tone, x
            )
        )
        x -= 6
    return marks


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y, anchor, text
    )
