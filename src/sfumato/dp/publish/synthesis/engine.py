"""The engine: measure noisy tables, fit a cloud of records to them, sample.

Contract: :func:`fit` reads data through a :class:`~.curator.Curator` only, spends its whole budget,
and decides everything (groups of codes, levels, which table is next, how much the next
round costs, when to stop) from what the curator released.

    A  one-way tables of all columns, three tenths of the budget; from them the atoms of each
    B  rounds: choose the table of two columns, at some levels, that the model fits worst (a tenth
       of the round's price); measure it (nine tenths); rake. A round whose measurement moved the
       model by less than its noise would have was too cheap: the next one costs twice as much
    C  rake to the end, sample records, refine atoms to codes

The choice follows AIM (McKenna, Mullins, Sheldon and Miklau, VLDB 2022): expected error of the
model less expected noise, with doubling prices; the model is a cloud of particles
(:mod:`.particles`), not a junction tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.data.wording import listed
from sfumato.dp.noise import permutation, stream
from sfumato.dp.publish.synthesis.coarsening import estimate_total, group, smooth_all
from sfumato.dp.publish.synthesis.curator import GRAIN
from sfumato.dp.publish.synthesis.particles import (
    Cloud,
    Measurement,
    mean_gap,
    predicted_gap,
    systematic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sfumato.dp.noise import Stream
    from sfumato.dp.publish.synthesis.coarsening import Smooth
    from sfumato.dp.publish.synthesis.curator import AtomGroups, NoisyCounts
    from sfumato.dp.publish.synthesis.currencies import Currency
    from sfumato.dp.publish.synthesis.domain import Domain
    from sfumato.dp.publish.synthesis.rules import Mask


_NARROW = 20  # up to so many columns every round rakes to all measurements twice
_WORK = 22_000_000  # particles times pairs of columns that a round looks at, at most


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings:
    """Constants of a synthesis; none of them needs tuning per data set, and none may see data."""

    atoms: int = 16
    depth: int = 3
    first_share: Fraction = Fraction(3, 10)
    choice_share: Fraction = Fraction(1, 10)
    rounds_per_column: int = 8
    rounds: int | None = None
    most_particles: int = 100_000
    target_weight: int = 3
    rakes: int | None = None
    last_sweeps: int = 15

    def particles(self, total: float, columns: int) -> int:
        """How large the cloud is: fewer particles where there are many pairs of columns."""
        pairs = max(1, columns * (columns - 1) // 2)
        most = max(20_000, min(self.most_particles, _WORK // pairs))
        return max(64, min(round(total), most))


class Source(Protocol):
    """What a fit needs of a curator."""

    @property
    def currency(self) -> Currency:
        """What noise costs."""

    @property
    def budget(self) -> Fraction:
        """What may be spent in all."""

    @property
    def left(self) -> Fraction:
        """What is left of it."""

    def histogram(self, column: int, price: Fraction) -> NoisyCounts:
        """Release noisy counts of a column."""

    def count(self, atoms: Sequence[NDArray[np.uint8]], grouping: AtomGroups) -> None:
        """Count pairs of atoms, releasing nothing."""

    def choose(
        self, model: NDArray[np.int64], weights: NDArray[np.int64], price: Fraction, error: float
    ) -> int:
        """Release which candidate the model fits worst."""

    def table(self, candidate: Sequence[int], price: Fraction) -> NoisyCounts:
        """Release a noisy table."""


@dataclass(frozen=True)
class MeasuredMarginal:
    """One released table: what the report may tell. All distances are to noisy numbers."""

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    price: Fraction
    sigma: float
    predicted: float
    distance: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A model of the data, made of released numbers only."""

    domain: Domain
    smooth: tuple[Smooth, ...]
    cloud: Cloud
    total: float
    measured: tuple[MeasuredMarginal, ...]

    @property
    def doubts(self) -> tuple[str, ...]:
        """Say where noise hides what was to be shown."""
        hidden = [m.columns[0] for m in self.measured if len(m.columns) == 1 and m.predicted > 0.25]
        if not hidden:
            return ()
        note = (
            f"At this budget noise hides most of the distribution of {listed(hidden)}; a larger ε, "
            "more rows or fewer bins would show more."
        )
        return (note,)

    def sample(self, count: int | None = None, source: Stream | None = None) -> NDArray[np.uint32]:
        """Draw records as codes, one line per column; as many as there are by estimate."""
        return self.refine(self.draw(count, source), source)

    def draw(self, count: int | None = None, source: Stream | None = None) -> NDArray[np.uint8]:
        """Draw records as atoms, in random order."""
        count = max(1, round(self.total)) if count is None else count
        order = permutation(count, source=source or stream())
        return np.ascontiguousarray(self.cloud.sample(count)[:, order])

    def refine(self, atoms: NDArray[np.uint8], source: Stream | None = None) -> NDArray[np.uint32]:
        """Draw a code inside each atom."""
        source = source or stream()
        return np.stack([refine(column, own, source) for column, own in zip(self.smooth, atoms, strict=True)])  # fmt: skip  # noqa: E501


def refine(column: Smooth, atoms: NDArray[np.uint8], source: Stream) -> NDArray[np.uint32]:
    """Draw a code inside each atom, in the proportions of the smoothed histogram."""
    codes = np.empty(atoms.size, dtype=np.uint32)
    for atom in range(column.size):
        here = np.flatnonzero(atoms == atom)
        inside = np.flatnonzero(column.atoms == atom)
        masses = column.masses[inside]
        if not masses.sum() > 0:
            masses = np.ones(inside.size)
        drawn = inside[systematic(masses, here.size, source)] if here.size else here
        codes[here] = drawn[permutation(here.size, source=source)] if here.size else drawn
    return codes


