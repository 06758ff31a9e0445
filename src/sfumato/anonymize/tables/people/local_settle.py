"""Classes of their own generalised tuples, settled until every one of them holds exactly.

A class that does not hold is left out while the suppression limit allows it, and otherwise united
with the class that this makes dearer by the least. Every round leaves fewer classes, so it ends: in
a release that holds, or in one class that does not even where it shows nothing, and then nothing is
released.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.apply.cells import ReleasedCells, class_numbers
from sfumato.anonymize.tables.people.generalized_tuples import (
    GeneralizedTuples,
    leaf_tuple,
    widening,
)
from sfumato.anonymize.tables.people.placement import Placement, suppress
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.people.exact import ExactJudge


def settle_classes(judge: ExactJudge, placement: Placement) -> Placement:
    """Return a placement in which every class holds; raise `Unsatisfiable` where there is none."""
    limit = judge.problem.suppression_limit
    while True:
        placement = unite_alike(judge, placement)
        fails = judge.fails(placement.class_, placement.classes)
        outside = judge.uncovered(placement.classes)
        if not fails.any() and not len(outside):
            break
        records = judge.records(placement.class_, len(placement.classes))
        gone = judge.holdings.records - int(records.sum())
        if gone + int(records[fails].sum()) <= limit and fails.any() and not fails.all():
            placement = suppress(placement, fails)
        elif len(outside):
            placement = _reach(judge, placement, records, int(outside[0]))
        elif len(placement.classes) > 1:
            placement = _unite_failing(judge, placement, records, fails)
        elif not _is_everything(judge, placement.classes):
            placement = _show_nothing(judge, placement)
        else:
            break
    if fails.any() or not len(placement.classes):
        raise Unsatisfiable(
            f"{judge.problem.definition} cannot be kept among the {judge.holdings.people:,} people "
            f"of this table with at most {limit:,} of {judge.holdings.records:,} records left out: "
            "even one class of everybody does not keep it. Ask for less, or allow more suppression."
        )
    return placement


def _is_everything(judge: ExactJudge, classes: GeneralizedTuples) -> bool:
    """Tell whether nothing is shown of a single class."""
    top = [h.height - 1 for h in judge.problem.hierarchies]
    return bool((classes.level == top).all())


def _show_nothing(judge: ExactJudge, placement: Placement) -> Placement:
    """Let the last class stand for anybody: more people of a population fit it then."""
    classes = _copy(placement.classes)
    classes.level[:] = [h.height - 1 for h in judge.problem.hierarchies]
    return replace(placement, classes=classes)


def unite_alike(judge: ExactJudge, placement: Placement) -> Placement:
    """Count classes as a reader does: equal tuples are one, those without records none."""
    kept = placement.class_ >= 0
    cells = placement.classes
    nothing = np.zeros(0, dtype=np.int64)
    shown = ReleasedCells(nothing, nothing, nothing, cells.level, cells.low, cells.high)
    numbers, _ = class_numbers(shown, judge.problem.hierarchies)
    _, first, index = np.unique(
        numbers[placement.class_[kept]], return_index=True, return_inverse=True
    )
    class_ = placement.class_.copy()
    class_[kept] = index.reshape(-1)
    return Placement(class_, cells.take(placement.class_[kept][first]))


def _reach(
    judge: ExactJudge, placement: Placement, records: NDArray[np.int64], outside: int
) -> Placement:
    """Widen the cheapest class until it covers a tuple of the population."""
    assert judge.problem.population is not None
    person = leaf_tuple(judge.problem.population.quasi[outside])
    cost, wider = widening(judge.problem, placement.classes, records, person, 0)
    best = int(cost.argmin())
    classes = _copy(placement.classes)
    classes.put(best, wider.take(slice(best, best + 1)))
    return replace(placement, classes=classes)


def _unite_failing(
    judge: ExactJudge,
    placement: Placement,
    records: NDArray[np.int64],
    fails: NDArray[np.bool_],
) -> Placement:
    """Unite every class that fails with its cheapest partner, each class at most once."""
    classes, sizes = _copy(placement.classes), records.copy()
    into = np.arange(len(classes))
    alive = np.ones(len(classes), dtype=np.bool_)
    touched = np.zeros(len(classes), dtype=np.bool_)
    for c in np.flatnonzero(fails)[np.argsort(records[fails], kind="stable")]:
        if touched[c]:
            continue
        others = np.flatnonzero(alive & (np.arange(len(classes)) != c))
        if not len(others):
            break
        mine = classes.take(slice(int(c), int(c) + 1))
        cost, wider = widening(
            judge.problem, classes.take(others), sizes[others], mine, int(sizes[c])
        )
        best = int(cost.argmin())
        partner = int(others[best])
        classes.put(partner, wider.take(slice(best, best + 1)))
        sizes[partner] += sizes[c]
        alive[c], into[c] = False, partner
        touched[partner] = True
    for _ in range(len(into)):
        if (alive[into]).all():
            break
        into = into[into]
    kept = placement.class_ >= 0
    class_ = placement.class_.copy()
    class_[kept] = into[class_[kept]]
    return Placement(class_, classes)


def _copy(classes: GeneralizedTuples) -> GeneralizedTuples:
    return GeneralizedTuples(classes.level.copy(), classes.low.copy(), classes.high.copy())
