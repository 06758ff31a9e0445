"""Post-randomisation (PRAM): every cell of a category is drawn anew, by known probabilities.

Gouweleeuw, Kooiman, Willenborg, de Wolf: Post Randomisation for Statistical Disclosure Control,
Journal of Official Statistics, 1998. A cell with value i shows j with probability P[i, j],
independently of all others. Whoever knows P can correct for it; an *invariant* P needs no
correction, because the expected frequencies are those of the data: π·P = π.

* By `keep`: P = keep·I + (1 − keep)·1·qᵀ, so a cell is drawn anew with probability 1 − keep, and
  may then be what it was. q is the distribution of the column where `invariant` (π·P =
  keep·π + (1 − keep)·π = π), else the same for all values.
* By `matrix`: the P that is given. Where `invariant`, a second draw leads back: R = P·Q with
  Q[j, k] = π_k·P[k, j] / (π·P)_j, the probability that j came from k. Then
  (π·P·Q)_k = Σ_j (π·P)_j·Q[j, k] = Σ_j π_k·P[k, j] = π_k.

This claims no formal guarantee: an invariant P depends on the data, and other columns still tell.
For a guarantee on categories use randomised response (`sf.local`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.definition import number_between
from sfumato.anonymize.tables.perturb.column_names import names_of
from sfumato.anonymize.tables.perturb.random_draws import below, uniform
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.perturb.records import Column, Records
    from sfumato.data.tables.permutation import RandomWords

_CRUMB = 1e-9
"""What rounding may add to the sum of a row of probabilities."""

MOST_VALUES = 2_000
"""Values up to which a matrix is written out."""


@dataclass(frozen=True)
class PostRandomize(Written):
    """Draw the values of a category anew by known probabilities (PRAM); no formal guarantee.

    Give `keep`, the probability of being left alone, or `matrix`, which maps every value to the
    probabilities of what it becomes. With `invariant` expected frequencies stay as they are.
    Missing cells stay missing.
    """

    column: str
    keep: float | None = field(default=None, kw_only=True)
    matrix: Mapping[str, Mapping[str, float]] | None = field(default=None, kw_only=True, hash=False)
    invariant: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        names_of(self.column, self)
        if (self.keep is None) == (self.matrix is None):
            raise ParameterError(
                "PostRandomize needs either keep, the probability that a value is left alone, or "
                "matrix, the probabilities of what each value becomes."
            )
        if self.keep is not None:
            number_between("PostRandomize: keep", self.keep, 0, 1)
        for number, row in enumerate((self.matrix or {}).values(), start=1):
            for share in row.values():
                number_between("PostRandomize: a probability of the matrix", share, 0, 1)
            if abs(sum(row.values()) - 1) > _CRUMB:
                raise ParameterError(
                    f"PostRandomize: the probabilities of each value must add up to 1, and those "
                    f"of the value number {number} of the matrix add up to {sum(row.values()):g}."
                )

    def __str__(self) -> str:
        how = "by a matrix" if self.keep is None else f"each kept with probability {self.keep:.3g}"
        kept = ", expected frequencies kept" if self.invariant else ""
        return f"values of {self.column} drawn anew ({how}{kept})"

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the records with the column drawn anew."""
        column = records.column(self.column, self)
        rows = np.flatnonzero(~column.missing)
        if not len(rows):
            return records
        changed = self._kept(column, rows, words) if self.keep is not None else None
        return records.with_columns({self.column: changed or self._by_matrix(column, rows, words)})

    def _kept(self, column: Column, rows: NDArray[np.int64], words: RandomWords) -> Column:
        """Draw anew where a coin says so: the cell of a random record, or any value alike."""
        assert self.keep is not None
        again = rows[uniform(len(rows), words) >= self.keep]
        among = column.codes[rows] if self.invariant else np.unique(column.codes[rows])
        codes = column.codes.copy()
        if len(again):
            codes[again] = among[below(np.full(len(again), len(among), dtype=np.int64), words)]
        return replace(column, codes=codes)

    def _by_matrix(self, column: Column, rows: NDArray[np.int64], words: RandomWords) -> Column:
        assert self.matrix is not None
        values = tuple(
            dict.fromkeys((*column.values, *(v for r in self.matrix.values() for v in r)))
        )
        forth = self._probabilities(column, values, rows)
        codes = column.codes.copy()
        counts = np.bincount(codes[rows], minlength=len(values))
        codes[rows] = _drawn(codes[rows], forth, words)
        if self.invariant:
            codes[rows] = _drawn(codes[rows], backward(forth, counts), words)
        return replace(column, codes=codes, values=values)

    def _probabilities(
        self, column: Column, values: tuple[str, ...], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        assert self.matrix is not None
        if len(values) > MOST_VALUES:
            raise DataError(
                f"PostRandomize: the column '{self.column}' and the matrix have {len(values):,} "
                f"values, and a matrix serves up to {MOST_VALUES:,}; give keep instead."
            )
        place = {value: i for i, value in enumerate(values)}
        lacking = sum(column.values[c] not in self.matrix for c in np.unique(column.codes[rows]))
        if lacking or MISSING in self.matrix:
            raise ParameterError(
                f"PostRandomize: the matrix must have a row for every value of '{self.column}' and "
                f"none for missing cells; {lacking} value(s) of the data have no row."
            )
        table = np.eye(len(values))
        for value, row in self.matrix.items():
            if value in place:
                table[place[value]] = 0.0
                table[place[value], [place[v] for v in row]] = list(row.values())
        return table


def backward(forth: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Q[j, k], the probability that a cell which shows j was k, by Bayes' rule."""
    joint = counts[:, None] * forth
    shown = joint.sum(axis=0)
    back = np.eye(len(counts))
    seen = shown > 0
    back[seen] = (joint[:, seen] / shown[seen]).T
    return back


def _drawn(
    codes: NDArray[np.int32], table: NDArray[np.float64], words: RandomWords
) -> NDArray[np.int32]:
    """Draw for each code one of the columns of its row."""
    coins = uniform(len(codes), words)
    found = codes.copy()
    for code in np.unique(codes):
        here = np.flatnonzero(codes == code)
        possible = np.flatnonzero(table[code])
        climb = np.cumsum(table[code, possible])
        place = np.searchsorted(climb / climb[-1], coins[here], side="right")
        found[here] = possible[np.minimum(place, len(possible) - 1)]
    return found
