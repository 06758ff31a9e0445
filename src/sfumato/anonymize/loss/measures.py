"""What a recoding costs, measured in the ways of the field; every loss lies in [0, 1].

0 is the table as it is (where the measure allows it), 1 a table of which nothing is left.
LM, MD and NUE are weighted means over cells (`cell_loss`), a suppressed record counting 1
in each. Two look at class sizes alone:

* DM, discernibility (Bayardo, Agrawal: Data Privacy through Optimal k-Anonymization, ICDE
  2005): (Σ|E|² + suppressed·n) / n².
* AECS, average equivalence class size: 1 / (number of classes, all suppressed records
  being one more class), which is the average size as a share of n.

`separable` gives the prices an algorithm works with, `losses` measures what it decided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.loss.cells import CELL_MEASURES
from sfumato.anonymize.tables.apply.cells import equivalence_class_sizes, released_cells
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.loss.cells import CellMeasure
    from sfumato.anonymize.tables.apply.cells import ReleasedCells
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.tables.frequency import FrequencyTable

Weights = Mapping[str, float] | Sequence[float] | None

CLASS_MEASURES = ("DM", "AECS")
OBJECTIVES = (*CELL_MEASURES, *CLASS_MEASURES)


def check_objective(name: str) -> str:
    """Return the name of a loss that can be optimised, or raise."""
    if name not in OBJECTIVES:
        raise ParameterError(f"The objective must be one of {', '.join(OBJECTIVES)}, not {name!r}.")
    return name


def normalized_weights(names: Sequence[str], weights: Weights = None) -> NDArray[np.float64]:
    """Return one weight per attribute, scaled to sum 1; an attribute not named weighs 1."""
    if isinstance(weights, Mapping):
        strangers = [name for name in weights if name not in names]
        if strangers:
            raise ParameterError(
                f"Weights are given for {', '.join(strangers)}, which are not among the "
                f"quasi-identifiers: {', '.join(names)}."
            )
        listed = [float(weights.get(name, 1.0)) for name in names]
    else:
        listed = [1.0] * len(names) if weights is None else [float(w) for w in weights]
    if len(listed) != len(names):
        raise ParameterError(
            f"There are {len(names)} quasi-identifiers, and {len(listed)} weights were given; "
            "give one each."
        )
    if not all(math.isfinite(w) and w >= 0 for w in listed) or (listed and not sum(listed)):
        raise ParameterError(
            f"Weights must be finite numbers of at least 0 and not all 0, not {listed}."
        )
    return np.array(listed) / max(sum(listed), 1e-300)


def separable(
    name: str,
    hierarchies: Sequence[Hierarchy],
    table: FrequencyTable,
    weights: Weights = None,
) -> tuple[tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...]]:
    """Return `costs[a][leaf, level]` and `suppressed[a][leaf]` of a sum-over-cells loss.

    Weights are in them; over a fully suppressed table they add up to its number of records.
    """
    if name not in CELL_MEASURES:
        raise ParameterError(
            f"{name!r} is not a sum over cells; those are {', '.join(CELL_MEASURES)}."
        )
    measure = CELL_MEASURES[name]
    costs, suppressed = [], []
    for a, (h, weight) in enumerate(
        zip(hierarchies, normalized_weights(table.quasi_names, weights), strict=True)
    ):
        counts = leaf_counts(table, a, h)
        costs.append(measure.by_level(h, counts) * weight)
        suppressed.append(measure.suppressed(h, counts) * weight)
    return tuple(costs), tuple(suppressed)


def leaf_counts(table: FrequencyTable, a: int, h: Hierarchy) -> NDArray[np.int64]:
    """Return how many records have each leaf of the `a`-th quasi-identifier."""
    counts = np.bincount(table.quasi[:, a], weights=table.counts, minlength=h.size)
    return counts.astype(np.int64)


def attribute_losses(
    table: FrequencyTable, hierarchies: Sequence[Hierarchy], cells: ReleasedCells
) -> dict[str, dict[str, float]]:
    """Return LM, MD and NUE of each quasi-identifier on its own, in [0, 1]."""
    return {
        name: {
            label: _attribute_loss(measure, table, a, hierarchies[a], cells)
            for label, measure in CELL_MEASURES.items()
        }
        for a, name in enumerate(table.quasi_names)
    }


def _attribute_loss(
    measure: CellMeasure, table: FrequencyTable, a: int, h: Hierarchy, cells: ReleasedCells
) -> float:
    counts = leaf_counts(table, a, h)
    leaf = table.quasi[cells.tuple_, a].astype(np.int64)
    cost = measure.suppressed(h, counts)[leaf]
    kept = np.flatnonzero(cells.kept)
    rows = cells.row[kept]
    level = cells.level[rows, a]
    nodes, ranges = kept[level >= 0], kept[level < 0]
    cost[nodes] = measure.by_level(h, counts)[leaf[nodes], level[level >= 0]]
    low, high = cells.low[rows, a][level < 0], cells.high[rows, a][level < 0]
    cost[ranges] = measure.of_range(h, counts, leaf[ranges], low, high)
    return float(min((cost * cells.count).sum() / max(table.rows, 1), 1.0))


def class_values(sizes: NDArray[np.int64], suppressed: int) -> dict[str, float]:
    """Return the plain figures behind DM and AECS: how many classes, how large, how alike."""
    released = int(sizes.sum())
    return {
        "classes": float(len(sizes)),
        "average class size": released / len(sizes) if len(sizes) else 0.0,
        "discernibility": float((sizes.astype(np.float64) ** 2).sum())
        + float(suppressed) * (released + suppressed),
        "suppressed": float(suppressed),
    }


def class_loss(name: str, sizes: NDArray[np.int64], suppressed: int) -> float:
    """Return DM or AECS of released class sizes and a number of suppressed records."""
    rows = int(sizes.sum()) + suppressed
    if rows == 0:
        return 0.0
    if name == "DM":
        return class_values(sizes, suppressed)["discernibility"] / rows**2
    return 1.0 / (len(sizes) + (1 if suppressed else 0))


def losses(
    table: FrequencyTable,
    hierarchies: Sequence[Hierarchy],
    recoding: Recoding,
    weights: Weights = None,
) -> dict[str, float]:
    """Return every loss of a recoding by name, each in [0, 1]."""
    shares = normalized_weights(table.quasi_names, weights)
    cells = released_cells(table, hierarchies, recoding)
    each = list(attribute_losses(table, hierarchies, cells).values())
    found = {
        label: float(sum(w * loss[label] for w, loss in zip(shares, each, strict=True)))
        for label in CELL_MEASURES
    }
    sizes = equivalence_class_sizes(cells, hierarchies)
    for label in CLASS_MEASURES:
        found[label] = class_loss(label, sizes, cells.suppressed_records)
    return found


def raw_values(
    table: FrequencyTable, hierarchies: Sequence[Hierarchy], recoding: Recoding
) -> dict[str, float]:
    """Return number and average size of classes, discernibility sum, suppressed records."""
    cells = released_cells(table, hierarchies, recoding)
    sizes = equivalence_class_sizes(cells, hierarchies)
    return class_values(sizes, cells.suppressed_records)
