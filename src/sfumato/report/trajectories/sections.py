"""The section of a report about traces: maps before and after, sizes of boxes, what was lost.

The page compares with the traces as they came, so it stays in the house.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.nearness import NOT_ANONYMOUS
from sfumato.anonymize.trajectories.artefact import PIECE
from sfumato.anonymize.trajectories.plan import BoxPlan
from sfumato.pictures.maps import Canvas, region_around
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.svg import Series, histogram

if TYPE_CHECKING:
    from markupsafe import Markup
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

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
        "unit": data.unit if plan.whole is None else PIECE,
        "warning": NOT_ANONYMOUS if plan.moved is not None else "",
        "cuts": _moments(page, data),
        "people": data.people,
        "points": len(data.times),
        "outside": data.outside,
        "repeated": data.repeated,
        "facts": page.release.provenance.record.facts,
        "drawn": len(few),
        "first": canvas.draw(f"{len(few)} traces as they came", before),
        "second": canvas.draw("What the release shows", _shown(canvas, plan, few)),
        "sides": _sides(plan),
        "losses": page.release.loss,
    }


def _moments(page: Page, data: Trajectories) -> list[str]:
    """Return the cuts as they are read."""
    cuts = page.release.decision.settings.get("cuts", ())
    if not data.clock:
        return [f"{cut:g} s" for cut in cuts]
    return [str(np.datetime64(int(cut), "s")).replace("T", " ")[:16] for cut in cuts]


def _shown(canvas: Canvas, plan: BoxPlan, few: NDArray[np.int64]) -> Markup:
    """Draw boxes, or the ways through them where they are cells that places were moved to."""
    if plan.moved is None:
        return canvas.boxes(_some_boxes(plan, few), "after", opacity=0.05)
    middles = (plan.boxes[:, [0, 2]] + plan.boxes[:, [1, 3]]) / 2
    return canvas.lines(middles[plan.starts[i] : plan.starts[i + 1]] for i in few)


def _some_boxes(plan: BoxPlan, traces: NDArray[np.int64]) -> NDArray[np.float64]:
    if plan.whole is not None:
        traces = np.flatnonzero(np.isin(plan.whole, traces))
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
    for name, label in (
        ("mean width of a box (m)", "Mean width of a box"),
        ("mean move of a place (m)", "Mean move of a place"),
    ):
        if name in facts:
            return [Fact(label, f"{facts[name]:,.0f} m")]
    return []


SECTIONS = (
    TemplateSection("traces", "Where and when", "trajectories/traces.html", _gather, _facts),
)
