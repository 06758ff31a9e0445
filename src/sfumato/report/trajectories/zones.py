"""A map of mix zones over the traffic they were learnt from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.report.trajectories.maps import Canvas, region_around

if TYPE_CHECKING:
    from markupsafe import Markup

    from sfumato.data.trajectories.trajectories import Trajectories

DRAWN = 250


def draw_zones(zones: Any, traces: Trajectories) -> Markup:
    """Return the zones as an inline SVG over some of the traces."""
    few = np.linspace(0, len(traces) - 1, min(DRAWN, len(traces))).astype(int)
    canvas = Canvas(region_around(traces.places))
    lines = canvas.lines((traces.trace(i)[:, :2] for i in few), opacity=0.2)
    return canvas.draw(
        f"{len(zones)} mix zones", lines, canvas.boxes(zones.boxes, "after", opacity=0.5)
    )
