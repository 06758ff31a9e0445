"""How many people of a population fit each class of a release.

A person fits a class when, on every quasi-identifier, the released label stands for that
person's value. Labels are resolved by the schema's hierarchies, bound to the values the
population has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.tables.sources import read
from sfumato.errors import DataError, SchemaError
from sfumato.released.compatibility import is_open_group, stands_for
from sfumato.released.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.engines.counted import Counted
    from sfumato.data.schema import Schema
    from sfumato.released.evidence import Evidence


@dataclass(frozen=True, eq=False)
class PopulationCounts:
    """People who fit each class, people in all, and those who fit no class."""

    people: NDArray[np.int64]
    total: int
    outside: int


def population_counts(evidence: Evidence, schema: Schema, population: Any) -> PopulationCounts:
    """Count the people of the population who fit each class."""
    table = read(population)
    lacking = [name for name in evidence.quasi if name not in table.columns]
    if lacking:
        raise SchemaError(
            f"The population {table.source} lacks the quasi-identifier(s) {', '.join(lacking)}; "
            "a person can only be compared on attributes both tables have."
        )
    if schema.unit in table.columns:
        rows, people_ = table.run(
            f"SELECT count(*), count(DISTINCT {table.text(schema.unit)}) FROM {table.scan}"  # noqa: S608 - quoted by `text`
        )[0]
        if people_ < rows:
            raise DataError(
                f"The population {table.source} has several rows of one '{schema.unit}'; a "
                "population lists every person once."
            )
    counted = table.count(evidence.quasi)
    masks = [_masks(evidence, counted, a, schema) for a in range(len(evidence.quasi))]
    everybody = np.arange(len(counted.counts))
    people = np.zeros(evidence.classes, dtype=np.int64)
    reached = np.zeros(len(everybody), dtype=np.bool_)
    for c in range(evidence.classes):
        fits = everybody
        for a, mask in enumerate(masks):
            fits = fits[mask[evidence.codes[c, a]][counted.codes[a][fits]]]
        people[c] = counted.counts[fits].sum()
        reached[fits] = True
    outside = int(counted.counts[~reached].sum())
    return PopulationCounts(people, int(counted.counts.sum()), outside)


def at_least_itself(
    evidence: Evidence, counts: PopulationCounts | None
) -> NDArray[np.int64] | None:
    """Return the people who fit each class, every record counting at least itself."""
    return None if counts is None else np.maximum(counts.people, evidence.sizes)


def _masks(
    evidence: Evidence, counted: Counted, a: int, schema: Schema
) -> Sequence[NDArray[np.bool_]]:
    """Return per released label of an attribute which values of the population fit it."""
    name, values = evidence.quasi[a], counted.values[a]
    tree = schema.hierarchy_for(name, values)
    labels = Labels(tree)
    codes = np.array([tree.codes[value] for value in values], dtype=np.int64)
    masks = []
    for text in evidence.labels[a]:
        leaves = labels.leaves(text)
        if leaves is not None:
            masks.append(leaves[codes])
        elif is_open_group(text):
            raise DataError(
                f"A released label of '{name}' is no node of its hierarchy over the population, "
                "so nobody can be compared with it; declare the hierarchy as a file or tree in "
                "the schema."
            )
        else:
            masks.append(np.array([stands_for(text, value) for value in values], dtype=np.bool_))
    return masks
