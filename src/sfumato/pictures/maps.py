"""Maps as inline SVG: traces, boxes and zones in the plane, no tiles and nothing fetched.

A map is drawn in metres, north up. Lines are thinned to what the eye can tell apart, so a day of a
city stays a small page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

WIDTH = 400.0
STEPS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
"""Lengths of the scale bar, in metres."""


@dataclass(frozen=True)
class Canvas:
    """A region of the plane (low x, high x, low y, high y) on paper."""

    region: tuple[float, float, float, float]

    @property
    def scale(self) -> float:
        """Units of paper per metre."""
        return WIDTH / max(self.region[1] - self.region[0], 1.0)

    @property
    def height(self) -> float:
        """Height of the paper."""
        return max((self.region[3] - self.region[2]) * self.scale, 40.0)

    def at(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places on paper."""
        low = np.array([self.region[0], self.region[3]])
        found: NDArray[np.float64] = (places - low) * [self.scale, -self.scale]
        return found

    def lines(
        self, paths: Iterable[NDArray[np.float64]], *, wide: float = 0.6, opacity: float = 0.35
    ) -> Markup:
        """Draw traces as one path."""
        parts = []
        for path in paths:
            where = np.round(self.at(path), 1)
            moved = np.concatenate([[True], np.abs(np.diff(where, axis=0)).max(axis=1) > 1.0])
            where = where[moved]
            if len(where) > 1:
                parts.append("M" + "L".join(f"{x:g} {y:g}" for x, y in where))
        return Markup(
            '<path style="fill:none;stroke:currentColor;stroke-width:{};stroke-opacity:{}" d="{}"/>'
        ).format(wide, opacity, "".join(parts))

    def boxes(self, boxes: NDArray[np.float64], tone: str, *, opacity: float = 0.12) -> Markup:
        """Draw boxes (low x, high x, low y, high y), seen through each other."""
        corner = self.at(boxes[:, [0, 3]])
        size = (boxes[:, [1, 3]] - boxes[:, [0, 2]]) * self.scale
        rects = Markup().join(
            Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(*c, *s)
            for c, s in zip(corner, size, strict=True)
        )
        return Markup(
            '<g class="{}" style="fill-opacity:{};stroke:currentColor;stroke-width:0.5;'
            'stroke-opacity:0.35">{}</g>'
        ).format(tone, opacity, rects)

    def dots(self, places: NDArray[np.float64], tone: str, *, radius: float = 2.0) -> Markup:
        """Draw places."""
        return Markup().join(
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>').format(tone, x, y, radius)
            for x, y in self.at(places)
        )

    def draw(self, label: str, *layers: Markup) -> Markup:
        """Return the map with its scale bar."""
        wide = self.region[1] - self.region[0]
        step = max((s for s in STEPS if s <= wide / 4), default=STEPS[0])
        told = f"{step / 1000:g} km" if step >= 1000 else f"{step} m"
        y = self.height - 8
        bar = Markup(
            '<path d="M8 {y:.1f}h{w:.1f}" stroke="currentColor" stroke-width="2"/>'
            '<text x="8" y="{t:.1f}" font-size="11" fill="currentColor">{told}</text>'
        ).format(y=y, w=step * self.scale, t=y - 5, told=told)
        return Markup(
            '<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" width="100%" role="img" '
            'aria-label="{}" style="overflow:hidden"><rect width="100%" height="100%" '
            'style="fill:none;stroke:currentColor;stroke-opacity:0.3"/>{}{}</svg>'
        ).format(WIDTH, self.height, label, Markup().join(layers), bar)


def region_around(*clouds: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return the region that holds all places but a few far ones."""
    places = np.concatenate(clouds)
    low, high = np.quantile(places, 0.005, axis=0), np.quantile(places, 0.995, axis=0)
    margin = np.maximum((high - low) * 0.05, 50.0)
    low, high = low - margin, high + margin
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])
