"""The most frequent items, values, nodes or cells of data that are no table.

Contract: candidates are public, and everything becomes *baskets*, sets of candidates that are
counted: how many baskets hold each. Peeling (:mod:`sfumato.dp.publish.topk.peeling`) asks of a unit
one thing, that adding it raises every count by 0 or 1 and lowers none; then ε is undivided, and
nothing of the unit has to be cut off. Proof, unit by unit; any other, a group of these among
them, is refused, since nothing was proved of it:

* sets: a basket per set. A *transaction* is one basket, an *item* one entry of one basket: either
  way a count moves by at most 1, upwards. For a *customer* all her sets are put together to one
  basket, and counted are customers.
* trees: a basket per tree, of the values that a label has in it. A *tree* is one basket; with a
  *vertex* or a *subtree* a tree gains values and loses none.
* graphs, for an *edge*, nodes and their attributes being public: a basket per edge, of its two ends
  (so counts are degrees) or of the values that an attribute has at them. For a *node*: a basket per
  node, of its value of an attribute; the edges do not count, and nodes cannot be named.
* trajectories: a basket per trace, of the cells of a public grid that it touches, for a *trip*; all
  traces of a *person* are put together to one basket.

Counts of the winners move by at most 1 each, so by k together, as
:func:`~sfumato.dp.publish.topk.release.top_k` has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.session.publications import Publication
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import (
    Customer,
    Edge,
    Item,
    Node,
    Subtree,
    Transaction,
    Tree,
    Trip,
    Unit,
    Vertex,
)
from sfumato.dp.publish.statistics.nested import values_of
from sfumato.dp.publish.topk.release import plan_top_k, top_k
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.data.graphs.graph import Graph
    from sfumato.data.trajectories.trajectories import Trajectories
    from sfumato.data.trees.trees import Trees
    from sfumato.dp.neighbours import Neighbours, PrivacyUnit

MOST_CELLS = 1024
"""The finest public grid, in cells per side."""

UNITS = {
    "sets": (Item, Transaction, Customer),
    "trees": (Vertex, Subtree, Tree),
    "graph": (Edge, Node),
    "trajectories": (Trip, Unit),
}
"""The units that the proof is about, by shape."""


@dataclass(frozen=True)
class Candidates:
    """What can win, and how baskets of it are made; `names` is None where nobody lists them.

    `people` says whose each basket is, where all of a person's are put together.
    """

    what: str
    names: tuple[Any, ...] | None
    baskets: Callable[[], list[Any]]
    people: Sequence[Any] | None = None


def plan_winners(
    source: Any, people: Sequence[Any] | None, near: Neighbours, k: int, *,
    of: str | None = None, among: Any = None, cells: int | None = None, counts: bool = False,
    set_size: int = 1, unlisted: bool = True,
) -> Publication:  # fmt: skip
    """Plan the k candidates that most baskets hold; everything that can be refused is, here.

    `unlisted` tells that a price with δ was stated, which items without a public list need.
    """
    found = _candidates(source, people, near.unit, of=of, among=among, cells=cells)
    if set_size != 1 and not isinstance(near.unit, Transaction | Customer):
        raise ParameterError("set_size= is for sets, with a transaction or a customer hidden.")
    many = None if found.names is None else len(found.names)
    if many is not None and k > many and set_size == 1:
        raise ParameterError(f"k is at most the number of candidates, {many:,}.")
    listed = found.names is not None
    if not (listed or unlisted):
        raise ParameterError("Without among=, a public list of items, delta= is needed.")
    options: dict[str, Any] = {"algorithm": "peeling" if listed else "gaussian", "counts": counts,
               "set_size": set_size}  # fmt: skip

    def make(price: dict[str, Any]) -> Any:
        won = top_k(found.baskets(), k, items=found.names, people=found.people, **price, **options)
        return replace(won, guarantee=replace(won.guarantee, neighbours=near))

    def predict(_rows: int, price: dict[str, Any]) -> Any:
        return plan_top_k(k, items=many, **price, **options)

    predict(1, {"epsilon": 1, **({} if listed else {"delta": "1e-6"})})  # refuses bad parameters
    asked = {"top_k": found.what, "k": k, "unit": near.unit.stated(), "counts": counts,
             "set_size": set_size, "among": None if among is None else list(found.names or ()),
             "cells": cells, "bounds": None if cells is None else source.frame.bounds}  # fmt: skip
    return Publication(f"top {k} of {found.what}", asked, make, predict)


def _candidates(
    source: Any, people: Sequence[Any] | None, unit: PrivacyUnit, *,
    of: str | None, among: Any, cells: int | None,
) -> Candidates:  # fmt: skip
    if not isinstance(unit, UNITS[source.shape]):
        known = ", ".join(kind.__name__ for kind in UNITS[source.shape])
        raise ParameterError(f"The most frequent are named for one of {known} hidden, not {unit}.")
    if (cells is not None) != (source.shape == "trajectories"):
        raise ParameterError("cells= is how many cells per side a grid for traces has.")
    if source.shape == "sets":
        return _items(source, people, unit, of, among)
    if source.shape == "trees":
        return _values(source, of, among)
    if source.shape == "graph":
        return _nodes(source, unit, among) if of is None else _attribute(source, unit, of, among)
    assert cells is not None
    return _places(source, unit, cells, of, among)


def _items(
    source: Any, people: Sequence[Any] | None, unit: PrivacyUnit, of: str | None, among: Any
) -> Candidates:
    if of is not None:
        raise ParameterError("Sets have items only; leave of= out, and list items as among=.")
    if among is None and not isinstance(unit, Transaction | Customer):
        raise ParameterError("List the items that can win as among=, a public list.")
    if isinstance(unit, Customer) and people is None:
        raise ParameterError(
            "Nothing says which sets are of one customer; open the session with people=…, one "
            "name per set."
        )
    names = None if among is None else _listed(among)
    owners = [str(name) for name in people or ()] if isinstance(unit, Customer) else None
    return Candidates("items", names, source.lists, owners)


def _values(source: Trees, label: str | None, among: Any) -> Candidates:
    if label is None:
        raise ParameterError("Say of which label the values are, as in of='courses.id'.")

    def baskets() -> list[Any]:
        values, owners = values_of(source, label)
        mine: list[list[str]] = [[] for _ in range(len(source))]
        for value, owner in zip(values, owners.tolist(), strict=True):
            mine[owner].append(str(value))
        return mine

    return Candidates(f"values of {label}", _listed(among), baskets)


def _nodes(source: Graph, unit: PrivacyUnit, among: Any) -> Candidates:
    if isinstance(unit, Node):
        raise ParameterError(
            "A list of nodes would name those whose presence is hidden; give of=, an attribute of "
            "nodes, with among=, or hide edges: unit='edge'."
        )
    labels = source.labels or tuple(map(str, range(len(source))))

    def baskets() -> list[Any]:
        return [(labels[u], labels[v]) for u, v in source.edges.tolist()]

    return Candidates("nodes", labels if among is None else _listed(among), baskets)


def _attribute(source: Graph, unit: PrivacyUnit, name: str, among: Any) -> Candidates:
    """Count edges or nodes by value; a name that no node has counts nothing, and is no error."""

    def baskets() -> list[Any]:
        values = source.attributes.get(name, ("",) * len(source))
        if isinstance(unit, Edge):
            return [(values[u], values[v]) for u, v in source.edges.tolist()]
        return [(value,) for value in values]

    what = f"{name} by edges" if isinstance(unit, Edge) else name
    return Candidates(what, _listed(among), baskets)


def _places(
    source: Trajectories, unit: PrivacyUnit, cells: int, of: str | None, among: Any
) -> Candidates:
    if of is not None or among is not None:
        raise ParameterError("Of traces the cells of a public grid can win; give cells= alone.")
    side = parameters.count(cells, "cells, per side of the grid,") or 1
    if side > MOST_CELLS:
        raise ParameterError(f"A grid has at most {MOST_CELLS:,} cells per side.")
    bounds = source.frame.bounds
    if bounds is None:
        raise ParameterError("A grid needs public bounds; read the traces with bounds=….")
    x0, x1, y0, y1 = bounds
    wide, high = (x1 - x0) / side, (y1 - y0) / side
    names = tuple(
        f"{x0 + i * wide:.7g}…{x0 + (i + 1) * wide:.7g}, {y0 + j * high:.7g}…"
        f"{y0 + (j + 1) * high:.7g}"
        for j in range(side) for i in range(side)
    )  # fmt: skip

    def baskets() -> list[Any]:
        x, y = (source.frame.restore(source.places[:, axis], axis) for axis in (0, 1))
        column = np.clip(((x - x0) / wide).astype(np.int64), 0, side - 1)
        row = np.clip(((y - y0) / high).astype(np.int64), 0, side - 1)
        parts = np.split(row * side + column, source.starts[1:-1]) if len(source) else []
        return [[names[cell] for cell in np.unique(part).tolist()] for part in parts]

    people = source.person.tolist() if isinstance(unit, Unit) else None
    return Candidates("cells", names, baskets, people)


def _listed(among: Any) -> tuple[str, ...]:
    if among is None:
        raise ParameterError("List what can win as among=, a public list: not one from the data.")
    if isinstance(among, str) or not isinstance(among, Iterable):
        raise ParameterError("among must be a list of texts.")
    found = tuple(str(name) for name in among)
    if not found or len(set(found)) < len(found):
        raise ParameterError("A public list names at least one candidate, and each once.")
    return found
