"""How many perturbed records are still nearest to the record they were made of.

Distance-based record linkage (Domingo-Ferrer, Torra, 2001): an adversary who holds the original
numbers of some people links each with the nearest released record. Here every released record is
compared with all originals, each column divided by the standard deviation of its originals, so no
unit counts more than another. Where several originals are equally near, a guess among them is
right with one over their number. The figure is what this adversary gets, not a bound: others may
know more.

Interval disclosure asks what is left of the numbers themselves: an original is disclosed where it
lies within a given share of its column's standard deviation of the released number, in every
column of its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

CELLS_AT_ONCE = 4_000_000
"""Distances held at once."""


@dataclass(frozen=True)
class Linkage(Shown):
    """The share of released records that lead to their own original, and that of blind guesses."""

    records: int
    linked: float
    blind: float

    def __str__(self) -> str:
        return (
            f"{self.linked:.2%} of {self.records:,} records linked; blind guesses {self.blind:.2%}"
        )


def linkage_risk(original: ArrayLike, released: ArrayLike) -> Linkage:
    """Return the share of released records whose nearest original is their own.

    Row i of `released` was made of row i of `original`: numbers, a row per record and a column per
    attribute.

    >>> import sfumato as sf
    >>> sf.audit.linkage_risk([[1.0], [2.0], [9.0]], [[1.1], [1.0], [8.0]]).linked
    0.6666666666666666
    """
    before, after = _standardized("linkage_risk", original, released)
    n = len(before)
    right = 0.0
    step = max(CELLS_AT_ONCE // n, 1)
    for begin in range(0, n, step):
        right += _right(before, after[begin : begin + step], begin)
    return Linkage(n, right / n, 1 / n)


def interval_risk(original: ArrayLike, released: ArrayLike, *, width: float = 0.1) -> float:
    """Return the share of records all of whose originals lie near the released numbers.

    Near is at most `width` standard deviations of the original column. Rows and columns are as for
    :func:`linkage_risk`.

    >>> import sfumato as sf
    >>> sf.audit.interval_risk([[1.0], [2.0], [9.0]], [[1.1], [1.0], [8.0]], width=0.1)
    0.3333333333333333
    """
    if not 0 <= width < np.inf:
        raise ParameterError(f"width must be a finite number of standard deviations, not {width}.")
    before, after = _standardized("interval_risk", original, released)
    return float((np.abs(before - after) <= width).all(axis=1).mean())


def _standardized(
    asked: str, original: ArrayLike, released: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both tables with every column divided by the standard deviation of its originals."""
    before, after = _matrix(original), _matrix(released)
    if before.shape != after.shape or not before.size:
        raise ParameterError(
            f"{asked} needs two tables of numbers with the same records in the same order and "
            f"the same columns; given were {before.shape} and {after.shape}."
        )
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise ParameterError(
            f"{asked} needs a number in every cell; leave out records with missing ones."
        )
    spread = before.std(axis=0)
    spread[spread == 0] = 1.0
    return before / spread, after / spread


def _matrix(values: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    return found[:, None] if found.ndim == 1 else found


def _right(before: NDArray[np.float64], after: NDArray[np.float64], begin: int) -> float:
    """Add up the chances that the nearest original is the record's own."""
    distance = np.zeros((len(after), len(before)))
    for own, theirs in zip(after.T, before.T, strict=True):
        distance += (own[:, None] - theirs) ** 2
    nearest = distance.min(axis=1)
    own = distance[np.arange(len(after)), begin + np.arange(len(after))]
    ties = (distance == nearest[:, None]).sum(axis=1)
    return float(((own == nearest) / ties).sum())
