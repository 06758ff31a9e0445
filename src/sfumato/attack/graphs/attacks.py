"""The attacks that `precheck` tries on a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.attack.attack import Knowledge, NamedAttack
from sfumato.attack.graphs import collusion, edges, inference, planting, propagation, structure
from sfumato.data.graphs.directed import DirectedGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.attack.attack import Attack
    from sfumato.attack.finding import Outcome
    from sfumato.released.graphs import GraphView

DEPTHS = (1, 2, 3, 4)


def graph_attacks(
    _view: GraphView, _knowledge: Knowledge, publish: Callable[..., Any] | None = None
) -> tuple[Attack, ...]:
    """Return attacks by surroundings of growing depth, by colluders, and on edges.

    `publish` is how the release was made, as far as it tells: it serves the attacks that need a
    graph of their own to be published, where nobody gave them another way.
    """
    return (
        *(_by_surroundings(depth) for depth in DEPTHS),
        NamedAttack(collusion.NAME, _collude, _no_nodes),
        NamedAttack(edges.NAME, _disclose),
        NamedAttack(propagation.NAME, _propagate, _no_nodes),
        _needs_publishing(planting.NAME, _plant, publish, twice=True),
        _needs_publishing(inference.NAME, _infer, publish, twice=False),
    )


def _needs_publishing(
    name: str, attack: Callable[..., Outcome], publish: Callable[..., Any] | None, *, twice: bool
) -> NamedAttack:
    def knowing(knowledge: Knowledge) -> Knowledge:
        if publish is None or "publish" in knowledge.further:
            return knowledge
        return replace(knowledge, further={**knowledge.further, "publish": publish})

    def misfit(_view: Any, knowledge: Knowledge) -> str | None:
        unknown = _not_published(knowing(knowledge))
        if unknown is None and name == inference.NAME and "publish" not in knowledge.further:
            return _too_wide(_came(knowledge))
        return unknown

    return NamedAttack(name, lambda view, known: attack(view, knowing(known)), misfit, twice=twice)


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


def _plant(view: Any, knowledge: Knowledge) -> Outcome:
    further = knowledge.further
    publish = planting.renumber if view is knowledge.before else further["publish"]
    return planting.planted_subgraph(_came(knowledge), publish, accounts=further.get("accounts", 7))


def _came(knowledge: Knowledge) -> Any:
    """Return the original graph, as it was read already where it was."""
    seen = getattr(knowledge.before, "graph", None)
    return knowledge.original if seen is None else seen


def _infer(_view: Any, knowledge: Knowledge) -> Outcome:
    return inference.edge_inference(_came(knowledge), knowledge.further["publish"])


def _not_published(knowledge: Knowledge) -> str | None:
    if knowledge.original is None:
        return "it needs the original graph"
    if isinstance(getattr(knowledge.before, "graph", None), DirectedGraph):
        return "it is tried on graphs whose edges have no direction"
    if "publish" not in knowledge.further:
        return "it needs publish=, the way in which the graph is published"
    return None


def _too_wide(original: Any) -> str | None:
    pairs = inference.pairs_with_friends(original)
    if pairs <= inference.MANY:
        return None
    return f"it would look at {pairs:,} pairs of people; give publish= to try it all the same"


def _disclose(view: Any, knowledge: Knowledge) -> Outcome:
    return edges.edge_disclosure(view, confidence=knowledge.confidence)
