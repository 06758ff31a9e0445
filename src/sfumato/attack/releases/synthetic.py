"""Attacks on synthetic rows: membership, attribute inference and singling out.

Whoever holds a synthetic table guesses about real people. A guess that is as good about people who
are *not* in the data (outsiders of the same population) tells of the population, not of anybody;
only what succeeds more often about members is a leak (Giomi, Boenisch, Wehmeyer and Tasnádi, "A
unified framework for quantifying privacy risk in synthetic data" (Anonymeter), PETS 2023; Stadler,
Oprisanu and Troncoso, USENIX Security 2022).

The attacks see the synthetic rows and the targets, never the algorithm. Their results are about
the real data: they are for the owner, before the copy leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import quoted
from sfumato.data.tables.sources import read
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Table

_CHUNK = 64
_MOST_TARGETS, _MOST_ROWS = 1_000, 50_000
_NORMAL = 3.290527  # 99.9 % of a normal law: guesses are many, and not independent
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "DATE", "TIMESTAMP")


@dataclass(frozen=True)
class Excess:
    """How much more often an attack succeeds about members than about outsiders.

    ``risk`` is (members − outsiders)/(1 − outsiders), at least 0; the interval holds both rates'
    sampling errors. For the owner alone: it is a fact about the real data.
    """

    attack: str
    targets: int
    members: float
    outsiders: float
    confidence: float = 0.999

    @property
    def risk(self) -> float:
        """The excess, as a share of what outsiders leave to be won."""
        if self.outsiders >= 1:
            return 0.0
        return max(0.0, (self.members - self.outsiders) / (1 - self.outsiders))

    @property
    def error(self) -> float:
        """The half-width of the interval of the difference of both rates."""
        spread = sum(rate * (1 - rate) for rate in (self.members, self.outsiders)) / self.targets
        return _NORMAL * math.sqrt(spread) + 1 / self.targets

    @property
    def succeeds(self) -> bool:
        """Whether the attack is better about members than chance explains."""
        return self.members - self.outsiders > self.error

    def __str__(self) -> str:
        verdict = "leaks" if self.succeeds else "shows no leak"
        return (
            f"{self.attack} {verdict}: right about {self.members:.1%} of members and "
            f"{self.outsiders:.1%} of outsiders (± {self.error:.1%}); not to be published"
        )


def synthetic_membership(synthetic: Any, members: Any, outsiders: Any) -> Excess:
    """Guess that people are in the data where a synthetic row lies nearer than for most outsiders.

    The threshold is the median distance of outsiders, so that half of them are guessed wrongly.
    """
    rows, inside, outside = _comparable(synthetic, members, outsiders)
    near, far = _nearest(inside, rows)[1], _nearest(outside, rows)[1]
    limit = float(np.median(far))
    rates = [float((x < limit).mean() + (x == limit).mean() / 2) for x in (near, far)]
    return Excess("membership by the nearest row", near.size, *rates)


def synthetic_inference(synthetic: Any, members: Any, outsiders: Any, *, secret: str) -> Excess:
    """Guess a secret cell as that of the synthetic row nearest in all other columns."""
    rows, inside, outside = _comparable(synthetic, members, outsiders)
    if secret not in rows.names:
        raise ParameterError(f"The synthetic rows have no column '{secret}'.")
    rates = []
    for people in (inside, outside):
        nearest, _ = _nearest(people.without(secret), rows.without(secret))
        guess, truth = rows.column(secret)[nearest], people.column(secret)
        rates.append(float((np.abs(guess - truth) < 0.05).mean()))
    return Excess(f"inference of {secret}", inside.size, *rates)


def synthetic_singling_out(
    synthetic: Any,
    members: Any,
    outsiders: Any,
    *,
    attempts: int = 500,
    columns: int = 3,
    seed: int = 0,
) -> Excess:
    """Claim that one person has the cells of some columns of a synthetic row, and she alone.

    Members and outsiders are samples of the same size, so that being alone is as likely by chance.
    """
    rows, inside, outside = _comparable(synthetic, members, outsiders)
    size = min(inside.size, outside.size)
    rng = np.random.default_rng(seed)  # the adversary's own coins
    hits = np.zeros(2)
    for _ in range(attempts):
        chosen = rng.choice(len(rows.names), min(columns, len(rows.names)), replace=False)
        claim = rows.cells[chosen, rng.integers(rows.size)]
        for k, people in enumerate((inside, outside)):
            same = (np.abs(people.cells[chosen, :size] - claim[:, None]) < 0.005).all(axis=0)
            hits[k] += int(same.sum() == 1)
    return Excess(f"singling out by {columns} columns", attempts, *(hits / attempts).tolist())


# -- rows that can be compared ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """Cells as numbers: scaled to [0, 1], or whole numbers that are equal or 1 apart for texts."""

    names: tuple[str, ...]
    cells: NDArray[np.float64]

    @property
    def size(self) -> int:
        return int(self.cells.shape[1])

    def column(self, name: str) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.cells[self.names.index(name)]
        return found

    def some(self, most: int) -> _Rows:
        """Draw at most so many of the rows; the adversary's own coins, always the same."""
        if self.size <= most:
            return self
        chosen = np.random.default_rng(0).choice(self.size, most, replace=False)
        return _Rows(self.names, self.cells[:, chosen])

    def without(self, name: str) -> _Rows:
        kept = [k for k, other in enumerate(self.names) if other != name]
        return _Rows(tuple(self.names[k] for k in kept), self.cells[kept])


