"""Planted subgraphs: accounts made beforehand that find themselves, and whom they befriended.

Backstrom, Dwork, Kleinberg: Wherefore art thou R3579X?, WWW 2007 (the walk-based attack). Before a
graph is published somebody makes a few accounts, joins them at random among themselves, and each
target to a set of them that no other has. In the published graph she looks for nodes with the
degrees and edges of her accounts, walking from one to the next. If there is one such place only,
she has found herself, and each target by whom it is joined to; then she sees who of them know each
other.

The graph has to be published for the attack to be tried: `publish` is how you would do it, called
as `publish(graph, seed=…)`. The seed decides the new numbers of nodes, so it is known here what is
right.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import SHOWN, Finding, Outcome, checked_count
from sfumato.data.graphs.graph import Graph, ordered_edges
from sfumato.data.graphs.sources import read_undirected
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import ParameterError
from sfumato.released.view import see

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "planted subgraph"
TRIES = 50
"""Ways to join accounts that are tried until they cannot be exchanged."""

STEPS = 200_000
"""Nodes that are visited at most in the search."""


class Plant:
    """Accounts added to a graph, edges among them, targets, and who is joined to whom."""

    def __init__(self, graph: Graph, accounts: int, targets: int, seed: int) -> None:
        chance = np.random.default_rng(seed)
        n = len(graph)
        self.accounts = [n + i for i in range(accounts)]
        path = {(i, i + 1) for i in range(accounts - 1)}
        pairs = list(combinations(range(accounts), 2))
        sets = [s for size in (2, 3) for s in combinations(range(accounts), size)]
        self.targets = [int(t) for t in chance.choice(n, min(targets, n, len(sets)), replace=False)]
        picked = chance.permutation(len(sets))[: len(self.targets)]
        self.joined = {t: sets[i] for t, i in zip(self.targets, picked, strict=True)}
        outside = [sum(i in s for s in self.joined.values()) for i in range(accounts)]
        for _ in range(TRIES):
            self.inside = path | {pair for pair in pairs if chance.random() < 0.5}
            if _is_rigid(self.inside, outside):
                break
        self.known = {t: int(graph.degrees[t]) + len(s) for t, s in self.joined.items()}
        edges = [(n + a, n + b) for a, b in sorted(self.inside)]
        edges += [(t, n + a) for t, s in self.joined.items() for a in s]
        every = np.concatenate([graph.edges, np.array(edges, dtype=np.int64).reshape(-1, 2)])
        self.graph = Graph(n + accounts, ordered_edges(every), name=graph.name)
        self.degrees = self.graph.degrees[n:].tolist()


def _is_rigid(inside: set[tuple[int, int]], outside: list[int]) -> bool:
    """Tell whether no accounts can be exchanged for each other, so that each knows itself."""
    n = len(outside)
    degree = [outside[i] + sum(i in pair for pair in inside) for i in range(n)]
    paths: list[list[int]] = [[]]
    for place in range(n):
        paths = [
            [*path, v]
            for path in paths
            for v in range(n)
            if v not in path
            and degree[v] == degree[place]
            and all(
                ((min(v, o), max(v, o)) in inside) == ((i, place) in inside)
                for i, o in enumerate(path)
            )
        ]
    return len(paths) == 1


def planted_subgraph(
    graph: Any,
    publish: Callable[..., Any],
    *,
    accounts: int = 7,
    targets: int = 10,
    slack: int = 0,
    seed: int = 0,
) -> Outcome:
    """Plant accounts in a graph, have it published, and look for them.

    `slack` is by how much degrees may have changed meanwhile.
    """
    checked_count("accounts", accounts, low=3)
    checked_count("targets", targets, low=1)
    plant = Plant(read_undirected(graph, "Plants are tried"), accounts, targets, seed)
    view = see(publish(plant.graph, seed=seed), shape="graph")
    place = np.arange(len(plant.graph))
    shuffle(place, RandomWords(seed))
    found = [] if view.graph is None else find_plant(view.graph, plant, slack)
    if view.graph is not None and len(view.graph) != len(plant.graph):
        raise ParameterError("publish must release all nodes of the graph, or groups of them.")
    right = len(found) == 1 and found[0] == [int(place[a]) for a in plant.accounts]
    exposed = []
    if view.graph is not None and len(found) == 1:
        exposed = [
            t for t, node in _targets(view.graph, plant, found[0]).items() if place[t] == node
        ]
    return Outcome(
        attack=NAME,
        knows=f"{accounts} accounts that were made before, and their friends",
        measure="confidence",
        people=len(plant.targets),
        exposed=len(exposed) if right else 0,
        prior=1.0 / len(plant.graph),
        posterior=1.0 if right and exposed else 0.0,
        threshold=1.0,
        findings=tuple(_finding(plant, t) for t in exposed[:SHOWN] if right),
        remedy="groups of nodes: algorithm='group'",
        figures={"places where the accounts may be": float(len(found))},
    )


def renumber(graph: Graph, *, seed: int) -> Graph:
    """Publish a graph without its names, and do nothing else to it."""
    place = np.arange(len(graph))
    shuffle(place, RandomWords(seed))
    return Graph(len(graph), ordered_edges(place[graph.edges]), name=graph.name)


def find_plant(graph: Graph, plant: Plant, slack: int = 0, most: int = 2) -> list[list[int]]:
    """Walk from node to node along the accounts; return the places that fit, a few of them."""
    around = [set(graph.around(node).tolist()) for node in range(len(graph))]
    wanted, count = plant.degrees, len(plant.accounts)
    found: list[list[int]] = []
    steps = 0

    def fits(node: int, path: list[int]) -> bool:
        place = len(path)
        if node in path or abs(len(around[node]) - wanted[place]) > slack:
            return False
        return all((other in around[node]) == ((i, place) in plant.inside)
                   for i, other in enumerate(path))  # fmt: skip

    waiting = [[u] for u in range(len(graph)) if fits(u, [])]
    while waiting and len(found) < most and steps < STEPS:
        path = waiting.pop()
        steps += 1
        if len(path) == count:
            found.append(path)
            continue
        waiting += [[*path, v] for v in around[path[-1]] if fits(v, path)]
    return found


def _targets(graph: Graph, plant: Plant, accounts: list[int]) -> dict[int, int]:
    """Return the nodes joined to just the accounts of each target, where there is one."""
    mine = set(accounts)
    seen: dict[tuple[int, ...], list[int]] = {}
    for node in range(len(graph)):
        if node not in mine:
            friends = set(graph.around(node).tolist())
            joined = tuple(i for i, a in enumerate(accounts) if a in friends)
            seen.setdefault(joined, []).append(node)
    places = {t: seen.get(tuple(s), []) for t, s in plant.joined.items()}
    return {t: nodes[0] for t, nodes in places.items() if len(nodes) == 1}


def _finding(plant: Plant, target: int) -> Finding:
    return Finding(
        attack=NAME,
        who=f"a person with {plant.known[target]} neighbours",
        people=1,
        learnt="which node is theirs, and which other targets they know",
        prior=1.0 / len(plant.graph),
        posterior=1.0,
        evidence={"joined to accounts": plant.joined[target]},
    )
