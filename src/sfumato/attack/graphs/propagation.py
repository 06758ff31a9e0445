"""Seed propagation: a graph whose nodes are known lends its names to one whose nodes are not.

Narayanan, Shmatikov: De-anonymizing social networks, S&P 2009. Somebody holds another graph of
mostly the same people, with names, and knows a few people in both. A pair of nodes is matched where
many of their neighbours are matched to each other already, weighed by how many neighbours the nodes
have; a match must stand out among the candidates (by `ECCENTRICITY` standard deviations) and be the
best from the other side, too. Every match helps to find the next.

Of directed graphs who is joined to whom is matched, in whatever direction.

Without a graph of your own the attack is tried with noisy copies: the release is known to somebody
but for a share of its edges. Then it is known which matches are right.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import SHOWN, Finding, Outcome, checked_count, checked_share
from sfumato.data.graphs.directed import undirected
from sfumato.errors import ParameterError
from sfumato.released.view import see

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.data.graphs.graph import Graph
    from sfumato.released.graphs import GraphView

NAME = "seed propagation"
ECCENTRICITY = 0.5
ROUNDS = 20


def seed_propagation(
    release: Any,
    *,
    auxiliary: Any = None,
    known: Mapping[int, int] | None = None,
    overlap: float = 0.8,
    seeds: int = 20,
    seed: int = 0,
) -> Outcome:
    """Match the nodes of a release with those of a graph whose people are known.

    `known` maps nodes of `auxiliary` to nodes of the release. Without both, a copy with the share
    `overlap` of the edges stands for the graph that is known, and the `seeds` nodes of the highest
    degree for the people who are.
    """
    view: GraphView = see(release, shape="graph")
    if view.graph is None:
        raise ParameterError("A release by grouping shows no nodes that could be matched.")
    checked_share("overlap", overlap)
    checked_count("seeds", seeds, low=1)
    if (auxiliary is None) != (known is None):
        raise ParameterError("Give auxiliary= with known=, whom one knows in both, or neither.")
    graph = undirected(view.graph)
    if auxiliary is None:
        other = _noisy_copy(graph, overlap, seed)
        first = np.argsort(-graph.degrees, kind="stable")[:seeds].tolist()
        known = {node: node for node in first}
    else:
        other = undirected(auxiliary)
    assert known is not None
    found = propagate(other, graph, known)
    new = {a: b for a, b in found.items() if a not in known}
    right = [a for a, b in new.items() if a == b] if auxiliary is None else list(new)
    return _outcome(view, new, right, len(known), truth=auxiliary is None, overlap=overlap)


def _noisy_copy(graph: Graph, overlap: float, seed: int) -> Graph:
    from sfumato.data.graphs.graph import Graph as Made  # noqa: PLC0415 - made when used

    chance = np.random.default_rng(seed)  # a simulation: nothing of it is released
    return Made(len(graph), graph.edges[chance.random(len(graph.edges)) < overlap])


def propagate(first: Graph, second: Graph, known: Mapping[int, int]) -> dict[int, int]:
    """Return matches of nodes of the first graph with nodes of the second."""
    matched = dict(known)
    back = {b: a for a, b in matched.items()}
    for _ in range(ROUNDS):
        before = len(matched)
        for node in np.argsort(-first.degrees, kind="stable").tolist():
            if node in matched or not first.degrees[node]:
                continue
            best = _best(first, second, node, matched)
            if best is None or best in back or _best(second, first, best, back) != node:
                continue
            matched[node], back[best] = best, node
        if len(matched) == before:
            break
    return matched


def _best(first: Graph, second: Graph, node: int, matched: Mapping[int, int]) -> int | None:
    """Return the node of the second graph that fits best, if it stands out."""
    taken = set(matched.values())
    scores: dict[int, float] = defaultdict(float)
    for friend in first.around(node).tolist():
        other = matched.get(friend)
        if other is None:
            continue
        for candidate in second.around(other).tolist():
            if candidate not in taken:
                scores[candidate] += 1.0 / float(np.sqrt(second.degrees[candidate]))
    if not scores:
        return None
    ranked = sorted(scores.values(), reverse=True)
    spread = float(np.std(ranked))
    gap = ranked[0] - (ranked[1] if len(ranked) > 1 else 0.0)
    if len(ranked) > 1 and (spread == 0.0 or gap / spread < ECCENTRICITY):
        return None
    return max(scores, key=scores.__getitem__)


def _outcome(
    view: GraphView,
    new: dict[int, int],
    right: list[int],
    seeds: int,
    *,
    truth: bool,
    overlap: float,
) -> Outcome:
    assert view.graph is not None
    graph = undirected(view.graph)
    whom = f"{seeds} people, and " + (
        f"{overlap:.0%} of who knows whom" if truth else "another graph of the people"
    )
    share = len(right) / max(len(new), 1)
    return Outcome(
        attack=NAME,
        knows=whom,
        measure="confidence",
        people=max(len(graph) - seeds, 0),
        exposed=len(right),
        prior=1.0 / max(len(graph), 1),
        posterior=share if new else 0.0,
        threshold=0.5,
        findings=tuple(
            Finding(
                attack=NAME, who=f"a person with {int(graph.degrees[new[a]])} neighbours", people=1,
                learnt="which node is theirs, and so whom they know", prior=1.0 / len(graph),
                posterior=share, evidence={"node": int(new[a])},
            )
            for a in right[:SHOWN]
        ),
        remedy="groups of nodes: algorithm='group'",
        figures={"matched": float(len(new)), "share of them right": share} if truth else
                {"matched": float(len(new))},
    )  # fmt: skip
