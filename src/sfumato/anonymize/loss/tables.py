"""What a released table costs, by any tool: told from the original and the released rows alone.

`sf.loss` measures releases of ours, tables generalised by hand and those of other tools in the same
words: LM, MD, discernibility, class size and query error (`measures`, `cells`, `queries` have the
formulas). Records are not matched: a released label is a set of leaves of the hierarchy, and costs
what a node or range of so many leaves costs. A label may be a node, a range `[a,b]`, an
interval `[a,b)`, `<a` or `>=a`, a mask `130**`, a group `{a, b}` or `*`. Records that are missing
from the release are suppressed; those that show `*` everywhere are a class like any other.

Leaves are the values that may occur where a domain or tree is declared, and those that do occur
otherwise: `[30,40)` costs 9/99 over a domain of 0 to 99, and 1 over a table whose ages all lie in
it. `notes` say where that was so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.loss.cells import CELL_MEASURES
from sfumato.anonymize.loss.measures import (
    class_loss,
    class_values,
    leaf_counts,
    normalized_weights,
)
from sfumato.anonymize.loss.queries import QueryLoss, compare_answers, query_masks
from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy
from sfumato.data.schema import Schema
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import bind_hierarchies, frequency_table
from sfumato.data.wording import listed
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.released.compatibility import stands_for
from sfumato.released.labels import Labels
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.loss.queries import Masks, Query
    from sfumato.data.tables.frequency import FrequencyTable


@dataclass(frozen=True, eq=False, repr=False)
class TableLoss(Shown):
    """Losses by name: those in capitals lie in [0, 1], the others are sums, counts and averages.

    `attributes` has LM and MD of each quasi-identifier; `queries` the errors of the count queries;
    `notes` what to know of the figures.
    """

    source: str
    values: Mapping[str, float]
    attributes: Mapping[str, Mapping[str, float]]
    queries: QueryLoss
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise ParameterError(f"There is no loss '{name}'; there are {listed(self.values)}.")
        return self.values[name]

    def __str__(self) -> str:
        lines = [f"What {self.source} lost:"]
        lines += [f"  {name}: {value:.6g}" for name, value in self.values.items()]
        for name, found in self.attributes.items():
            figures = ", ".join(f"{label} {value:.6g}" for label, value in found.items())
            lines.append(f"  {name}: {figures}")
        lines += [f"  note: {text}" for text in self.notes]
        return "\n".join(lines)


def loss(
    original: Any,
    released: Any,
    schema: Schema | str | Path,
    *,
    workload: Sequence[Query] | None = None,
    queries: int = 500,
    seed: int = 0,
) -> TableLoss:
    """Return what a released table lost against the original, made by any tool.

    Both are files, frames or mappings of columns; `schema` says which columns are
    quasi-identifiers, with their hierarchies, domains and weights. `workload` are count queries
    as `sf.query_error` takes them; without one, `queries` random ones are asked.

    >>> import sfumato as sf
    >>> schema = sf.Schema(quasi={"zip": sf.Hierarchy.mask(5)})
    >>> sf.loss({"zip": ["13053", "13068"]}, {"zip": ["130**", "130**"]}, schema)["LM"]
    1.0
    """
    rules = schema if isinstance(schema, Schema) else Schema.read(schema)
    came, left = read(original, schema=rules), read(released)
    names = rules.quasi_names
    if not names:
        raise SchemaError(f"{rules.source} names no quasi-identifier, so nothing can be lost.")
    rules.check_columns(came.columns, came.source)
    counted = came.count(names)
    trees = bind_hierarchies(counted, rules)
    table, _ = frequency_table(counted, rules, trees, ())
    shown = left.count(tuple(name for name in names if name in left.columns))
    rows = int(shown.counts.sum())
    if rows > table.rows or not table.rows:
        raise DataError(
            f"{left.source} has {rows:,} records and {came.source} {table.rows:,}; a release has "
            "at most as many as the original, and that at least one."
        )
    columns = tuple(
        _Column(tree, *_labels(shown, name, rows), name, left.source, leaf_counts(table, a, tree))
        for a, (name, tree) in enumerate(zip(names, trees, strict=True))
    )
    suppressed = table.rows - rows
    each = {
        column.name: {label: column.mean(label, shown.counts, suppressed) for label in ("LM", "MD")}
        for column in columns
    }
    weights = normalized_weights(names, rules.weights)
    found = {
        label: float(sum(w * each[n][label] for n, w in zip(names, weights, strict=True)))
        for label in ("LM", "MD")
    }
    found |= {"LM sum": found["LM"] * table.rows}
    found["MD sum"] = sum(
        each[column.name]["MD"] * table.rows * max(column.tree.height - 1, 1) for column in columns
    )
    found |= {label: class_loss(label, shown.counts, suppressed) for label in ("DM", "AECS")}
    found |= class_values(shown.counts, suppressed)
    asked = _asked(table, trees, shown.counts, columns, workload, queries, seed)
    found |= {"query error, median": asked.median, "query error, mean": asked.mean}
    return TableLoss(left.source, found, each, asked, _notes(rules, columns))


def _labels(shown: Any, name: str, rows: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the label of every released class; a column that was left out tells nothing."""
    if name not in shown.columns:
        return np.zeros(len(shown.counts) if rows else 0, dtype=np.int64), (ROOT,)
    place = shown.columns.index(name)
    return shown.codes[place].astype(np.int64), shown.values[place]


