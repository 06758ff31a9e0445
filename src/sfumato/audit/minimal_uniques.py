"""Special uniques: records that are alone already on few of the attributes (SUDA2).

Elliot, Manning, Ford: A Computational Algorithm for Handling the Special Uniques Problem, 2002;
Manning, Haglin, Keane: A Recursive Search Algorithm for Statistical Disclosure Assessment, 2008.
A set of attributes is a *minimal sample unique* (MSU) of a record if the record is the only one
with its values there, and on no smaller part of the set. The fewer attributes it takes, and the
more such sets a record has, the likelier it is unique in the population, too.

With A attributes and sets of at most M, a set of k attributes adds ∏ (A − i) for i = k … min(M,
A − 1) to the score of the record: as many ways there are to add attributes to it, one by one. A
record without such a set has the score 0.

The sets are found size by size. Whoever is alone on a set is alone on every larger one, so a
set is minimal where none of its parts that lack one attribute is unique; and only records that are
alone on all attributes can be alone at all, so verdicts are kept for those.

*DIS* (Skinner, Elliot: A Measure of Disclosure Risk for Microdata, 2002) estimates how likely a
unique match with the population is right: with U records alone on all attributes, P pairs and
the sampling fraction δ it is U·δ / (U·δ + P·(1 − δ)). It is an estimate, not a bound. DIS–SUDA
(Elliot 2005) shares it out: the lone record with score s gets DIS·s/s̄, with s̄ the mean score of
all lone records, and at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.definition import number_between, positive_integer
from sfumato.data.tables.sources import read
from sfumato.data.wording import its_columns
from sfumato.errors import ParameterError, SchemaError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.schema import Schema

MOST_SETS = 100_000
"""Sets of attributes that are gone through; more are refused."""


@dataclass(frozen=True, eq=False)
class SpecialUniques(Shown):
    """How few attributes single records out; no cell of the data is in it.

    `sets` counts minimal sample uniques by their size, `by_attribute` is the share of the
    total score that comes from sets with the attribute, and `scores` holds the scores of the
    records that have any, largest first.
    """

    records: int
    attributes: tuple[str, ...]
    size: int
    sets: Mapping[int, int]
    by_attribute: Mapping[str, float]
    scores: NDArray[np.int64]
    alone: int
    pairs: int

    @property
    def share(self) -> float:
        """Share of records that some set of at most `size` attributes singles out."""
        return len(self.scores) / self.records

    def match_probability(self, fraction: float) -> float:
        """Estimate (DIS) how likely a unique match is right, for a sample of this fraction."""
        number_between("fraction", fraction, 0, 1, open_low=True)
        right = self.alone * fraction
        return right / (right + self.pairs * (1 - fraction)) if self.alone else 0.0

    def match_probabilities(self, fraction: float) -> NDArray[np.float64]:
        """Share the estimate out among the records with a score (DIS–SUDA), largest first."""
        mean = self.scores.sum() / max(self.alone, 1)
        shared = self.match_probability(fraction) * self.scores / max(mean, 1e-300)
        bounded: NDArray[np.float64] = np.minimum(shared, 1.0)
        return bounded

    def rows(self) -> list[tuple[str, float]]:
        """Return name and figure, to be printed."""
        return [
            (f"records singled out by at most {self.size} attributes", self.share),
            *((f"minimal sets of {size}", float(n)) for size, n in self.sets.items()),
            ("highest score", float(self.scores[0]) if len(self.scores) else 0.0),
            *((f"share of the score with {name}", s) for name, s in self.by_attribute.items()),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {figure:.4g}" for name, figure in self.rows())


def special_uniques(
    data: Any,
    columns: Sequence[str] = (),
    *,
    schema: Schema | str | Path | None = None,
    size: int = 3,
) -> SpecialUniques:
    """Find the minimal sample uniques of up to `size` attributes, and score records by them.

    `data` is anything `sf.read` takes; the attributes are `columns`, or else the quasi-identifiers
    of the schema.

    >>> import sfumato as sf
    >>> people = {"age": [30, 30, 40], "zip": ["1", "2", "2"]}
    >>> sf.audit.special_uniques(people, ["age", "zip"], size=2).sets
    {1: 2, 2: 1}
    """
    table = read(data, schema=schema)
    names = _attributes(tuple(columns), table.known_schema, table.columns)
    size = min(positive_integer("size", size), len(names))
    number = sum(comb(len(names), k) for k in range(1, size + 1))
    if number > MOST_SETS:
        raise ParameterError(
            f"{len(names)} attributes have {number:,} sets of at most {size}, more than "
            f"{MOST_SETS:,}; name fewer columns, or a smaller size."
        )
    counted = table.count(names)
    place = [counted.columns.index(name) for name in names]
    codes = [counted.codes[c].astype(np.int64) for c in place]
    found = _minimal(codes, counted.counts, size)
    return _scored(found, names, size, counted.counts)


def _attributes(
    columns: tuple[str, ...], schema: Schema | None, known: Sequence[str]
) -> tuple[str, ...]:
    names = columns or (() if schema is None else tuple(schema.quasi_names))
    if not names:
        raise SchemaError(
            "Special uniques are about attributes that others may know; name them with columns=, "
            "or give a schema with quasi-identifiers."
        )
    for name in names:
        if name not in known:
            raise ParameterError(f"The data has no column '{name}'; {its_columns(known, name)}")
    return tuple(dict.fromkeys(names))


def _minimal(
    codes: list[NDArray[np.int64]], counts: NDArray[np.int64], size: int
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """Return for each set of attributes which of the lone records it is minimal for."""
    lone = np.flatnonzero(counts == 1)
    found: dict[tuple[int, ...], NDArray[np.int64]] = {}
    groups: dict[tuple[int, ...], NDArray[np.int64]] = {(): np.zeros(len(counts), np.int64)}
    before: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(len(lone), np.bool_)}
    if len(counts) == 1 and len(lone):
        return found  # the only record: nothing has to be known, and no set is minimal
    for k in range(1, size + 1):
        grouped, now = {}, {}
        for chosen in combinations(range(len(codes)), k):
            *_, last = chosen
            key = groups[chosen[:-1]] * (int(codes[last].max()) + 1) + codes[last]
            _, group = np.unique(key, return_inverse=True)
            group = group.reshape(-1)
            alone = np.bincount(group, weights=counts)[group[lone]] == 1
            held = np.zeros(len(lone), np.bool_)
            for part in combinations(chosen, k - 1):
                held |= before[part]
            minimal = np.flatnonzero(alone & ~held)
            if len(minimal):
                found[chosen] = minimal
            now[chosen] = alone
            if k < size:
                grouped[chosen] = group
        groups, before = grouped, now
    return found


def _scored(
    found: Mapping[tuple[int, ...], NDArray[np.int64]],
    names: tuple[str, ...],
    size: int,
    counts: NDArray[np.int64],
) -> SpecialUniques:
    top = min(size, len(names) - 1)
    points = {k: prod(len(names) - i for i in range(k, top + 1)) for k in range(1, size + 1)}
    scores = np.zeros(int((counts == 1).sum()), dtype=np.int64)
    sets = dict.fromkeys(range(1, size + 1), 0)
    with_attribute = dict.fromkeys(names, 0)
    for chosen, records in found.items():
        scores[records] += points[len(chosen)]
        sets[len(chosen)] += len(records)
        for a in chosen:
            with_attribute[names[a]] += points[len(chosen)] * len(records)
    total = max(int(scores.sum()), 1)
    return SpecialUniques(
        records=int(counts.sum()),
        attributes=names,
        size=size,
        sets=sets,
        by_attribute={name: points / total for name, points in with_attribute.items()},
        scores=np.sort(scores[scores > 0])[::-1],
        alone=int((counts == 1).sum()),
        pairs=int((counts == 2).sum()),
    )
