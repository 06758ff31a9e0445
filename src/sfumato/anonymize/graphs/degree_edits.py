"""k-degree anonymity by editing edges: several target sequences are realised, the cheapest wins.

Of a directed graph, arcs are edited until every pair of degrees (in, out) is shared.

It never fails while there are k nodes. Where a sequence cannot be reached, the edits made so far
stay, a node that still wants an edge gets one from anybody, and degrees are chosen anew. Every
such round of adding alone adds an edge, and the complete graph, where all degrees are equal, ends
it; rounds of removing alone end at the graph without edges. Rounds that do both are counted, and
given up in favour of those two. Of a graph of a few nodes all sets of fewer edits are tried, as
long as they are not too many: what is found then is the optimum.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.anonymize.graphs.arc_editor import ArcEditor
from sfumato.anonymize.graphs.arc_realization import ArcRealization
from sfumato.anonymize.graphs.degree_pairs import ORDERS, anonymous_pairs
from sfumato.anonymize.graphs.degree_sequence import ADD, REMOVE, anonymous_degrees
from sfumato.anonymize.graphs.editor import EdgeEditor
from sfumato.anonymize.graphs.realization import Realization
from sfumato.data.graphs.directed import DirectedGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    few, orders = len(graph) <= FEW_NODES, range(1)
    if edits == "both" and few:
        balances = (*BALANCES, 0.25, 0.75, ADD, REMOVE)
    if isinstance(graph, DirectedGraph):
        # pairs take medians, whatever the balance; the line they are cut from makes the difference
        balances = tuple(dict.fromkeys(b if b in {ADD, REMOVE} else BALANCES[0] for b in balances))
        orders = range(ORDERS) if few else orders
    tried = [(balance, order) for balance in balances for order in orders]
    found = [_reach(graph, k, balance, order if few else None) for balance, order in tried]
    done = [editor for editor in found if editor is not None]
    if not done:
        done = [editor for b in (ADD, REMOVE) if (editor := _reach(graph, k, b)) is not None]
    best = min(done, key=lambda editor: editor.edits)
    return fewest_edits(graph, best, k, adding=edits != "remove", removing=edits != "add") or best


MOST_SETS = 150_000
"""Sets of so many edits are all tried where they are no more than this."""


def fewest_edits(
    graph: AnyGraph, best: Editor, k: int, *, adding: bool = True, removing: bool = True
) -> Editor | None:
    """Try all smaller sets of edits than the best known, from the smallest on; None if none does.

    A set is a sum of changes of degrees, so all sets of one size are judged together.
    """
    directed, n = isinstance(graph, DirectedGraph), len(graph)
    if math.comb(n * (n - 1) // (1 if directed else 2), 2) > MOST_SETS:
        return None
    pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    there = set(map(tuple, graph.edges.tolist()))
    pairs = [pair for pair in pairs if (removing if pair in there else adding)]
    degrees = graph.degree_pairs if isinstance(graph, DirectedGraph) else graph.degrees[:, None]
    changes = np.zeros((len(pairs), *degrees.shape), dtype=np.int16)
    for at, pair in enumerate(pairs):
        change = -1 if pair in there else 1
        changes[at, pair[0], -1] += change  # arcs out, or edges
        changes[at, pair[1], 0] += change  # arcs in, or edges
    for size in range(best.edits):
        if math.comb(len(pairs), size) > MOST_SETS:
            return None
        flat = np.fromiter(
            (at for chosen in combinations(range(len(pairs)), size) for at in chosen),
            dtype=np.int64,
        )
        sets = flat.reshape(-1, size) if size else np.zeros((1, 0), dtype=np.int64)
        for begin in range(0, len(sets), 1 << 16):
            part = sets[begin : begin + (1 << 16)]
            held = _shared_by(degrees + changes[part].sum(axis=1), k)
            if held.any():
                editor: Any = ArcEditor(graph) if directed else EdgeEditor(graph)  # type: ignore[arg-type]
                for at in part[int(np.argmax(held))].tolist():
                    (editor.remove if pairs[at] in there else editor.add)(*pairs[at])
                found: Editor = editor
                return found
    return None


def _shared_by(degrees: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Tell of each graph whether every degree (or pair of degrees) is shared by k of its nodes."""
    n = degrees.shape[1]
    code = degrees[:, :, 0] * n + degrees[:, :, -1]
    code.sort(axis=1)
    held = np.ones(len(code), dtype=np.bool_)
    for at in range(n):  # a run that begins here is k long
        begins = np.ones(len(code), dtype=np.bool_) if at == 0 else code[:, at] != code[:, at - 1]
        last = code[:, at + k - 1] if at + k <= n else np.full(len(code), -1)
        held &= ~begins | (last == code[:, at])
    return held


def _reach(graph: AnyGraph, k: int, balance: float, order: int | None = None) -> Editor | None:
    """Edit until degrees are anonymous; None where both kinds of edits chase each other."""
    editor: Any
    choose: Any
    realize: Any
    if isinstance(graph, DirectedGraph):
        editor, choose, realize = (
            ArcEditor(graph),
            partial(anonymous_pairs, order=order),
            ArcRealization,
        )
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