@dataclass(frozen=True, eq=False)
class _Column:
    """A quasi-identifier: its tree over the original values, and the released labels."""

    tree: Hierarchy
    code: NDArray[np.int64]
    labels: tuple[str, ...]
    name: str
    source: str
    counts: NDArray[np.int64]

    @cached_property
    def leaves(self) -> tuple[NDArray[np.bool_], ...]:
        """Which leaves each label may stand for."""
        known = Labels(self.tree)
        found = []
        for label in self.labels:
            mask = known.leaves(label)
            if mask is None and label != MISSING:
                mask = np.array([stands_for(label, leaf) for leaf in self.tree.leaves], np.bool_)
            if mask is None or not mask.any():
                raise DataError(
                    f"{self.source} shows labels of '{self.name}' that stand for no value of its "
                    "hierarchy; declare the hierarchy that they are of in the schema."
                )
            found.append(mask)
        return tuple(found)

    @cached_property
    def nodes(self) -> tuple[tuple[int, int] | None, ...]:
        """The level and node that each label names, the finest; None for ranges and the like."""
        found: list[tuple[int, int] | None] = []
        for label, mask in zip(self.labels, self.leaves, strict=True):
            first, size = int(np.argmax(mask)), int(mask.sum())
            levels = self.tree.levels[first]
            same = [v for v in range(self.tree.height)
                    if (self.tree.labels[v][levels[v]] == label or label == ROOT)
                    and self.tree.leaf_counts[v][levels[v]] == size
                    and (self.tree.levels[mask, v] == levels[v]).all()]  # fmt: skip
            found.append((same[0], int(levels[same[0]])) if same else None)
        return tuple(found)

    def price(self, label: str) -> NDArray[np.float64]:
        """Return what a cell with each label costs, by LM or MD."""
        if label == "LM":
            sizes = np.array([mask.sum() for mask in self.leaves], dtype=np.float64)
            prices: NDArray[np.float64] = (sizes - 1) / max(self.tree.size - 1, 1)
            return prices
        by_level = CELL_MEASURES[label].by_level(self.tree, self.counts)
        found = np.zeros(len(self.labels))
        for i, mask in enumerate(self.leaves):
            below = np.flatnonzero(mask)
            level = next(
                v
                for v in range(self.tree.height)
                if (self.tree.levels[below, v] == self.tree.levels[below[0], v]).all()
            )
            weights = self.counts[below] if self.counts[below].any() else None
            found[i] = np.average(by_level[below, level], weights=weights)
        return found

    def mean(self, label: str, sizes: NDArray[np.int64], suppressed: int) -> float:
        """Return the mean cost of a cell; a suppressed one costs 1."""
        total = float((self.price(label)[self.code] * sizes).sum()) + suppressed
        return min(total / max(int(sizes.sum()) + suppressed, 1), 1.0)

    def shares(self, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return per label the share of the values it stands for that are wanted."""
        spans = self.tree.spans
        each = spans[0][self.tree.levels[:, 0]] if spans else np.ones(self.tree.size)
        found = np.zeros(len(self.labels))
        for i, (mask, node) in enumerate(zip(self.leaves, self.nodes, strict=True)):
            if node is not None and spans:
                whole = float(spans[node[0]][node[1]])
            else:
                known = Labels(self.tree).leaves(self.labels[i]) is not None
                written = 0.0 if known else _written(self.labels[i])
                whole = max(written, float(each[mask].sum()))
            found[i] = min(float(each[mask & wanted].sum()) / whole, 1.0)
        return found


_INTERVAL = re.compile(r"\[(-?\d+),(-?\d+)([\])])")
_MASK = re.compile(r"\d*(\*+)")


def _written(label: str) -> float:
    """Return how many whole numbers a label stands for as it is written; 0 where it is no such."""
    if (interval := _INTERVAL.fullmatch(label)) is not None:
        low, high, end = interval.groups()
        return float(int(high) - int(low) + (end == "]"))
    mask = _MASK.fullmatch(label) if label != ROOT else None
    return 0.0 if mask is None else float(10 ** len(mask[1]))


def _asked(
    table: FrequencyTable,
    trees: tuple[Hierarchy, ...],
    sizes: NDArray[np.int64],
    columns: tuple[_Column, ...],
    workload: Sequence[Query] | None,
    queries: int,
    seed: int,
) -> QueryLoss:
    asked = query_masks(table, trees, workload, queries=queries, seed=seed)

    def answer(masks: Masks) -> float:
        expected = sizes.astype(np.float64)
        for a, wanted in masks.items():
            expected = expected * columns[a].shares(wanted)[columns[a].code]
        return float(expected.sum())

    return compare_answers(table, asked, np.array([answer(masks) for masks in asked]))


def _notes(schema: Schema, columns: tuple[_Column, ...]) -> tuple[str, ...]:
    return tuple(
        f"LM of {column.name} is over the {column.tree.size:,} values that occur, for the schema "
        "declares neither a domain nor a tree"
        for column in columns
        if schema.attribute(column.name).domain is None
        and not isinstance(schema.attribute(column.name).hierarchy, Hierarchy)
    )
