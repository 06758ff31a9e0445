"""One more look at a decision before it becomes a release.

Algorithms judge classes while they search. Two classes that end up with the same generalised
tuple are one class to a reader, so the whole decision is judged again as the released file
will show it. `verify` repeats this from the file, with other code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.tables.apply.cells import class_numbers, released_cells
from sfumato.errors import PromiseBroken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding


def recheck(problem: Problem, recoding: Recoding) -> None:
    """Raise `PromiseBroken` if a class of the release does not hold.

    Promises about key combinations and populations are left to `verify`: they are not about
    one class alone. Those about the release as a whole are judged by the sizes of all classes.
    """
    parts = [part for part in problem.definition.parts if part.per_class]
    cells = released_cells(problem.table, problem.hierarchies, recoding)
    numbers, _ = class_numbers(cells, problem.hierarchies)
    kept = np.flatnonzero(cells.kept & (cells.count > 0))
    groups = numbers[cells.row[kept]]
    present, groups = np.unique(groups, return_inverse=True)
    _recheck_whole(problem, np.bincount(groups.reshape(-1), weights=cells.count[kept]))
    totals = {
        name: np.bincount(
            problem.table.sensitive[cells.tuple_[kept], s],
            weights=cells.count[kept],
            minlength=len(problem.table.sensitive_values[s]),
        ).astype(np.int64)
        for s, name in enumerate(problem.table.sensitive_names)
    }
    for batch, places in problem.batches(groups.reshape(-1), len(present)):
        classes: Classes = problem.classes(
            groups.reshape(-1)[places] - batch.start,
            batch.stop - batch.start,
            tuples=cells.tuple_[kept][places],
            counts=cells.count[kept][places],
            totals=totals,
        )
        for part in parts:
            broken = int((~part.judge(classes)).sum())
            if broken:
                raise PromiseBroken(
                    f"{part} does not hold in {broken:,} class(es) of what the algorithm decided; "
                    "nothing is released. If this is your own definition, check that it does not "
                    "depend on the order or number of classes."
                )


def _recheck_whole(problem: Problem, sizes: NDArray[Any]) -> None:
    for part in problem.definition.parts:
        if part.of_whole and not part.keep_together(sizes.astype(np.int64)).all():
            raise PromiseBroken(
                f"{part} does not hold for all classes together of what the algorithm decided; "
                "nothing is released. If this is your own definition, check that keep_together "
                "keeps all of what it kept before."
            )
