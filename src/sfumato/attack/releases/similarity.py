"""Similarity: different sensitive values that mean nearly the same.

Li, Li, Venkatasubramanian: t-Closeness, ICDE 2007: a class with gastritis, ulcer and stomach
cancer has three values, and everybody in it has a stomach disease; a class of the three
lowest salaries has three values, and everybody in it is poor. Meaning comes from the tree
declared for the attribute (nodes below the root), or from the order of its values (runs of
neighbours). A class tells when at least `confidence` of it is in one group, and the group holds a
share that is at least `gain` smaller of the whole release: the attacker believed that much less
before. A run is chosen after the class was seen, and any five values lie in some run, so a run
counts only where it holds at most half of the whole release.

Closeness with equal distance t bounds the gain of every group by t. Over a tree of root
level H, hierarchical closeness bounds the gain g of a node on level h by t·H/(h + 1): the
records that must leave it pass its level and all below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_share,
    class_query,
)
from sfumato.attack.releases.exposure import people_in
from sfumato.compiler import njit
from sfumato.errors import HierarchyError, ParameterError
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.schema import Schema
    from sfumato.released.evidence import Spread
    from sfumato.released.tables import TableView

Meaning = Literal["tree", "order"]

RUN = 0.5
"""Largest share of the whole release in a run of the order that tells something."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Per class the most telling group: its share of the class and of the table, and a name.

    Names are made when they are asked for: few of many classes are shown.
    """

    inside: NDArray[np.float64]
    overall: NDArray[np.float64]
    name: Callable[[int], str]


def similarity(
    release: Any,
    *,
    by: Meaning | None = None,
    confidence: float = 0.9,
    gain: float = 0.25,
    narrow: float | None = None,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people whose class lies in one group of similar values, as few others do.

    `by` is "tree" or "order"; without it, the tree where one is declared. `narrow` is the largest
    share of the whole release that a group may hold; without it any share does for a node of the
    tree, and one half for a run of the order.
    """
    limit = checked_share("confidence", confidence)
    checked_share("gain", gain)
    if narrow is not None:
        checked_share("narrow", narrow)
    view = see_people(release, schema)
    name = view.attribute(attribute)
    spread = view.spread(name)
    kind = ("order" if spread.hierarchy is None else "tree") if by is None else by
    most_of_all = (RUN if kind == "order" else 1.0) if narrow is None else narrow
    groups = _found(spread, kind, limit, gain, most_of_all, name)
    exposed = groups.inside > 0
    people = np.round(groups.inside * spread.sizes).astype(np.int64)
    worst = int(np.argmax(np.where(exposed, groups.inside - groups.overall, -1)))
    t = round(0.96 * max(limit - most_of_all, gain), 6)
    stop = TCloseness(t, name)
    return Outcome(
        "similarity",
        f"the class of the target, and the {kind} of the values of {name}",
        "confidence",
        int(view.evidence.sizes.sum()),
        int(people[exposed].sum()),
        float(groups.overall[worst]),
        float(groups.inside[worst]),
        limit,
        tuple(
            _finding(view, name, groups, int(c), int(people[c]), kind)
            for c in _ranked(groups, exposed)[:most]
        ),
        f"{stop}: no group of values fills {limit:g} of a class and much less of the rest",
        stop,
        name,
        {"classes that tell": float(exposed.sum()), "classes": float(len(exposed))},
    )


def _ranked(groups: _Groups, exposed: NDArray[np.bool_]) -> NDArray[np.int64]:
    classes = np.flatnonzero(exposed)
    gain = groups.inside[classes] - groups.overall[classes]
    ranked: NDArray[np.int64] = classes[np.argsort(-gain, kind="stable")]
    return ranked


def _found(
    spread: Spread, kind: str, limit: float, gain: float, narrow: float, name: str
) -> _Groups:
    if kind == "order":
        return _runs(spread, limit, gain, narrow)
    if kind != "tree":
        raise ParameterError(f"by must be 'tree' or 'order', not {kind!r}.")
    if spread.hierarchy is None:
        raise HierarchyError(
            f"'{name}' has no hierarchy in the schema; declare one, or attack by='order'."
        )
    return _nodes(spread, limit, gain, narrow)


