"""Remapping: the best guess of a place from its noisy report, at no cost in privacy.

Chatzikokolakis, ElSalamouny, Palamidessi: Efficient utility improvement for location privacy, PETS
2017. Given a public prior over places, a report w makes place x as likely as prior(x)·exp(−ε|w −
x|); the report is replaced by the place with the least expected distance to the true one. This
looks at the report alone: post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.rounding import stated
from sfumato.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.places.planar_laplace import PlanarLaplace

BLOCK = 2048
SIDE = 128
"""Cells to a side of the table of best guesses."""


@dataclass(frozen=True, eq=False)
class Remap:
    """A table from reports to best guesses; `places` and `prior` are public."""

    mechanism: PlanarLaplace
    places: NDArray[np.float64]
    prior: NDArray[np.float64]

    @cached_property
    def _grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The low corner and the step of the table: the places and the usual error around them."""
        margin = 2 * self.mechanism.mean_error
        low, high = self.places.min(axis=0) - margin, self.places.max(axis=0) + margin
        return low, (high - low) / SIDE

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """The number of the best place for each cell of the table."""
        low, step = self._grid
        axis = np.arange(SIDE) + 0.5
        middles = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2) * step + low
        return self.best(middles).reshape(SIDE, SIDE)

    def best(self, reports: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the place with the least expected distance, for each report."""
        epsilon = float(stated(self.mechanism.epsilon))
        apart = np.hypot(*(self.places[:, None] - self.places[None]).transpose(2, 0, 1))
        found = np.empty(len(reports), np.int64)
        for start in range(0, len(reports), BLOCK):
            part = reports[start : start + BLOCK]
            away = np.hypot(*(part[:, None] - self.places[None]).transpose(2, 0, 1))
            weight = self.prior * np.exp(-epsilon * (away - away.min(axis=1, keepdims=True)))
            found[start : start + BLOCK] = np.argmin(weight @ apart, axis=1)
        return found

    def __call__(self, reports: Any) -> NDArray[np.float64]:
        """Replace reports by best guesses."""
        noisy = np.asarray(reports, dtype=np.float64)
        low, step = self._grid
        cell = np.clip(((noisy - low) / step).astype(np.int64), 0, SIDE - 1)
        chosen: NDArray[np.float64] = self.places[self.table[cell[:, 0], cell[:, 1]]]
        return chosen


def remap(mechanism: PlanarLaplace, places: Any, prior: Any = None) -> Remap:
    """Return the best guesses for a mechanism under a public prior over places; uniform if none."""
    where = np.asarray(places, dtype=np.float64)
    if where.ndim != 2 or where.shape[1] != 2 or not len(where) or not np.isfinite(where).all():
        raise DataError("Places are rows of two finite numbers, x and y, in metres; at least one.")
    weights = np.ones(len(where)) if prior is None else np.asarray(prior, dtype=np.float64)
    if weights.shape != (len(where),) or not (weights >= 0).all() or not weights.sum() > 0:
        raise DataError("A prior has a weight from 0 for each place, and not all are 0.")
    return Remap(mechanism, where, weights / weights.sum())
