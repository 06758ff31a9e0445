"""Edge inference: edges that were taken out are guessed from the friends that two people share.

Liben-Nowell, Kleinberg: The link-prediction problem for social networks, CIKM 2003. Whoever edits a
graph removes few edges, and mostly within groups of friends; two people with many common neighbours
who are not joined in the release may well have been. The pairs with most common neighbours, weighed
by how few neighbours those have (Adamic and Adar 2003), are guessed to be edges, as many as went.

`publish` is how you would publish the graph, called as `publish(graph, seed=…)`: the seed decides
the new numbers of nodes, so it is known here which guesses are right.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import SHOWN, Finding, Outcome
from sfumato.data.graphs.sources import read_undirected
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.released.view import see

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.data.graphs.graph import Graph

NAME = "edge inference"
WIDEST = 400
"""Nodes with more neighbours tell little about any two of them, and are passed over."""

MANY = 20_000_000
"""Pairs of people with a friend in common that are looked at without being asked to."""


def edge_inference(graph: Any, publish: Callable[..., Any], *, seed: int = 0) -> Outcome:
    """Have a graph published, and guess the edges that were removed from it."""
    came = read_undirected(graph, "Removed edges are guessed")
    view = see(publish(came, seed=seed), shape="graph")
    place = np.arange(len(came))
    shuffle(place, RandomWords(seed))
    gone: set[tuple[int, int]] = set()
    guesses: list[tuple[int, int]] = []
    if view.graph is not None:
        ends = np.sort(place[came.edges], axis=1).tolist() if len(came.edges) else []
        gone = {(u, v) for u, v in ends} - {(u, v) for u, v in view.graph.edges.tolist()}
        guesses = likely_edges(view.graph, len(gone))
    right = [pair for pair in guesses if pair in gone]
    pairs = len(came) * (len(came) - 1) // 2
    free = max(pairs - (0 if view.graph is None else len(view.graph.edges)), 1)
    return Outcome(
        attack=NAME,
        knows="that some edges were removed, and which two people have friends in common",
        measure="confidence",
        people=len(gone),
        exposed=len(right),
        prior=len(gone) / free,
        posterior=len(right) / max(len(guesses), 1),
        threshold=0.5,
        findings=tuple(
            Finding(
                attack=NAME, who="two people with friends in common", people=2,
                learnt="that they know each other, although the release does not say so",
                prior=len(gone) / free, posterior=len(right) / len(guesses),
                evidence={"nodes": pair},
            )
            for pair in right[:SHOWN]
        ),
        remedy="edits='add', which removes nothing, or groups of nodes: algorithm='group'",
        unit="removed edges",
    )  # fmt: skip


def pairs_with_friends(graph: Any) -> int:
    """Count how often two people have a friend in common, which is what a guess costs."""
    degrees = read_undirected(graph, "Removed edges are guessed").degrees
    near = degrees[degrees <= WIDEST].astype(np.int64)
    return int((near * (near - 1)).sum()) // 2


def likely_edges(graph: Graph, count: int) -> list[tuple[int, int]]:
    """Return the pairs of nodes that are not joined and share most, the likeliest first."""
    joined = {(u, v) for u, v in graph.edges.tolist()}
    score: dict[tuple[int, int], float] = {}
    for middle in range(len(graph)):
        around = graph.around(middle).tolist()
        if not 2 <= len(around) <= WIDEST:
            continue
        weight = 1.0 / float(np.log(len(around)))
        for pair in combinations(around, 2):
            if pair not in joined:
                score[pair] = score.get(pair, 0.0) + weight
    ranked = sorted(score.items(), key=lambda item: (-item[1], item[0]))
    return [pair for pair, _ in ranked[:count]]
