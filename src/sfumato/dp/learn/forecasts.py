"""What a model will be worth, told from public facts before a row is read.

Contract: a forecast is a function of the declarations, of the price and of a number of rows that
the caller guesses. Its errors are standard deviations that noise alone gives, for a group of a
tenth of the rows; how hard the problem is, nobody knows before. ``useful`` is a rule of thumb.

Where the figures come from. A model that descends makes T noisy sums and keeps the mean of the last
half of its steps, so a value of a group of n rows with curvature w, against those of other groups
of its column, has about 1.7 times the noise of one sum at all the rounds' share, divided by w·n
(measured; √2 if steps were independent). A model from counts or second moments divides the
noise of an entry by n. Damping and penalties then shrink values, noise and truth alike, the more
the noisier they are; so these figures are upper ones, and small values hide behind them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.dp.publish.forecast import Forecast

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP = 10  # a group of a tenth of the rows is spoken of
CLEAR = 0.5  # log-odds, or a quarter of the bounds: a value with less noise says something


def forecast_values(
    what: str, rows: int, errors: Callable[[float], dict[str, float]], clear: float = CLEAR
) -> Forecast:
    """State errors for a number of rows; where noise drowns values, how many rows would do."""
    found = errors(max(rows, 1) / GROUP)
    *_, last = found.values()
    if last <= clear:
        return Forecast(what, found, useful=True)
    needed = rows
    while [*errors(needed / GROUP).values()][-1] > clear and needed < 1 << 50:
        needed = max(2 * needed, 10)
    digits = 10 ** (len(str(needed)) - 2)
    round_up = math.ceil(needed / digits) * digits
    advice = (
        f"Noise drowns what a group of {rows // GROUP:,} rows tells; about {round_up:,} rows, a "
        "larger epsilon or fewer columns would do"
    )
    return Forecast(what, found, useful=False, advice=advice)
