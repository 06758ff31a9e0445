"""Carry a guarantee to groups of units and to other neighbouring relations.

Contract: ``group`` and ``restate`` return the promise that follows for the new neighbours, or
refuse and say why nothing follows.

Groups (C21: a family of ten whose data stand or fall together). If D and D′ are k steps apart,
a chain of k neighbours leads from one to the other:

* pure: the factors e^ε multiply, so kε;
* approximate: δ collects e^((k−1)ε) + … + e^ε + 1 times, so δ·(e^(kε) − 1)/(e^ε − 1)
  (Vadhan, "The complexity of differential privacy", Lemma 2.2);
* zCDP: k²ρ (Bun and Steinke 2016, Proposition 1.9); GDP: kμ (Dong, Roth and Su, Theorem 2.14);
* RDP: for k ≤ 2^c and α ≥ 2^(c+1), order α / 2^c with 3^c·ε (Mironov 2017, Proposition 2).

Other neighbours. Let "k steps" mean that new neighbours are joined by a chain of k old ones:

* unbounded ⇒ bounded, 2 steps: take the unit out, put the other one in. The converse fails:
  the number of units may be published exactly under bounded neighbours.
* a finer unit ⇒ a coarser one that holds at most k of them, k steps when unbounded: take the
  parts out one by one (an empty unit is the absence of a unit). Bounded finer neighbours never
  change the number of parts, so nothing follows from them for a coarser unit.
* a coarser unit ⇒ a finer one inside it, 2 steps when unbounded: take the unit out, put it back
  with one part more or less.
* edge ⇒ node of degree at most d, bounded (the vertices stay): 2d steps: take its edges out, put
  the new ones in. Nothing follows for unbounded nodes, since edge privacy may publish
  the set of vertices.
* a group of k units: k steps, each within the limits the guarantee was proved for. Adding k nodes
  to V vertices meets V + k − 1 of them at the last step, so a guarantee for Node(vertices=V) is one
  for k nodes added to V − k + 1 vertices. Nodes re-wired one by one (bounded) may exceed a declared
  degree on the way: 2k steps, which take all edges away first. Edges replaced one by one may
  too, and no chain of replacements avoids it: refused.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TypeVar, cast

from sfumato.dp.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.neighbours import (
    Customer,
    Edge,
    Group,
    Item,
    Neighbours,
    Node,
    PrivacyUnit,
    Relation,
    Row,
    Subtree,
    Transaction,
    Tree,
    Unit,
    Vertex,
)
from sfumato.dp.rounding import exp_bounds, stated, stated_up
from sfumato.errors import ParameterError

G = TypeVar("G", bound=Guarantee)

_GREAT_EPSILON = 1000
_LIMITS = (
    "rows", "groups", "rows_per_group", "items", "transactions", "vertices", "points", "degree",
)  # fmt: skip


def group(guarantee: G, size: int) -> G:
    """Restate for ``size`` units whose data may all change together."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ParameterError(
            f"The size of a group is a whole number of at least 1, and {size!r} was given."
        )
    if size == 1:
        return guarantee
    old = guarantee.neighbours
    unit, before = old.unit.members if isinstance(old.unit, Group) else (old.unit, 1)
    whole = Group(_smaller(unit, before * (size - 1), old), before * size)
    steps = size * _detour(old.relation, unit)
    return replace(_far(guarantee, steps), neighbours=Neighbours(old.relation, whole))


def _smaller(unit: PrivacyUnit, added: int, old: Neighbours) -> PrivacyUnit:
    """Lower the limit on vertices by the nodes that a chain adds before its last step."""
    if old.bounded or not isinstance(unit, Node) or unit.vertices is None:
        return unit
    if unit.vertices <= added:
        raise ParameterError(
            f"The guarantee was proved for nodes added to at most {unit.vertices} vertices, and so "
            f"many nodes together leave that limit; prove it for more than {added} vertices."
        )
    return replace(unit, vertices=unit.vertices - added)


def _detour(relation: str, unit: PrivacyUnit) -> int:
    """Count the steps per member of a group whose chain keeps a declared limit on degrees."""
    if relation == "unbounded" or not isinstance(unit, (Node, Edge)) or unit.degree is None:
        return 1
    if isinstance(unit, Node):
        return 2
    raise ParameterError(
        "Edges replaced one by one may exceed the declared degree on the way, so nothing follows "
        "for a group of them; ask for an unbounded guarantee at the start."
    )