def _nodes(spread: Spread, limit: float, gain: float, narrow: float) -> _Groups:
    """Return the most telling node below the root of each class, the finest first."""
    tree = spread.hierarchy
    assert tree is not None
    classes = len(spread.sizes)
    inside, overall = np.zeros(classes), np.zeros(classes)
    found = np.zeros((classes, 2), dtype=np.int64)
    leaves = np.array([tree.codes[value] for value in spread.values], dtype=np.int64)
    for level in range(tree.height - 1):
        node = tree.levels[leaves, level].astype(np.int64)
        width = len(tree.labels[level])
        whole = np.bincount(node, weights=spread.total, minlength=width) / spread.total.sum()
        key, share = _add_up(spread.class_ * width + node[spread.value], spread.inside)
        prior = whole[key % width]
        tells = (share >= limit - NEARLY) & (share - prior >= gain - NEARLY)
        tells &= prior <= narrow + NEARLY
        chosen, first = np.unique(key[tells] // width, return_index=True)
        fresh = inside[chosen] == 0
        chosen, at = chosen[fresh], np.flatnonzero(tells)[first[fresh]]
        inside[chosen] = np.minimum(share[at], 1.0)
        overall[chosen] = whole[key[at] % width]
        found[chosen] = np.stack([np.full(len(at), level), key[at] % width], axis=1)
    return _Groups(inside, overall, lambda c: tree.labels[found[c, 0]][found[c, 1]])


def _add_up(
    keys: NDArray[np.int64], shares: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the distinct keys, which rise, and the sum of the shares of each."""
    if (keys[1:] > keys[:-1]).all():
        return keys, shares
    distinct, index = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(index.reshape(-1), weights=shares).astype(np.float64)


def _runs(spread: Spread, limit: float, gain: float, narrow: float) -> _Groups:
    """Return the narrowest run of neighbouring values that fills enough of each class."""
    starts = np.searchsorted(spread.class_, np.arange(len(spread.sizes) + 1)).astype(np.int64)
    climb = np.concatenate([[0.0], np.cumsum(spread.total) / spread.total.sum()])
    low, high, share = _narrowest(starts, spread.value, spread.inside, climb, limit - NEARLY)
    overall = climb[high + 1] - climb[low]
    tells = (overall <= narrow + NEARLY) & (share - overall >= gain - NEARLY)

    def name(c: int) -> str:
        return f"{spread.values[low[c]]} to {spread.values[high[c]]}"

    return _Groups(np.where(tells, np.minimum(share, 1.0), 0.0), overall, name)


@njit(cache=True)
def _narrowest(starts, value, inside, climb, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return per class the run of values with the smallest share of the table that is enough."""
    classes = len(starts) - 1
    low = np.zeros(classes, dtype=np.int64)
    high = np.zeros(classes, dtype=np.int64)
    share = np.zeros(classes, dtype=np.float64)
    for c in range(classes):
        best = np.inf
        end, held = starts[c], 0.0
        for begin in range(starts[c], starts[c + 1]):
            while end < starts[c + 1] and held < limit:
                held += inside[end]
                end += 1
            if held < limit:
                break
            width = climb[value[end - 1] + 1] - climb[value[begin]]
            if width < best:
                best = width
                low[c], high[c], share[c] = value[begin], value[end - 1], held
            held -= inside[begin]
    return low, high, share


def _finding(
    view: TableView, name: str, groups: _Groups, c: int, people: int, kind: str
) -> Finding:
    cells = view.evidence.cells(c)
    return Finding(
        "similarity",
        people_in(people, int(view.evidence.sizes[c]), cells),
        people,
        f"their {name} is in one group of the {kind}",
        float(groups.overall[c]),
        float(groups.inside[c]),
        {
            "class": cells,
            "records in the class": int(view.evidence.sizes[c]),
            "replay": class_query(cells, name),
        },
        name,
        secret=(groups.name(c),),
    )
