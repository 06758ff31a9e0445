"""Log-ratios by code: how much more often a code came on one data set than on the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Lookup:
    """Codes in order, and the log-ratio of each; a code that is not there has 0."""

    keys: npt.NDArray[np.int64]
    ratios: npt.NDArray[np.float64]
    distinct: int
    """How many different codes there were before the rare ones were left out."""

    @classmethod
    def learn(
        cls,
        first: npt.NDArray[np.int64],
        second: npt.NDArray[np.int64],
        *,
        most: int,
        least: int = 1,
    ) -> Lookup:
        """Count the codes on both sides and keep the ``most`` frequent, seen ``least`` times."""
        keys, places = np.unique(np.concatenate([first, second]), return_inverse=True)
        places = places.reshape(-1)
        a = np.bincount(places[: first.size], minlength=keys.size)
        b = np.bincount(places[first.size :], minlength=keys.size)
        distinct = keys.size
        if least > 1:
            often = a + b >= least
            keys, a, b = keys[often], a[often], b[often]
        if keys.size > most:
            kept = np.sort(np.argsort(-(a + b), kind="stable")[:most])
            keys, a, b = keys[kept], a[kept], b[kept]
        return cls(keys, log_ratio(a, b), distinct)

    def tally(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count how often each key is among the codes."""
        at = np.minimum(np.searchsorted(self.keys, codes), max(0, self.keys.size - 1))
        known = self.keys[at] == codes
        return np.bincount(at[known], minlength=self.keys.size)

    def of(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Look codes up."""
        if self.keys.size == 0:
            return np.zeros(codes.size)
        if self.keys.size == 1:
            return np.where(codes == self.keys[0], self.ratios[0], 0.0)
        at = np.minimum(np.searchsorted(self.keys, codes), self.keys.size - 1)
        return np.where(self.keys[at] == codes, self.ratios[at], 0.0)


def log_ratio(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Give ln of the ratio of two counts, shrunk a little towards 0."""
    ratio: npt.NDArray[np.float64] = np.log((a + 0.5) / (b + 0.5))
    return ratio


def edges_of(values: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    """Cut values into ranges of about the same number; NaN falls behind the last one."""
    known = np.sort(values[~np.isnan(values)])
    if known.size == 0:
        return np.empty(0)
    places = np.linspace(0, known.size - 1, bins + 1).astype(np.int64)[1:]
    return np.unique(known[places])