def restate(guarantee: G, neighbours: Neighbours) -> G:
    """Restate for other neighbours, or say why nothing follows for them."""
    if guarantee.neighbours == neighbours:
        return guarantee
    steps = steps_between(guarantee.neighbours, neighbours)
    return replace(_far(guarantee, steps), neighbours=neighbours)


def steps_between(old: Neighbours, new: Neighbours) -> int:
    """Count the old neighbours in a chain that joins any two new ones."""
    if isinstance(new.unit, Group) and new.unit.members[1] > 1:
        return _steps_to_group(old, new.relation, *new.unit.members)
    if isinstance(new.unit, Group):
        return steps_between(old, Neighbours(new.relation, new.unit.members[0]))
    if isinstance(old.unit, Group):  # a member alone is a group whose others stay as they are
        return steps_between(Neighbours(old.relation, old.unit.members[0]), new)
    _check_limits(old.unit, new.unit)
    if isinstance(old.unit, Edge) and isinstance(new.unit, Node):
        return _edges_to_node(old, new)
    if old.bounded and not new.bounded:
        raise ParameterError(
            "A guarantee for bounded neighbours says nothing about unbounded ones: the number of "
            "units may have been published exactly. Ask for an unbounded guarantee at the start."
        )
    if _same(old.unit, new.unit):
        return 2 if new.bounded and not old.bounded else 1
    if old.bounded:
        raise ParameterError(
            f"From bounded neighbours ({old}) nothing follows for another unit ({new}), because "
            "the number of parts of a unit may change. Ask for an unbounded guarantee at the start."
        )
    return _between_units(old.unit, new.unit) * (2 if new.bounded else 1)


