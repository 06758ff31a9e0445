"""k-degree anonymity by editing edges: several target sequences are realised, the cheapest wins.

It never fails while there are k nodes. Where a sequence cannot be reached, the edits made so far
stay, a node that still wants an edge gets one from anybody, and degrees are chosen anew. Every
such round of adding alone adds an edge, and the complete graph, where all degrees are equal, ends
it; rounds of removing alone end at the graph without edges. Rounds that do both are counted, and
given up in favour of those two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.anonymize.graphs.degree_sequence import ADD, REMOVE, anonymous_degrees
from sfumato.anonymize.graphs.editor import EdgeEditor
from sfumato.anonymize.graphs.realization import Realization

if TYPE_CHECKING:
    from sfumato.data.graphs.graph import Graph

BALANCES = (0.5, 0.4, 0.6)
"""What raising a degree may cost beside lowering it, where both are allowed."""

FEW_NODES = 300
"""Up to so many nodes, more sequences are tried: small graphs leave little choice of partners."""

ROUNDS = 8
"""How often degrees are chosen anew where edges are both added and removed."""


def find_edits(graph: Graph, k: int, *, edits: str = "both") -> EdgeEditor:
    """Return the cheapest edits found after which every degree is shared by k nodes."""
    balances: tuple[float, ...] = {"add": (ADD,), "remove": (REMOVE,)}.get(edits, BALANCES)
    if edits == "both" and len(graph) <= FEW_NODES:
        balances = (*BALANCES, 0.25, 0.75, ADD, REMOVE)
    found = [_reach(graph, k, balance) for balance in balances]
    done = [editor for editor in found if editor is not None]
    if not done:
        done = [editor for b in (ADD, REMOVE) if (editor := _reach(graph, k, b)) is not None]
    return min(done, key=lambda editor: editor.edits)


def _reach(graph: Graph, k: int, balance: float) -> EdgeEditor | None:
    """Edit until degrees are anonymous; None where both kinds of edits chase each other."""
    editor = EdgeEditor(graph)
    adding, removing = balance != REMOVE, balance != ADD
    rounds = 0
    while rounds < ROUNDS or not (adding and removing):
        rounds += 1
        degrees = editor.degrees()
        target = anonymous_degrees(degrees, k, balance=balance)
        step = Realization(editor, degrees, target, k, adding=adding, removing=removing)
        step.run()
        if not step.wanted:
            return editor
        _force(step)
    return None


def _force(step: Realization) -> None:
    """Serve what is wanted or spare by whoever comes first; the next round puts that right."""

    def crowd(node: int) -> tuple[int, int]:
        """Order nodes by how many share their degree: where there are many, one matters least."""
        return -step.counts[int(step.target[node])], node

    for u in step.wanting if step.adding else []:
        around = step.editor.around(u)
        free = iter(sorted(set(range(step.editor.nodes)) - around - {u}, key=crowd))
        while step.wanted.get(u, 0) > 0 and (partner := next(free, None)) is not None:
            step.add(u, partner)
    for u in step.spare if step.removing else []:
        friends = sorted(step.editor.around(u), key=crowd)
        for partner in friends[: max(-step.wanted.get(u, 0), 0)]:
            step.remove(u, partner)
