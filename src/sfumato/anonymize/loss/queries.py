"""How wrong counts become when they are asked of the release instead of the table.

A query counts the records whose quasi-identifiers lie in given sets of values. On the
release it is answered under the uniformity assumption: inside a class every value that a
generalised cell stands for is equally likely, and attributes are independent, so a class
contributes its size times, per attribute, the wanted values in the cell over all values
the cell stands for. (LeFevre, DeWitt, Ramakrishnan: Workload-Aware Anonymization, KDD 2006.)

How many values a cell stands for is `hierarchy.spans` where given (a masked digit stands
for ten) and the number of leaves below otherwise. Suppressed records answer nothing.

The error of a query is |estimate − truth| / max(truth, sanity bound), the bound keeping
counts near zero from drowning the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.definition import number_between, positive_integer
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.apply.cells import ReleasedCells
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.tables.frequency import FrequencyTable


@dataclass(frozen=True)
class Between:
    """Values from low to high, both included: by size for numbers, else as leaves are listed."""

    low: float | str
    high: float | str


Wanted = Between | str | Iterable[str]
Query = Mapping[str, Wanted]
"""What is counted: per quasi-identifier one value, several values, or a range."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryLoss:
    """Relative errors of a workload, and the two figures people quote."""

    errors: NDArray[np.float64]
    truths: NDArray[np.int64]
    estimates: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean relative error."""
        return float(self.errors.mean())

    @property
    def median(self) -> float:
        """Median relative error."""
        return float(np.median(self.errors))

    def __str__(self) -> str:
        return (
            f"{len(self.errors):,} count queries: relative error {self.median:.3f} in the median, "
            f"{self.mean:.3f} on average"
        )

    __repr__ = __str__


def query_loss(
    table: FrequencyTable,
    hierarchies: Sequence[Hierarchy],
    recoding: Recoding,
    workload: Sequence[Query] | None = None,
    *,
    queries: int = 500,
    sanity: float = 0.001,
    seed: int = 0,
) -> QueryLoss:
    """Ask a workload of the table and of its release, and compare.

    Without a workload, `queries` random ones are asked (`random_workload`). The sanity
    bound is given as a share of the records.
    """
    asked = query_masks(table, hierarchies, workload, queries=queries, seed=seed)
    cells = released_cells(table, hierarchies, recoding)
    estimates = _Estimator.over(cells, hierarchies).answers(asked)
    return compare_answers(table, asked, estimates, sanity=sanity)


def query_masks(
    table: FrequencyTable,
    hierarchies: Sequence[Hierarchy],
    workload: Sequence[Query] | None,
    *,
    queries: int,
    seed: int,
) -> list[Masks]:
    """Return a workload, or random queries, in codes."""
    if workload is None:
        workload = random_workload(table, hierarchies, queries=queries, seed=seed)
    asked = [_masks(query, table.quasi_names, hierarchies) for query in workload]
    if not asked:
        raise ParameterError("The workload is empty; give at least one query.")
    return asked


def compare_answers(
    table: FrequencyTable,
    asked: Sequence[Masks],
    estimates: NDArray[np.float64],
    *,
    sanity: float = 0.001,
) -> QueryLoss:
    """Hold estimates against the counts of the table."""
    bound = number_between("sanity", sanity, 0, 1, open_low=True) * max(table.rows, 1)
    truths = np.array([_count(masks, table) for masks in asked], dtype=np.int64)
    errors = np.abs(estimates - truths) / np.maximum(truths, bound)
    return QueryLoss(errors, truths, estimates)


def random_workload(
    table: FrequencyTable,
    hierarchies: Sequence[Hierarchy],
    *,
    queries: int = 500,
    attributes: int = 2,
    share: float = 0.1,
    seed: int = 0,
) -> list[Query]:
    """Return random queries about people who are there.

    Each starts from a random record and wants, on up to `attributes` quasi-identifiers, its
    value and as many others as make `share` of the leaves: neighbours in order where the
    leaves are ordered, any others where they are not.
    """
    positive_integer("queries", queries)
    positive_integer("attributes", attributes)
    number_between("share", share, 0, 1, open_low=True)
    if table.rows == 0 or not hierarchies:
        raise ParameterError("Random queries need at least one record and one quasi-identifier.")
    rng = np.random.default_rng(seed)  # chooses what is asked of a finished release
    records = rng.choice(table.distinct, size=queries, p=table.counts / table.rows)
    most = min(attributes, len(hierarchies))
    workload: list[Query] = []
    for record in records:
        chosen = rng.choice(len(hierarchies), size=int(rng.integers(1, most + 1)), replace=False)
        query = {}
        for a in chosen:
            h = hierarchies[a]
            leaves = _random_leaves(h, int(table.quasi[record, a]), share, rng)
            query[table.quasi_names[a]] = [h.leaves[leaf] for leaf in leaves]
        workload.append(query)
    return workload


def _random_leaves(
    h: Hierarchy, leaf: int, share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    width = max(round(share * h.size), 1)
    if h.ordered:
        start = int(np.clip(leaf - rng.integers(0, width), 0, h.size - width))
        return np.arange(start, start + width)
    others = rng.choice(h.size - 1, size=width - 1, replace=False)
    return np.append(others + (others >= leaf), leaf)


# -- queries in codes -----------------------------------------------------------------

Masks = Mapping[int, "NDArray[np.bool_]"]
"""A query in codes: per attribute number, which leaves are wanted."""


def _masks(query: Query, names: Sequence[str], hierarchies: Sequence[Hierarchy]) -> Masks:
    strangers = [name for name in query if name not in names]
    if strangers:
        raise ParameterError(
            f"A query asks for {', '.join(strangers)}; it can use the quasi-identifiers "
            f"{', '.join(names)}."
        )
    return {
        names.index(name): _mask(name, wanted, hierarchies[names.index(name)])
        for name, wanted in query.items()
    }


def _mask(name: str, wanted: Wanted, h: Hierarchy) -> NDArray[np.bool_]:
    mask = np.zeros(h.size, dtype=np.bool_)
    if isinstance(wanted, Between):
        return _range_mask(name, wanted, h)
    for value in [wanted] if isinstance(wanted, str) else wanted:
        if str(value) not in h.codes:
            raise ParameterError(
                f"A query asks for {name} = {value!r}, which is not a leaf of its hierarchy."
            )
        mask[h.codes[str(value)]] = True
    return mask


def _range_mask(name: str, wanted: Between, h: Hierarchy) -> NDArray[np.bool_]:
    if not isinstance(wanted.low, str) and not isinstance(wanted.high, str):
        numbers = np.array([_number(leaf) for leaf in h.leaves])
        inside: NDArray[np.bool_] = (numbers >= wanted.low) & (numbers <= wanted.high)
        return inside
    ends = [str(wanted.low), str(wanted.high)]
    if not all(end in h.codes for end in ends):
        raise ParameterError(
            f"A query asks for {name} between {ends[0]!r} and {ends[1]!r}; both ends must be "
            "leaves of its hierarchy, or numbers."
        )
    positions = np.arange(h.size)
    return (positions >= h.codes[ends[0]]) & (positions <= h.codes[ends[1]])


def _number(leaf: str) -> float:
    try:
        return float(leaf)
    except ValueError:
        return float("nan")


# -- answers --------------------------------------------------------------------------


def _count(masks: Masks, table: FrequencyTable) -> int:
    fits = np.ones(table.distinct, dtype=np.bool_)
    for a, mask in masks.items():
        fits &= mask[table.quasi[:, a]]
    return int(table.counts[fits].sum())


@dataclass(frozen=True, eq=False)
class _Estimator:
    """Answers queries from class sizes and generalised cells alone."""

    sizes: NDArray[np.float64]
    cells: ReleasedCells
    hierarchies: Sequence[Hierarchy]

    @classmethod
    def over(cls, cells: ReleasedCells, hierarchies: Sequence[Hierarchy]) -> _Estimator:
        kept = cells.kept
        sizes: NDArray[np.float64] = np.bincount(
            cells.row[kept], weights=cells.count[kept], minlength=len(cells.level)
        ).astype(np.float64)
        return cls(sizes, cells, hierarchies)

    def answers(self, workload: Sequence[Masks]) -> NDArray[np.float64]:
        found = np.empty(len(workload))
        for q, masks in enumerate(workload):
            expected = self.sizes.copy()
            for a, mask in masks.items():
                expected *= self._shares(a, mask)
            found[q] = expected.sum()
        return found

    def _shares(self, a: int, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return per class the share of the values its cell stands for that are wanted."""
        h, level, low = self.hierarchies[a], self.cells.level[:, a], self.cells.low[:, a]
        leaf_span = h.spans[0][h.levels[:, 0]] if h.spans else np.ones(h.size)
        wanted = np.where(mask, leaf_span, 0.0)
        shares = np.empty(len(level))
        for v in np.unique(level):
            rows = level == v
            if v < 0:
                upto, all_upto = (
                    np.concatenate([[0.0], np.cumsum(x)]) for x in (wanted, leaf_span)
                )
                first, last = low[rows], self.cells.high[rows, a] + 1
                shares[rows] = (upto[last] - upto[first]) / (all_upto[last] - all_upto[first])
                continue
            nodes = h.levels[:, v]
            inside = np.bincount(nodes, weights=wanted, minlength=len(h.labels[v]))
            span = h.spans[v] if h.spans else h.leaf_counts[v]
            shares[rows] = (inside / span)[nodes[low[rows]]]
        return np.minimum(shares, 1.0)
