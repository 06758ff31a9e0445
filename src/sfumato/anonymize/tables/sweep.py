"""The trade-off curve: what each k would cost, without releasing anything.

The table is counted and priced once; for each k only the promise changes and the algorithm
decides again. `sweep` starts from a table, `sweep_release` from a release whose table has been
counted already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.anonymize.definitions.anonymity import with_k
from sfumato.anonymize.definitions.definition import Definition, number_between
from sfumato.anonymize.loss.measures import check_objective, losses
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.anonymize.tables.apply.rows import RowSettings
from sfumato.anonymize.tables.people.search import (
    bounded_problem,
    find_people_recoding,
    find_population_recoding,
    reach_everybody,
    settle,
)
from sfumato.anonymize.tables.release import algorithm_named, decides_levels, prepare
from sfumato.data.tables.permutation import RandomWords
from sfumato.data.tables.sources import read
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.people.search import People
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.schema import Schema
    from sfumato.release import Release


class SweepPoint(NamedTuple):
    """What one k costs; `loss` and `suppressed` are None where no release is possible."""

    k: int
    loss: float | None
    suppressed: int | None


def sweep(
    table: Any,
    promise: Definition,
    ks: Iterable[int],
    *,
    schema: Schema | str | Path | None = None,
    algorithm: str = "optimal",
    suppression: float = 0.0,
    objective: str = "LM",
    population: Any = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> tuple[SweepPoint, ...]:
    """Return loss and suppressed records for each k, the rest of the promise unchanged.

    The options are those of `anonymize`. A promise without a k gets one added.
    """
    source = read(table, schema=schema)
    promises = _promises(promise, ks)
    check_objective(objective)
    share = number_between("suppression", suppression, 0, 1)
    decide = algorithm_named(algorithm, time_limit, options)
    prepared = prepare(source, promise, RowSettings(), population, objective, share)
    people = None if prepared.source is None else prepared.source.people
    counted = _CountedTable(
        prepared.problem, people, share, source.schema.weights, algorithm,
        decides_levels(algorithm, options),
    )  # fmt: skip
    return _points(counted, promises, partial(decide, progress=progress))


def sweep_release(
    release: Release,
    ks: Iterable[int],
    *,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> tuple[SweepPoint, ...]:
    """Return the same for a release: its table, promise, algorithm and options, other k."""
    asked = dict(release.settings)
    name = asked.pop("algorithm", release.decision.recoding.record.algorithm)
    share = float(asked.pop("suppression", 0.0))
    for setting in ("objective", "order"):
        asked.pop(setting, None)
    decide = algorithm_named(name, time_limit, asked)
    promises = _promises(release.promise, ks)
    decision = release.decision
    counted = _CountedTable(
        decision.problem, decision.people, share, release.schema.weights, name,
        decides_levels(name, asked),
    )  # fmt: skip
    return _points(counted, promises, partial(decide, progress=progress))


def _promises(promise: Definition, ks: Iterable[int]) -> dict[int, Definition]:
    if not isinstance(promise, Definition):
        raise ParameterError(
            f"The promise must be a definition such as sf.KAnonymity(5), not {promise!r}."
        )
    promises = {k: with_k(promise, k) for k in ks}
    if not promises:
        raise ParameterError("A sweep needs at least one k, for instance 2, 5, 10.")
    return dict(sorted(promises.items()))


@dataclass(frozen=True, eq=False, repr=False)
class _CountedTable:
    """A table that was counted: the problem, and whose the records are where people have several.

    `problem` is then about records or about primary records; people are decided about anew.
    `levels` says that the algorithm decides levels, not classes of their own.
    """

    problem: Problem
    people: People | None
    share: float
    weights: tuple[float, ...]
    algorithm: str
    levels: bool

    def decide(
        self, promise: Definition, search: Callable[..., Recoding]
    ) -> tuple[Problem, Recoding]:
        """Return what an algorithm decides for a promise, settled as a release would be."""
        words = RandomWords(None)
        if self.people is None:
            problem = replace(self.problem, definition=promise)
            if not promise.needs_population:
                return problem, search(problem)
            recoding = find_population_recoding(
                problem, search, self.algorithm, words, levels=self.levels
            )
            return problem, reach_everybody(problem, recoding, words)
        problem = replace(self.people.problem, definition=promise)
        people = replace(self.people, problem=problem)
        bounded = bounded_problem(people, self.share, self.weights)
        recoding = find_people_recoding(people, bounded, search, self.algorithm, levels=self.levels)
        return problem, settle(people, recoding, words)[0]


def _points(
    counted: _CountedTable,
    promises: dict[int, Definition],
    search: Callable[..., Recoding],
) -> tuple[SweepPoint, ...]:
    points = []
    for k, promise in promises.items():
        try:
            problem, recoding = counted.decide(promise, search)
        except Unsatisfiable:
            points.append(SweepPoint(k, None, None))
            continue
        loss = losses(problem.table, problem.hierarchies, recoding, counted.weights)
        cells = released_cells(problem.table, problem.hierarchies, recoding)
        points.append(SweepPoint(k, loss[problem.objective], cells.suppressed_records))
    return tuple(points)
