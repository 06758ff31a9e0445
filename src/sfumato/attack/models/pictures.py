"""Pictures of attacks on models, as inline SVG.

How many rows a step of each length misleads; what privacy changes, a line for each learner.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.attack.models.evasion import Evasion
    from sfumato.attack.models.privacy_table import PrivacyTable

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
    return _write(path, lines, told, HEIGHT)


def draw_privacy(table: PrivacyTable, path: str | Path) -> Path:
    """Draw what privacy changes: errors, clean and poisoned, and how far evasion has to go."""
    top, step = 62, 30
    bottom = top + step * len(table.rows)
    worst = max(max(row.error, row.poisoned, row.poisoned_adapted) for row in table.rows)
    farthest = max(row.margin for row in table.rows)
    left = _scale(150, 400, worst, top, bottom, "error")
    right = _scale(440, 610, farthest, top, bottom, "evasion: mean step")
    lines = [left[0], right[0]]
    for place, name in enumerate(("clean", "poisoned", "adapted poison")):
        x = 150 + (0, 70, 160)[place]
        lines.append(f'<circle cx="{x}" cy="24" r="5" fill="{COLOURS[place]}"/>'
                     f'<text x="{x + 10}" y="28">{name}</text>')  # fmt: skip
    for place, row in enumerate(table.rows):
        y = top + step * place + step / 2
        errors = (row.error, row.poisoned, row.poisoned_adapted)
        ends = left[1] * min(errors) + 150, left[1] * max(errors) + 150
        lines.append(f'<text x="140" y="{y + 4}" text-anchor="end">{escape(row.model)}</text>'
                     f'<line x1="{ends[0]:.1f}" y1="{y}" x2="{ends[1]:.1f}" y2="{y}" '
                     'stroke="#bbb" stroke-width="2"/>')  # fmt: skip
        lines += [
            f'<circle cx="{150 + left[1] * error:.1f}" cy="{y}" r="5" fill="{colour}"/>'
            for error, colour in zip(errors, COLOURS, strict=False)
        ]
        lines.append(f'<rect x="440" y="{y - 7}" width="{right[1] * row.margin:.1f}" height="14" '
                     f'fill="{COLOURS[4]}"/>')  # fmt: skip
    told = "; ".join(
        f"{row.model}: error {row.error:.3f}, {row.poisoned_adapted:.3f} by adapted poison, "
        f"evasion {row.margin:.2f}"
        for row in table.rows
    )
    return _write(path, lines, told, bottom + 44)


def _scale(
    left: int, right: int, most: float, top: int, bottom: int, name: str
) -> tuple[str, float]:
    """Draw an axis from 0 to at least `most`; give how long a unit is, too."""
    step = 10 ** np.floor(np.log10(max(most, 1e-9)))
    step = next(each for each in (step / 5, step / 2, step, 2 * step) if most <= 5 * each)
    end = step * np.ceil(most / step - 1e-9)
    unit = (right - left) / end
    marks = [
        f'<line x1="{left + unit * at:.1f}" y1="{top}" x2="{left + unit * at:.1f}" y2="{bottom}" '
        f'stroke="#ddd"/><text x="{left + unit * at:.1f}" y="{bottom + 16}" '
        f'text-anchor="middle">{at:g}</text>'
        for at in np.arange(0, end + step / 2, step).round(12).tolist()
    ]
    middle = (left + right) / 2
    marks.append(f'<text x="{middle:.0f}" y="{bottom + 34}" text-anchor="middle">{name}</text>')
    return "".join(marks), float(unit)


def _write(path: str | Path, lines: list[str], told: str, height: int) -> Path:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
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
