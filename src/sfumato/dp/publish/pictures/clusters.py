"""Clusters as discs: where the centres are, how large, and how sure.

Contract: drawn from released numbers alone. The area of a disc is its noisy size; whiskers are two
standard deviations of the noise in each coordinate. The frame is the public box.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.dp.publish.purse import within_95
from sfumato.pictures.marks import WIDTH, box, disc, figure, line, svg, text

if TYPE_CHECKING:
    from markupsafe import Markup

    from sfumato.dp.publish.kmeans.estimator import KMeans

_LEFT, _TOP, _SIDE = 70.0, 60.0, 440.0


def draw_clusters(model: KMeans) -> str:
    """Draw the first two columns of the centres; of one column a line."""
    frame = model.box
    flat = frame.width == 1
    height = 80.0 if flat else _SIDE
    wide = WIDTH - 2 * _LEFT if flat else _SIDE
    names = [*frame.names, "first column", "second column"][: 2 if not frame.names else frame.width]
    marks = [
        text(20, 28, f"{len(model.sizes_)} clusters", "title"),
        text(20, 46, "area: noisy size; whiskers: two standard deviations of the noise"),
        box(_LEFT, _TOP, wide, height, "frame"),
        text(_LEFT, _TOP + height + 18, figure(float(frame.low[0]))),
        text(_LEFT + wide, _TOP + height + 18, figure(float(frame.high[0])), anchor="end"),
        text(_LEFT + wide / 2, _TOP + height + 18, names[0], "label", "middle"),
    ]
    if not flat:
        marks += [
            text(_LEFT - 8, _TOP + height, figure(float(frame.low[1])), anchor="end"),
            text(_LEFT - 8, _TOP + 10, figure(float(frame.high[1])), anchor="end"),
            text(_LEFT + wide + 10, _TOP + height / 2, names[1], "label"),
        ]
    largest = max(float(model.sizes_.max()), 1.0)
    for number in range(len(model.sizes_)):
        share = max(float(model.sizes_[number]), 0.0) / largest
        marks += _disc(model, number, wide, height, 3 + 25 * math.sqrt(share))
    return svg(
        marks, _TOP + height + 34, f"{len(model.sizes_)} clusters of noisy centres and sizes"
    )


def _disc(model: KMeans, number: int, wide: float, height: float, radius: float) -> list[Markup]:
    frame = model.box
    place = (model.cluster_centers_[number] - frame.low) / frame.sides
    far = 2 * model.center_error_[number] / frame.sides
    x = _LEFT + wide * float(place[0])
    y = _TOP + height * (0.5 if frame.width == 1 else 1 - float(place[1]))
    size, error = figure(round(float(model.sizes_[number]))), float(model.size_error_[number])
    centre = ", ".join(figure(float(f"{value:.4g}")) for value in model.cluster_centers_[number])
    told = f"({centre}): {size} rows ± {within_95(error):,}"
    across = wide * min(float(far[0]), 1.0)
    marks = [
        disc(x, y, radius, told),
        line(max(x - across, _LEFT), y, min(x + across, _LEFT + wide), y, "whisker"),
    ]
    if frame.width > 1:
        up = height * min(float(far[1]), 1.0)
        marks.append(line(x, max(y - up, _TOP), x, min(y + up, _TOP + height), "whisker"))
    return marks
