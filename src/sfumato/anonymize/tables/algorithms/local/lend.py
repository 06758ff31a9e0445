"""Lending: a large class of equal records puts some of them at others' disposal.

A class whose records share one exact tuple pays nothing, and beyond what the definition
demands of it, its records are free to keep company to strays. Merging a stray with all
of them would be dear, so a part just large enough to hold on its own is set aside as a
class that can be merged; what turns out not to be needed moves back later, and classes
that release the same tuple are united in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.space import Shares, gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge


def lend(
    judge: Judge, shares: Shares, holds: NDArray[np.bool_]
) -> tuple[Shares, NDArray[np.bool_]]:
    """Set a part aside from every class of equal records that has not done so already."""
    chosen = _lenders(judge, shares, holds)
    if not len(chosen):
        return shares, holds
    whole = shares.take(chosen)
    part = _proportional(whole, judge.problem.definition.minimum_size)
    aside = Shares(whole.tuple_, part, whole.first)
    rest = Shares(whole.tuple_, whole.count - part, whole.first)
    fine = judge.holds(aside) & judge.holds(rest)
    taken = fine[whole.class_] & (part > 0)
    number = (shares.classes + np.cumsum(fine) - 1)[whole.class_]
    classes = shares.classes + int(fine.sum())
    lent = gather(
        np.concatenate([shares.tuple_, whole.tuple_[taken], whole.tuple_[taken]]),
        np.concatenate([shares.class_, chosen[whole.class_][taken], number[taken]]),
        np.concatenate([shares.count, -part[taken], part[taken]]),
        classes,
    )
    return lent, np.concatenate([holds, np.ones(classes - len(holds), dtype=np.bool_)])


def _lenders(judge: Judge, shares: Shares, holds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the classes of equal records, the only ones of their tuple, with enough to lend."""
    exact = judge.exact[shares.tuple_]
    first = exact[shares.first[:-1]]
    mixed = np.bincount(
        shares.class_, weights=exact != first[shares.class_], minlength=shares.classes
    )
    equal = holds & (mixed == 0)
    crowd = np.bincount(first[equal], minlength=len(judge.exact))[first]
    large = shares.size >= 2 * judge.problem.definition.minimum_size
    return np.flatnonzero(equal & (crowd == 1) & large)


def _proportional(shares: Shares, wanted: int) -> NDArray[np.int64]:
    """Return `wanted` records of each class, spread over its shares as evenly as they go."""
    size = shares.size[shares.class_]
    # Cumulated and rounded down, the parts of a class add up to exactly what is wanted.
    upto = np.cumsum(shares.count) - np.repeat(
        np.concatenate([[0], np.cumsum(shares.size)[:-1]]), shares.width
    )
    upper = upto * wanted // size
    part: NDArray[np.int64] = upper - (upto - shares.count) * wanted // size
    return part
