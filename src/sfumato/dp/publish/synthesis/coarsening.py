"""From noisy counts of a column to a smooth distribution, its atoms and their levels.

Contract: everything here is computed from released numbers. An *atom* is a group of codes that
tables of pairs treat as one; a *level* is a coarser grouping of atoms. Codes that stay alone
are atoms of their own at every level.

Noisy counts of many ordered values are fitted by few constant pieces: the exact minimum of
Σ(y − f)² + σ²·ln(size)·pieces (Potts; a penalised likelihood that keeps the edges of spikes).
Counts of very many unordered values below three standard deviations share what is left
evenly. Then the counts are projected on the simplex of non-negative counts with the right total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.publish.synthesis import kernels
from sfumato.dp.publish.synthesis.curator import AtomGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.dp.publish.synthesis.curator import NoisyCounts
    from sfumato.dp.publish.synthesis.domain import CodedColumn, Domain

_FEW = 16  # a column of so few codes is not smoothed
_MANY = 1024  # above, unordered codes count only where they stand out
_DEPTH = 3


@dataclass(frozen=True, eq=False)
class Smooth:
    """One column after its noisy counts: masses of codes, and the atom of each code."""

    masses: NDArray[np.float64]
    atoms: NDArray[np.uint8]
    levels: tuple[NDArray[np.uint8], ...]

    @property
    def size(self) -> int:
        """How many atoms there are."""
        return int(self.atoms.max()) + 1

    @property
    def atom_masses(self) -> NDArray[np.float64]:
        """The mass of each atom."""
        return weighted_counts(self.atoms, self.masses, self.size)


def weighted_counts(
    places: NDArray[Any], weights: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Add the weights of each place."""
    return np.bincount(places, weights=weights, minlength=size).astype(np.float64)


def estimate_total(noisy: Sequence[NoisyCounts]) -> float:
    """Estimate the number of rows from all histograms, the surest weighing most; at least 1."""
    precisions = np.array([1 / (y.counts.size * y.variance) for y in noisy])
    totals = np.array([float(y.counts.sum()) for y in noisy])
    return max(1.0, float((precisions * totals).sum() / precisions.sum()))


