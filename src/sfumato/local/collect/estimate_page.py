"""A page with what a survey found: estimates, intervals, and what they rest on.

Contract: ``render_estimate`` gives one self-contained HTML page without scripts: each answer with
its estimated share, its interval drawn to a common scale, and its standard error in numbers. It
says how many reports came, what every person was promised, what was dropped and whether estimates
were repaired. Everything on it is computed from perturbed reports, so it can be published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sfumato import __version__
from sfumato.data.atomic import write_text_atomically
from sfumato.local.collect.survey import plain_number
from sfumato.local.wire.recipe import CLIENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.local.collect.survey import Survey
    from sfumato.local.estimate import Estimate

MINUS = "\N{MINUS SIGN}"
MOST_SHOWN = 60
"""Answers drawn; the rest is counted."""


@dataclass(frozen=True)
class EstimateRow:
    """One answer: its figures as text, and its picture."""

    answer: str
    share: str
    error: str
    low: str
    high: str
    picture: Markup


@dataclass(frozen=True)
class Scale:
    """From a share to a place across, in per cent of the width."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, bounds: Any) -> Scale:
        """Cover all bounds, and 0, with whole steps at both ends."""
        low, high = min(0.0, float(np.min(bounds))), max(0.0, float(np.max(bounds)))
        step = _step(high - low)
        above = max(1 if low == high else 0, math.ceil(high / step))
        return cls(step * math.floor(low / step), step * above, step)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the axis."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [
            (self.at(i * self.step), f"{100 * i * self.step:g} %".replace("-", MINUS))
            for i in range(first, last + 1)
        ]

    def at(self, share: float) -> float:
        """Give the place of a share."""
        return 100 * (share - self.low) / (self.high - self.low)


def _step(width: float) -> float:
    """Give a round step so that two to five of them cover the width."""
    rough = (width or 1.0) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(step for step in (1, 2, 5, 10) if step * power >= rough)


def write_estimate(
    path: str | Path,
    survey: Survey,
    estimate: Estimate,
    *,
    level: float = 0.95,
    dropped: Mapping[Any, int] | None = None,
) -> Path:
    """Write the page of an estimate; returns its path."""
    write_text_atomically(path, render_estimate(survey, estimate, level=level, dropped=dropped))
    return Path(path)


def render_estimate(
    survey: Survey,
    estimate: Estimate,
    *,
    level: float = 0.95,
    dropped: Mapping[Any, int] | None = None,
) -> str:
    """Return the page as text."""
    bounds = estimate.interval(level)
    order = np.arange(len(estimate))
    if order.size > MOST_SHOWN:
        order = np.argsort(-estimate.frequencies, kind="stable")[:MOST_SHOWN]
    scale = Scale.over(np.concatenate([bounds[order].reshape(-1), estimate.frequencies[order]]))
    environment = Environment(
        loader=FileSystemLoader(CLIENT.parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page: str = environment.get_template("estimate.html").render(
        survey=survey,
        estimate=estimate,
        epsilon=plain_number(survey.epsilon),
        level=f"{100 * level:g} %",
        rows=[_row(estimate, bounds, scale, i) for i in order.tolist()],
        hidden=len(estimate) - order.size,
        ticks=scale.ticks,
        dropped=dict(dropped or {}),
        style=Markup((CLIENT.parent / "survey.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        version=__version__,
    )
    return page


def _row(estimate: Estimate, bounds: Any, scale: Scale, place: int) -> EstimateRow:
    share, (low, high) = float(estimate.frequencies[place]), bounds[place].tolist()
    return EstimateRow(
        answer=str(estimate.values[place]),
        share=_percent(share),
        error=_percent(float(estimate.standard_error[place])),
        low=_percent(low),
        high=_percent(high),
        picture=_picture(scale, share, low, high),
    )


def _percent(share: float) -> str:
    text = f"{100 * share:.1f} %"
    return "0.0 %" if text == "-0.0 %" else text.replace("-", MINUS)


def _picture(scale: Scale, share: float, low: float, high: float) -> Markup:
    """Draw a bar from 0 to the estimate, with its interval across."""
    zero, dot = scale.at(0.0), scale.at(share)
    left, right = scale.at(low), scale.at(high)
    return Markup(
        '<svg width="100%" height="26" aria-hidden="true">'
        '<rect class="share" x="{:.2f}%" y="6" width="{:.2f}%" height="14"/>'
        '<line class="zero" x1="{:.2f}%" x2="{:.2f}%" y1="0" y2="26"/>'
        '<line class="range" x1="{:.2f}%" x2="{:.2f}%" y1="13" y2="13"/>'
        '<line class="range" x1="{:.2f}%" x2="{:.2f}%" y1="8" y2="18"/>'
        '<line class="range" x1="{:.2f}%" x2="{:.2f}%" y1="8" y2="18"/>'
        '<circle class="dot" cx="{:.2f}%" cy="13" r="4"/></svg>'
    ).format(
        min(zero, dot), abs(dot - zero), zero, zero, left, right, left, left, right, right, dot
    )  # fmt: skip
