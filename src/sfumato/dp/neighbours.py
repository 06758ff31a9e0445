"""Neighbouring data sets: what differential privacy hides, exactly.

Contract: a :class:`Neighbours` value says which pairs of data sets a guarantee compares. It
has a *privacy unit* (whose presence or data is hidden: a row, a person with several rows, an
edge, a node, …) and a *relation*: ``unbounded`` neighbours differ by adding or removing one
unit, ``bounded`` ones by replacing the data of one unit by other data of the same kind
(Kifer and Machanavajjhala, "No free lunch in data privacy", SIGMOD 2011).

Units nest, and the coarser one is a set of finer ones: a transaction is its items, a customer
her transactions, a tree its vertices, a person her rows. A unit without parts is no unit: an
empty transaction is the absence of a transaction. Limits that the user declares and the system
enforces by truncation (``rows``, ``items``, ``transactions``, ``vertices``, ``points``,
``degree``) are part of the unit, because sensitivities follow from them; ``None`` means no limit.

How a guarantee carries over from one relation or unit to another is in
:mod:`sfumato.dp.accounting.restating`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeAlias

from sfumato.errors import ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Mapping

Relation: TypeAlias = Literal["unbounded", "bounded"]


def _check_limits(unit: PrivacyUnit, names: tuple[str, ...]) -> None:
    for name in names:
        limit = getattr(unit, name)
        if limit is None:
            continue
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise ParameterError(
                f"The limit {name!r} of a {type(unit).__name__} is a whole number of at least 1, "
                f"or None for no limit, and {limit!r} was given."
            )


@dataclass(frozen=True)
class PrivacyUnit(Written):
    """Whose data one step between neighbours may change; use a subclass."""

    @property
    def noun(self) -> str:
        """How the unit is called in a sentence."""
        return type(self).__name__.lower()

    @property
    def parts(self) -> int | None:
        """How many disjoint parts of the records one unit may touch; ``None`` when unlimited.

        Of a unit that owns whole records (rows, transactions, trees) it is how many of them.
        """
        return 1

    def __str__(self) -> str:
        return f"one {self.noun}"

    def stated(self) -> str:
        """State the unit with all its limits, as ledgers keep it: a text that never changes."""
        held = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(held)})"


@dataclass(frozen=True)
class Row(PrivacyUnit):
    """One row, belonging to one person who has no other."""


@dataclass(frozen=True)
class Unit(PrivacyUnit):
    """All rows that share a value of the column ``name``: usually a person.

    ``rows`` limits the rows of one unit, ``groups`` the groups of a GROUP BY that they may
    fall into, ``rows_per_group`` the rows inside each of those.
    """

    name: str
    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ParameterError("A privacy unit needs the name of the column that identifies it.")
        _check_limits(self, ("rows", "groups", "rows_per_group"))

    @property
    def noun(self) -> str:
        """The unit's column, with the limits that hold for it."""
        limits = [
            f"at most {count} {what}"
            for count, what in (
                (self.rows, "rows"),
                (self.groups, "groups"),
                (self.rows_per_group, "rows per group"),
            )
            if count is not None
        ]
        return f"{self.name} ({', '.join(limits)})" if limits else f"{self.name} (all its rows)"

    @property
    def parts(self) -> int | None:
        """Every row may fall into a part of its own."""
        return self.max_rows

    @property
    def max_rows(self) -> int | None:
        """The most rows one unit has, from all its limits together."""
        product = (
            self.groups * self.rows_per_group
            if self.groups is not None and self.rows_per_group is not None
            else None
        )
        limits = [limit for limit in (self.rows, product) if limit is not None]
        return min(limits) if limits else None


@dataclass(frozen=True)
class Item(PrivacyUnit):
    """One item of one transaction."""


@dataclass(frozen=True)
class Transaction(PrivacyUnit):
    """One transaction with at most ``items`` items."""

    items: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("items",))


@dataclass(frozen=True)
class Customer(PrivacyUnit):
    """All transactions of one customer: at most ``transactions`` of at most ``items`` items."""

    transactions: int | None = None
    items: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("transactions", "items"))

    @property
    def parts(self) -> int | None:
        """A customer's transactions may fall into different parts."""
        return self.transactions


@dataclass(frozen=True)
class Vertex(PrivacyUnit):
    """One labelled vertex of one tree-shaped record."""


@dataclass(frozen=True)
class Tree(PrivacyUnit):
    """One whole tree-shaped record with at most ``vertices`` vertices."""

    vertices: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("vertices",))


@dataclass(frozen=True)
class Subtree(PrivacyUnit):
    """One vertex of a tree-shaped record with all below it: at most ``vertices`` vertices.

    Bounded neighbours have the same tree but for what hangs below one vertex.
    """

    vertices: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("vertices",))


@dataclass(frozen=True)
class Trip(PrivacyUnit):
    """One trip: the points of one trajectory, at most ``points`` of them.

    Somebody who makes several trips is protected in each of them alone; ``Unit("person",
    rows=…)`` protects all her trips together.
    """

    points: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("points",))


