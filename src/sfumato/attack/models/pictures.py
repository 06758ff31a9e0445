"""Pictures of attacks on models, as inline SVG: how many rows a step of each length misleads."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.attack.models.evasion import Evasion

COLOURS = ("#7a4a2b", "#2f6f8f", "#5b7d3a", "#8a4f7d", "#a77b1f", "#555")
WIDTH, HEIGHT, LEFT, TOP = 640, 320, 56, 16


def draw_evasion(found: Mapping[str, Evasion], path: str | Path) -> Path:
    """Draw, for each model, the share of rows that a step of at most some length misleads."""
    if not found:
        raise ParameterError("There is nothing to draw; give at least one attack with its name.")
    finite = [each.steps[np.isfinite(each.steps)] for each in found.values()]
    most = max((float(steps.max()) for steps in finite if len(steps)), default=1.0) or 1.0
    right, bottom = WIDTH - 150, HEIGHT - 44
    lines = [_axes(most, right, bottom)]
    for place, (name, each) in enumerate(found.items()):
        colour = COLOURS[place % len(COLOURS)]
        lines.append(_curve(each, most, right, bottom, colour))
        y = TOP + 14 + 20 * place
        lines.append(f'<line x1="{right + 12}" y1="{y - 4}" x2="{right + 30}" y2="{y - 4}" '
                     f'stroke="{colour}" stroke-width="3"/>'
                     f'<text x="{right + 36}" y="{y}">{escape(name)}</text>')  # fmt: skip
    told = "; ".join(f"{name}: {each.success:.0%} misled" for name, each in found.items())
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(told)}" font-family="system-ui, sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(lines)}</svg>\n'
    )
    target = Path(path)
    target.write_text(svg, encoding="utf-8")
    return target


def _curve(each: Evasion, most: float, right: int, bottom: int, colour: str) -> str:
    lengths = np.linspace(0, most, 200)
    shares = [(each.steps <= length + 1e-12).mean() for length in lengths]
    points = " ".join(
        f"{LEFT + (right - LEFT) * length / most:.1f},{bottom - (bottom - TOP) * share:.1f}"
        for length, share in zip(lengths, shares, strict=True)
    )
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2.5" points="{points}"/>'


def _axes(most: float, right: int, bottom: int) -> str:
    marks = []
    for tenth in (0, 25, 50, 75, 100):
        y = bottom - (bottom - TOP) * tenth / 100
        marks.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth} %'
                     "</text>")  # fmt: skip
    for quarter in range(5):
        x = LEFT + (right - LEFT) * quarter / 4
        marks.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">'
                     f"{most * quarter / 4:.2g}</text>")  # fmt: skip
    middle = (LEFT + right) / 2
    marks.append(f'<text x="{middle:.0f}" y="{bottom + 36}" text-anchor="middle">'
                 "length of the step</text>")  # fmt: skip
    return "".join(marks)
