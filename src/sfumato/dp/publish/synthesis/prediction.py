"""How much noise a synthesis will meet, told before anything is spent.

Contract: no function here reads a cell. They need a public guess of the number of rows, because
noise matters relative to it; the guess is stated by the caller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.data.wording import listed
from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.forecast import Forecast
from sfumato.dp.publish.synthesis import graphs, sets, trajectories
from sfumato.dp.publish.synthesis.engine import first_prices
from sfumato.dp.publish.synthesis.tables import prepare
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from sfumato.dp.neighbours import Neighbours, PrivacyUnit
    from sfumato.dp.publish.synthesis.budget import Budget
    from sfumato.dp.publish.synthesis.engine import SynthesisSettings
    from sfumato.dp.rounding import Stated

_USELESS = 0.25
_HIDDEN_DEGREES = 4.0


@dataclass(frozen=True)
class Prediction:
    """Expected distances (total variation) that noise alone makes, for about ``rows`` rows.

    ``columns`` has one for each column before smoothing, which lowers it; ``pairs`` one for a
    table of so many cells, at the price of the first round: later rounds are dearer and better.
    """

    rows: int
    columns: dict[str, float]
    pairs: dict[int, float]
    best: float = 0.0
    """The distance of the smallest table when it gets a quarter of the budget: where a cheap round
    teaches nothing the next one is dearer, so the tables that matter get about as much."""
    needed: float | None = None
    """Of items without a public list: about how many sets must hold one for it to be named."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns of which noise will hide most."""
        return tuple(name for name, distance in self.columns.items() if distance > _USELESS)

    @property
    def useless(self) -> bool:
        """Whether not even the smallest table of two columns rises above the noise."""
        return self.best > _USELESS

    @property
    def useful(self) -> bool:
        """Whether something can be learnt."""
        return not self.useless

    def __str__(self) -> str:
        lines = [f"For about {self.rows:,} rows, noise alone is expected to make these distances:"]
        lines += [f"  {name}: {distance:.4f}" for name, distance in self.columns.items()]
        lines += [f"  a table of {cells} cells: {gap:.4f}" for cells, gap in self.pairs.items()]
        lines.append(f"  the smallest of them in a late round: {self.best:.4f}")
        if self.needed is not None:
            lines.append(
                f"An item that fewer than about {self.needed:,.0f} sets hold is not named."
            )
        if self.useless:
            lines.append("This budget is too small: no dependence between columns can be learnt.")
        elif self.hidden:
            lines.append(f"Noise will hide most of {listed(self.hidden)}.")
        return "\n".join(lines)


def predict_table(
    people: Any,
    *,
    rows: int,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    **options: Any,
) -> Prediction:
    """Tell how much noise a synthetic table will meet; nothing is read or spent."""
    ready = prepare(people, epsilon=epsilon, delta=delta, rho=rho, **options)
    known = {name: coder for name, coder in ready.declared.items() if coder is not None}
    if len(known) < len(ready.declared):
        raise ParameterError("The error is predicted for declared domains; declare them all.")
    sizes = {name: coder.coded.size for name, coder in known.items()}
    return _predicted(rows, sizes, ready.budget, ready.budget.amount, ready.settings)


def predict_sets(
    rows: int,
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    items: int | None = None,
    top: int = 30,
    typical: int = 5,
    most: int = 100,
    neighbours: Neighbours | PrivacyUnit | str = "transaction",
) -> Prediction:
    """Tell how much noise `synthesize_sets` will meet for about so many sets; nothing is spent.

    ``items`` is how many items the public list has, None where there is no such list.
    """
    for value, what in ((top, "top"), (typical, "typical"), (most, "most")):
        parameters.count(value, what)
    budget = sets.read_sets_budget(epsilon, delta, rho, neighbours, unknown=items is None)
    sizes = {f"item {k + 1}": 2 for k in range(top)} | {"other items": len(sets.EDGES)}
    amount = budget.amount * (1 - sets.ITEMS_SHARE)
    found = _predicted(rows, sizes, budget, amount, sets.SETTINGS, cells=(4, 16, 64))
    shown = {
        "each frequent item": found.columns["item 1"],
        "other items": found.columns["other items"],
    }
    needed = None
    if items is None:
        price = budget.amount * sets.ITEMS_SHARE
        needed = sets.least_weight(budget, price, typical, most)
    return replace(found, columns=shown, needed=needed)


def predict_trajectories(
    rows: int,
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "trip",
) -> Prediction:
    """Tell how much noise `synthesize_trajectories` will meet for about so many trips."""
    budget = trajectories.read_trips_budget(epsilon, delta, rho, neighbours)
    domain = trajectories.domain_of_trips()
    sizes = {column.name: column.size for column in domain.columns}
    settings = trajectories.settings_for(budget)
    return _predicted(rows, sizes, budget, budget.amount, settings)


def predict_graph(rows: int, *, vertices: int, epsilon: Stated) -> Forecast:
    """Tell how much noise `synthesize_graph` will meet for about so many edges.

    The noise of triangles grows with the most neighbours that two vertices have in common, which is
    not public; so it is told per common neighbour. What counts as useful is a rule of thumb: noise
    of a degree of at most four mean degrees.
    """
    spent = float(parameters.budget(epsilon))
    edges = parameters.count(rows, "rows, the edges,") or 1
    scale = 2 / (spent * float(graphs.DEGREES))
    degree = math.sqrt(2) * scale
    useful = degree <= _HIDDEN_DEGREES * 2 * edges / vertices
    triangles = 2 / (spent * (1 - float(graphs.DEGREES)))
    needed = degree * vertices / (_HIDDEN_DEGREES * 2 * edges)
    return Forecast(
        f"a graph of {vertices:,} vertices and about {edges:,} edges",
        {
            "a degree before smoothing": degree,
            "the number of edges": degree * math.sqrt(vertices) / 2,
            "triangles, for each neighbour that two vertices have in common": triangles,
        },
        useful,
        "" if useful else (
            f"Noise will hide the degrees: the copy will tell little. Use about {needed:.2g} times "
            "the ε"
        ),
    )  # fmt: skip


def _predicted(
    rows: int,
    sizes: Mapping[str, int],
    budget: Budget,
    amount: Fraction,
    settings: SynthesisSettings,
    cells: tuple[int, ...] = (16, 64, 256),
) -> Prediction:
    """Give the distances that noise makes, of columns and of tables of two."""
    count = parameters.count(rows, "rows") or 1
    currency = budget.currency
    prices = first_prices(list(sizes.values()), amount, settings)
    columns = {
        name: min(1.0, size * currency.mean_error(price) / (2 * count))
        for (name, size), price in zip(sizes.items(), prices, strict=True)
    }
    rounds = settings.rounds or settings.rounds_per_column * len(sizes)
    price = (amount - sum(prices)) / rounds * (1 - settings.choice_share)
    error = currency.mean_error(price) if price > 0 else 0.0
    pairs = {many: min(1.0, many * error / (2 * count)) for many in cells}
    dearest = currency.mean_error((amount - sum(prices)) / 4) if price > 0 else 0.0
    return Prediction(count, columns, pairs, best=min(1.0, cells[0] * dearest / (2 * count)))
