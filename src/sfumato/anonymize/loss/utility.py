"""What a release is still good for: counts and models, asked of a `Release`.

`query_error` and `model_loss` compare a release with the data it was made from. Both need
that data or what was counted of it, so they are for the data steward, before release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.loss.learning import TargetCounts, learning_loss
from sfumato.anonymize.loss.queries import query_loss
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import frequency_table
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.anonymize.loss.learning import LearningLoss
    from sfumato.anonymize.loss.queries import Query, QueryLoss
    from sfumato.release import Release


def query_error(
    release: Release, workload: Sequence[Query] | None = None, **options: Any
) -> QueryLoss:
    """Return how wrong counts become when asked of the release; see `query_loss`."""
    if getattr(getattr(release, "decision", None), "problem", None) is None:
        raise ParameterError(
            "query_error asks a release that sf.anonymize made of a table; of any other table "
            "sf.loss(original, released, schema).queries tells the same."
        )
    problem, recoding = release.decision.problem, release.decision.recoding
    return query_loss(problem.table, problem.hierarchies, recoding, workload, **options)


def model_loss(release: Release, people: Any, target: str, **options: Any) -> LearningLoss:
    """Return how much worse a model predicts `target` when it learns from the release.

    `people` is the data the release was made from; `target` any of its attributes that is
    not a quasi-identifier. See `learning_loss`.
    """
    problem, recoding, schema = release.decision.problem, release.decision.recoding, release.schema
    if target in schema.quasi_names:
        raise DataError(
            f"The target '{target}' is a quasi-identifier, which the release shows generalised; "
            "choose an attribute that is released as it is."
        )
    data = read(people)
    lacking = [name for name in (*schema.quasi_names, target) if name not in data.columns]
    if lacking:
        raise DataError(f"{data.source} lacks the attribute(s) {', '.join(lacking)}.")
    judged = problem.table.sensitive_names
    counted = data.count(tuple(dict.fromkeys((*schema.quasi_names, *judged, target))))
    table, tuple_of = frequency_table(counted, schema, problem.hierarchies, judged)
    if not np.array_equal(table.counts, problem.table.counts):
        raise DataError(f"{data.source} is not the data this release was made from.")
    value = counted.codes[counted.columns.index(target)].astype(np.int64)
    counts = TargetCounts(target, tuple_of, value, counted.counts)
    return learning_loss(table, problem.hierarchies, recoding, counts, **options)
