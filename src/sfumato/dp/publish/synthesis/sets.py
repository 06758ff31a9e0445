"""Synthetic sets: baskets, click streams, diagnoses; ``sf.dp.synthesize_sets(baskets, …)``.

A basket becomes a row: one yes-or-no column for each of the most frequent items, and how many other
items it has. The engine synthesises the rows; other items are drawn by their noisy frequencies.

Promise: that of the budget, for one transaction, or one customer with at most m of them. Proof. A
basket keeps at most ``most`` items, a function of the basket alone. *Which items are frequent*: a
basket of t items adds w = min(1, √(ℓ/t)) to each of its items, rounded down to a multiple of 2⁻²⁰,
so the vector of totals moves by at most √(t·w²) ≤ √ℓ in L2, by m·√ℓ for m baskets; discrete
Gaussian noise of variance m²ℓ/(2ρ) on the grid of 2⁻²⁰ is ρ-zCDP. Items of a public list get noise
whether they occur or not. Without a list, only items that occur get noise, and only those above τ
are used: a unit alone writes at most m·``most`` items, each with a total of at most m, so with
Pr[N(0,1) > z] ≤ δ′/(m·most) and τ = m + σz + 2⁻²⁰ one of them shows with probability at most δ′
(as in :mod:`.searching`). *The rows*: a basket is one row, coded by itself with the released
items: the engine's proof holds (:mod:`.curator`). For replaced units L2 grows by √2 (two vectors
that do not share a sign), as for tables.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.cells import Listed, as_label, as_labels, cells_of, items_of
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Customer, Neighbours, Transaction
from sfumato.dp.noise import discrete_gaussian, stream
from sfumato.dp.normal import normal_cdf_up
from sfumato.dp.publish.synthesis.artefacts import Synthetic
from sfumato.dp.publish.synthesis.budget import read_budget
from sfumato.dp.publish.synthesis.coarsening import on_simplex
from sfumato.dp.publish.synthesis.curator import BookLine, CodeArray, Curator
from sfumato.dp.publish.synthesis.currencies import Contribution
from sfumato.dp.publish.synthesis.domain import CodedColumn, Domain
from sfumato.dp.publish.synthesis.engine import SynthesisSettings, fit
from sfumato.dp.publish.synthesis.particles import uniforms
from sfumato.dp.rounding import sqrt_up
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.publish.synthesis.budget import Budget
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_GRID = 1 << 20
ITEMS_SHARE = Fraction(1, 10)
SETTINGS = SynthesisSettings(depth=1, rounds=150)
EDGES = (0, 1, 2, 3, 4, 5, 7, 9, 11, 14, 18, 24, 32, 48)
"""Where the bins of the number of other items begin; the last one ends at ``most``."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticSets(Synthetic):
    """Synthetic baskets, as tuples of items."""

    sets: tuple[tuple[Hashable, ...], ...]
    frequent: tuple[Hashable, ...]

    unit: ClassVar[str] = "set"

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def data(self) -> tuple[tuple[Hashable, ...], ...]:
        """The synthetic baskets."""
        return self.sets

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.dat`: a basket per line, items separated by spaces."""
        if file_format not in {None, "dat"}:
            raise DataError(f"Synthetic sets are written as 'dat', not '{file_format}'.")
        path = folder / "release.dat"
        lines = (" ".join(str(item).replace(" ", "_") for item in basket) for basket in self.sets)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def manifest(self) -> dict[str, Any]:
        """Return what a receiver may know."""
        return {**super().manifest(), "items_measured_jointly": [str(i) for i in self.frequent]}


@dataclass(frozen=True, eq=False)
class _Frequencies:
    """Noisy weights of items, from the heaviest on."""

    items: tuple[Hashable, ...]
    weights: NDArray[np.float64]


def synthesize_sets(
    baskets: Iterable[Iterable[Hashable]],
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    items: Iterable[Hashable] | None = None,
    top: int = 30,
    typical: int = 5,
    most: int = 100,
    customers: Sequence[Hashable] | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "transaction",
    name: str = "sets",
) -> Release:
    """Make synthetic baskets that may be given away.

    ``items`` is the public list of items; without it, items are found for half of δ. ``top`` items
    are measured jointly, ``typical`` is about how many a basket has, ``most`` how many are kept of
    one. ``customers`` names whose each basket is; ``neighbours=Customer(transactions=3)`` then
    protects customers, keeping three baskets of each.
    """
    listed = None if items is None else Listed(list(dict.fromkeys(items)), "items=")
    for value, what in ((top, "top"), (typical, "typical"), (most, "most")):
        parameters.count(value, what)
    budget = read_sets_budget(epsilon, delta, rho, neighbours, unknown=listed is None)
    rows = budget.currency.unit.rows
    if customers is None and isinstance(Neighbours.of(neighbours).unit, Customer):
        raise ParameterError(
            "customers= names whose each basket is, where customers are protected."
        )
    kept = _read(baskets, listed, most)
    if customers is not None and isinstance(Neighbours.of(neighbours).unit, Customer):
        kept = _of_customers(kept, customers, rows)
    price = budget.amount * ITEMS_SHARE
    public = None if listed is None else list(listed.values)
    found = _frequencies(kept, public, budget, price, typical, most)
    frequent = found.items[:top]
    codes, domain = _coded(kept, frequent)
    curator = Curator(CodeArray(codes), domain, budget.currency, budget.amount - price)
    made = fit(curator, domain, settings=SETTINGS)
    sets = _decoded(made.sample(), frequent, found, top, most)
    artefact = SyntheticSets(
        name=name, guarantee=budget.guarantee, measurements=made.measured,
        book=(BookLine("weights of items", price), *curator.book), currency=budget.currency.name,
        estimated=made.total, notes=(*budget.notes, *_unnamed(frequent), *made.doubts), sets=sets,
        frequent=frequent,
    )  # fmt: skip
    return artefact.release("particles raked to noisy tables of frequent items", top=top, typical=typical)  # fmt: skip  # noqa: E501


def _read(
    baskets: Iterable[Iterable[Hashable]], listed: Listed | None, most: int
) -> list[tuple[Hashable, ...]]:
    """Read each basket by itself: its items as they are listed, or by their labels."""

    def read(item: Any) -> Any:
        place = -1 if listed is None else listed.place(item)
        return as_label(item) if listed is None or place < 0 else listed.values[place]

    each = [{read(item) for item in items_of(basket)} for basket in cells_of(baskets)]
    return [tuple(sorted(items - {None}, key=repr))[:most] for items in each]


def _unnamed(frequent: tuple[Hashable, ...]) -> tuple[str, ...]:
    """Say so where no item could be named."""
    if frequent:
        return ()
    return ("No item stands out of the noise, so none is named; list items= or use a larger ε.",)


def read_sets_budget(
    epsilon: Stated | None,
    delta: Stated | None,
    rho: Stated | None,
    neighbours: Neighbours | PrivacyUnit | str,
    *,
    unknown: bool,
) -> Budget:
    """Read a budget for transactions or customers; half of δ is for items that nobody listed."""
    relation = Neighbours.of(neighbours)
    unit = Contribution(_rows_per_unit(relation), relation.bounded)
    if epsilon is not None and delta is None:
        raise ParameterError("Synthetic sets need epsilon= with delta=, or rho=.")
    if unknown and delta is None:
        raise ParameterError(
            "Without items=, the public list of items, epsilon= and delta= are needed: whatever is "
            "shown because it occurs cannot be hidden by ρ alone."
        )
    return read_budget(epsilon, delta, rho, relation, unit, unknown_texts=unknown)


def _rows_per_unit(relation: Neighbours) -> int:
    if isinstance(relation.unit, (Transaction, Customer)) and relation.unit.parts is not None:
        return relation.unit.parts
    raise ParameterError(
        "Sets are protected by transaction, or by Customer(transactions=…) with customers=, which "
        "names whose each basket is."
    )


def _of_customers(
    baskets: list[tuple[Hashable, ...]], customers: Sequence[Hashable], rows: int
) -> list[tuple[Hashable, ...]]:
    """Keep at most ``rows`` baskets of each customer, chosen among her own alone."""
    if len(customers) != len(baskets):
        raise DataError("customers= names one customer for each basket.")
    seen: Counter[Hashable] = Counter()
    kept = []
    owned = zip(baskets, as_labels(cells_of(customers)), strict=True)
    for basket, customer in sorted(owned, key=lambda pair: hash(pair[0])):
        seen[customer] += 1
        if customer is not None and seen[customer] <= rows:
            kept.append(basket)
    return kept


def _frequencies(
    baskets: list[tuple[Hashable, ...]],
    listed: list[Hashable] | None,
    budget: Budget,
    price: Fraction,
    typical: int,
    most: int,
) -> _Frequencies:
    """Release the weighted frequencies of items, the heaviest first."""
    steps: Counter[Hashable] = Counter()
    for basket in baskets:
        if basket:
            step = (
                _GRID if len(basket) <= typical else math.isqrt(_GRID**2 * typical // len(basket))
            )
            for item in basket:
                steps[item] += step
    public = listed if listed is not None else sorted(steps, key=repr)  # in no order of the data
    exact = np.array([steps[item] for item in public], dtype=np.int64)
    unit = budget.currency.unit
    variance = Fraction(unit.l2_squared * typical * _GRID**2) / (2 * price)
    noisy = exact + discrete_gaussian(variance, exact.size)
    if listed is None:
        shown = noisy > _threshold(unit, variance, budget.failures, most)
        public = [item for item, good in zip(public, shown, strict=True) if good]
        noisy = noisy[shown]
    order = np.argsort(-noisy.astype(np.float64), kind="stable")
    weights = noisy.astype(np.float64)[order] / _GRID
    return _Frequencies(tuple(public[k] for k in order.tolist()), weights)


def least_weight(budget: Budget, price: Fraction, typical: int, most: int) -> float:
    """Give the weight that an item without a public list must reach to be named."""
    unit = budget.currency.unit
    variance = Fraction(unit.l2_squared * typical * _GRID**2) / (2 * price)
    return _threshold(unit, variance, budget.failures, most) / _GRID


def _threshold(unit: Contribution, variance: Fraction, delta: Fraction, most: int) -> int:
    """τ on the grid, rounded up: m + one step + σ·z."""
    share = delta / (unit.rows * most) / (2 if unit.replaced else 1)
    z = max(0.0, -NormalDist().inv_cdf(float(share)))
    while Fraction(normal_cdf_up(-z)) > share:
        z += 2**-20
    return unit.rows * _GRID + 1 + math.ceil(Fraction(sqrt_up(variance)) * Fraction(z))


def _coded(
    baskets: list[tuple[Hashable, ...]], frequent: tuple[Hashable, ...]
) -> tuple[NDArray[np.uint32], Domain]:
    """Code baskets: has each frequent item or not, and how many others, in bins."""
    place = {item: k for k, item in enumerate(frequent)}
    codes = np.zeros((len(frequent) + 1, len(baskets)), dtype=np.uint32)
    others = np.zeros(len(baskets), dtype=np.int64)
    for b, basket in enumerate(baskets):
        for item in basket:
            k = place.get(item, -1)
            if k >= 0:
                codes[k, b] = 1
            else:
                others[b] += 1
    codes[-1] = np.searchsorted(EDGES, others, side="right") - 1
    columns = [CodedColumn(str(item), 2) for item in frequent]
    return codes, Domain((*columns, CodedColumn("other items", len(EDGES), ordered=True)))


def _decoded(
    codes: NDArray[np.uint32],
    frequent: tuple[Hashable, ...],
    found: _Frequencies,
    top: int,
    most: int,
) -> tuple[tuple[Hashable, ...], ...]:
    source = stream()
    ends = np.array([*EDGES[1:], max(most, EDGES[-1]) + 1])
    begins = np.array(EDGES)
    low, high = begins[codes[-1]], ends[codes[-1]]
    high = np.where(codes[-1] == len(EDGES) - 1, low + (low - EDGES[-2]), high)
    counts = low + np.floor(uniforms(source, low.size) * (high - low)).astype(np.int64)
    rest, weights = found.items[top:], found.weights[top:]
    masses = on_simplex(weights, float(counts.sum())) if len(rest) else weights
    drawn = _drawn(masses, int(counts.sum()))
    starts = np.concatenate([[0], np.cumsum(counts)])
    has = [np.flatnonzero(row) for row in codes[:-1].T]
    return tuple(
        (
            *(frequent[k] for k in own.tolist()),
            *(rest[k] for k in np.unique(drawn[starts[b] : starts[b + 1]]).tolist()),
        )
        for b, own in enumerate(has)
    )


def _drawn(masses: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    if not masses.size or not masses.sum() > 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(masses)
    spots = uniforms(stream(), count) * ends[-1]
    found = np.searchsorted(ends, spots, side="right")
    drawn: NDArray[np.int64] = np.minimum(found, masses.size - 1).astype(np.int64)
    return drawn
