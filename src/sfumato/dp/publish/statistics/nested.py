"""Statistics of sets and of trees, for every level of unit: item to customer, vertex to tree.

Sets: an item is in a set once. One transaction changes the counts of all items by at most its
items, of which at most ``Transaction(items=d)`` are kept; a customer has at most
``Customer(transactions=c, items=d)``. Trees: a vertex carries a label once; a tree has any number
of vertices with it, of which at most ``Tree(vertices=c)`` are kept. What is kept is drawn at random
among the parts of one transaction, customer or tree, with no regard to any other, so that one of
them changes nothing else. Where a subtree is hidden, others of the same tree are kept in the place
of its vertices: Δ = 2c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.neighbours import (
    Customer,
    Item,
    PrivacyUnit,
    Subtree,
    Transaction,
    Tree,
    Vertex,
)
from sfumato.dp.noise.stream import stream
from sfumato.dp.publish.statistics.statistic import (
    MeasuredValue,
    Statistic,
    add_noise,
    noise_margin,
    whole,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sfumato.data.trees.trees import Trees


@dataclass(frozen=True)
class OwnedSets:
    """Sets of items with whose they are: set i is ``lists[i]``, of the customer ``owners[i]``."""

    lists: list[list[str]]
    owners: NDArray[np.int64] | None = None


def _required(value: int | None, unit: PrivacyUnit, name: str) -> int:
    if value is None:
        raise ParameterError(
            f"{unit} may change the figures without limit; say how much of it is kept, as in "
            f"{type(unit).__name__}({name}=10)."
        )
    return value


def keep(owner: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the places of at most `most` parts of every owner, drawn at random."""
    order = np.lexsort((stream().uint64(len(owner)), owner))
    first = np.searchsorted(owner[order], owner[order])
    return np.sort(order[np.arange(len(order)) - first < most])


class SetStatistic(Statistic):
    """A statistic of sets of items."""

    shape: ClassVar[str] = "sets"
    units: ClassVar[tuple[type[PrivacyUnit], ...]] = (Item, Transaction, Customer)

    def _transactions(self, unit: PrivacyUnit) -> int:
        if isinstance(unit, Customer):
            return _required(unit.transactions, unit, "transactions")
        return 1

    def _kept(self, data: OwnedSets, unit: PrivacyUnit) -> list[list[str]]:
        """Return at most so many sets of each customer."""
        if not isinstance(unit, Customer):
            return data.lists
        if data.owners is None:
            raise ParameterError(
                "Nothing says which sets are of one customer; open the session with people=…, one "
                "name per set."
            )
        chosen = keep(data.owners, self._transactions(unit))
        return [data.lists[i] for i in chosen.tolist()]


@dataclass(frozen=True)
class SetsWith(SetStatistic):
    """How many sets hold all of some items: their support."""

    items: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _texts("items", self.items))

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 per set, times the sets of a customer."""
        return self._transactions(unit)

    def measure(self, data: OwnedSets, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count the sets."""
        wanted, most = set(self.items), self._transactions(unit)
        value = sum(wanted <= set(items) for items in self._kept(data, unit))
        return MeasuredValue(int(add_noise(value, most, epsilon)), noise_margin(most, epsilon))


@dataclass(frozen=True)
class ItemsBought(SetStatistic):
    """How many sets hold each of some public items."""

    items: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _texts("items", self.items))

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 for an item; the items kept of a transaction; times those of a customer."""
        if isinstance(unit, Item):
            return 1
        if len(self.items) == 1:
            return self._transactions(unit)
        assert isinstance(unit, Transaction | Customer)
        kept = min(_required(unit.items, unit, "items"), len(self.items))
        return kept * self._transactions(unit)

    def measure(self, data: OwnedSets, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count the sets with each item, each set with at most the items that are kept."""
        place = {item: number for number, item in enumerate(self.items)}
        sets = self._kept(data, unit)
        pairs = [(i, place[item]) for i, own in enumerate(sets) for item in set(own) & set(place)]
        found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        limit = None if isinstance(unit, Item) else getattr(unit, "items", None)
        notes: tuple[str, ...] = ()
        if limit is not None and limit < len(self.items):
            found = found[keep(found[:, 0], limit)]
            notes = (f"at most {limit} items of each set were kept, drawn at random",)
        counts = np.bincount(found[:, 1], minlength=len(self.items)).astype(np.int64)
        most = self.sensitivity(unit)
        assert most is not None
        noisy = add_noise(counts, most, epsilon)
        value = dict(zip(self.items, [int(x) for x in noisy], strict=True))
        return MeasuredValue(value, noise_margin(most, epsilon), notes)


class TreeStatistic(Statistic):
    """A statistic of trees."""

    shape: ClassVar[str] = "trees"
    units: ClassVar[tuple[type[PrivacyUnit], ...]] = (Vertex, Subtree, Tree)


def _kept_vertices(unit: PrivacyUnit) -> int:
    assert isinstance(unit, Tree | Subtree)
    return _required(unit.vertices, unit, "vertices")


