"""The population a sample is compared with, for k-map and δ-presence.

Hierarchies must cover the values of everybody, not only of those in the data, so the
population's values are added as leaves before the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.tables.frequency import FrequencyTable
from sfumato.data.tables.table import value_counts

if TYPE_CHECKING:
    from sfumato.data.engines.counted import Counted
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table


@dataclass(frozen=True, eq=False)
class Population:
    """Everybody who could be in the data."""

    table: Table
    schema: Schema

    @cached_property
    def counted(self) -> Counted:
        """Distinct combinations of the quasi-identifiers in the population."""
        return self.table.count(self.schema.quasi_names)

    def extend(self, hierarchies: tuple[Hierarchy, ...], counted: Counted) -> tuple[Hierarchy, ...]:
        """Return hierarchies that cover the data, as counted, and the population."""
        return tuple(
            self.schema.hierarchy_for(
                name,
                dict.fromkeys([*h.leaves, *values]),
                value_counts(counted, counted.columns.index(name)),
            )
            for name, h, values in zip(
                self.schema.quasi_names, hierarchies, self.counted.values, strict=True
            )
        )

    def frequencies(self, hierarchies: tuple[Hierarchy, ...]) -> FrequencyTable:
        """Return the population as leaf codes and counts."""
        columns = []
        for c, h in enumerate(hierarchies):
            leaves = np.array([h.codes[v] for v in self.counted.values[c]], dtype=np.int32)
            columns.append(leaves[self.counted.codes[c]])
        return FrequencyTable(
            self.schema.quasi_names,
            (),
            np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int32),
            np.zeros((len(self.counted.counts), 0), dtype=np.int32),
            self.counted.counts,
        )
