"""Risk of being found again, before and after: what a class size means for a person.

Before is the data as it came, after the release; both measured by `audit.risk` from the
sizes of the classes. Only the release can be compared with a population.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.report.figures import EN_DASH, NO_BREAK, percent
from sfumato.report.svg import Series, histogram
from sfumato.report.tables.class_sizes import size_bins

if TYPE_CHECKING:
    import numpy as np
    from markupsafe import Markup
    from numpy.typing import NDArray

    from sfumato.audit.risk import Risk

LARGEST_BIN = 100
"""Class size from which on the picture tells no further differences."""


@dataclass(frozen=True)
class RiskRow:
    """One figure before and after, with what it means."""

    name: str
    before: str
    after: str
    meaning: str


def risk_rows(before: Risk, after: Risk) -> tuple[RiskRow, ...]:
    """Return the table of the section."""
    few = round(1 / after.threshold)
    rows = {
        "prosecutor": (
            "highest risk",
            "the chance to pick the right record of the person who is easiest to find",
        ),
        "prosecutor_mean": ("average risk", "the same for the average person"),
        "prosecutor_above": (
            f"records above {100 * after.threshold:g}{NO_BREAK}% risk",
            f"people who hide among fewer than {few}",
        ),
        "sample_uniqueness": (
            "unique records",
            "people whom nobody else in the data resembles on the quasi-identifiers",
        ),
        "marketer": (
            "marketer risk",
            "the share of people found by somebody who tries to match everybody",
        ),
        "journalist": (
            "highest risk in the population",
            "the chance to pick the right person for somebody who does not know who is in the data",
        ),
        "population_uniqueness": (
            "unique in the population",
            "records that fit one single person of the population",
        ),
    }
    return tuple(
        RiskRow(name, _figure(before, field), _figure(after, field), meaning)
        for field, (name, meaning) in rows.items()
        if getattr(after, field) is not None
    )


def _figure(risk: Risk, field: str) -> str:
    value = getattr(risk, field)
    return EN_DASH if value is None else percent(value)


def risk_chart(before: NDArray[np.int64], after: NDArray[np.int64]) -> Markup:
    """Return the share of people by the size of the class they hide in, before and after."""
    sides = [size_bins(sizes, last=LARGEST_BIN) for sizes in (before, after)]
    series = []
    for name, bins in zip(("before", "after"), sides, strict=True):
        total = max(sum(b.records for b in bins), 1)
        shares = tuple(b.records / total for b in bins)
        series.append(Series(name, name, shares, tuple(_short(share) for share in shares)))
    places = [b.label for b in sides[0]]
    told = "; ".join(
        f"class size {place}: {percent(a)} before, {percent(b)} after"
        for place, a, b in zip(places, series[0].values, series[1].values, strict=True)
    )
    return histogram(places, series, label=f"Share of records by class size. {told}.")


def _short(share: float) -> str:
    """Return a percentage that fits above a column."""
    return "" if share == 0 else "<1" if share < 0.01 else f"{100 * share:.0f}"
