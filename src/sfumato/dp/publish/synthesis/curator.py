"""The only place where exact tables meet noise, and the book of what was spent.

Contract: a :class:`Curator` holds the rows and gives out noise-covered numbers, at prices that add
up to no more than its budget. Whoever fits a model holds a curator and nothing else of the data.
Exact numbers are read in three places, and each has its proof:

1. :meth:`Curator.histogram`: a noisy count of every code of one column;
2. :meth:`Curator.choose`: which candidate table the model fits worst, by noisy choice;
3. :meth:`Curator.table`: one noisy two-way table, its cells merged as the caller says.

Proof. Tables: :mod:`.currencies`. Scores: let M be the exact tables of pairs and Q the model's,
both whole numbers in units of 2⁻¹⁰ of a record, Q a function of what was released. The score of a
candidate is v·(‖L(M − Q)‖₁ − c), L merging cells, v ≤ v_max and c public; by the triangle
inequality it moves by at most v·‖L(M − M′)‖₁ ≤ v_max·Δ₁ records between neighbours. All of it is
arithmetic on whole numbers, so no rounding adds to this. Prices may depend on what was released
before: for zCDP the sum along every path bounds the whole (Whitehouse, Ramdas, Rogers and Wu,
"Fully adaptive composition in differential privacy", ICML 2023), for pure prices it does too
(Rogers, Roth, Ullman and Vadhan 2016); :meth:`Curator._pay` refuses what would pass the budget.

How rows are merged into atoms (:meth:`Curator.count`) is decided by the caller, who knows
released numbers only; counting gives nothing out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sfumato.dp.publish.synthesis.currencies import Currency
    from sfumato.dp.publish.synthesis.domain import Domain

GRAIN = 1 << 10
"""Scores are whole numbers of 1/GRAIN records."""


class Records(Protocol):
    """Rows of codes that can be counted; each unit owns few enough of them."""

    def count_ones(self, domain: Domain) -> list[NDArray[np.int64]]:
        """Count the rows of every code of every column, in one pass."""

    def count_pairs(
        self, atoms: Sequence[NDArray[np.uint8]], grouping: AtomGroups
    ) -> NDArray[np.int64]:
        """Count the rows of all pairs of atoms in one pass; tables one after the other."""


class Pieces(ABC):
    """Rows of codes that are read in pieces, as often as needed, and counted here."""

    @abstractmethod
    def pieces(self) -> Iterator[NDArray[Any]]:
        """Give the rows as arrays with one line per column."""

    def count_ones(self, domain: Domain) -> list[NDArray[np.int64]]:
        """Count the rows of every code of every column."""
        ones = [np.zeros(size, dtype=np.int64) for size in domain.sizes]
        for piece in self.pieces():
            for i, column in enumerate(piece):
                ones[i] += np.bincount(column, minlength=ones[i].size)
        return ones

    def count_pairs(
        self, atoms: Sequence[NDArray[np.uint8]], grouping: AtomGroups
    ) -> NDArray[np.int64]:
        """Count the rows of all pairs of atoms; ``atoms[i][code]`` is the atom of a code."""
        from sfumato.dp.publish.synthesis import kernels  # noqa: PLC0415 - compiled code loads on use

        offsets = grouping.offsets()
        exact = np.zeros(offsets[-1], dtype=np.int64)
        for piece in self.pieces():
            rows = np.empty(piece.shape, dtype=np.uint8)
            for i, atom in enumerate(atoms):
                np.take(atom, piece[i], out=rows[i])
            kernels.count_pairs(rows, grouping.sizes, offsets, exact)
        return exact


@dataclass(frozen=True, eq=False)
class CodeArray(Pieces):
    """Rows of codes in memory, one line per column."""

    codes: NDArray[Any]

    def pieces(self) -> Iterator[NDArray[Any]]:
        """Give all rows at once."""
        yield self.codes


@dataclass(frozen=True)
class BookLine:
    """One line of the book: what was released, and its price."""

    what: str
    price: Fraction


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Noisy counts, and the variance of the noise of each."""

    counts: NDArray[Any]
    variance: float
    price: Fraction


