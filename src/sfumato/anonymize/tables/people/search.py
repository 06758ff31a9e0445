"""Tables of people with several rows: what the algorithms see, and what becomes of their answer.

`PeopleSource` counts the released columns together with the column that names people. The
algorithms get a problem about primary records (`holdings.py`); their recoding is extended to all
records (`placement.py`) and settled with exact numbers of people (`local_settle.py`,
`full_domain_settle.py`) before rows are made of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.loss.measures import separable
from sfumato.anonymize.tables.people.exact import ExactJudge
from sfumato.anonymize.tables.people.full_domain_settle import settle_levels, suppressed_tuples
from sfumato.anonymize.tables.people.holdings import (
    Holdings,
    gather_holdings,
    one_record_each,
    primary_holdings,
    primary_table,
)
from sfumato.anonymize.tables.people.local_settle import settle_classes, unite_alike
from sfumato.anonymize.tables.people.placement import Placement, place
from sfumato.anonymize.tables.recoding import FullDomain, Local
from sfumato.decision import SearchRecord
from sfumato.errors import ParameterError, PromiseBroken, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.tables.permutation import RandomWords

MOST_CLASSES = 2_000
"""Classes of equal tuples up to which they are united two by two."""


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Who holds the records of a problem.

    `problem` is about all records; `holding_of` tells the holding of every combination counted;
    `primary` is each person's primary holding, `held` the tuples that have any.
    """

    problem: Problem
    holdings: Holdings
    holding_of: NDArray[np.int64]
    primary: NDArray[np.int64]
    held: NDArray[np.int64]


