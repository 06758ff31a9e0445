"""Data shuffling: numbers change places so that relations in rank survive, records do not.

Muralidhar, Sarathy: Data Shuffling, a New Masking Approach for Numerical Data, Management Science,
2006. Ranks become normal scores, of the columns X to be shuffled and of the columns S that
stay and are `given`. With their correlations R, new scores are drawn from the normal distribution
of X given S alone,

    Y = S·R_SS⁻¹·R_SX + e,   e ~ N(0, R_XX − R_XS·R_SS⁻¹·R_SX),

and the record whose new score has rank r gets the number of rank r. So each column keeps exactly
its numbers; rank correlations within X and with S are kept in expectation, as far as a normal
copula describes them; and given S, ranks are drawn without a look at the record's own X.
Without S, one column is simply permuted at random.

Relations with columns that are not given are lost. This claims no formal guarantee: what S tells
about X it still tells, the correlations come from the data, and an extreme number is still there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.perturb.column_names import names_of
from sfumato.anonymize.tables.perturb.random_draws import chosen, normal
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.perturb.records import Records
    from sfumato.data.tables.permutation import RandomWords

_FLAT = 1e-10
"""Below this, an eigenvalue of correlations is rounding."""


@dataclass(frozen=True)
class Shuffle(Written):
    """Shuffle numbers, keeping rank correlations with each other and with `given` columns.

    Every column keeps its numbers exactly; which record has which is drawn anew. Missing cells stay
    missing, and a record of which a given number is missing counts as average in it.
    """

    columns: str | Sequence[str]
    given: str | Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", names_of(self.columns, self))
        known = names_of(self.given, self) if self.given else ()
        object.__setattr__(self, "given", known)
        both = sorted(set(self.columns) & set(known))
        if both:
            raise ParameterError(
                f"Shuffle: '{both[0]}' cannot be both shuffled and given; leave it out of one."
            )

    def __str__(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        return f"values of {', '.join(self.columns)} shuffled between records{given}"

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the records with numbers at other places."""
        names = (*self.columns, *self.given)
        numbers = [records.numbers(name, self).values for name in names]
        drawn = _new_scores(np.stack([_scores(v) for v in numbers]), len(self.columns), words)
        changed = {}
        for name, values, score in zip(self.columns, numbers, drawn, strict=False):
            column = records.columns[name]
            rows = np.flatnonzero(~np.isnan(values))
            # ties are told apart at random, not by the order of the rows
            rows = rows[chosen(len(rows), len(rows), words)]
            from_, to = (rows[np.argsort(v[rows], kind="stable")] for v in (values, score))
            codes = column.codes.copy()
            codes[to] = column.codes[from_]
            changed[name] = replace(column, codes=codes)
        return records.with_columns(changed)


def _scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normal scores of the ranks, ties in their middle; NaN where a cell is missing."""
    scores = np.full(len(values), np.nan)
    present = ~np.isnan(values)
    _, place, counts = np.unique(values[present], return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)
    inverse = NormalDist().inv_cdf
    scores[present] = np.array([inverse(float(share)) for share in middle])[place.reshape(-1)]
    return scores


def _new_scores(
    scores: NDArray[np.float64], shuffled: int, words: RandomWords
) -> NDArray[np.float64]:
    """Draw scores of the first `shuffled` columns given those of the others."""
    complete = scores[:, ~np.isnan(scores).any(axis=0)]
    if len(scores) > 1 and complete.shape[1] < 2:
        raise DataError(
            "Shuffle needs at least two records with a number in each of the columns it relates."
        )
    spread = np.atleast_2d(np.cov(complete, bias=True)) if len(scores) > 1 else np.ones((1, 1))
    inside, across, known = (
        spread[:shuffled, :shuffled],
        spread[:shuffled, shuffled:],
        spread[shuffled:, shuffled:],
    )
    slopes = across @ np.linalg.pinv(known, rcond=_FLAT, hermitian=True)
    eigenvalues, vectors = np.linalg.eigh(inside - slopes @ across.T)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    noise = np.stack([normal(scores.shape[1], words) for _ in range(shuffled)])
    drawn: NDArray[np.float64] = slopes @ np.nan_to_num(scores[shuffled:]) + root @ noise
    return drawn
