"""The section of a report about traces: maps before and after, sizes of boxes, what was lost.

The page compares with the traces as they came, so it stays in the house.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.trajectories.plan import BoxPlan
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.svg import Series, histogram
from sfumato.report.trajectories.maps import Canvas, region_around

if TYPE_CHECKING:
    from markupsafe import Markup
    from numpy.typing import NDArray

DRAWN = 200
"""Traces on the map."""
BOXES = 600
SIDES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Edges of the bars of box sizes, in kilometres."""


def _gather(page: Page) -> dict[str, Any] | None:
    plan = getattr(page.release.decision, "content", None)
    if not isinstance(plan, BoxPlan):
        return None
    data = plan.data
    few = np.linspace(0, len(data) - 1, min(DRAWN, len(data))).astype(int)
    canvas = Canvas(region_around(data.places))
    before = canvas.lines(data.trace(i)[:, :2] for i in few)
    return {
        "unit": data.unit,
        "people": data.people,
        "points": len(data.times),
        "outside": data.outside,
        "repeated": data.repeated,
        "facts": page.release.provenance.record.facts,
        "drawn": len(few),
        "first": canvas.draw(f"{len(few)} traces as they came", before),
        "second": canvas.draw(
            "Boxes of the release", canvas.boxes(_some_boxes(plan, few), "after", opacity=0.05)
        ),
        "sides": _sides(plan),
        "losses": page.release.loss,
    }


def _some_boxes(plan: BoxPlan, traces: NDArray[np.int64]) -> NDArray[np.float64]:
    rows = np.concatenate([np.arange(plan.starts[i], plan.starts[i + 1]) for i in traces])
    found = np.unique(plan.boxes[rows], axis=0) if len(rows) else np.zeros((0, 4))
    few = np.linspace(0, len(found) - 1, min(BOXES, len(found))).astype(int)
    chosen: NDArray[np.float64] = found[few]
    return chosen


def _sides(plan: BoxPlan) -> Markup:
    sides = np.sqrt(
        (plan.boxes[:, 1] - plan.boxes[:, 0]) * (plan.boxes[:, 3] - plan.boxes[:, 2])
    ) / 1000.0  # fmt: skip
    place = np.searchsorted(SIDES, sides)
    counts = np.bincount(place, minlength=len(SIDES) + 1)
    shares = tuple(float(100 * c / max(len(sides), 1)) for c in counts)
    names = ["≤ 0.1", *(f"≤ {side:g}" for side in SIDES[1:]), "larger"]
    series = [Series("boxes", "after", shares, tuple(f"{share:.0f}" for share in shares))]
    return histogram(names, series, label="Boxes in per cent by the side of a square as large, km")


def _facts(page: Page) -> list[Fact]:
    facts = page.release.provenance.record.facts
    side = facts.get("mean width of a box (m)")
    return [] if side is None else [Fact("Mean width of a box", f"{side:,.0f} m")]


SECTIONS = (
    TemplateSection("traces", "Where and when", "trajectories/traces.html", _gather, _facts),
)
