"""Shape functions of additive models as one SVG picture, a panel per column.

Contract: the picture shows what the model is, so it may be published as the model may. Steps are
drawn for numbers and bars for categories; all panels share one scale, so that heights compare.
With several classes, every class has a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sfumato.representation import Picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_WIDTH, _HEIGHT, _ACROSS = 300, 190, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 8, 28, 34
_MOST = 6  # panels, where no columns are named
TONES = ("#1f5a99", "#c2562d", "#3b7d4f", "#7a4a98", "#8a7a2a", "#5a5a5a")
_MOST_LABELS = 8


def draw_shapes(model: Any, columns: Sequence[Any] = ()) -> str:
    """Draw the named columns, or those that make the largest difference."""
    shapes = {shape.name: shape for shape in model.shapes_}
    chosen = [shapes[name] for name in columns] if columns else _widest(shapes.values())
    low = min(0.0, *(float(shape.values.min()) for shape in chosen))
    high = max(0.0, *(float(shape.values.max()) for shape in chosen))
    margin = 0.05 * ((high - low) or 1.0)
    panels = [
        _panel(shape, place, (low - margin, high + margin)) for place, shape in enumerate(chosen)
    ]
    across = min(_ACROSS, len(chosen))
    down = -(-len(chosen) // _ACROSS)
    return Picture(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" '
            'aria-label="{}" font-family="sans-serif" font-size="11">{}</svg>'
        ).format(
            across * _WIDTH,
            down * _HEIGHT,
            "Shape functions: what each column adds to the score",
            Markup().join(panels),
        )
    )


def _widest(shapes: Any) -> list[Any]:
    return sorted(shapes, key=lambda shape: -shape.spread)[:_MOST]


def _panel(shape: Any, place: int, ends: tuple[float, float]) -> Markup:
    x, y = place % _ACROSS * _WIDTH, place // _ACROSS * _HEIGHT
    values = shape.values if shape.values.ndim == 2 else shape.values[:, None]
    edges = shape.edges if shape.edges is not None else np.arange(len(values) + 1.0)
    lines = [
        _steps(edges, values[:, k], ends, TONES[k % len(TONES)]) for k in range(values.shape[1])
    ]
    return Markup('<g transform="translate({} {})">{}{}{}</g>').format(
        x, y, _frame(str(shape.name), ends), Markup().join(lines), _labels(shape, edges)
    )


def _steps(
    edges: NDArray[np.float64], values: NDArray[np.float64], ends: tuple[float, float], tone: str
) -> Markup:
    """Draw a line that is level in every bin."""
    points = []
    for k, value in enumerate(values.tolist()):
        height = _down(value, ends)
        points += [f"{_across(edges[k], edges):.1f},{height:.1f}"]
        points += [f"{_across(edges[k + 1], edges):.1f},{height:.1f}"]
    return Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="1.6"/>').format(
        " ".join(points), tone
    )


def _frame(name: str, ends: tuple[float, float]) -> Markup:
    zero = _down(0.0, ends)
    right = _WIDTH - _RIGHT
    marks = [
        Markup('<text x="{}" y="16" font-weight="bold">{}</text>').format(_LEFT, name),
        Markup('<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="#999"/>').format(
            _LEFT, zero, right, zero
        ),
    ]
    tick = Markup('<text x="{}" y="{:.1f}" text-anchor="end" fill="#555">{:.1f}</text>')
    marks += [
        tick.format(_LEFT - 4, _down(value, ends) + 4, value) for value in (ends[0], 0.0, ends[1])
    ]
    return Markup().join(marks)


def _labels(shape: Any, edges: NDArray[np.float64]) -> Markup:
    if shape.edges is not None:
        texts = [(float(edges[0]), f"{edges[0]:g}"), (float(edges[-1]), f"{edges[-1]:g}")]
    else:
        step = -(-len(shape.categories) // _MOST_LABELS)
        named = list(enumerate(shape.categories))[::step]
        texts = [(k + 0.5, str(value)[:10]) for k, value in named]
    down = _HEIGHT - _BOTTOM + 16
    return Markup().join(
        Markup('<text x="{:.1f}" y="{}" text-anchor="middle" fill="#555">{}</text>').format(
            _across(at, edges), down, text
        )
        for at, text in texts
    )


def _across(value: float, edges: NDArray[np.float64]) -> float:
    share = (value - edges[0]) / (edges[-1] - edges[0])
    return _LEFT + float(share) * (_WIDTH - _LEFT - _RIGHT - 12)


def _down(value: float, ends: tuple[float, float]) -> float:
    share = (value - ends[0]) / (ends[1] - ends[0])
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)
