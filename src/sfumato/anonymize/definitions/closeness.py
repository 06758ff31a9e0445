"""t-closeness: no class tells much more about a sensitive attribute than the whole table.

Li, Li, Venkatasubramanian: t-Closeness: Privacy Beyond k-Anonymity and l-Diversity, ICDE
2007. With the shares p of a class and q of the table, the distance is one of

* equal: ½·Σ|p − q|, the variational distance, which is the earth mover's distance when
  all values are equally far apart;
* kl: Σ p·log(p/q), the Kullback–Leibler divergence in nats, which may exceed 1;
* ordered: earth mover's distance when neighbouring values are 1/(m − 1) apart, m being
  the number of values that occur in the table: Σ|Σ_{j≤i}(p_j − q_j)| / (m − 1);
* hierarchical: earth mover's distance when two values are as far apart as the level of
  their lowest common ancestor divided by the level of the root, H. On such a tree it is
  Σ over levels below the root, over nodes, of |p(node) − q(node)| / (2H), since every
  edge between two levels is 1/(2H) long and carries exactly the difference beneath it.

A class holds when its distance is at most t. Each distance is convex in p while q stays
fixed, so a union of classes that hold, holds (union-closed). None is monotone: records
of one value that join a class move it away from the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from sfumato.anonymize.definitions.definition import TOLERANCE, SensitiveDefinition, number_between
from sfumato.anonymize.definitions.diversity import attribute_name, finite_number
from sfumato.anonymize.definitions.option import Option, number, number_and_attribute
from sfumato.errors import HierarchyError, ParameterError, SchemaError
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.schema import Schema
else:
    np = later("numpy")  # a definition is also read for its option alone

Distance = Literal["equal", "kl", "ordered", "hierarchical"]

_SYNONYMS = {"variational": "equal"}
_NEVER_SEEN = 1e-300  # share of a value the table does not have: far away, yet finite


def _read(text: str) -> Definition:
    t, attribute = number_and_attribute("-t", text)
    head, _, kind = attribute.rpartition(":")
    if head and kind in get_args(Distance):
        distance: Any = kind
        return TCloseness(number("-t", t), head, distance)
    return TCloseness(number("-t", t), attribute)


@dataclass(frozen=True)
class TCloseness(SensitiveDefinition):
    """In every class the sensitive attribute is spread almost as in the whole table.

    >>> import sfumato as sf
    >>> str(sf.TCloseness(0.2, "pay", distance="ordered"))
    '0.2-closeness of pay (ordered distance)'
    """

    t: float
    attribute: str
    distance: Distance = "equal"
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = Option(
        "closeness",
        ("-t", "--t"),
        "T:ATTR",
        "t-closeness of a sensitive attribute, as T:ATTRIBUTE or T:ATTRIBUTE:DISTANCE with "
        "distance equal, kl, ordered or hierarchical; may be repeated.",
        _read,
    )

    def __post_init__(self) -> None:
        attribute_name(self.attribute, "TCloseness")
        distance = _SYNONYMS.get(self.distance, self.distance)
        if distance not in get_args(Distance):
            raise ParameterError(
                f"distance must be one of {', '.join(get_args(Distance))}, not {self.distance!r}."
            )
        object.__setattr__(self, "distance", distance)
        bounded = number_between("t", self.t, 0, 1) if distance != "kl" else None
        t = finite_number("t", self.t, 0.0) if bounded is None else bounded
        object.__setattr__(self, "t", t)

    def distances(self, classes: Classes) -> NDArray[np.float64]:
        """Return how far each class is from the whole table."""
        view = self.histogram(classes)
        if self.distance == "equal":
            return variational(view)
        if self.distance == "kl":
            return kullback_leibler(view)
        if self.distance == "ordered":
            return ordered_earth_mover(view)
        return hierarchical_earth_mover(view, self.attribute)

    def check_schema(self, schema: Schema) -> None:
        """Refuse trees that change with the values: a reader of the release would see another."""
        from sfumato.data.hierarchies.hierarchy import Hierarchy  # noqa: PLC0415 - loads NumPy

        super().check_schema(schema)
        declared = schema.attribute(self.attribute).hierarchy
        if self.distance != "hierarchical" or declared is None or isinstance(declared, Hierarchy):
            return
        raise SchemaError(
            f"{self} measures along the hierarchy of '{self.attribute}', which {schema.source} "
            "gives as a rule; a rule's tree changes with the values that are released, so give a "
            "tree or a hierarchy file."
        )

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the distance is at most t."""
        return self.distances(classes) <= self.t + TOLERANCE

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Distance beyond t."""
        gap = self.distances(classes) - self.t
        return np.where(gap <= TOLERANCE, 0.0, gap)

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how far the values of people who look alike may be from those of all."""
        return (
            f"Among people who look alike, {self.attribute} is spread as in the whole release, up "
            f"to a distance of {self.t:g} ({self.distance})."
        )

    def __str__(self) -> str:
        return f"{self.t:g}-closeness of {self.attribute} ({self.distance} distance)"


