"""k-degree anonymity by editing edges: several target sequences are realised, the cheapest wins.

Of a directed graph, arcs are edited until every pair of degrees (in, out) is shared.

It never fails while there are k nodes. Where a sequence cannot be reached, the edits made so far
stay, a node that still wants an edge gets one from anybody, and degrees are chosen anew. Every
such round of adding alone adds an edge, and the complete graph, where all degrees are equal, ends
it; rounds of removing alone end at the graph without edges. Rounds that do both are counted, and
given up in favour of those two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.anonymize.graphs.arc_editor import ArcEditor
from sfumato.anonymize.graphs.arc_realization import ArcRealization
from sfumato.anonymize.graphs.degree_pairs import anonymous_pairs
from sfumato.anonymize.graphs.degree_sequence import ADD, REMOVE, anonymous_degrees
from sfumato.anonymize.graphs.editor import EdgeEditor
from sfumato.anonymize.graphs.realization import Realization
from sfumato.data.graphs.directed import DirectedGraph

if TYPE_CHECKING:
    from sfumato.data.graphs.directed import AnyGraph

Editor: TypeAlias = EdgeEditor | ArcEditor

BALANCES = (0.5, 0.4, 0.6)
"""What raising a degree may cost beside lowering it, where both are allowed."""

FEW_NODES = 300
"""Up to so many nodes, more sequences are tried: small graphs leave little choice of partners."""

ROUNDS = 8
"""How often degrees are chosen anew where edges are both added and removed."""


def find_edits(graph: AnyGraph, k: int, *, edits: str = "both") -> Editor:
    """Return the cheapest edits found after which every degree is shared by k nodes."""
    balances: tuple[float, ...] = {"add": (ADD,), "remove": (REMOVE,)}.get(edits, BALANCES)
    if edits == "both" and isinstance(graph, DirectedGraph):
        balances = (BALANCES[0],)  # pairs take medians; there is no other balance
    if edits == "both" and len(graph) <= FEW_NODES:
        balances = (*BALANCES, 0.25, 0.75, ADD, REMOVE)
    found = [_reach(graph, k, balance) for balance in balances]
    done = [editor for editor in found if editor is not None]
    if not done:
        done = [editor for b in (ADD, REMOVE) if (editor := _reach(graph, k, b)) is not None]
    return min(done, key=lambda editor: editor.edits)


def _reach(graph: AnyGraph, k: int, balance: float) -> Editor | None:
    """Edit until degrees are anonymous; None where both kinds of edits chase each other."""
    editor: Any
    choose: Any
    realize: Any
    if isinstance(graph, DirectedGraph):
        editor, choose, realize = ArcEditor(graph), anonymous_pairs, ArcRealization
    else:
        editor, choose, realize = EdgeEditor(graph), anonymous_degrees, Realization
    adding, removing = balance != REMOVE, balance != ADD
    rounds = 0
    while rounds < ROUNDS or not (adding and removing):
        rounds += 1
        degrees = editor.degrees()
        target = choose(degrees, k, balance=balance)
        step = realize(editor, degrees, target, k, adding=adding, removing=removing)
        step.run()
        if not step.wanted:
            found: Editor = editor
            return found
        step.force()
    return None
