"""Statistics of a graph, for one edge or for one node with all its edges.

Under *edge* privacy the nodes are public. Edges and degrees get geometric noise, degree sequences
noise and the closest sequence that never falls (Hay, Li, Miklau, Jensen, ICDM 2009: one edge moves
a sorted degree sequence by 2 in all), triangles, stars and cliques noise that fits the graph
(:mod:`.ladders`). Under *node* privacy edges and nodes of a degree get the noise that a declared
``Node(degree=…)`` or ``Node(vertices=…)`` asks for; without one, and for distributions, a graph is
cut down to a limit on degrees that is found privately with two fifths of ε (:mod:`.projection`).
For triangles, stars and cliques no such cut
has a useful bound: there the owner declares a largest degree, and the forecast tells how little is
left. The promise is then about graphs that keep to it, and a graph that does not is refused when a
session is opened and when it is measured (`check_declared`): so it is the owner who learns of it,
and no answer is given whose promise does not hold. That a graph keeps to its declared degree counts
as known to everybody.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.dp.neighbours import Edge, Node, PrivacyUnit
from sfumato.dp.publish.statistics import ladders
from sfumato.dp.publish.statistics.projection import ProjectedGraph, find_limit, rising, with_tail
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

    from sfumato.data.graphs.graph import Graph

SHARE = 2, 5
"""The share of ε that finding a limit on degrees gets."""


def _split(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    first = epsilon * SHARE[0] / SHARE[1]
    return first, epsilon - first


def check_declared(graph: Graph, unit: PrivacyUnit) -> None:
    """Refuse a graph that exceeds what its unit declares of all graphs that are possible."""
    if not isinstance(unit, Edge | Node):
        return
    spare = 1 if isinstance(unit, Node) else 0  # the limit holds before a node is added
    if unit.vertices is not None and len(graph) > unit.vertices + spare:
        raise ParameterError(
            f"The graph has more than the {unit.vertices} vertices that {type(unit).__name__}"
            "(vertices=…) declares; declare what no possible graph exceeds."
        )
    if unit.degree is not None and graph.degrees.max(initial=0) > unit.degree:
        raise ParameterError(
            f"A node of the graph has more than the {unit.degree} neighbours that "
            f"{type(unit).__name__}(degree=…) declares; declare what no possible graph exceeds."
        )


def joined_to(unit: PrivacyUnit) -> int | None:
    """Give the most others that a node is joined to, as its unit declares; None if it does not."""
    assert isinstance(unit, Node)
    return min((n for n in (unit.degree, unit.vertices) if n is not None), default=None)


def _declared_note(unit: PrivacyUnit) -> tuple[str, ...]:
    if not isinstance(unit, Node):
        return ()
    return (f"no node has more than {joined_to(unit)} neighbours, as the owner declared",)


class GraphStatistic(Statistic):
    """A statistic of a graph."""

    shape: ClassVar[str] = "graph"
    units: ClassVar[tuple[type[PrivacyUnit], ...]] = (Edge, Node)

    def error_in_words(self, unit: PrivacyUnit, epsilon: Fraction) -> str:  # noqa: ARG002 - the signature
        """Say where noise fits the graph."""
        return (
            "a limit on degrees is found privately, and noise is in proportion to it; nodes beyond "
            "it count with fewer edges than they have; declare Node(degree=…) for an error that is "
            "known before"
        )


def _cut_note(limit: int) -> str:
    return (
        f"degrees were cut to {limit}, a limit found privately: nodes with more edges count with "
        f"{limit}, so the figure tends to be too low"
    )


@dataclass(frozen=True)
class Nodes(GraphStatistic):
    """How many nodes: one node changes it by one, edges do not."""

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 0 for edges, 1 for nodes."""
        return 0 if isinstance(unit, Edge) else 1

    def measure(self, data: Graph, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count nodes."""
        most = 0 if isinstance(unit, Edge) else 1
        return MeasuredValue(int(add_noise(len(data), most, epsilon)), noise_margin(most, epsilon))


@dataclass(frozen=True)
class Edges(GraphStatistic):
    """How many edges."""

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 for edges; for nodes what is declared, or it depends on the limit found."""
        return 1 if isinstance(unit, Edge) else joined_to(unit)

    def measure(self, data: Graph, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count edges; of a graph that is cut where nodes may have any number of them."""
        most = self.sensitivity(unit)
        if most is not None:
            check_declared(data, unit)
            value = int(add_noise(len(data.edges), most, epsilon))
            return MeasuredValue(value, noise_margin(most, epsilon), _declared_note(unit))
        first, second = _split(epsilon)
        cut = ProjectedGraph(data)
        limit = find_limit(cut, first, small=False)
        value = int(add_noise(cut.edges(limit), limit, second))
        return MeasuredValue(
            value, noise_margin(limit, second), (_cut_note(limit),), {"limit": limit}
        )


@dataclass(frozen=True)
class DegreeAtLeast(GraphStatistic):
    """How many nodes have at least so many neighbours."""

    degree: int

    def __post_init__(self) -> None:
        whole("degree", self.degree, 0)

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 2 for edges (its two ends); for nodes itself and those it is joined to."""
        if isinstance(unit, Edge):
            return 2 if self.degree else 0
        joined = joined_to(unit) if self.degree else 0
        return None if joined is None else joined + 1

    def measure(self, data: Graph, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count nodes of the degree."""
        most = self.sensitivity(unit)
        if most is not None:
            check_declared(data, unit)
            value = int(add_noise(int((data.degrees >= self.degree).sum()), most, epsilon))
            notes = _declared_note(unit) if self.degree else ()
            return MeasuredValue(value, noise_margin(most, epsilon), notes)
        first, second = _split(epsilon)
        cut = ProjectedGraph(data)
        limit = find_limit(cut, first, least=self.degree, small=False)
        value = int((cut.degrees(limit) >= self.degree).sum())
        noisy = int(add_noise(value, limit + 1, second))
        note = f"degrees were cut to {limit}, a limit found privately"
        return MeasuredValue(noisy, noise_margin(limit + 1, second), (note,), {"limit": limit})


@dataclass(frozen=True)
class DegreeDistribution(GraphStatistic):
    """How many nodes have at most 0, 1, 2, … neighbours."""

    def sensitivity(self, unit: PrivacyUnit) -> int | None:  # noqa: ARG002 - smoothing makes less of it
        """Leave it open: what is smoothed has less error than its noise."""
        return None

    def error_in_words(self, unit: PrivacyUnit, epsilon: Fraction) -> str:
        """Say it for edges exactly, for nodes in words."""
        if isinstance(unit, Edge):
            return (
                f"each degree of the sorted sequence ± {noise_margin(2, epsilon):,.0f} before it "
                "is smoothed, and far less where many nodes share a degree"
            )
        return super().error_in_words(unit, epsilon)

    def measure(self, data: Graph, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Return #{nodes of degree ≤ i} for i = 0, 1, …."""
        if isinstance(unit, Edge):
            return self._by_sequence(data, epsilon)
        first, second = _split(epsilon)
        cut = ProjectedGraph(data)
        limit = find_limit(cut, first)
        noisy = add_noise(cut.up_to(limit), limit + 1, second)
        smooth = with_tail(noisy, limit)
        note = (
            f"degrees were cut to {limit}, a limit found privately; beyond it the tail is a guess"
        )
        return MeasuredValue([round(float(x), 3) for x in smooth], None, (note,), {"limit": limit})

    @staticmethod
    def _by_sequence(data: Graph, epsilon: Fraction) -> MeasuredValue:
        noisy = add_noise(np.sort(data.degrees).astype(np.int64), 2, epsilon)
        smooth = np.clip(np.floor(rising(noisy.astype(np.float64)) + 0.5), 0, len(data) - 1)
        counts = np.bincount(smooth.astype(np.int64))
        return MeasuredValue(
            np.cumsum(counts).tolist(), None, ("the degree sequence was smoothed",)
        )


class LadderStatistic(GraphStatistic):
    """A statistic whose noise fits the graph under edge privacy."""

    @abstractmethod
    def most_by_node(self, degree: int) -> int:
        """Return what a node with so many edges changes at most."""

    @abstractmethod
    def count(self, data: Graph) -> int:
        """Count exactly."""

    @abstractmethod
    def climb(self, data: Graph, epsilon: Fraction) -> int:
        """Release with ε-differential privacy for one edge."""

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Derive it from the declared degree for nodes; for edges it depends on the graph."""
        if isinstance(unit, Node) and unit.degree is not None:
            return self.most_by_node(unit.degree)
        return None

    def error_in_words(self, unit: PrivacyUnit, epsilon: Fraction) -> str:  # noqa: ARG002 - the signature
        """Say that noise fits the graph."""
        return (
            "noise fits the graph: about 2/ε times what one edge changes here at most, which is "
            "not known before"
        )

    def check(self, unit: PrivacyUnit) -> None:
        """Refuse nodes without a declared degree: nothing useful is left of such a count."""
        super().check(unit)
        if isinstance(unit, Node) and unit.degree is None:
            raise ParameterError(
                f"One node may change {self.what} without limit; declare the largest degree that "
                "any possible graph has, unit=Node(degree=…), and look at the forecast first: at "
                "small ε such counts tell nothing. Or hide edges: unit='edge'."
            )

    def measure(self, data: Graph, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Climb the ladder for edges; add noise under the declared degree for nodes."""
        if isinstance(unit, Edge):
            return MeasuredValue(self.climb(data, epsilon), None, ("the noise fits the graph",))
        assert isinstance(unit, Node)
        assert unit.degree is not None
        check_declared(data, unit)
        most = self.most_by_node(unit.degree)
        value = int(add_noise(self.count(data), most, epsilon))
        note = f"no node has more than {unit.degree} neighbours, as the owner declared"
        return MeasuredValue(value, noise_margin(most, epsilon), (note,))


@dataclass(frozen=True)
class Triangles(LadderStatistic):
    """How many triples of nodes are pairwise joined."""

    def most_by_node(self, degree: int) -> int:
        """Return the pairs among its neighbours."""
        return comb(degree, 2)

    def count(self, data: Graph) -> int:
        """Count triangles."""
        return ladders.count_cliques(data, 3)

    def climb(self, data: Graph, epsilon: Fraction) -> int:
        """Release by the ladder of triangles."""
        return ladders.release_cliques(data, 3, epsilon)


@dataclass(frozen=True)
class Stars(LadderStatistic):
    """How many nodes with `points` of their neighbours: Σ C(degree, points)."""

    points: int = 2

    def __post_init__(self) -> None:
        whole("points", self.points, 2)

    def most_by_node(self, degree: int) -> int:
        """Return its own stars and those of its neighbours that it is a point of."""
        return comb(degree, self.points) + degree * comb(degree - 1, self.points - 1)

    def count(self, data: Graph) -> int:
        """Count stars."""
        return ladders.count_stars(data, self.points)

    def climb(self, data: Graph, epsilon: Fraction) -> int:
        """Release by the ladder of stars."""
        return ladders.release_stars(data, self.points, epsilon)


@dataclass(frozen=True)
class Cliques(LadderStatistic):
    """How many sets of `size` nodes are pairwise joined."""

    size: int = 4

    def __post_init__(self) -> None:
        whole("size", self.size, 3)

    def most_by_node(self, degree: int) -> int:
        """Return the sets of its neighbours that it may complete."""
        return comb(degree, self.size - 1)

    def count(self, data: Graph) -> int:
        """Count cliques."""
        return ladders.count_cliques(data, self.size)

    def climb(self, data: Graph, epsilon: Fraction) -> int:
        """Release by the ladder of cliques."""
        return ladders.release_cliques(data, self.size, epsilon)
