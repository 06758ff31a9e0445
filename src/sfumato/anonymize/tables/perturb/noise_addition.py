"""Noise addition: every number of a column is moved by a random amount.

Uncorrelated noise keeps means; correlated noise (Kim, A method for limiting disclosure in
microdata based on random noise and transformation, 1986) keeps the correlations between
columns as well. After it no single number is a fact.

This carries no formal guarantee. Noise of a size chosen by eye does not make a release
differentially private, nor k-anonymous; `sfumato.dp` has mechanisms that prove what they do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.anonymize.tables.perturb.column_names import names_of
from sfumato.anonymize.tables.perturb.random_draws import flat, laplace, normal
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.perturb.records import Numbers, Records
    from sfumato.data.tables.permutation import RandomWords

_DRAWS: dict[str, Callable[[int, RandomWords], NDArray[np.float64]]] = {
    "normal": normal,
    "laplace": laplace,
    "uniform": flat,
}


@dataclass(frozen=True)
class AddNoise(Written):
    """Add random noise of mean 0 to the numbers of one or more columns; no formal guarantee.

    `scale` is the standard deviation of the noise in the unit of the column, `relative` the
    same as a multiple of the column's own standard deviation: give one of them. With
    `correlated` (relative, normal) the noise has the correlations of the columns. Results
    outside `low` and `high` are pulled back to them.
    """

    columns: str | Sequence[str]
    scale: float | None = field(default=None, kw_only=True)
    relative: float | None = field(default=None, kw_only=True)
    distribution: Literal["normal", "laplace", "uniform"] = field(default="normal", kw_only=True)
    correlated: bool = field(default=False, kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", names_of(self.columns, self))
        if (self.scale is None) == (self.relative is None):
            raise ParameterError(
                "AddNoise needs either scale, the noise's standard deviation in the unit of the "
                "column, or relative, the same as a multiple of the column's own."
            )
        _positive("scale", self.scale)
        _positive("relative", self.relative)
        if self.distribution not in _DRAWS:
            raise ParameterError(
                f"The distribution of AddNoise must be one of {', '.join(_DRAWS)}, not "
                f"{self.distribution!r}."
            )
        if self.correlated and (self.relative is None or self.distribution != "normal"):
            raise ParameterError("Correlated noise is normal and relative; give relative=…")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise ParameterError(
                f"AddNoise: low must not exceed high, but {self.low} and {self.high} were given."
            )

    def __str__(self) -> str:
        size = (
            f"standard deviation {self.scale:g}"
            if self.scale is not None
            else f"{self.relative:g} × the standard deviation of the column"
        )
        kind = f"{'correlated ' if self.correlated else ''}{self.distribution}"
        return f"noise added to {', '.join(self.columns)} ({kind}, {size})"

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the records with noise in the columns; missing cells stay missing."""
        columns = {name: records.numbers(name, self) for name in self.columns}
        moves = self._moves(columns, len(records), words)
        changed = {}
        for name, move in zip(columns, moves, strict=True):
            moved = columns[name].values + move
            moved = np.clip(
                moved,
                -math.inf if self.low is None else self.low,
                math.inf if self.high is None else self.high,
            )
            changed[name] = records.renumbered(name, moved, columns[name].decimals)
        return records.with_columns(changed)

    def _moves(
        self, columns: dict[str, Numbers], n: int, words: RandomWords
    ) -> list[NDArray[np.float64]]:
        """Return the noise of each column."""
        draw = _DRAWS[self.distribution]
        standard = np.stack([draw(n, words) for _ in columns])
        if self.scale is not None:
            return list(self.scale * standard)
        assert self.relative is not None
        if not self.correlated:
            return [
                self.relative * _spread(column, name) * noise
                for (name, column), noise in zip(columns.items(), standard, strict=True)
            ]
        return list(self.relative * (_root_of_covariance(columns) @ standard))


def _positive(name: str, value: float | None) -> None:
    if value is not None and (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (math.isfinite(value) and value > 0)
    ):
        raise ParameterError(f"AddNoise: {name} must be a number above 0, not {value!r}.")


def _spread(column: Numbers, name: str) -> float:
    """Return the standard deviation of the numbers that are there."""
    present = column.values[column.present]
    if not len(present):
        raise DataError(
            f"AddNoise cannot take relative noise from the column '{name}', which has no number."
        )
    return float(present.std())


def _root_of_covariance(columns: dict[str, Numbers]) -> NDArray[np.float64]:
    """Return a square root of the covariance over the complete records."""
    values = np.stack([column.values for column in columns.values()])
    complete = values[:, ~np.isnan(values).any(axis=0)]
    if complete.shape[1] < 2:
        raise DataError(
            f"Correlated noise needs at least two records with a number in each of "
            f"{', '.join(columns)}."
        )
    covariance = np.atleast_2d(np.cov(complete, bias=True))
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root: NDArray[np.float64] = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    return root