@dataclass(frozen=True)
class Edge(PrivacyUnit):
    """One edge of a graph whose vertices are public: at most ``vertices`` of them.

    ``degree`` declares that no vertex has more edges, in any data set considered.
    """

    vertices: int | None = None
    degree: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("vertices", "degree"))


@dataclass(frozen=True)
class Node(PrivacyUnit):
    """One vertex of a graph with all its edges.

    ``vertices`` is the most vertices the graph has before one is added; ``degree`` declares that
    no vertex has more edges, in any data set considered: a graph that exceeds it is refused, none
    is cut down to it. Bounded neighbours have the same vertices and differ in the edges of one.
    """

    vertices: int | None = None
    degree: int | None = None

    def __post_init__(self) -> None:
        _check_limits(self, ("vertices", "degree"))

    @property
    def parts(self) -> int | None:
        """A vertex with its edges may touch every part of a graph."""
        return None


@dataclass(frozen=True)
class Person(PrivacyUnit):
    """One person who perturbs her own value before it leaves her device (local model)."""


@dataclass(frozen=True)
class Group(PrivacyUnit):
    """``size`` units whose data may all change together: a family, a set of correlated rows.

    The limits of the unit hold for each member; the ``vertices`` of a group of nodes are those
    before the first of them is added.
    """

    unit: PrivacyUnit
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", unit_of(self.unit))
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise ParameterError(
                f"A group has a whole number of members, at least 1, and {self.size!r} was given."
            )

    @property
    def noun(self) -> str:
        """The group and its members."""
        return f"group of {self.size}, each {self.unit}"

    @property
    def members(self) -> tuple[PrivacyUnit, int]:
        """The unit that is no group itself, and how many of it there are."""
        if not isinstance(self.unit, Group):
            return self.unit, self.size
        unit, size = self.unit.members
        return unit, size * self.size

    @property
    def parts(self) -> int | None:
        """Members may be in different parts."""
        return None if self.unit.parts is None else self.unit.parts * self.size


ALL: tuple[type[PrivacyUnit], ...] = (
    Row, Unit, Item, Transaction, Customer, Vertex, Subtree, Tree, Edge, Node, Trip, Person,
)  # fmt: skip
"""Every unit that is no group."""

_NAMED: Mapping[str, PrivacyUnit] = {
    "row": Row(),
    "item": Item(),
    "transaction": Transaction(),
    "customer": Customer(),
    "vertex": Vertex(),
    "tree": Tree(),
    "subtree": Subtree(),
    "trip": Trip(),
    "edge": Edge(),
    "node": Node(),
    "person": Person(),
}


@dataclass(frozen=True)
class Neighbours(Written):
    """Which data sets are neighbours: a relation and a privacy unit.

    ``Neighbours("bounded")`` is about rows; ``Neighbours("unbounded", "edge")`` names a unit
    without limits; ``Neighbours("unbounded", Unit("user_id", rows=5))`` declares limits.
    """

    relation: Relation = "unbounded"
    unit: PrivacyUnit = Row()

    def __post_init__(self) -> None:
        if self.relation not in {"unbounded", "bounded"}:
            raise ParameterError(
                f"Neighbours are 'unbounded' (one unit added or removed) or 'bounded' (one unit "
                f"replaced), and {self.relation!r} was given."
            )
        object.__setattr__(self, "unit", unit_of(self.unit))

    @classmethod
    def of(cls, value: Neighbours | PrivacyUnit | str) -> Neighbours:
        """Read a relation ('bounded'), a unit ('edge', ``Unit(...)``: unbounded) or both."""
        if isinstance(value, Neighbours):
            return value
        if isinstance(value, PrivacyUnit):
            return cls("unbounded", value)
        if value == "unbounded":
            return cls("unbounded")
        if value == "bounded":
            return cls("bounded")
        return cls("unbounded", unit_of(value))

    @property
    def bounded(self) -> bool:
        """Whether neighbours replace one unit instead of adding or removing it."""
        return self.relation == "bounded"

    def __str__(self) -> str:
        change = "replaced by another" if self.bounded else "added or removed"
        return f"{self.unit} {change}"


def named_units() -> Mapping[str, PrivacyUnit]:
    """Give the units that a word names."""
    return _NAMED


def unit_of(value: PrivacyUnit | str) -> PrivacyUnit:
    """Read a privacy unit; a plain word must be one of the known units."""
    if isinstance(value, PrivacyUnit):
        return value
    if isinstance(value, str) and value in _NAMED:
        return _NAMED[value]
    raise ParameterError(
        f"{value!r} is not a privacy unit; use one of {', '.join(map(repr, _NAMED))}, or "
        "Unit('column', rows=…) for a person who owns several rows."
    )


ROW = Row()
UNBOUNDED = Neighbours("unbounded")
BOUNDED = Neighbours("bounded")
