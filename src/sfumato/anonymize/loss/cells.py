"""Losses that are sums over cells: what one released value costs, whatever its class.

An algorithm can price a value on a level before it looks at any class. A cell that is
released as it is costs 0, a suppressed one 1 (NUE: 1 on average over the records).

* LM, loss metric (Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002):
  (leaves below the node − 1) / (leaves − 1); a range counts the leaves in it.
* MD, distortion (after Samarati, 2001; Sweeney's precision, 2002): generalisation steps
  taken / steps possible. A branch that ends early and repeats its label takes no step; a
  range counts as the lowest node that covers it.
* NUE, non-uniform entropy (Gionis, Tassa: k-Anonymization with Minimal Loss of
  Information, TKDE 2009): −log of the share of the original value among the records below
  its node, over what suppressing the whole attribute would cost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.apply.cells import lowest_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy


class CellMeasure(ABC):
    """A loss that is a sum over cells; mean 1 over the records when a cell is suppressed.

    `counts[leaf]` is how many records have the leaf. No cost falls as a node grows.
    """

    @abstractmethod
    def by_level(self, h: Hierarchy, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cost of each leaf on each level."""

    @abstractmethod
    def of_range(
        self,
        h: Hierarchy,
        counts: NDArray[np.int64],
        leaf: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the cost of each leaf released as a range of leaves."""

    def suppressed(self, h: Hierarchy, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cost of each leaf when its cell is suppressed."""
        del counts
        return np.ones(h.size)


class LossMetric(CellMeasure):
    """LM: how many of the leaves a released value may stand for."""

    def by_level(self, h: Hierarchy, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (leaves below the node − 1) / (leaves − 1)."""
        del counts
        return h.loss

    def of_range(
        self,
        h: Hierarchy,
        counts: NDArray[np.int64],
        leaf: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return (leaves in the range − 1) / (leaves − 1)."""
        del counts, leaf
        return (high - low) / max(h.size - 1, 1)


class Distortion(CellMeasure):
    """MD: how many of the possible generalisation steps were taken."""

    def by_level(self, h: Hierarchy, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return steps taken / steps possible."""
        del counts
        return lowest_level(h) / max(h.height - 1, 1)

    def of_range(
        self,
        h: Hierarchy,
        counts: NDArray[np.int64],
        leaf: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the steps to the lowest node over both ends of the range."""
        del leaf
        meets = np.argmax(h.levels[low] == h.levels[high], axis=1)
        steps: NDArray[np.float64] = self.by_level(h, counts)[low, meets]
        return steps


class NonUniformEntropy(CellMeasure):
    """NUE: how surprising the original value is among the records it was mixed with."""

    def by_level(self, h: Hierarchy, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return −log(records with the leaf / records below the node), normalised."""
        below = np.stack(
            [
                np.bincount(h.levels[:, v], weights=counts, minlength=len(h.labels[v]))[
                    h.levels[:, v]
                ]
                for v in range(h.height)
            ],
            axis=1,
        )
        return self._surprise(below, counts[:, None]) / self._scale(counts)

    def of_range(
        self,
        h: Hierarchy,
        counts: NDArray[np.int64],
        leaf: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return −log(records with the leaf / records in the range), normalised."""
        del h
        upto = np.concatenate([[0], np.cumsum(counts)])
        return self._surprise(upto[high + 1] - upto[low], counts[leaf]) / self._scale(counts)

    def suppressed(self, h: Hierarchy, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same for a node over all records; 1 where there is only one value."""
        surprise = self._surprise(np.full(h.size, counts.sum()), counts)
        if not surprise.any():
            return np.ones(h.size)
        return surprise / self._scale(counts)

    @staticmethod
    def _surprise(
        below: NDArray[np.integer] | NDArray[np.float64], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        occurs = counts > 0
        ratio = np.where(occurs, below, 1) / np.where(occurs, counts, 1)
        surprise: NDArray[np.float64] = np.log(ratio)
        return surprise

    @staticmethod
    def _scale(counts: NDArray[np.int64]) -> float:
        shares = counts[counts > 0] / max(int(counts.sum()), 1)
        entropy = float(-(shares * np.log(shares)).sum())
        return entropy if entropy > 0 else 1.0


CELL_MEASURES: Mapping[str, CellMeasure] = {
    "LM": LossMetric(),
    "MD": Distortion(),
    "NUE": NonUniformEntropy(),
}
