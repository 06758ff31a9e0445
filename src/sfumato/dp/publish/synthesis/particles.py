"""A cloud of records that follows noisy tables: raking, resampling and Gibbs sweeps.

Contract: all input is released, so everything here is post-processing and costs nothing.

The model is the field p(x) ∝ Π_i f_i(x_i) · Π_r exp θ_r[cell_r(x)], restricted to what the masks
allow: the distribution nearest to independent columns (in Kullback-Leibler divergence) that is
drawn to each measurement with a force that grows with its precision. The cloud represents it by
weighted particles. *Raking* moves one measurement's θ to its optimum given the others and
re-weighs; the force is such that one unit of θ leaves a gap of about one standard deviation, so
noise is not fitted, repeated measurements average, and negative counts need no repair. When the
weights degenerate, the cloud is resampled (systematically, which adds least variance) and every
particle moves by one Gibbs sweep through the field: *resample-move* (Gilks and Berzuini 2001). No
junction tree is needed, so no treewidth limits which tables are measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.dp.noise import permutation
from sfumato.dp.publish.synthesis import kernels
from sfumato.dp.publish.synthesis.coarsening import weighted_counts
from sfumato.dp.publish.synthesis.rules import Mask, collect, keep
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.dp.noise import Stream
    from sfumato.dp.publish.synthesis.coarsening import Smooth
    from sfumato.dp.publish.synthesis.curator import AtomGroups

_TIRED = 0.7  # resample below this effective share of particles
_TIRED_WIDE, _WIDE = 0.55, 20  # … in a table of more columns than that, where a sweep takes long
_EXHAUSTED = 0.2  # … at once, even between two measurements
_TINY = 1e-4  # records: the least mass of an atom in the field, so that tables can raise it
_TRIES = 20


_Factors: TypeAlias = tuple[
    NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]
]


def uniforms(source: Stream, count: int) -> NDArray[np.float64]:
    """Draw numbers in [0, 1) for post-processing."""
    return (source.uint64(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def systematic(weights: NDArray[np.float64], count: int, source: Stream) -> NDArray[np.int64]:
    """Draw indices, each as often as its share says but for rounding, in order."""
    ends = np.cumsum(weights)
    spots = (np.arange(count) + uniforms(source, 1)[0]) * (ends[-1] / count)
    found = np.searchsorted(ends, spots, side="right")
    chosen: NDArray[np.int64] = np.minimum(found, weights.size - 1).astype(np.int64)
    return chosen


@dataclass(frozen=True, eq=False)
class Measurement:
    """A released table, as shares: of one column (j = i), or of two at some levels."""

    i: int
    j: int
    rows: NDArray[np.uint8]
    columns: NDArray[np.uint8]
    shape: tuple[int, int]
    shares: NDArray[np.float64]
    sigmas: NDArray[np.float64]  # of the counts

    @property
    def single(self) -> bool:
        """Whether it is about one column."""
        return self.i == self.j


@dataclass(eq=False)
class Cloud:
    """Weighted particles, and the measurements that they follow."""

    grouping: AtomGroups
    total: float
    base: NDArray[np.float64]
    atoms: NDArray[np.uint8]
    masks: tuple[Mask, ...]
    source: Stream
    weights: NDArray[np.float64] = field(init=False)
    measured: list[Measurement] = field(default_factory=list)
    sweeps: int = 0

    def __post_init__(self) -> None:
        count = self.atoms.shape[1]
        self.weights = np.full(count, 1 / count)
        self._cells = np.empty((0, count), dtype=np.uint16)
        self._offsets = np.zeros(1, dtype=np.int64)
        self._theta = np.empty(0)
        self._shares = np.empty(0)
        self._mask_arrays = collect(self.masks, self.atoms.shape[0])
        if self.masks:
            self._obey()

    @classmethod
    def start(
        cls,
        columns: Sequence[Smooth],
        grouping: AtomGroups,
        total: float,
        count: int,
        source: Stream,
        masks: Sequence[Mask] = (),
    ) -> Cloud:
        """Draw independent columns."""
        base = np.zeros((len(columns), int(grouping.sizes.max())))
        atoms = np.empty((len(columns), count), dtype=np.uint8)
        for i, column in enumerate(columns):
            masses = np.maximum(column.atom_masses, _TINY)
            base[i, : masses.size] = masses / masses.max()
            drawn = systematic(masses, count, source)
            atoms[i] = drawn[permutation(count, source=source)]
        return cls(grouping, total, base, atoms, tuple(masks), source)

    def _obey(self) -> None:
        """Move into what the masks allow: drop what is forbidden, then move the rest."""
        for _ in range(_TRIES):
            good = keep(self.masks, self.atoms)
            if good.all():
                return
            if good.any():
                chosen = systematic(good.astype(np.float64), good.size, self.source)
                self.atoms = np.ascontiguousarray(self.atoms[:, chosen])
                for _ in range(3):
                    self._sweep()
                return
            self._sweep()
        raise Unsatisfiable(
            "The rules contradict each other, or leave only combinations that are too rare to be "
            "found; no synthetic record keeps them all."
        )

    # -- measurements ------------------------------------------------------------------

    def add(self, measurement: Measurement) -> int:
        """Take a measurement up; returns its number."""
        self.measured.append(measurement)
        r = len(self.measured) - 1
        if r >= len(self._cells):
            grown = np.empty((max(16, 2 * len(self._cells)), self.weights.size), dtype=np.uint16)
            grown[: len(self._cells)] = self._cells
            self._cells = grown
        self._place(r)
        size = measurement.shares.size
        self._offsets = np.append(self._offsets, self._offsets[-1] + size)
        self._theta = np.append(self._theta, np.zeros(size))
        self._shares = np.append(self._shares, measurement.shares.ravel())
        self._strength = self._strengths()
        self._lanes = np.empty((4, int(np.diff(self._offsets).max())))
        return r

    def _place(self, r: int) -> None:
        m = self.measured[r]
        kernels.place_cells(
            self.atoms[m.i], self.atoms[m.j], m.rows, m.columns, m.shape[1], self._cells[r]
        )

    def _strengths(self) -> NDArray[np.float64]:
        """λ of every cell: n̂²/σ², in units such that one unit of θ is worth about one σ."""
        pairs = [float(m.sigmas.flat[0]) for m in self.measured if not m.single]
        singles = [float(np.median(m.sigmas)) for m in self.measured]
        typical = float(np.median(pairs or singles))
        sigmas = np.concatenate([m.sigmas.ravel() for m in self.measured])
        return np.asarray(self.total * typical / sigmas**2)

    def shares(self, r: int) -> NDArray[np.float64]:
        """Give the model's shares of the cells of a measurement."""
        size = self.measured[r].shares.size
        return weighted_counts(self._cells[r], self.weights, size)

    def pairs(self) -> NDArray[np.float64]:
        """Give the model's shares in all tables of pairs of atoms."""
        offsets = self.grouping.offsets()
        out = np.empty(offsets[-1])
        lanes = np.empty((4, int(self.grouping.sizes.max()) ** 2))
        kernels.model_pairs(self.atoms, self.weights, self.grouping.sizes, offsets, lanes, out)
        return out

    # -- moving ------------------------------------------------------------------------

    def rake(self, order: NDArray[np.int64]) -> None:
        """Rake to measurements in this order; refresh on the way where few particles carry all."""
        while order.size:
            done = kernels.rake(
                self._cells, self.weights, self._offsets, self._shares, self._strength,
                self._theta, order, self._lanes, _EXHAUSTED,
            )  # fmt: skip
            self.weights /= self.weights.sum()
            if self.effective < _EXHAUSTED:
                self.refresh()
            order = order[done:]

    def rake_all(self) -> None:
        """Rake to all measurements, in random order."""
        self.rake(permutation(len(self.measured), source=self.source))

    @property
    def effective(self) -> float:
        """The effective share of particles: 1 where all weigh the same."""
        return float(1 / (self.weights**2).sum() / self.weights.size)

    def refresh(self) -> None:
        """Resample and move, where weights have degenerated."""
        if self.effective < (_TIRED_WIDE if len(self.grouping.sizes) > _WIDE else _TIRED):
            count = self.weights.size
            chosen = systematic(self.weights, count, self.source)
            self.atoms = np.ascontiguousarray(self.atoms[:, chosen])
            self.weights[:] = 1 / count
            self._sweep()
            for r in range(len(self.measured)):
                self._place(r)

    def _sweep(self) -> None:
        self.sweeps += 1
        base, starts, others, tables = self._factors()
        coins = uniforms(self.source, self.atoms.size)
        kernels.sweep(
            self.atoms, self.grouping.sizes, base, starts, others, tables, self._mask_arrays, coins
        )

    def _factors(self) -> _Factors:
        """Give the factors of the field, of columns alone and of pairs from both sides."""
        logs = np.log(np.maximum(self.base, 1e-300))
        pairs: dict[tuple[int, int], NDArray[np.float64]] = {}
        sizes = self.grouping.sizes
        for r, m in enumerate(self.measured):
            theta = self._theta[self._offsets[r] : self._offsets[r + 1]].reshape(m.shape)
            if m.single:
                logs[m.i, : sizes[m.i]] += theta[m.rows, 0]
                continue
            table = theta[np.ix_(m.rows, m.columns)]
            pairs[m.i, m.j] = pairs.get((m.i, m.j), 0.0) + table
        width = int(sizes.max())
        sides = sorted([*pairs, *((j, i) for i, j in pairs)])
        tables = np.zeros((max(1, len(sides)), width, width))
        for q, (i, j) in enumerate(sides):  # rows: the neighbour j; columns: i itself
            table = pairs[i, j].T if (i, j) in pairs else pairs[j, i]
            factor = np.exp(table - table.max(axis=1, keepdims=True))
            tables[q, : sizes[j], : sizes[i]] = factor
        starts = np.searchsorted([i for i, _ in sides], np.arange(len(sizes) + 1))
        others = np.array([j for _, j in sides], dtype=np.int64)
        base = np.where(self.base > 0, np.exp(logs - logs.max(axis=1, keepdims=True)), 0.0)
        return base, starts.astype(np.int64), others, tables

    def sample(self, count: int) -> NDArray[np.uint8]:
        """Draw ``count`` records, systematically from the cloud in lexicographic order."""
        ranked = np.lexsort(self.atoms[::-1])
        chosen = ranked[systematic(self.weights[ranked], count, self.source)]
        return np.ascontiguousarray(self.atoms[:, chosen])


def mean_gap(cloud: Cloud, r: int) -> float:
    """Give the total variation between the model and a released table, which is noisy itself."""
    return float(np.abs(cloud.shares(r) - cloud.measured[r].shares.ravel()).sum() / 2)


def predicted_gap(measurement: Measurement, total: float) -> float:
    """Give the total variation that the noise of a table alone makes, on average."""
    return float(measurement.sigmas.sum() * math.sqrt(2 / math.pi) / (2 * total))