def _comparable(*given: Any) -> tuple[_Rows, _Rows, _Rows]:
    """Bring synthetic rows, members and outsiders on one scale, that of the synthetic rows."""
    first = given[0].data if hasattr(given[0], "promise") else given[0]
    tables = [read(source) for source in (first, *given[1:])]
    names = tuple(name for name in tables[0].columns if all(name in t.columns for t in tables))
    if not names or any(table.rows == 0 for table in tables):
        raise ParameterError(
            "Synthetic rows, members and outsiders are tables that are not empty and have columns "
            "in common."
        )
    columns = [_scaled(tables, name) for name in names]
    made = [_Rows(names, np.stack([column[k] for column in columns])) for k in range(3)]
    return made[0].some(_MOST_ROWS), made[1].some(_MOST_TARGETS), made[2].some(_MOST_TARGETS)


def _scaled(tables: Sequence[Table], name: str) -> list[NDArray[np.float64]]:
    numeric = all(any(mark in t.types[name].upper() for mark in _NUMBERS) for t in tables)
    cells = [[row[0] for row in t.run(f"SELECT {quoted(name)} FROM {t.scan}")] for t in tables]  # noqa: S608 - a quoted name
    if not numeric:
        place = {
            text: k for k, text in enumerate(dict.fromkeys(str(c) for part in cells for c in part))
        }
        return [np.array([float(place[str(c)]) for c in part]) for part in cells]
    arrays = [np.array([_number(c) for c in part]) for part in cells]
    low, high = np.nanmin(arrays[0], initial=0.0), np.nanmax(arrays[0], initial=1.0)
    return [np.nan_to_num((a - low) / max(high - low, 1e-12), nan=-1.0) for a in arrays]


def _number(cell: Any) -> float:
    if cell is None:
        return math.nan
    return float(cell.toordinal()) if hasattr(cell, "toordinal") else float(cell)


def _nearest(people: _Rows, rows: _Rows) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give each person's nearest synthetic row, and how many columns they are apart (Gower)."""
    places, distances = [], []
    for start in range(0, people.size, _CHUNK):
        mine = people.cells[:, start : start + _CHUNK]
        apart = np.zeros((mine.shape[1], rows.size), dtype=np.float32)
        for own, other in zip(mine, rows.cells, strict=True):
            apart += np.minimum(np.abs(own[:, None] - other[None, :]), 1.0).astype(np.float32)
        best = apart.argmin(axis=1)
        places.append(best)
        distances.append(apart[np.arange(best.size), best])
    return np.concatenate(places), np.concatenate(distances).astype(np.float64)
