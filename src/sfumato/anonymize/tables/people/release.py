"""From a table of people with several rows each to a decision, and from that to rows.

The steps are those of every table (`anonymize/tables/release.py`); what is counted, settled and
written in another way is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.tables.apply.recode import labelled_shares
from sfumato.anonymize.tables.apply.rows import (
    RowSettings,
    count_people,
    kept_types,
    released_columns,
)
from sfumato.anonymize.tables.decision import TableDecision
from sfumato.anonymize.tables.people.rows import numbered_lines, numbered_query, seat
from sfumato.anonymize.tables.people.search import People, bounded_problem, gather_people, settle
from sfumato.anonymize.tables.people.unit import check_promise, number_column
from sfumato.anonymize.tables.pose import pose
from sfumato.data.tables.permutation import RandomWords
from sfumato.decision import SearchRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.apply.recode import LabelledShares
    from sfumato.anonymize.tables.people.placement import Placement
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.engines.counted import Counted
    from sfumato.data.tables.frequency import FrequencyTable
    from sfumato.data.tables.rows import Rows
    from sfumato.data.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class PeopleSource:
    """A counted table, whose records are whose, and the problem the algorithms are given.

    `problem` is about primary records, `people.problem` about all.
    """

    table: Table
    counted: Counted
    unit: str
    people: People
    problem: Problem


def prepare_people(
    table: Table,
    promise: Definition,
    settings: RowSettings,
    unit: str,
    population: Any,
    objective: str,
    suppression: float,
) -> PeopleSource:
    """Count a table together with its people and set both problems up."""
    pseudonyms = settings.pseudonym_key is not None and bool(table.schema.identifier_names)
    check_promise(promise, pseudonyms=pseudonyms)
    origin, counted = count_people(table, promise, settings, unit)
    problem, tuple_of = pose(table, promise, counted, population, objective, suppression)
    person = counted.codes[counted.columns.index(unit)]
    people = gather_people(problem, person, tuple_of, counted.counts)
    bounded = bounded_problem(people, suppression, table.schema.weights)
    return PeopleSource(origin, counted, unit, people, bounded)


def settle_people(
    source: PeopleSource,
    recoding: Recoding,
    settings: RowSettings,
    asked: dict[str, Any],
    *,
    fixed: bool,
) -> TableDecision:
    """Settle what was decided on primary records, and say how rows are made of it."""
    words = RandomWords(settings.seed)
    problem = source.people.problem
    whole, placement = settle(source.people, recoding, words, fixed=fixed)
    shares = labelled_shares(problem.table, problem.hierarchies, whole)
    column = number_column(released_columns(source.table, settings))
    record = whole.record
    facts = {**record.facts, "people": source.people.holdings.people}
    return TableDecision(
        record=SearchRecord(record.algorithm, record.proven_optimal, record.label, facts),
        content=whole,
        records=problem.rows,
        suppressed=problem.rows - int(shares.count.sum()),
        allowed=problem.suppression_limit,
        settings=asked,
        problem=problem,
        rows=partial(_rows, source, settings, placement, column, words),
        row_settings=settings,
        shares=shares,
        people=source.people,
        numbers=column,
    )


def _rows(
    source: PeopleSource,
    settings: RowSettings,
    placement: Placement,
    column: str,
    words: RandomWords,
    frequencies: FrequencyTable,
    shares: LabelledShares,
    recoding: Recoding,
) -> Rows:
    """Make the rows, with a number per person and class."""
    people = source.people
    seats = seat(people.holdings, placement, people.holding_of, shares, words)
    quasi = frequencies.quasi_names
    columns = released_columns(source.table, settings)
    if set(columns) <= set(source.counted.columns) and settings.order == "shuffle":
        return numbered_lines(
            source.counted,
            seats,
            shares,
            quasi,
            unit=source.unit,
            column=column,
            types=kept_types(source.table, recoding, source.counted),
            words=words,
        )
    return numbered_query(
        source.table,
        columns,
        source.counted,
        seats,
        shares,
        quasi,
        column=column,
        types=kept_types(source.table, recoding),
        words=words,
        keep=settings.order == "keep",
    )


def original_people(people: People) -> NDArray[np.int64]:
    """Return how many people share each combination of original quasi-identifiers."""
    _, place = np.unique(people.problem.table.quasi, axis=0, return_inverse=True)
    quasi = place.reshape(-1)[people.holdings.tuple_]
    width = int(quasi.max(initial=0)) + 1
    pairs = np.unique(people.holdings.person * width + quasi)
    return np.bincount(pairs % width, minlength=width).astype(np.int64)