def gather_people(
    problem: Problem,
    person: NDArray[np.integer],
    tuple_of: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> People:
    """Find out who holds which records."""
    holdings, holding_of = gather_holdings(person, tuple_of, counts)
    if problem.definition.minimum_size > holdings.people:
        raise ParameterError(
            f"{problem.definition} needs at least {problem.definition.minimum_size:,} people, and "
            f"the table has {holdings.people:,}; ask for less, or bring more people."
        )
    primary = primary_holdings(problem.table, holdings)
    held = primary_table(problem.table, holdings, primary)[1]
    return People(problem, holdings, holding_of, primary, held)


def bounded_problem(people: People, suppression: float, weights: tuple[float, ...]) -> Problem:
    """Return the problem about primary records, whose sizes never exceed numbers of people."""
    problem = people.problem
    table, _ = primary_table(problem.table, people.holdings, people.primary)
    objective = problem.objective if problem.objective in {"LM", "MD", "NUE"} else "LM"
    costs, suppressed = separable(objective, problem.hierarchies, table, weights)
    limit = math.floor(suppression * table.rows + 1e-9)
    return replace(
        problem,
        table=table,
        costs=costs,
        suppressed=suppressed,
        suppression_limit=limit if problem.definition.allows_suppression else 0,
    )


def settle(
    people: People, recoding: Recoding, words: RandomWords, *, fixed: bool = False
) -> tuple[Recoding, Placement]:
    """Return a recoding of all records that holds among people, and where everybody is."""
    judge = ExactJudge(people.problem, people.holdings)
    if isinstance(recoding, FullDomain):
        best, proven = settle_levels(judge, recoding.levels, fixed=fixed)
        record = replace(
            recoding.record,
            proven_optimal=proven,
            label=_label(recoding.record.label, proven=proven, fixed=fixed),
        )
        _recheck(judge, best.placement)
        out = suppressed_tuples(judge, best.placement)
        return FullDomain(best.node, out, record), best.placement
    placement = place(people.problem, people.holdings, people.primary, people.held, recoding, words)
    placement = unite_alike(judge, settle_classes(judge, placement))
    _recheck(judge, placement)
    return placement.local(people.holdings, recoding.record), placement


def find_people_recoding(
    people: People,
    bounded: Problem,
    search: Callable[..., Recoding],
    algorithm: str,
    *,
    levels: bool,
) -> Recoding:
    """Let an algorithm decide about primary records; what it cannot do is not final.

    `levels` says that it decides levels, not classes of their own.
    """
    try:
        return search(bounded)
    except Unsatisfiable:
        return _begin_exactly(people, algorithm, levels=levels)


def find_population_recoding(
    problem: Problem,
    search: Callable[..., Recoding],
    algorithm: str,
    words: RandomWords,
    *,
    levels: bool,
) -> Recoding:
    """Let an algorithm decide about a promise that compares with a population.

    A local class shows what its members have in common. Everybody in one class may so be shown
    more narrowly than `*`, fewer of the population fit, and the promise fails that `*` keeps. Where
    an algorithm gives up, classes of equal tuples are therefore united until each holds, and the
    last one is widened to `*`. Levels need none of this: their search has judged `*`.
    """
    try:
        return search(problem)
    except Unsatisfiable:
        if levels:
            raise
        people = _one_row_each(problem)
        return settle(people, _begin_exactly(people, algorithm, levels=False), words)[0]


def _begin_exactly(people: People, algorithm: str, *, levels: bool) -> Recoding:
    """Return where to begin to settle when no recoding of primary records keeps the promise.

    Primary records show one value of a person only, so a promise may fail among them that holds
    among all records. Classes are then settled by exact numbers alone: from the topmost levels
    down, or from classes of equal tuples upwards, of everybody as one where those are many.
    """
    problem = people.problem
    table, _ = primary_table(problem.table, people.holdings, people.primary)
    record = SearchRecord(algorithm, label="settled with exact numbers of people")
    if levels:
        top = tuple(h.height - 1 for h in problem.hierarchies)
        return FullDomain(top, np.zeros(table.distinct, dtype=np.bool_), record)
    low, class_ = np.unique(table.quasi.astype(np.int64), axis=0, return_inverse=True)
    level = np.zeros_like(low)
    if len(low) > MOST_CLASSES:
        low, class_ = low[:1], np.zeros(table.distinct, dtype=np.int64)
        level = np.array([[h.height - 1 for h in problem.hierarchies]], dtype=np.int64)
    tuples = np.arange(table.distinct)
    return Local(tuples, class_.reshape(-1), table.counts, level, low, low, record)


def _label(label: str, *, proven: bool, fixed: bool) -> str:
    if fixed:
        return label
    if proven:
        return "proven optimal: every cheaper level was tried with exact numbers of people"
    return "levels settled with exact numbers of people; not proven optimal"


def _recheck(judge: ExactJudge, placement: Placement) -> None:
    """Judge what will be released once more; nothing leaves that does not hold."""
    broken = int(judge.fails(placement.class_, placement.classes).sum())
    if broken or len(judge.uncovered(placement.classes)):
        raise PromiseBroken(
            f"{judge.problem.definition} does not hold in {broken:,} class(es) of what was "
            "decided; nothing is released. If this is your own definition, check that it does not "
            "depend on the order or number of classes."
        )


def _one_row_each(problem: Problem) -> People:
    """Take every record for that of another person."""
    holdings = one_record_each(problem.table)
    everybody = holdings.person
    return People(problem, holdings, everybody, everybody, problem.table.counts.nonzero()[0])


def reach_everybody(
    problem: Problem, recoding: Recoding, words: RandomWords, *, fixed: bool = False
) -> Recoding:
    """Widen a recoding until a lower bound of δ-presence holds for the whole population.

    Whoever of the population fits no released class is known to be absent. Algorithms judge the
    classes that have records; this looks at everybody else. A recoding that holds is kept.
    """
    people = _one_row_each(problem)
    judge = ExactJudge(problem, people.holdings)
    if not judge.covering:
        return recoding
    if isinstance(recoding, Local):
        found, _ = settle(people, recoding, words)
        return found
    best, proven = settle_levels(judge, recoding.levels, fixed=fixed)
    if best.node == recoding.levels:
        return recoding
    label = _label(recoding.record.label, proven=proven, fixed=fixed)
    record = replace(
        recoding.record,
        proven_optimal=proven,
        label=label.replace("numbers of people", "judgement"),
    )
    return FullDomain(best.node, suppressed_tuples(judge, best.placement), record)
