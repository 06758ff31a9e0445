"""What k-means will be worth at a price, from public parameters and a guessed number of rows.

The errors are those of clusters of equal size that fill the box evenly. The rule for ``useful``
was measured on mixtures in 2, 5, 6 and 10 columns: where a cluster has fewer than about eight
times the rows that the noise of the summary amounts to, the cost was 1.5 to 5 times the best.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.dp.publish.forecast import Forecast
from sfumato.dp.publish.kmeans.best import ALONE, FEW, MANY, pieces
from sfumato.dp.publish.purse import Purse

if TYPE_CHECKING:
    from sfumato.dp.publish.purse import Price

_STANDS_OUT = 8.0


def outlook(*, rows: float, count: int, width: int, price: Price, lecture: int = 0) -> Forecast:
    """Foresee the noise of sizes and centres; ``lecture`` is its number of rounds, 0 for the best.

    Centres are in sides of the box.
    """
    each = max(rows / count, 1.0)
    if lecture:
        half = price.epsilon / (2 * lecture)
        size, centre = math.sqrt(2) / half, math.sqrt(2) * width / half / each
        heard = each * half / width
    else:
        summary, share = shares(rows, count, width, price)
        radius = math.sqrt(width / 12) * count ** (-1 / width)
        size = math.sqrt(2) / (0.15 * share)
        centre = math.sqrt(2 * width) * radius / (0.85 * share) / each
        heard = each * summary
    useful = heard >= _STANDS_OUT
    return Forecast(
        f"{count} clusters of {rows:,.0f} rows",
        {"a size": size, "a coordinate of a centre, in sides of the box": centre},
        useful,
        "" if useful else advice(rows * _STANDS_OUT / heard, rows),
    )


def shares(rows: float, count: int, width: int, price: Price) -> tuple[float, float]:
    """Give 1/noise of the summary's counts, in rows, and the ε of the last step."""
    epsilon = price.epsilon
    if width <= FEW:
        return 0.5 * epsilon, 0.48 * epsilon
    if width > MANY:
        return 0.175 * epsilon / 3, 0.3 * epsilon
    if pieces(rows, count, Purse(price)) > 1:
        return 0.35 * epsilon / 6, 0.29 * epsilon
    return float(ALONE) * epsilon / 6, (0.99 - float(ALONE)) * epsilon


def advice(needed: float, rows: float) -> str:
    """Say how much more would be needed."""
    times = needed / max(rows, 1.0)
    return (
        "Noise will hide the clusters: the centres will tell little about the rows. Use about "
        f"{times:.2g} times the ε, or as many times the rows, or fewer clusters"
    )
