"""Queries as values: what they ask, how sensitive they are, and their exact answers.

``base`` holds :func:`sensitivity`, ``local`` the study of one data set, ``exact_sum`` the sums
that noise is added to; the other modules hold the queries, each with its derivation and proof.
Statistics of graphs, trees and sets, which a session answers, are listed here.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

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
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
