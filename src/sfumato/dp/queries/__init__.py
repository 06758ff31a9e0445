"""Queries as values: what they ask, how sensitive they are, and their exact answers.

``base`` holds :func:`sensitivity`, ``local`` the study of one data set, ``exact_sum`` the sums
that noise is added to; the other modules hold the queries, each with its derivation and proof.
Statistics of graphs, trees, sets and traces, which a session answers, are listed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.dp.publish.statistics.graph import Cliques as Cliques
    from sfumato.dp.publish.statistics.graph import DegreeAtLeast as DegreeAtLeast
    from sfumato.dp.publish.statistics.graph import DegreeDistribution as DegreeDistribution
    from sfumato.dp.publish.statistics.graph import Edges as Edges
    from sfumato.dp.publish.statistics.graph import Nodes as Nodes
    from sfumato.dp.publish.statistics.graph import Stars as Stars
    from sfumato.dp.publish.statistics.graph import Triangles as Triangles
    from sfumato.dp.publish.statistics.nested import Enrolments as Enrolments
    from sfumato.dp.publish.statistics.nested import ItemsBought as ItemsBought
    from sfumato.dp.publish.statistics.nested import LabelCounts as LabelCounts
    from sfumato.dp.publish.statistics.nested import SetsWith as SetsWith
    from sfumato.dp.publish.statistics.nested import TreesWith as TreesWith
    from sfumato.dp.publish.statistics.nested import VerticesPerLevel as VerticesPerLevel
    from sfumato.dp.publish.statistics.traces import CellVisits as CellVisits
    from sfumato.dp.publish.statistics.traces import Trips as Trips
    from sfumato.dp.publish.statistics.traces import TripsBetween as TripsBetween
    from sfumato.dp.publish.statistics.traces import TripsByHour as TripsByHour
    from sfumato.dp.publish.statistics.traces import TripsThrough as TripsThrough

_TRACES = "sfumato.dp.publish.statistics.traces"
_GRAPH, _NESTED = "sfumato.dp.publish.statistics.graph", "sfumato.dp.publish.statistics.nested"
_HOME = {
    **dict.fromkeys(
        ("Cliques", "DegreeAtLeast", "DegreeDistribution", "Edges", "Nodes", "Stars", "Triangles"),
        _GRAPH,
    ),
    **dict.fromkeys(
        ("Enrolments", "ItemsBought", "LabelCounts", "SetsWith", "TreesWith", "VerticesPerLevel"),
        _NESTED,
    ),
    **dict.fromkeys(
        ("CellVisits", "Trips", "TripsBetween", "TripsByHour", "TripsThrough"), _TRACES
    ),
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
