"""The attacks that `precheck` tries on a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.attack.attack import Knowledge, NamedAttack
from sfumato.attack.graphs import collusion, edges, inference, planting, propagation, structure
from sfumato.data.graphs.directed import DirectedGraph

if TYPE_CHECKING:
    from sfumato.attack.attack import Attack
    from sfumato.attack.finding import Outcome
    from sfumato.released.graphs import GraphView

DEPTHS = (1, 2, 3, 4)


def graph_attacks(_view: GraphView, _knowledge: Knowledge) -> tuple[Attack, ...]:
    """Return attacks by surroundings of growing depth, by colluders, and on edges."""
    return (
        *(_by_surroundings(depth) for depth in DEPTHS),
        NamedAttack(collusion.NAME, _collude, _no_nodes),
        NamedAttack(edges.NAME, _disclose),
        NamedAttack(propagation.NAME, _propagate, _no_nodes),
        NamedAttack(planting.NAME, _plant, _not_published, twice=False),
        NamedAttack(inference.NAME, _infer, _not_published, twice=False),
    )


def _by_surroundings(depth: int) -> NamedAttack:
    def attack(view: Any, knowledge: Knowledge) -> Outcome:
        return structure.structural_knowledge(view, depth=depth, confidence=knowledge.confidence)

    return NamedAttack(structure.attack_name(depth), attack)


def _collude(view: Any, knowledge: Knowledge) -> Outcome:
    return collusion.colluding_neighbours(view, colluders=knowledge.further.get("colluders", 2))


def _no_nodes(view: Any, _knowledge: Knowledge) -> str | None:
    return "no single node is shown" if view.graph is None else None


def _propagate(view: Any, knowledge: Knowledge) -> Outcome:
    return propagation.seed_propagation(view, overlap=knowledge.further.get("overlap", 0.8))


def _plant(_view: Any, knowledge: Knowledge) -> Outcome:
    further = knowledge.further
    return planting.planted_subgraph(
        knowledge.original, further["publish"], accounts=further.get("accounts", 7)
    )


def _infer(_view: Any, knowledge: Knowledge) -> Outcome:
    return inference.edge_inference(knowledge.original, knowledge.further["publish"])


def _not_published(_view: Any, knowledge: Knowledge) -> str | None:
    if "publish" not in knowledge.further:
        return "it needs publish=, the way in which the graph is published"
    if isinstance(knowledge.original, DirectedGraph):
        return "it is tried on graphs whose edges have no direction"
    return "it needs the original graph" if knowledge.original is None else None


def _disclose(view: Any, knowledge: Knowledge) -> Outcome:
    return edges.edge_disclosure(view, confidence=knowledge.confidence)