def variational(view: SensitiveHistogram) -> NDArray[np.float64]:
    """Return ½·Σ|p − q| per class."""
    distance: NDArray[np.float64] = 0.5 * np.abs(view.shares - view.overall).sum(axis=1)
    return distance


def kullback_leibler(view: SensitiveHistogram) -> NDArray[np.float64]:
    """Return Σ p·log(p/q) per class, in nats; absent values add nothing."""
    shares = view.shares
    ratio = shares / np.maximum(view.overall, _NEVER_SEEN)
    logs = np.log(ratio, out=np.zeros_like(ratio), where=shares > 0)
    divergence: NDArray[np.float64] = (shares * logs).sum(axis=1)
    return divergence


def ordered_earth_mover(view: SensitiveHistogram) -> NDArray[np.float64]:
    """Return the earth mover's distance over values in a row, ends one unit apart."""
    occurs = view.total > 0
    if np.count_nonzero(occurs) < 2:
        return np.zeros(len(view.counts))
    differences = view.shares[:, occurs] - view.overall[occurs]
    flow = np.abs(np.cumsum(differences, axis=1)).sum(axis=1)
    distance: NDArray[np.float64] = flow / (differences.shape[1] - 1)
    return distance


def hierarchical_earth_mover(view: SensitiveHistogram, attribute: str) -> NDArray[np.float64]:
    """Return the earth mover's distance over the leaves of the attribute's hierarchy."""
    if view.hierarchy is None:
        raise HierarchyError(
            f"The hierarchical distance needs a hierarchy for the sensitive attribute "
            f"'{attribute}'; give it one in the schema, or choose the equal or ordered distance."
        )
    nodes = tree_nodes(view.hierarchy, view.values, attribute)
    distance = np.zeros(len(view.counts))
    flow, below = view.shares - view.overall, np.arange(view.counts.shape[1])
    for level in nodes:
        # `below` numbers the nodes one level down: their flows are added up, not the leaves' again
        parents = np.empty(flow.shape[1], dtype=np.int64)
        parents[below] = level
        order = np.argsort(parents, kind="stable")
        found, starts = np.unique(parents[order], return_index=True)
        if len(found) < flow.shape[1]:
            flow = np.add.reduceat(flow[:, order], starts, axis=1)
            below = np.searchsorted(found, level)
        distance += np.abs(flow).sum(axis=1)
    return distance / max(2 * len(nodes), 1)


@lru_cache(maxsize=32)
def tree_nodes(tree: Hierarchy, values: tuple[str, ...], attribute: str) -> NDArray[np.int32]:
    """Return the node of each value on every level below the root, one row per level."""
    bound = tree.over(values, attribute) if values else tree
    leaves = [bound.codes[value] for value in values] if values else slice(None)
    nodes: NDArray[np.int32] = bound.levels[leaves, : bound.height - 1].T
    return nodes