def _steps_to_group(old: Neighbours, relation: Relation, unit: PrivacyUnit, size: int) -> int:
    held, proved = old.unit.members if isinstance(old.unit, Group) else (old.unit, 1)
    if held == unit and proved >= size:
        return steps_between(Neighbours(old.relation, unit), Neighbours(relation, unit))
    widest = unit
    if relation == "unbounded" and isinstance(unit, Node) and unit.vertices is not None:
        widest = replace(unit, vertices=unit.vertices + size - 1)
    single = steps_between(Neighbours(old.relation, held), Neighbours(relation, widest))
    runs = -(-size // proved) if held == unit else size
    return single * runs * (_detour(relation, unit) if old.bounded else 1)


def _between_units(old: PrivacyUnit, new: PrivacyUnit) -> int:
    if _holds(new, old):
        inside = _parts(new, old)
        if inside is None:
            raise ParameterError(
                f"{_capital(new)} may hold any number of parts, so the guarantee for {old} gives "
                f"none for it. Declare a limit, as in {type(new).__name__}(…=5), and truncate."
            )
        return inside
    if isinstance(old, Subtree) and old.vertices is not None and isinstance(new, Vertex):
        raise ParameterError(
            f"A guarantee for subtrees of at most {old.vertices} vertices says nothing about a "
            "vertex with more below it."
        )
    if _holds(old, new):
        return 2
    raise ParameterError(f"A guarantee for {old} says nothing about {new}.")


def _edges_to_node(old: Neighbours, new: Neighbours) -> int:
    unit = cast("Node", new.unit)
    if not new.bounded or old.bounded:
        raise ParameterError(
            "Edge privacy may publish which vertices exist, and says nothing about adding or "
            "removing a node; only unbounded edges give a guarantee for bounded nodes."
        )
    most = (
        unit.degree
        if unit.vertices is None
        else min(unit.vertices - 1, unit.degree if unit.degree is not None else unit.vertices)
    )
    if most is None:
        raise ParameterError(
            "A node may have any number of edges, so edge privacy gives no guarantee for it. "
            "Declare Node(degree=…) or Node(vertices=…)."
        )
    return 2 * most


def _same(old: PrivacyUnit, new: PrivacyUnit) -> bool:
    if isinstance(old, Unit) and isinstance(new, Unit):
        return old.name == new.name
    return type(old) is type(new)


def _check_limits(old: PrivacyUnit, new: PrivacyUnit) -> None:
    """Refuse new limits wider than those the guarantee was proved for."""
    for name in _LIMITS:
        if not (hasattr(old, name) and hasattr(new, name)):
            continue
        proved, asked = getattr(old, name), getattr(new, name)
        if proved is not None and (asked is None or asked > proved):
            raise ParameterError(
                f"The guarantee was proved for at most {proved} {name}, and says nothing about "
                f"{'any number of them' if asked is None else asked}."
            )


def _holds(coarse: PrivacyUnit, fine: PrivacyUnit) -> bool:
    nesting: dict[type[PrivacyUnit], tuple[type[PrivacyUnit], ...]] = {
        Unit: (Row,),
        Transaction: (Item,),
        Customer: (Transaction, Item),
        Tree: (Vertex, Subtree),
        Subtree: (Vertex,),
        Node: (Edge,),
    }
    return isinstance(fine, nesting.get(type(coarse), ()))


def _parts(coarse: PrivacyUnit, fine: PrivacyUnit) -> int | None:
    if isinstance(coarse, Unit):
        return coarse.max_rows
    if isinstance(coarse, Transaction):
        return coarse.items
    if isinstance(coarse, Subtree) or (isinstance(coarse, Tree) and isinstance(fine, Vertex)):
        return coarse.vertices
    if isinstance(coarse, Tree):
        return 1  # a tree is the subtree below its root
    if isinstance(coarse, Customer):
        if isinstance(fine, Transaction):
            return coarse.transactions
        if coarse.transactions is not None and coarse.items is not None:
            return coarse.transactions * coarse.items
    return None


def _far(guarantee: G, steps: int) -> G:
    """Restate a guarantee for data sets that many steps apart; neighbours stay as they were."""
    if isinstance(guarantee, (PureDP, LocalDP)):
        return replace(guarantee, epsilon=stated_up(steps * guarantee.exact_epsilon))
    if isinstance(guarantee, ApproxDP):
        return replace(
            guarantee,
            epsilon=stated_up(steps * guarantee.exact_epsilon),
            delta=stated_up(_far_delta(guarantee, steps)),
        )
    if isinstance(guarantee, ZCDP):
        return replace(guarantee, rho=stated_up(steps**2 * guarantee.exact_rho))
    if isinstance(guarantee, GDP):
        return replace(guarantee, mu=stated_up(steps * guarantee.exact_mu))
    if isinstance(guarantee, RDP):
        return replace(guarantee, curve=_far_curve(guarantee, steps))
    raise ParameterError(f"{guarantee.kind} cannot be restated for {steps} steps.")


def _far_delta(guarantee: ApproxDP, steps: int) -> Fraction:
    """Give δ·(1 + e^ε + … + e^((k−1)ε)), rounded up and at most 1."""
    epsilon, delta = guarantee.exact_epsilon, guarantee.exact_delta
    if delta == 0:
        return delta
    if epsilon == 0:
        return min(Fraction(1), steps * delta)
    if steps * epsilon > _GREAT_EPSILON:
        return Fraction(1)
    above = Fraction(exp_bounds(steps * epsilon, 80)[1]) - 1
    below = Fraction(exp_bounds(epsilon, 80)[0]) - 1
    if below <= 0:  # ε so small that e^ε cannot be told from 1: each of k terms is at most e^(kε)
        return min(Fraction(1), delta * steps * (above + 1))
    return min(Fraction(1), delta * above / below)


def _far_curve(guarantee: RDP, steps: int) -> tuple[tuple[float, float], ...]:
    doublings = (steps - 1).bit_length()
    curve = tuple(
        (alpha / 2**doublings, stated_up(3**doublings * stated(epsilon)))
        for alpha, epsilon in guarantee.curve
        if alpha >= 2 ** (doublings + 1)
    )
    if not curve:
        raise ParameterError(
            f"The Rényi guarantee has no order of at least {2 ** (doublings + 1)}, which its "
            f"restatement for {steps} steps needs; give it larger orders."
        )
    return curve


def _capital(unit: PrivacyUnit) -> str:
    text = str(unit)
    return text[0].upper() + text[1:]
