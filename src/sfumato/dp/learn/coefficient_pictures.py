"""Coefficients of linear models as one SVG picture of bars.

Contract: the picture shows what the model is, so it may be published as the model may. The largest
coefficients are drawn, one line each; with several classes or components, a bar for each in a
colour of its own, named below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sfumato.dp.learn.shape_pictures import TONES
from sfumato.representation import Picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WIDTH, _LABELS, _RIGHT, _TOP = 720, 250, 60, 14
_MOST = 20  # lines
_BAR = 12
_MOST_SERIES = len(TONES)


def draw_coefficients(model: Any) -> str:
    """Draw the largest coefficients of a fitted model."""
    listed = sorted(model.coefficients_, key=lambda item: -float(np.abs(item[2]).max()))[:_MOST]
    series = [str(name) for name in _series(model)][:_MOST_SERIES]
    bars = len(series)
    step = bars * _BAR + 10
    reach = max(1e-12, *(float(np.abs(values).max()) for _, _, values in listed))
    lines = [
        _line(f"{name} = {text}" if text else str(name), values[:bars], _TOP + k * step, reach)
        for k, (name, text, values) in enumerate(listed)
    ]
    bottom = _TOP + len(listed) * step
    zero = _across(0.0, reach)
    axis = Markup('<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#999"/>').format(
        zero, _TOP - 6, bottom
    )
    height = bottom + (26 if bars > 1 else 8)
    return Picture(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" '
            'aria-label="{}" font-family="sans-serif" font-size="12">{}{}{}</svg>'
        ).format(
            _WIDTH, height, f"The {len(listed)} largest coefficients", axis, Markup().join(lines),
            _legend(series, bottom + 16) if bars > 1 else "",
        )
    )  # fmt: skip


def _series(model: Any) -> list[Any]:
    """Name what a coefficient has several of: classes, components, or nothing."""
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) > 2:
        return list(classes)
    components = getattr(model, "n_components_", 1)
    return [f"component {k + 1}" for k in range(components)]


def _line(label: str, values: NDArray[np.float64], top: int, reach: float) -> Markup:
    parts = [
        Markup('<text x="{}" y="{}" text-anchor="end" fill="#333">{}</text>').format(
            _LABELS - 8, top + _BAR * len(values) / 2 + 4, label[:38]
        )
    ]
    for k, value in enumerate(values.tolist()):
        start, end = sorted((_across(0.0, reach), _across(value, reach)))
        parts.append(
            Markup('<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}"/>').format(
                start, top + k * _BAR, max(end - start, 0.5), _BAR - 2, TONES[k % len(TONES)]
            )
        )
    told = Markup('<text x="{}" y="{}" fill="#555">{:+.3g}</text>').format(
        _WIDTH - _RIGHT + 10, top + _BAR - 2, float(values[np.abs(values).argmax()])
    )
    return Markup().join([*parts, told])


def _legend(series: list[str], down: int) -> Markup:
    parts = []
    for k, name in enumerate(series):
        across = _LABELS + k * 110
        parts.append(
            Markup(
                '<rect x="{}" y="{}" width="10" height="10" fill="{}"/>'
                '<text x="{}" y="{}" fill="#333">{}</text>'
            ).format(across, down - 9, TONES[k % len(TONES)], across + 14, down, name[:14])
        )
    return Markup().join(parts)


def _across(value: float, reach: float) -> float:
    middle = (_LABELS + _WIDTH - _RIGHT) / 2
    return middle + value / reach * (_WIDTH - _RIGHT - _LABELS) / 2