def smooth(
    column: CodedColumn, noisy: NoisyCounts, total: float, *, most: int, depth: int
) -> Smooth:
    """Find masses, at most ``most`` atoms and ``depth`` levels of a column."""
    masses = _masses(column, noisy, total)
    shut = tuple(code for code in column.doubtful if masses[code] == 0)
    standing = tuple(code for code in column.alone if code not in shut)
    atoms = _merge(masses, column, standing, most, shut)
    levels: list[NDArray[np.uint8]] = [np.arange(int(atoms.max()) + 1, dtype=np.uint8)]
    own = weighted_counts(atoms, masses, int(atoms.max()) + 1)
    alone = tuple(int(atoms[code]) for code in standing)
    for _ in range(1, depth):
        most = -(-most // 2)
        if levels[0].size > 4 and most < levels[-1].max() + 1:
            levels.append(_merge(own, column, alone, most))
    return Smooth(masses, atoms, tuple(levels))


def _masses(column: CodedColumn, noisy: NoisyCounts, total: float) -> NDArray[np.float64]:
    y = noisy.counts.astype(np.float64)
    sigma = math.sqrt(noisy.variance)
    for code in column.doubtful:
        if y[code] < 3 * sigma:
            y[code] = -math.inf
    plain = np.setdiff1d(np.arange(column.size), column.alone)
    if column.ordered and plain.size > _FEW:
        y[plain] = kernels.fit_pieces(y[plain], noisy.variance * math.log(plain.size))
    elif not column.ordered and plain.size > _MANY:
        return _spread(y, total, 3 * sigma)
    return on_simplex(y, total)


def _spread(y: NDArray[np.float64], total: float, threshold: float) -> NDArray[np.float64]:
    """Keep counts that stand out, and share the rest evenly among the others."""
    seen = y >= threshold
    known = min(total, float(y[seen].sum()))
    others = ~seen & np.isfinite(y)
    masses = np.where(others, max(0.0, total - known) / max(1, others.sum()), 0.0)
    masses[seen] = on_simplex(y[seen], known if others.any() else total) if seen.any() else 0.0
    return masses


def on_simplex(y: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Find the nearest non-negative numbers with this sum."""
    if not np.isfinite(y).any():
        return np.full(y.size, total / y.size)
    ranked = np.sort(y[np.isfinite(y)])[::-1]
    shifts = (np.cumsum(ranked) - total) / np.arange(1, ranked.size + 1)
    kept = int(np.flatnonzero(ranked - shifts > 0)[-1])
    near: NDArray[np.float64] = np.maximum(y - shifts[kept], 0.0)
    return near


def _merge(
    masses: NDArray[np.float64],
    column: CodedColumn,
    alone: Sequence[int],
    most: int,
    shut: Sequence[int] = (),
) -> NDArray[np.uint8]:
    """Group codes into at most ``most`` groups, those alone included.

    Codes that are ``shut`` do not occur in the copy, so they get no group of their own, which every
    table would have to carry: the few rows that may have them count with the largest group.
    """
    plain = np.setdiff1d(np.arange(masses.size), [*alone, *shut])
    groups = np.zeros(masses.size, dtype=np.int64)
    room = max(1, most - len(set(alone)))
    join = _join_neighbours if column.ordered else _join_rare
    groups[plain] = join(masses[plain], room) if plain.size else 0
    for place, code in enumerate(sorted(set(alone))):
        groups[code] = (groups[plain].max() + 1 if plain.size else 0) + place
    if shut:
        groups[list(shut)] = int(np.argmax(np.bincount(groups, weights=masses)))  # they have none
    return groups.astype(np.uint8)


def _join_neighbours(masses: NDArray[np.float64], room: int) -> NDArray[np.int64]:
    """Join the two neighbours of least mass together until the groups fit."""
    sums = masses.copy()
    starts = list(range(masses.size))
    while len(starts) > room:
        pair = int(np.argmin(sums[:-1] + sums[1:]))
        sums[pair] += sums[pair + 1]
        sums = np.delete(sums, pair + 1)
        del starts[pair + 1]
    return np.searchsorted(starts, np.arange(masses.size), side="right") - 1


def _join_rare(masses: NDArray[np.float64], room: int) -> NDArray[np.int64]:
    """Keep the most frequent apart, and put all others into one group."""
    if masses.size <= room:
        return np.arange(masses.size)
    groups = np.full(masses.size, room - 1, dtype=np.int64)
    groups[np.argsort(-masses, kind="stable")[: room - 1]] = np.arange(room - 1)
    return groups


def group(columns: Sequence[Smooth]) -> AtomGroups:
    """Collect the levels of all columns in arrays."""
    sizes = np.array([column.size for column in columns], dtype=np.int64)
    depths = np.array([len(column.levels) for column in columns], dtype=np.int64)
    groups = np.zeros((len(columns), int(depths.max()), int(sizes.max())), dtype=np.uint8)
    widths = np.ones((len(columns), int(depths.max())), dtype=np.int64)
    for i, column in enumerate(columns):
        for a, level in enumerate(column.levels):
            groups[i, a, : level.size] = level
            widths[i, a] = int(level.max()) + 1
    return AtomGroups(sizes, groups, widths, depths)


def smooth_all(
    domain: Domain, noisy: Sequence[NoisyCounts], total: float, *, most: int, depth: int = _DEPTH
) -> tuple[Smooth, ...]:
    """Smooth every column."""
    return tuple(
        smooth(column, y, total, most=most, depth=depth)
        for column, y in zip(domain.columns, noisy, strict=True)
    )