@dataclass(frozen=True, eq=False)
class AtomGroups:
    """How atoms are merged: ``groups[i, a, x]`` is the group of atom x of column i at level a.

    ``widths[i, a]`` is the number of groups, ``depths[i]`` the number of levels. Candidates are the
    pairs of columns in order, each at every pair of levels.
    """

    sizes: NDArray[np.int64]
    groups: NDArray[np.uint8]
    widths: NDArray[np.int64]
    depths: NDArray[np.int64]

    def offsets(self) -> NDArray[np.int64]:
        """Give where the table of each pair begins, and where the last one ends."""
        d = self.sizes.size
        cells = [int(self.sizes[i] * self.sizes[j]) for i in range(d) for j in range(i + 1, d)]
        return np.concatenate([[0], np.cumsum(cells, dtype=np.int64)]).astype(np.int64)

    def candidates(self) -> NDArray[np.int64]:
        """List all candidates as lines (pair, i, j, level of i, level of j)."""
        listed, pair, d = [], 0, self.sizes.size
        for i in range(d):
            for j in range(i + 1, d):
                listed += [
                    (pair, i, j, a, b) for a in range(self.depths[i]) for b in range(self.depths[j])
                ]
                pair += 1
        return np.array(listed, dtype=np.int64).reshape(-1, 5)


@dataclass(eq=False)
class Curator:
    """Rows, a budget, and the book."""

    records: Records
    domain: Domain
    currency: Currency
    budget: Fraction
    book: list[BookLine] = field(default_factory=list)
    spent: Fraction = Fraction(0)
    _ones: list[NDArray[np.int64]] | None = field(default=None, repr=False)
    _pairs: NDArray[np.int64] | None = field(default=None, repr=False)
    _grouping: AtomGroups | None = field(default=None, repr=False)

    @property
    def left(self) -> Fraction:
        """What is left of the budget."""
        return self.budget - self.spent

    def _pay(self, what: str, price: Fraction) -> None:
        if price <= 0 or price > self.left:
            raise ParameterError(f"The budget of this synthesis does not cover {what}.")
        self.book.append(BookLine(what, price))
        self.spent += price

    # -- the three places --------------------------------------------------------------

    def histogram(self, column: int, price: Fraction) -> NoisyCounts:
        """Release how many rows have each code of a column, with noise."""
        self._pay(f"counts of {self.domain.columns[column].name}", price)
        if self._ones is None:
            self._ones = self.records.count_ones(self.domain)
        return self._covered(self._ones[column], price)

    def choose(
        self, model: NDArray[np.int64], weights: NDArray[np.int64], price: Fraction, error: float
    ) -> int:
        """Release which candidate the model fits worst, by noisy choice.

        ``model`` holds the tables of all pairs in units of 1/GRAIN records, ``weights`` a whole
        number per pair, ``error`` how far the noise that would follow moves a cell.
        """
        from sfumato.dp.publish.synthesis import kernels  # noqa: PLC0415 - compiled code loads on use

        self._pay("choice of a table", price)
        grouping, exact = self._counted()
        scores = np.empty(len(grouping.candidates()), dtype=np.int64)
        kernels.score_candidates(
            exact * GRAIN - model, grouping.sizes, grouping.offsets(), grouping.groups,
            grouping.widths, grouping.depths, weights, round(error * GRAIN), scores,
        )  # fmt: skip
        return self.currency.choose(scores, GRAIN * int(weights.max()), price)

    def table(self, candidate: Sequence[int], price: Fraction) -> NoisyCounts:
        """Release the two-way table of a candidate (pair, i, j, level, level), with noise."""
        grouping, exact = self._counted()
        pair, i, j, a, b = (int(part) for part in candidate)
        names = [self.domain.columns[c].name for c in (i, j)]
        self._pay(f"table of {names[0]} and {names[1]}", price)
        offsets = grouping.offsets()
        fine = exact[offsets[pair] : offsets[pair + 1]].reshape(grouping.sizes[i], -1)
        merged = np.zeros((grouping.widths[i, a], grouping.widths[j, b]), dtype=np.int64)
        rows = grouping.groups[i, a, : grouping.sizes[i]]
        columns = grouping.groups[j, b, : grouping.sizes[j]]
        np.add.at(merged, np.ix_(rows, columns), fine)
        return self._covered(merged, price)

    def _covered(self, exact: NDArray[np.int64], price: Fraction) -> NoisyCounts:
        noise = self.currency.noise(exact.size, price).reshape(exact.shape)
        return NoisyCounts(exact + noise, float(self.currency.variance(price)), price)

    # -- counting: nothing is given out ------------------------------------------------

    def count(self, atoms: Sequence[NDArray[np.uint8]], grouping: AtomGroups) -> None:
        """Count all pairs of atoms; ``atoms[i][code]`` is the atom of a code of column i."""
        self._grouping, self._pairs = grouping, self.records.count_pairs(atoms, grouping)

    def _counted(self) -> tuple[AtomGroups, NDArray[np.int64]]:
        if self._pairs is None or self._grouping is None:
            raise ParameterError("Pairs of columns are counted before a table of them is chosen.")
        return self._grouping, self._pairs
