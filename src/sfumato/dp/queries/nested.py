"""Counts in transactions and in trees, for every level of unit: item to customer, vertex to tree.

Contract: transactions are sequences of items (repeats allowed where a thing can be bought
twice); tree-shaped records are sequences of the labels of their vertices. A unit of a finer level
changes one record by one part; a record without parts is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.dp.neighbours import Customer, Item, Transaction, Tree, Vertex
from sfumato.dp.queries.base import (
    Query,
    Sensitivity,
    check_count,
    refuse,
    scalar,
    truncation_needed,
    unlimited,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sfumato.dp.neighbours import Neighbours


@dataclass(frozen=True)
class ItemsetSupport(Query):
    """How many transactions contain all items of a set.

    An item or a transaction decides about one transaction: Δ = 1. A customer decides about all of
    hers: Δ = her most transactions.
    """

    items: frozenset[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", frozenset(self.items))
        if not self.items:
            raise ParameterError("An itemset has at least one item.")

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive 1, or the most transactions of one customer."""
        unit = neighbours.unit
        if isinstance(unit, (Item, Transaction)):
            return scalar(1, "one transaction contains the itemset or not")
        if not isinstance(unit, Customer):
            raise refuse(self, unit, "items, transactions and customers")
        if unit.transactions is None:
            return truncation_needed(neighbours)
        most = unit.transactions
        return scalar(most, f"{most} transactions of one customer contain the itemset or not")

    def evaluate(self, data: Sequence[Collection[Any]]) -> int:
        """Count the transactions that contain the set."""
        return sum(1 for transaction in data if self.items <= set(transaction))


@dataclass(frozen=True)
class ItemCount(Query):
    """How often one item was bought in all; ``most`` is the most of it in one transaction.

    Δ = 1 per item bought; ``most`` per transaction, which never exceeds its items; times the most
    transactions per customer.
    """

    item: Any
    most: int | None = None

    def __post_init__(self) -> None:
        if self.most is not None:
            check_count("The most of an item in one transaction", self.most)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive 1, the most per transaction, or that times the most transactions."""
        unit = neighbours.unit
        if isinstance(unit, Item):
            return scalar(1, "one item is bought or not")
        if not isinstance(unit, (Transaction, Customer)):
            raise refuse(self, unit, "items, transactions and customers")
        limits = [limit for limit in (self.most, unit.items) if limit is not None]
        if not limits:
            return unlimited(
                "one transaction may hold any number of the item",
                "Keep at most so many per transaction and declare it, as in ItemCount(…, most=10).",
            )
        most = min(limits)
        if isinstance(unit, Transaction):
            return scalar(most, f"one transaction holds at most {most} of it")
        if unit.transactions is None:
            return truncation_needed(neighbours)
        return scalar(
            most * unit.transactions,
            f"one customer has {unit.transactions} transactions with at most {most} of it each",
        )

    def evaluate(self, data: Sequence[Sequence[Any]]) -> int:
        """Count the occurrences."""
        return sum(list(transaction).count(self.item) for transaction in data)


@dataclass(frozen=True)
class TreeCount(Query):
    """How many tree-shaped records satisfy a condition: Δ = 1, per tree and per vertex."""

    where: str | None = None

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive 1."""
        if not isinstance(neighbours.unit, (Tree, Vertex)):
            raise refuse(self, neighbours.unit, "trees and their vertices")
        return scalar(1, "one record satisfies the condition or not")

    def evaluate(self, data: Sequence[Any]) -> int:
        """Count the true entries, one per tree."""
        return sum(1 for entry in data if entry)


@dataclass(frozen=True)
class LabelCount(Query):
    """How many vertices carry a label, over all trees; ``most`` is the most in one tree.

    Δ = 1 per vertex; per tree ``most``, which never exceeds its vertices.
    """

    label: Any
    most: int | None = None

    def __post_init__(self) -> None:
        if self.most is not None:
            check_count("The most vertices with a label in one tree", self.most)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive 1 for a vertex, the most per tree for a tree."""
        unit = neighbours.unit
        if isinstance(unit, Vertex):
            return scalar(1, "one vertex carries the label or not")
        if not isinstance(unit, Tree):
            raise refuse(self, unit, "trees and their vertices")
        limits = [limit for limit in (self.most, unit.vertices) if limit is not None]
        if not limits:
            return unlimited(
                "one tree may hold any number of such vertices",
                "Keep at most so many per tree and declare it, as in LabelCount(…, most=3).",
            )
        return scalar(min(limits), f"one tree holds at most {min(limits)} such vertices")

    def evaluate(self, data: Sequence[Sequence[Any]]) -> int:
        """Count the vertices with the label."""
        return sum(list(tree).count(self.label) for tree in data)
