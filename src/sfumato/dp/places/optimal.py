"""The optimal geo-indistinguishable mechanism for a prior: a linear programme over a spanner.

Bordenabe, Chatzikokolakis, Palamidessi: Optimal geo-indistinguishable mechanisms, CCS 2014. Over n
places, minimise Σ prior(x)·K(x, z)·d(x, z) under K(x, z) ≤ e^(ε·d(x, x′))·K(x′, z). Constraints
for the edges of a δ-spanner with ε/δ imply those for all pairs: along a path of length at most
δ·d(x, x′) the factors multiply to at most e^(ε·d(x, x′)). So far fewer are needed, at a loss of at
most what ε/δ costs.

Promise: ε-geo-indistinguishability between the places, of what is sampled, not of what a solver
returned. The solution is mixed with a little of the uniform mechanism (which hides everything, and
lifts small entries above the solver's tolerance), rounded to whole numbers out of 2⁵², and every
ratio of two of these whole numbers is compared with its bound; a table that fails is not used.
Rows are sampled by a uniform whole number: exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.uniform import below
from sfumato.dp.rounding import Stated, stated
from sfumato.errors import DataError, MissingExtra, ParameterError, Unsatisfiable
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOTAL = 1 << 52
MIXED = 1e-5
"""Share of the uniform mechanism in what is sampled."""
MOST_PLACES = 200
FINE, COARSE, FEW = 1.0275, 1.0825, 64
"""Stretch of the spanner up to so many places, and beyond: knights' and kings' moves on a grid."""


@dataclass(frozen=True, eq=False, repr=False)
class OptimalMechanism(Shown):
    """A table of whole numbers: `weights[x, z]` of 2⁵² is the chance to report z at place x."""

    places: NDArray[np.float64]
    prior: NDArray[np.float64]
    epsilon: Stated
    weights: NDArray[np.int64]

    @classmethod
    def solve(cls, places: Any, *, epsilon: Stated, prior: Any = None) -> OptimalMechanism:
        """Find the mechanism for places (rows x, y in metres), ε per metre and a public prior."""
        where, weights = _checked(places, prior)
        rate = float(stated(epsilon))
        if not rate > 0:
            raise ParameterError(f"epsilon must be above 0 per metre, not {epsilon!r}.")
        apart = np.hypot(*(where[:, None] - where[None]).transpose(2, 0, 1))
        stretch = FINE if len(where) <= FEW else COARSE
        table = _solve(apart, weights, rate, spanner(apart, stretch), stretch)
        made = cls(where, weights, epsilon, _whole(table))
        if made.shown_epsilon > rate:
            raise Unsatisfiable(
                "The solver's precision is not enough for this ε and these places; move them "
                "apart, or use PlanarLaplace."
            )
        return made

    @property
    def table(self) -> NDArray[np.float64]:
        """The chances, rounded."""
        found: NDArray[np.float64] = self.weights / TOTAL
        return found

    @property
    def shown_epsilon(self) -> float:
        """The largest ε per metre that any two rows of the table show, rounded up."""
        apart = np.hypot(*(self.places[:, None] - self.places[None]).transpose(2, 0, 1))
        logs = np.log(self.weights.astype(np.float64))
        worst = 0.0
        for x in range(len(self.places)):
            loss = np.abs(logs[x] - logs).max(axis=1)
            other = np.arange(len(loss)) != x
            if other.any():
                worst = max(
                    worst, float(((loss + 1e-12) / np.maximum(apart[x], 1e-300))[other].max())
                )
        return worst * (1 + 1e-12)

    @property
    def loss(self) -> float:
        """The expected distance between a place and its report, in metres, under the prior."""
        apart = np.hypot(*(self.places[:, None] - self.places[None]).transpose(2, 0, 1))
        return float((self.prior[:, None] * self.table * apart).sum())

    def release(self, points: Any) -> NDArray[np.float64]:
        """Report each point (moved to the nearest of the places first) by a place."""
        given = np.asarray(points, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != 2 or not np.isfinite(given).all():
            raise DataError("Points are rows of two finite numbers, x and y, in metres.")
        away = np.hypot(*(given[:, None] - self.places[None]).transpose(2, 0, 1))
        found: NDArray[np.float64] = self.places[self.draw(np.argmin(away, axis=1))]
        return found

    def draw(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw a report for each row of the table, exactly by its whole numbers."""
        coins = below(TOTAL, len(rows))
        steps = np.cumsum(self.weights, axis=1)
        found = np.empty(len(rows), np.int64)
        for row in np.unique(rows):
            mine = rows == row
            found[mine] = np.searchsorted(steps[row], coins[mine], side="right")
        return found


