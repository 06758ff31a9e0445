"""Planar Laplace noise on a grid: a place that may be shown, and how far it is off.

Promise: ε-geo-indistinguishability between cells of the grid
(:class:`~sfumato.dp.places.guarantee.GeoIndistinguishability`).

Proof. A place becomes the cell g it is in; the report is g + z with Pr[z] ∝ exp(−ε·s·|z|₂), s
being the width of a cell, exactly (:mod:`.lattice_noise`). The normalising sum is the same for all
g, since the lattice is infinite. So the probabilities of a report at two cells have the ratio
exp(ε·s·(|w − g′|₂ − |w − g|₂)) ≤ exp(ε·s·|g − g′|₂), by the triangle inequality. Moving reports
that lie outside the bounds to the nearest cell inside, and remapping them, is post-processing.

Error. |z|₂·s is near a Gamma(2, 1/ε) for fine grids: mean 2/ε; it exceeds (ln(1/β) + ln(1 +
ln(1/β)) + 1)/ε with probability below β (checked against the exact sum in tests).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.trajectories.trajectories import Frame, read_bounds
from sfumato.dp.places.guarantee import GeoIndistinguishability
from sfumato.dp.places.lattice_noise import planar_noise
from sfumato.dp.rounding import Stated, stated
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
FINE = 20
"""The width of a cell is at most one part in so many of the mean error, where none is given."""


@dataclass(frozen=True, kw_only=True)
class PlanarLaplace(Written):
    """Report places with noise; `epsilon` is per metre, `step` the width of a cell in metres.

    `bounds` (low x, high x, low y, high y, in metres) are public: reports outside are moved to the
    nearest cell inside.

    >>> import sfumato as sf
    >>> sf.places.PlanarLaplace(epsilon="0.01").guarantee.level(200)  # doctest: +ELLIPSIS
    2.14...
    """

    epsilon: Stated
    step: Stated | None = None
    bounds: Sequence[float] | None = None

    def __post_init__(self) -> None:
        epsilon = stated(self.epsilon)
        if epsilon <= 0:
            raise ParameterError(f"epsilon must be above 0 per metre, not {self.epsilon!r}.")
        if self.step is None:
            widest = 2 / float(epsilon) / FINE
            object.__setattr__(self, "step", max((s for s in STEPS if s <= widest), default=1))
        if stated(self.step or 0) <= 0:
            raise ParameterError(f"step must be above 0 metres, not {self.step!r}.")
        object.__setattr__(self, "bounds", read_bounds(self.bounds))

    @classmethod
    def within(cls, radius: float, *, level: Stated, **options: Any) -> PlanarLaplace:
        """Return the mechanism whose loss is `level` for places `radius` metres apart."""
        if not radius > 0:
            raise ParameterError(f"radius must be above 0 metres, not {radius!r}.")
        return cls(epsilon=stated(level) / stated(radius), **options)

    @property
    def guarantee(self) -> GeoIndistinguishability:
        """What every single report promises."""
        assert self.step is not None
        return GeoIndistinguishability(self.epsilon, self.step)

    @cached_property
    def gamma(self) -> Fraction:
        """ε for one cell."""
        assert self.step is not None
        return stated(self.epsilon) * stated(self.step)

    @property
    def mean_error(self) -> float:
        """The mean distance between a place and its report, in metres: 2/ε for fine grids."""
        return 2.0 / float(stated(self.epsilon))

    def error_above(self, beta: float) -> float:
        """Return a distance that the error exceeds with probability below `beta`."""
        if not 0 < beta < 1:
            raise ParameterError(f"beta must be between 0 and 1, not {beta!r}.")
        log = math.log(1 / beta)
        reach = (log + math.log1p(log) + 1.0) / float(stated(self.epsilon))
        return reach + math.sqrt(2) * float(stated(self.step or 0))

    def release(self, points: Any) -> NDArray[np.float64]:
        """Return a report for each point (rows x, y in metres)."""
        cells = self.cells(points)
        noise = planar_noise(self.gamma, len(cells))
        return self.places(cells + noise)

    def release_degrees(
        self, lon: Any, lat: Any, *, origin: tuple[float, float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return reports for degrees of longitude and latitude.

        `origin` is the public point (longitude, latitude) at which the plane that noise is added in
        touches the globe, such as the middle of the city. It must not be taken from the points: the
        grid on which reports lie follows from it, and tells it.
        """
        x, y = np.atleast_1d(np.asarray(lon, float)), np.atleast_1d(np.asarray(lat, float))
        if not len(x):
            return x, y
        frame = Frame(True, (float(origin[0]), float(origin[1])))
        noisy = self.release(frame.project(x, y))
        return frame.restore(noisy[:, 0], 0), frame.restore(noisy[:, 1], 1)

    def cells(self, points: Any) -> NDArray[np.int64]:
        """Return the cell of each point."""
        places = np.asarray(points, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != 2:
            raise DataError("Points are rows of two numbers, x and y, in metres.")
        if not np.isfinite(places).all():
            raise DataError("A point has no finite coordinates; mend or drop it.")
        scaled = places / float(stated(self.step or 1))
        if len(scaled) and np.abs(scaled).max() > 2.0**50:
            raise DataError("A point is too far away for the grid; choose a nearer origin.")
        return np.asarray(np.floor(scaled), dtype=np.int64)

    def places(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the middles of cells, inside the bounds."""
        step = float(stated(self.step or 1))
        if self.bounds is not None:
            x0, x1, y0, y1 = self.bounds
            low = np.ceil(np.array([x0, y0]) / step - 0.5)
            high = np.floor(np.array([x1, y1]) / step - 0.5)
            cells = np.clip(cells, low, np.maximum(low, high)).astype(np.int64)
        return np.asarray((cells + 0.5) * step, dtype=np.float64)