def _by_vertices(unit: PrivacyUnit) -> int:
    """Return what a unit changes of counts that each vertex adds one to."""
    if isinstance(unit, Vertex):
        return 1
    return _kept_vertices(unit) * (2 if isinstance(unit, Subtree) else 1)


def values_of(data: Trees, label: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the values of a label that are there, and the trees they are of.

    Which labels there are, and which of them are lists, is known from the trees alone, so neither
    may show: a label that no tree has is no error but nothing, a single value counts as a list of
    one, and a value that is missing counts nowhere. Then a tree changes what it holds itself.
    """
    if label not in data.values:
        return np.zeros(0, dtype=object), np.zeros(0, dtype=np.int64)
    kind = next(n for n, t in enumerate(data.types) if label in t.labels)
    values, owners = data.values[label], data.record[data.of_type[kind]].astype(np.int64)
    there = np.array([value != "" for value in values], dtype=np.bool_)
    return values[there], owners[there]


def _vertices(data: Trees, path: str) -> NDArray[np.int64]:
    """Return the trees of the vertices at a path: its values, or the objects that stand there."""
    if path in data.values:
        return values_of(data, path)[1]
    if path in data.numbers:
        return data.record[data.of_type[data.numbers[path]]].astype(np.int64)
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class TreesWith(TreeStatistic):
    """How many trees have a vertex with a value of a label: one tree or vertex changes it by 1."""

    label: str
    value: str

    def sensitivity(self, unit: PrivacyUnit) -> int | None:  # noqa: ARG002 - the same for all
        """Return 1."""
        return 1

    def measure(self, data: Trees, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:  # noqa: ARG002 - the same for all
        """Count the trees."""
        values, owners = values_of(data, self.label)
        found = len(np.unique(owners[values == str(self.value)]))
        return MeasuredValue(int(add_noise(found, 1, epsilon)), noise_margin(1, epsilon))


@dataclass(frozen=True)
class LabelCounts(TreeStatistic):
    """How many vertices have each of some public values of a label: enrolments per course."""

    label: str
    among: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "among", _texts("among", self.among))

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 per vertex, times those that are kept of a tree or subtree."""
        return _by_vertices(unit)

    def measure(self, data: Trees, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count vertices by value, at most so many of each tree."""
        values, owners = values_of(data, self.label)
        place = {value: number for number, value in enumerate(self.among)}
        codes = np.array([place.get(str(value), -1) for value in values], dtype=np.int64)
        at = np.flatnonzero(codes >= 0)
        most = self.sensitivity(unit)
        assert most is not None
        notes: tuple[str, ...] = ()
        if not isinstance(unit, Vertex):
            kept = _kept_vertices(unit)
            at = at[keep(owners[at], kept)]
            notes = (f"at most {kept} vertices of each tree were kept, drawn at random",)
        counts = np.bincount(codes[at], minlength=len(self.among)).astype(np.int64)
        noisy = add_noise(counts, most, epsilon)
        value = dict(zip(self.among, [int(x) for x in noisy], strict=True))
        return MeasuredValue(value, noise_margin(most, epsilon), notes)


@dataclass(frozen=True)
class VerticesPerLevel(TreeStatistic):
    """How many vertices each of some public vertex types has, such as visits and diagnoses."""

    types: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", _texts("types", self.types))

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 per vertex, times those that are kept of a tree or subtree."""
        return _by_vertices(unit)

    def measure(self, data: Trees, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count vertices by type, at most so many of each tree."""
        found = [_vertices(data, path) for path in self.types]
        owners = np.concatenate(found)
        codes = np.repeat(np.arange(len(found)), [len(part) for part in found])
        at = np.arange(len(owners))
        most = self.sensitivity(unit)
        assert most is not None
        if not isinstance(unit, Vertex):
            at = keep(owners, _kept_vertices(unit))
        counts = np.bincount(codes[at], minlength=len(self.types)).astype(np.int64)
        noisy = add_noise(counts, most, epsilon)
        value = dict(zip(self.types, [int(x) for x in noisy], strict=True))
        return MeasuredValue(value, noise_margin(most, epsilon))


@dataclass(frozen=True)
class Enrolments(TreeStatistic):
    """How often one value of a label occurs; `most` is how often one tree may count."""

    label: str
    value: str
    most: int = 1

    def __post_init__(self) -> None:
        whole("most", self.most)

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 for a vertex, the most per tree otherwise."""
        return 1 if isinstance(unit, Vertex) else self.most

    def measure(self, data: Trees, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count vertices, of every tree at most so many."""
        values, owners = values_of(data, self.label)
        mine = np.bincount(owners[values == str(self.value)], minlength=len(data))
        if not isinstance(unit, Vertex):
            mine = np.minimum(mine, self.most)
        most = self.sensitivity(unit)
        assert most is not None
        return MeasuredValue(
            int(add_noise(int(mine.sum()), most, epsilon)), noise_margin(most, epsilon)
        )


def _texts(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ParameterError(f"{name} must be a list of texts; write ['{values}'].")
    found = tuple(dict.fromkeys(str(value) for value in values))
    if not found:
        raise ParameterError(f"{name} must name at least one.")
    return found