def fit(
    curator: Source,
    domain: Domain,
    *,
    settings: SynthesisSettings | None = None,
    target: int | None = None,
    masks: Callable[[tuple[Smooth, ...]], Sequence[Mask]] | None = None,
    source: Stream | None = None,
) -> Fit:
    """Spend a curator's budget and fit a cloud; ``masks`` makes structural zeros of atoms."""
    settings = settings or SynthesisSettings()
    source = source or stream()
    noisy = _first(curator, domain, settings)
    total = estimate_total(noisy)
    columns = smooth_all(domain, noisy, total, most=settings.atoms, depth=settings.depth)
    grouping = group(columns)
    count = settings.particles(total, len(domain))
    chosen = masks(columns) if masks is not None else ()
    cloud = Cloud.start(columns, grouping, total, count, source, chosen)
    prices = [y.price for y in noisy]
    for i, (column, y) in enumerate(zip(columns, noisy, strict=True)):
        cloud.add(_single(i, column, y, total))
    if len(domain) > 1:
        curator.count([column.atoms for column in columns], grouping)
        prices += _rounds(curator, cloud, settings, _weights(domain, target, settings))
    _finish(cloud, settings)
    return Fit(domain, columns, cloud, total, _told(cloud, domain, prices))


def first_prices(
    sizes: Sequence[int], budget: Fraction, settings: SynthesisSettings
) -> list[Fraction]:
    """Divide the first share of a budget among columns, larger ones at a higher price."""
    share = settings.first_share if len(sizes) > 1 else Fraction(1)
    parts = [Fraction(round(1000 * size**0.6)) for size in sizes]
    return [budget * share * part / sum(parts) for part in parts]


def _first(curator: Source, domain: Domain, settings: SynthesisSettings) -> list[NoisyCounts]:
    """Release the counts of every column."""
    prices = first_prices(domain.sizes, curator.budget, settings)
    return [curator.histogram(i, price) for i, price in enumerate(prices)]


def _single(i: int, column: Smooth, y: NoisyCounts, total: float) -> Measurement:
    counts = np.bincount(column.atoms, weights=y.counts.astype(np.float64))
    spread = np.sqrt(y.variance * np.bincount(column.atoms))
    own = np.arange(column.size, dtype=np.uint8)
    return Measurement(
        i, i, own, np.zeros(column.size, dtype=np.uint8), (column.size, 1),
        (counts / total)[:, None], spread[:, None],
    )  # fmt: skip


def _weights(domain: Domain, target: int | None, settings: SynthesisSettings) -> NDArray[np.int64]:
    return np.array(
        [settings.target_weight if target in pair else 1 for pair in domain.pairs()], dtype=np.int64
    )


def _rounds(
    curator: Source, cloud: Cloud, settings: SynthesisSettings, weights: NDArray[np.int64]
) -> list[Fraction]:
    """Choose, measure and rake until the budget is spent; returns the price of each table."""
    rounds = settings.rounds or settings.rounds_per_column * len(cloud.grouping.sizes)
    candidates = cloud.grouping.candidates()
    rakes = settings.rakes or (2 if len(cloud.grouping.sizes) <= _NARROW else 1)
    r = curator.left / rounds
    prices = []
    while curator.left > 0:
        r = curator.left if curator.left < 2 * r else r
        choice = curator.currency.price_of_choice(r * settings.choice_share)
        price = r - choice
        error = curator.currency.mean_error(price)
        model = np.rint(cloud.total * GRAIN * cloud.pairs()).astype(np.int64)
        candidate = candidates[curator.choose(model, weights, choice, error)]
        y = curator.table([int(part) for part in candidate], price)
        prices.append(price)
        moved = _learn(cloud, _double(cloud, candidate, y), rakes)
        if moved <= error * y.counts.size:
            r *= 2
    return prices


def _double(cloud: Cloud, candidate: NDArray[np.int64], y: NoisyCounts) -> Measurement:
    _, i, j, a, b = (int(part) for part in candidate)
    grouping = cloud.grouping
    return Measurement(
        i, j, grouping.groups[i, a, : grouping.sizes[i]], grouping.groups[j, b, :
        grouping.sizes[j]], (int(grouping.widths[i, a]), int(grouping.widths[j, b])),
        y.counts.astype(np.float64) / cloud.total, np.full(y.counts.shape, y.variance**0.5),
    )  # fmt: skip


def _learn(cloud: Cloud, measurement: Measurement, rakes: int) -> float:
    """Take a measurement up; tell by how many records the model's table of it moved."""
    r = cloud.add(measurement)
    before = cloud.shares(r)
    cloud.rake(np.array([r]))
    for _ in range(rakes):
        cloud.rake_all()
    moved = float(np.abs(cloud.shares(r) - before).sum() * cloud.total)
    cloud.refresh()
    return moved


def _finish(cloud: Cloud, settings: SynthesisSettings) -> None:
    for left in range(settings.last_sweeps, 0, -1):
        cloud.rake_all()
        if left > 3:
            cloud.refresh()


def _told(cloud: Cloud, domain: Domain, prices: list[Fraction]) -> tuple[MeasuredMarginal, ...]:
    told = []
    for r, (m, price) in enumerate(zip(cloud.measured, prices, strict=True)):
        first, second = (domain.columns[c].name for c in (m.i, m.j))
        names = (first,) if m.single else (first, second)
        shape: tuple[Any, ...] = m.shape[:1] if m.single else m.shape
        told.append(
            MeasuredMarginal(
                names,
                shape,
                price,
                float(np.median(m.sigmas)),
                predicted_gap(m, cloud.total),
                mean_gap(cloud, r),
            )
        )
    return tuple(told)
