"""The sections of a report on hybrid records: what rows and sets lost, and the trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.hybrid.algorithms import HybridRecoding
from sfumato.pictures.planes import Line, plane
from sfumato.report import figures
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.svg import Series, histogram

if TYPE_CHECKING:
    from markupsafe import Markup

MEANT = {
    "set NCP": "share of all items that a label of a set may stand for",
    "row NCP": "share of all values that a label of a row may stand for",
    "deleted": "items that were deleted",
    "query error": "mean relative error of counts that mix a row's value and an item",
}
SIZES = (2, 5, 10, 20, 50, 100, 200, 500)


def _trade_off(page: Page) -> dict[str, Any] | None:
    recoding = page.release.decision.content
    if not isinstance(recoding, HybridRecoding):
        return None
    points = tuple(sorted(recoding.steps))
    return {
        "chart": plane(
            [Line("after each merge", "line", points)] if len(points) > 1 else
            [Line("as released", "line", (points[0], points[0]))],
            label="Loss of rows against loss of sets, after each merge of two clusters",
            x_name="loss of rows (NCP)",
            y_name="loss of sets (NCP)",
        ),
        "first": recoding.steps[0],
        "last": recoding.steps[-1],
        "merges": len(recoding.steps) - 1,
        "losses": [(name, MEANT.get(name, ""), value) for name, value in page.release.loss.items()],
    }  # fmt: skip


def _classes(page: Page) -> dict[str, Any] | None:
    recoding = page.release.decision.content
    if not isinstance(recoding, HybridRecoding):
        return None
    sizes = np.array([len(cluster.members) for cluster in recoding.clusters])
    return {"chart": _size_chart(sizes), "sizes": sizes}


def _size_chart(sizes: Any) -> Markup:
    largest = int(sizes.max(initial=1))
    bounds = [1, *(b for b in SIZES if b <= largest)]
    highs = [*bounds[1:], largest + 1]
    pairs = [(low, high) for low, high in zip(bounds, highs, strict=True) if high > low]
    counts = tuple(int(((sizes >= low) & (sizes < high)).sum()) for low, high in pairs)
    names = [figures.span(low, high - 1) for low, high in pairs]
    series = [Series("clusters", "after", counts, tuple(figures.count(c) for c in counts))]
    return histogram(names, series, label="Clusters by the number of records in them")


def _facts(page: Page) -> list[Fact]:
    recoding = page.release.decision.content
    if not isinstance(recoding, HybridRecoding):
        return []
    return [
        Fact("loss of rows", figures.decimal(recoding.steps[-1][0]), "0 nothing, 1 everything"),
        Fact("classes", figures.count(len(recoding.clusters))),
    ]


SECTIONS = (
    TemplateSection("trade-off", "Rows against sets", "hybrid/trade_off.html", _trade_off, _facts),
    TemplateSection("classes", "Classes", "hybrid/classes.html", _classes),
)
"""In the order in which they are read."""
