"""Graphs: k-degree anonymity by editing, groups, candidate sets, and statistics under a budget.

    python bench/graphs.py            everything
    python bench/graphs.py million    a graph of a million nodes as well

Real files are read from ../shared/data. CPU seconds, compiled code loaded before. Figures of rivals are
those of the issue, measured on the same files.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.anonymize.graphs.algorithms import edit, group
from sfumato.data.graphs.graph import Graph
from sfumato.dp.neighbours import Edge, Node
from sfumato.dp.publish.statistics.graph import DegreeDistribution, Edges, Triangles
from sfumato.dp.publish.synthesis.ladder import MOST_RUNGS, ladder, rungs
from sfumato.released.structure import structural_classes

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
EDITS = {  # k, edits and seconds of the public code, goal
    "CA-GrQc": (5, "103–131, 10–20 s", 48),
    "facebook_combined": (10, "5,702, 17 s", 3100),
    "CA-HepTh": (10, "129, 33 s", 78),
    "wiki-Vote": (10, "6,557, 154 s", 1500),
}
TRIANGLES = {"CA-GrQc": 0.0019, "facebook_combined": 0.0003, "wiki-Vote": 0.0014}
DISTANCE = {"CA-GrQc": 0.035, "facebook_combined": 0.097, "wiki-Vote": 0.104}


def cpu(work):
    start = time.process_time()
    made = work()
    return made, time.process_time() - start


def load(name):
    return sf.read(DATA / "graphs" / f"{name}.edges.gz", shape="graph")


def editing():
    print(f"{'k-degree by editing':24} {'k':>3} {'edits':>6} {'goal':>6} {'CPU s':>6}  public code")
    for name, (k, rival, goal) in EDITS.items():
        graph = load(name)
        made, seconds = cpu(lambda g=graph, k=k: edit(g, sf.KDegreeAnonymity(k)))
        edits = made.content.added + made.content.removed
        print(f"{name:24} {k:3} {edits:6,} {goal:6,} {seconds:6.2f}  {rival}")


def grouping():
    print("\nsuper-nodes of at least 5, all structural knowledge")
    for name in (*EDITS, "power"):
        graph = load(name)
        made, seconds = cpu(lambda g=graph: group(g, sf.KDegreeAnonymity(5)))
        print(
            f"{name:24} {len(graph):7,} nodes, smallest {made.content.sizes.min()}, {seconds:.2f} s"
        )
    graph = made_up(22_470, 170_823)
    made, seconds = cpu(lambda: group(graph, sf.KDegreeAnonymity(5)))
    print(
        f"{'made up':24} {len(graph):7,} nodes, {len(graph.edges):,} edges, smallest "
        f"{made.content.sizes.min()}, {seconds:.2f} s (goal 30)"
    )


def candidate_sets():
    print("\nnodes that stand alone: H1, H2, H3, seconds for all three (known: 0.02–0.4 s)")
    for name in EDITS:
        graph = load(name)

        def alone(g=graph):
            return [int((np.bincount(structural_classes(g, d)) == 1).sum()) for d in (1, 2, 3)]

        found, seconds = cpu(alone)
        shares = ", ".join(f"{count / len(graph):.3f}" for count in found)
        print(f"{name:24} {shares}  {seconds:.2f} s")


def distance(up_to, degrees):
    """The largest gap between the distribution that was released and the true one."""
    most = max(int(degrees.max()) + 1, len(up_to))
    true = np.cumsum(np.bincount(degrees, minlength=most)) / len(degrees)
    told = np.asarray(up_to) / max(up_to[-1], 1e-9)
    told = np.concatenate([told, np.ones(most - len(told))])
    return float(np.abs(true - told).max())


def exact_median(graph, epsilon=1.0):
    """The median of the relative error of triangles, from the mechanism's law: no run is drawn."""
    starts, ends = graph.starts.astype(np.int64), graph.neighbours.astype(np.int64)
    n, exact = len(graph), Triangles().count(graph)
    top = min(math.comb(n, 3), (n - 2) * MOST_RUNGS)
    above, below, counts = rungs(exact, ladder(starts, ends, 2 * n), n - 2, top)
    weight = counts * np.exp(-epsilon * np.arange(len(counts)) / 2)
    share = np.cumsum(weight) / weight.sum()
    rung = int(np.searchsorted(share, 0.5))
    if rung == 0:
        return 0.0
    inside = (0.5 - share[rung - 1]) / (share[rung] - share[rung - 1])
    reach = np.maximum(above, below)
    return float(reach[rung - 1] + inside * (reach[rung] - reach[rung - 1])) / exact


def statistics(runs=51):
    one = Fraction(1)
    print(f"\nε = 1, medians of {runs} runs")
    print(f"{'graph':20} {'triangles, edge':>22} {'degrees, node (KS)':>22} {'edges, node':>12}")
    for name, known in TRIANGLES.items():
        graph = load(name)
        exact = Triangles().count(graph)
        Triangles().measure(graph, Edge(), one)
        tries, t1 = cpu(lambda g=graph: [Triangles().measure(g, Edge(), one).value for _ in range(runs)])  # fmt: skip
        error = np.median([abs(x - exact) / exact for x in tries])
        dists, t2 = cpu(lambda g=graph: [DegreeDistribution().measure(g, Node(), one).value for _ in range(runs)])  # fmt: skip
        ks = np.median([distance(x, graph.degrees) for x in dists])
        many = [Edges().measure(graph, Node(), one).value for _ in range(runs)]
        edges = np.median([abs(x - len(graph.edges)) / len(graph.edges) for x in many])
        law = exact_median(graph)
        print(
            f"{name:20} {error:.4f}, by its law {law:.5f} ({known}) {t1 / runs:.2f} s {ks:.3f} ({DISTANCE[name]}) "
            f"{t2 / runs:.2f} s {edges:12.3f}"
        )
    print("in brackets: the best known, for degrees with a limit chosen for free")


def made_up(nodes, edges):
    """A graph in which some know many: about so many edges, ends drawn by a power law."""
    chance = np.random.default_rng(1)
    weights = (np.arange(nodes) + 10.0) ** -0.6
    ends = chance.choice(nodes, (edges, 2), p=weights / weights.sum())
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return Graph(nodes, ends.astype(np.int64))


def million():
    graph = made_up(1_000_000, 5_000_000)
    made, seconds = cpu(lambda: edit(graph, sf.KDegreeAnonymity(10)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    edits = made.content.added + made.content.removed
    print(f"\na million nodes, {len(graph.edges):,} edges, k = 10: {edits:,} edits, {seconds:.1f} s "
          f"(goal 60), {memory:.1f} GB")  # fmt: skip


def main():
    small = sf.read([(0, 1), (1, 2), (2, 3)], shape="graph")
    sf.anonymize(small, sf.KDegreeAnonymity(2))
    editing()
    grouping()
    candidate_sets()
    statistics()
    if "million" in sys.argv:
        million()


if __name__ == "__main__":
    main()