def spanner(apart: NDArray[np.float64], stretch: float) -> NDArray[np.int64]:
    """Return edges of a graph in which no way is longer than `stretch` times the distance.

    Greedy (Althöfer and others 1993): pairs from the nearest on; a pair gets an edge unless the
    edges so far join it well enough. All shortest ways are kept up to date.
    """
    n = len(apart)
    way = np.full((n, n), np.inf)
    np.fill_diagonal(way, 0.0)
    first, second = np.triu_indices(n, 1)
    edges = []
    for p in np.argsort(apart[first, second], kind="stable").tolist():
        u, v = int(first[p]), int(second[p])
        if way[u, v] <= stretch * apart[u, v] * (1 + 1e-12):
            continue
        edges.append((u, v))
        through = way[:, [u]] + apart[u, v] + way[[v], :]
        way = np.minimum(way, np.minimum(through, through.T))
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _solve(
    apart: NDArray[np.float64],
    prior: NDArray[np.float64],
    epsilon: float,
    edges: NDArray[np.int64],
    stretch: float,
) -> NDArray[np.float64]:
    """Solve the programme; a variable per pair of places, two constraints per edge and report."""
    try:
        from scipy.optimize import linprog  # noqa: PLC0415 - an extra
        from scipy.sparse import coo_array  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("scipy", "places", "The optimal mechanism") from None
    n = len(apart)
    if n == 1:
        return np.ones((1, 1))
    both = np.concatenate([edges, edges[:, ::-1]])
    factor = np.exp(epsilon / stretch * (1 - 1e-9) * apart[both[:, 0], both[:, 1]])
    rows = np.arange(len(both) * n)
    report = np.tile(np.arange(n), len(both))
    left = np.repeat(both[:, 0], n) * n + report
    right = np.repeat(both[:, 1], n) * n + report
    scale = np.repeat(factor, n)  # K(x, z)/e^(ε·d) − K(x′, z) ≤ 0: entries at most 1
    uneven = coo_array(
        (np.concatenate([1 / scale, -np.ones(len(rows))]),
         (np.concatenate([rows, rows]), np.concatenate([left, right]))),
        shape=(len(rows), n * n),
    ).tocsr()  # fmt: skip
    even = coo_array(
        (np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))), shape=(n, n * n)
    ).tocsr()
    solver: Any = linprog  # its stubs know no sparse arrays
    found = solver(
        (prior[:, None] * apart).ravel(), A_ub=uneven, b_ub=np.zeros(len(rows)), A_eq=even,
        b_eq=np.ones(n), bounds=(0, 1), method="highs-ipm",
    )  # fmt: skip
    if found.x is None:
        raise Unsatisfiable("The solver found no mechanism; try a larger ε or fewer places.")
    table: NDArray[np.float64] = np.clip(found.x.reshape(n, n), 0.0, 1.0)
    return np.asarray(table / table.sum(axis=1, keepdims=True), dtype=np.float64)


def _whole(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Mix with the uniform mechanism and round to whole numbers; each row sums to 2⁵²."""
    n = len(table)
    mixed = (1 - MIXED) * table + MIXED / n
    weights = np.floor(mixed * TOTAL).astype(np.int64)
    weights[np.arange(n), np.argmax(weights, axis=1)] += TOTAL - weights.sum(axis=1)
    return weights


def _checked(places: Any, prior: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    where = np.asarray(places, dtype=np.float64)
    if where.ndim != 2 or where.shape[1] != 2 or not len(where) or not np.isfinite(where).all():
        raise DataError("Places are rows of two finite numbers, x and y, in metres; at least one.")
    if len(where) > MOST_PLACES:
        raise ParameterError(
            f"{len(where)} places are too many for the programme, which has a variable per pair; "
            f"at most {MOST_PLACES} are possible. Use PlanarLaplace with remap, or fewer places."
        )
    if len(np.unique(where, axis=0)) != len(where):
        raise DataError("Two places are the same; each may be there once.")
    weights = np.ones(len(where)) if prior is None else np.asarray(prior, dtype=np.float64)
    if weights.shape != (len(where),) or not (weights >= 0).all() or not weights.sum() > 0:
        raise DataError("A prior has a weight from 0 for each place, and not all are 0.")
    return where, weights / weights.sum()
