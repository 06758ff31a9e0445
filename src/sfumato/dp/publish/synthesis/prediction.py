"""How much noise a synthesis will meet, told before anything is spent.

Contract: :func:`predict_synthesis` reads no cell. It needs a public guess of the number of rows,
because noise matters relative to it; the guess is stated by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.data.wording import listed
from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.synthesis.engine import first_prices
from sfumato.dp.publish.synthesis.tables import prepare
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.rounding import Stated

_USELESS = 0.25


@dataclass(frozen=True)
class Prediction:
    """Expected distances (total variation) that noise alone makes, for about ``rows`` rows.

    ``columns`` has one for each column before smoothing, which lowers it; ``pairs`` one for a
    table of so many cells, at the price of the first round: later rounds are dearer and better.
    """

    rows: int
    columns: dict[str, float]
    pairs: dict[int, float]

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns of which noise will hide most."""
        return tuple(name for name, distance in self.columns.items() if distance > _USELESS)

    @property
    def useless(self) -> bool:
        """Whether not even a table of four by four cells rises above the noise."""
        return self.pairs[16] > _USELESS

    def __str__(self) -> str:
        lines = [f"For about {self.rows:,} rows, noise alone is expected to make these distances:"]
        lines += [f"  {name}: {distance:.4f}" for name, distance in self.columns.items()]
        lines += [f"  a table of {cells} cells: {gap:.4f}" for cells, gap in self.pairs.items()]
        if self.useless:
            lines.append("This budget is too small: no dependence between columns can be learnt.")
        elif self.hidden:
            lines.append(f"Noise will hide most of {listed(self.hidden)}.")
        return "\n".join(lines)


def predict_synthesis(
    people: Any,
    *,
    rows: int,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    **options: Any,
) -> Prediction:
    """Tell how much noise ``sf.dp.synthesize`` will meet; nothing is spent."""
    count = parameters.count(rows, "rows") or 1
    ready = prepare(people, epsilon=epsilon, delta=delta, rho=rho, **options)
    known = {name: coder for name, coder in ready.declared.items() if coder is not None}
    if len(known) < len(ready.declared):
        raise ParameterError("The error is predicted for declared domains; declare them all.")
    currency, settings = ready.budget.currency, ready.settings
    sizes = [coder.coded.size for coder in known.values()]
    prices = first_prices(sizes, ready.budget.amount, settings)
    columns = {
        name: min(1.0, size * currency.mean_error(price) / (2 * count))
        for name, size, price in zip(known, sizes, prices, strict=True)
    }
    rounds = settings.rounds or settings.rounds_per_column * len(sizes)
    price = (ready.budget.amount - sum(prices)) / rounds * (1 - settings.choice_share)
    error = currency.mean_error(price) if price > 0 else 0.0
    pairs = {cells: min(1.0, cells * error / (2 * count)) for cells in (16, 64, 256)}
    return Prediction(count, columns, pairs)
