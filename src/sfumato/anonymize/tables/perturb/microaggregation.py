"""Microaggregation: numbers are replaced by the mean of a group of similar records.

After it every number stands in at least `size` records of its group, and is a fact about none of
them. Means are kept, up to rounding; variances shrink. Grouping is in `grouping_numbers`:
optimal for one column, MDAV for several.

This carries no formal guarantee by itself. A release is k-anonymous only if all its quasi-
identifiers were microaggregated together, and then a check can confirm it; sensitive
attributes are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.perturb.column_names import names_of
from sfumato.anonymize.tables.perturb.number_groups import (
    multivariate_groups,
    nearest_groups,
    univariate_groups,
)
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.perturb.records import Records
    from sfumato.data.tables.permutation import RandomWords


@dataclass(frozen=True)
class Microaggregate(Written):
    """Replace numbers by the means of groups of at least `size` records; no formal guarantee.

    Several columns are grouped together, each scaled by its standard deviation. A record with
    some of its cells missing joins the group nearest on the others; its missing cells stay
    missing.
    """

    columns: str | Sequence[str]
    size: int = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", names_of(self.columns, self))
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 2:
            raise ParameterError(
                f"Microaggregate: size must be a whole number of at least 2, not {self.size!r}."
            )

    def __str__(self) -> str:
        names = ", ".join(self.columns)
        return f"{names} replaced by means of groups of at least {self.size} records"

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the records with means in place of numbers."""
        del words  # groups are determined by the data
        columns = {name: records.numbers(name, self) for name in self.columns}
        values = np.stack([column.values for column in columns.values()], axis=1)
        complete = np.flatnonzero(np.isfinite(values).all(axis=1))
        if len(complete) < self.size:
            raise DataError(
                f"Microaggregate needs at least {self.size} records with a number in each of "
                f"{', '.join(columns)}, but there are {len(complete)}; ask for a smaller "
                "size, or leave out the column with many missing cells."
            )
        means = self._means(values, complete)
        changed = {
            name: records.renumbered(name, means[:, c], column.decimals)
            for c, (name, column) in enumerate(columns.items())
        }
        return records.with_columns(changed)

    def _means(
        self, values: NDArray[np.float64], complete: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return each record's group means, NaN where its own cell is missing."""
        whole = values[complete]
        if whole.shape[1] == 1:
            found = univariate_groups(whole[:, 0], self.size)
        else:
            found = multivariate_groups(whole, self.size)
        groups = np.full(len(values), -1, dtype=np.int64)
        groups[complete] = found
        partly = (groups < 0) & ~np.isnan(values).all(axis=1)
        if partly.any():
            spread = whole.std(axis=0)
            scale = np.where(spread > 0, spread, 1.0)
            groups[partly] = nearest_groups(values[partly], _averages(whole, found), scale)
        joined = groups >= 0
        means = np.full_like(values, np.nan)
        means[joined] = _averages(values[joined], groups[joined])[groups[joined]]
        means[np.isnan(values)] = np.nan
        return means


def _averages(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each group and column over the cells that are there.

    Summed around the column's mean, so that large numbers lose no digits.
    """
    present = ~np.isnan(values)
    centre = np.nanmean(values, axis=0)
    shifted = np.where(present, values - centre, 0.0)
    size = int(groups.max()) + 1
    columns = range(values.shape[1])
    total = np.stack([np.bincount(groups, shifted[:, c], size) for c in columns], axis=1)
    count = np.stack([np.bincount(groups, present[:, c], size) for c in columns], axis=1)
    averages: NDArray[np.float64] = total / np.maximum(count, 1) + centre
    return averages
