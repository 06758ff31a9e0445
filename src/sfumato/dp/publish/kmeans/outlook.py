"""What k-means will be worth at a price, from public parameters and a guessed number of rows.

The errors are those of clusters of equal size that fill the box evenly. The rule for ``useful``
was measured on mixtures in 2, 5, 6 and 10 columns: where a cluster has fewer than about eight
times the rows that the noise of the summary amounts to, the cost was 1.5 to 5 times the best. In
more columns, measured on mixtures in 20 and 64, four times will do, but a coordinate of a
first mean needs noise below a tenth of the side of the box too.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.dp.publish.forecast import Forecast
from sfumato.dp.publish.kmeans.best import ALONE, FEW, MANY, first_noise, pieces
from sfumato.dp.publish.kmeans.lloyd import COUNTS
from sfumato.dp.publish.purse import Purse

if TYPE_CHECKING:
    from sfumato.dp.publish.purse import Price

_STANDS_OUT = 8.0
_BLUR = 0.1
_STEP = (COUNTS, 1 - COUNTS)


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
        purse = Purse(price)
        summary, share = shares(rows, count, width, purse)
        radius = math.sqrt(width / 12) * count ** (-1 / width)
        counts, sums = (float(purse.epsilon(part * share * price.amount)) for part in _STEP)
        size = (math.sqrt(2) if purse.pure else 1.0) / counts
        centre = (math.sqrt(2 * width) if purse.pure else 1.0) * radius / sums / each
        heard = each * summary
        if width > MANY:
            blurred = first_noise(each, width, purse) / _BLUR
            heard = min(2 * heard, _STANDS_OUT / blurred)
    useful = heard >= _STANDS_OUT
    return Forecast(
        f"{count} clusters of {rows:,.0f} rows",
        {"a size": size, "a coordinate of a centre, in sides of the box": centre},
        useful,
        "" if useful else advice(rows * _STANDS_OUT / heard, rows),
    )


def shares(rows: float, count: int, width: int, purse: Purse) -> tuple[float, Fraction]:
    """Give 1/noise of the summary's counts, in rows, and the share of the last step."""

    def heard(share: Fraction) -> float:
        return float(purse.epsilon(share * purse.price.amount))

    if width <= FEW:
        return heard(Fraction(48, 100)), Fraction(48, 100)
    if width > MANY:
        return heard(Fraction(17, 100)) / 3, Fraction(30, 100)
    if pieces(rows, count, purse) > 1:
        return heard(Fraction(35, 200)) / 3, Fraction(29, 100)
    return heard(ALONE / 2) / 3, Fraction(99, 100) - ALONE


def advice(needed: float, rows: float) -> str:
    """Say how much more would be needed."""
    times = needed / max(rows, 1.0)
    return (
        "Noise will hide the clusters: the centres will tell little about the rows. Use about "
        f"{times:.2g} times the ε, or as many times the rows, or fewer clusters"
    )
