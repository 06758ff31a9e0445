"""`check_algorithm`: whether an algorithm keeps every promise, judged by its files alone.

An algorithm is any function from a `Problem` to a `Recoding`. The kit runs it on small random
tables with every built-in definition, applies what it decided, and verifies the released
file with code that shares nothing with algorithms. It also checks that nobody is lost or
invented, that the suppression limit is kept, and that giving up is honest: `Unsatisfiable` is
accepted only where the whole table as one class does not hold either.

The random tables are fiction; their generator is not for releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.run import assemble
from sfumato.anonymize.tables.apply.rows import RowSettings
from sfumato.anonymize.tables.release import prepare, settle_decision
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.schema import Schema
from sfumato.data.tables.sources import read
from sfumato.errors import PromiseBroken, Unsatisfiable
from sfumato.shape import find_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.tables.table import Table

PROMISES: tuple[Definition, ...] = (
    KAnonymity(3),
    KAnonymity(2) & DistinctLDiversity(2, "disease"),
    EntropyLDiversity(1.7, "disease"),
    RecursiveLDiversity(3, 2, "disease"),
    KAnonymity(2) & TCloseness(0.35, "disease"),
    TCloseness(0.25, "wage", distance="ordered"),
    DistinctLDiversity(2, "disease") & TCloseness(0.4, "wage"),
    BetaLikeness(1.5, "disease"),
    DeltaDisclosure(2.0, "wage"),
)


def check_algorithm(
    decide: Callable[[Problem], Recoding],
    *,
    promises: Iterable[Definition] = PROMISES,
    tables: int = 2,
    suppressions: Iterable[float] = (0.0, 0.2),
) -> None:
    """Raise `AssertionError` with the table, promise and finding when anything is wrong."""
    for promise in promises:
        for seed in range(tables):
            people = random_people(seed)
            for share in suppressions:
                _check(decide, people, promise, share, f"table {seed}, {promise}, at most {share}")


def _check(
    decide: Callable[[Problem], Recoding],
    people: Table,
    promise: Definition,
    share: float,
    case: str,
) -> None:
    settings = RowSettings()
    prepared = prepare(people, promise, settings, None, "LM", share)
    try:
        recoding = decide(prepared.problem)
    except Unsatisfiable:
        everyone = prepared.problem.judge(np.zeros(prepared.problem.table.distinct, np.int64), 1)
        assert not everyone.all(), f"{case}: gave up although one class of everybody holds"
        return
    try:
        decision = settle_decision(prepared, recoding, settings, {})
        release = assemble(find_shape("table"), people, promise, decision, algorithm="own")
    except PromiseBroken as error:
        raise AssertionError(f"{case}: {error}") from None
    checked = release.verify()
    assert checked.holds, f"{case}: {checked}"
    assert release.suppressed <= share * prepared.problem.rows + 1e-9, (
        f"{case}: suppressed too many"
    )
    assert len(release.rows) == prepared.problem.rows - release.suppressed, f"{case}: records lost"


def random_people(seed: int) -> Table:
    """Return a small table of people who do not exist."""
    generator = np.random.default_rng(seed)  # fiction, not a release
    n = int(generator.integers(25, 70))
    columns: dict[str, Any] = {
        "age": generator.integers(20, 36, n).tolist(),
        "job": generator.choice(["nurse", "cook", "clerk", "smith", ""], n).tolist(),
        "sex": generator.choice(["f", "m"], n).tolist(),
        "disease": generator.choice(["flu", "acne", "ulcer"], n, p=[0.5, 0.3, 0.2]).tolist(),
        "wage": generator.integers(1, 5, n).tolist(),
    }
    jobs = {"care": ["nurse"], "craft": ["cook", "smith"], "desk": ["clerk"]}
    schema = Schema(
        quasi={
            "age": Hierarchy.intervals(width=4, fanout=2, low=20, high=36),
            "job": Hierarchy.tree({"*": jobs}),
            "sex": None,
        },
        sensitive=["disease", "wage"],
    )
    return read(columns, schema=schema)
