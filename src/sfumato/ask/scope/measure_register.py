"""Collect the measures of a question while its SELECT list is read.

Contract: equal aggregates are one measure, asked for and paid once, however often they stand in
the question. Each has a name that neither a key nor another measure has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.language import Column, Measure
from sfumato.ask.scope.assembly import measure
from sfumato.ask.scope.scopes import fresh, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.scope.assembly import AskedAggregate, GivenFacts
    from sfumato.ask.scope.scopes import Scope

WHOLE = frozenset({"count", "people"})


class MeasureRegister:
    """Gives each aggregate of a question its name."""

    def __init__(self, scope: Scope, given: GivenFacts, taken: list[str]) -> None:
        self.scope = scope
        self.given = given
        self.taken = taken
        self.found: dict[AskedAggregate, Measure] = {}

    def __call__(
        self, asked: AskedAggregate, wanted: str | None, what: Callable[[], str], /
    ) -> Column:
        """Register an aggregate; the same one again is the same measure."""
        del what
        if asked not in self.found:
            name = short(fresh(wanted or default_measure(asked), self.taken))
            self.taken.append(name)
            self.found[asked] = measure(
                name,
                asked.aggregate,
                asked.term,
                self.given,
                where=asked.where,
                order=asked.order,
                spelling=asked.spelling,
                bounds=asked.bounds,
                scope=self.scope,
            )
        return shown_as(self.found[asked])


def shown_as(found: Measure) -> Column:
    """Give the column that shows a measure in the answer."""
    if found.term is not None and found.aggregate not in WHOLE and kind_of(found.term) == "date":
        return Column(found.name, "date")
    return Column(found.name, "integer" if found.aggregate in WHOLE else "real")


def default_measure(asked: AskedAggregate) -> str:
    """Name a measure that has no alias: sum_cost, count, people."""
    word = "people" if asked.aggregate == "people" else asked.spelling.lower()
    if isinstance(asked.term, Column):
        return f"{word}_{asked.term.name}"[:40]
    return word
