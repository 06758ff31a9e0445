"""Ordered cells as an outline under their distribution function; maps as shaded parts.

Contract: drawn from released, settled counts alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from sfumato.dp.publish.purse import within_95
from sfumato.pictures.marks import WIDTH, box, figure, line, svg, text

if TYPE_CHECKING:
    from sfumato.dp.publish.ranges.ordered import OrderedHistogram
    from sfumato.dp.publish.ranges.spatial import SpatialHistogram

_LEFT, _TOP, _HIGH = 60.0, 60.0, 240.0
_COLUMNS = 160
_CELLS = 128


def draw_ordered(found: OrderedHistogram) -> str:
    """Draw counts of at most 160 columns, and the distribution function."""
    wide = WIDTH - 2 * _LEFT
    ends = np.linspace(found.edges[0], found.edges[-1], min(_COLUMNS, found.counts.size) + 1)
    heights = np.asarray(found.between(ends[:-1], ends[1:]))
    tallest = max(float(heights.max(initial=0.0)), 1e-9)
    step = wide / heights.size
    marks = [
        text(20, 28, f"{found.counts.size:,} ordered cells", "title"),
        text(20, 46, "columns: noisy counts; line: share of rows below"),
        line(_LEFT, _TOP + _HIGH, _LEFT + wide, _TOP + _HIGH, "axis"),
        text(_LEFT, _TOP + _HIGH + 18, figure(float(ends[0]))),
        text(_LEFT + wide, _TOP + _HIGH + 18, figure(float(ends[-1])), anchor="end"),
        text(_LEFT + wide + 6, _TOP + 10, "100 %"),
    ]
    for place, height in enumerate(heights.tolist()):
        tall = _HIGH * height / tallest
        if tall > 0.2:
            marks.append(box(_LEFT + step * place, _TOP + _HIGH - tall, step, tall, "above"))
    shares = np.asarray(found.cdf(ends))
    path = " ".join(
        f"{_LEFT + step * i:.1f},{_TOP + _HIGH * (1 - share):.1f}"
        for i, share in enumerate(shares.tolist())
    )
    marks.append(Markup('<polyline class="whisker" points="{}"/>').format(path))
    return svg(marks, _TOP + _HIGH + 34, f"{found.counts.size:,} ordered cells")


def draw_spatial(found: SpatialHistogram) -> str:
    """Draw the settled counts of at most 128 × 128 cells, the denser the darker."""
    tall = 440.0
    ratio = float(found.box.sides[0] / found.box.sides[1])
    wide = min(max(tall * ratio, 220.0), WIDTH - 2 * _LEFT)
    size = max(found.side // _CELLS, 1)
    across = found.side // size
    cells = found.settled.reshape(across, size, across, size).sum(axis=(1, 3))
    darkest = max(float(np.sqrt(cells.max(initial=0.0))), 1e-9)
    names = [*found.box.names, "x", "y"][:2] if found.box.names else ["x", "y"]
    marks = [
        text(20, 28, f"About {found.total:,.0f} rows", "title"),
        text(20, 46, f"the denser the darker; a part is ± {within_95(found.deviation):,}"),
        text(_LEFT + wide / 2, _TOP + tall + 18, names[0], "label", "middle"),
        text(_LEFT + wide + 8, _TOP + tall / 2, names[1], "label"),
    ]
    shades = np.round(np.sqrt(np.maximum(cells, 0.0)) / darkest, 2)
    for i, row in enumerate(shades):
        y = _TOP + tall * (1 - (i + 1) / across)
        cuts = np.flatnonzero(np.diff(row, prepend=-1.0, append=-1.0))  # neighbours alike are one
        for first, past in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            x, far = (_LEFT + wide * end / across for end in (first, past))
            if row[first] > 0.02:
                marks.append(box(x, y, far - x, tall / across, "hot", shade=float(row[first])))
    marks.append(box(_LEFT, _TOP, wide, tall, "frame"))
    return svg(marks, _TOP + tall + 34, f"A map of about {found.total:,.0f} rows")
