"""A column whose rows come from several answers, each with noise of its own size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from sfumato.ask.answers.intervals import DerivedColumn
from sfumato.ask.answers.noisy_column import NoisyColumn
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.price.measures import Interval

AnyColumn = TypeVar("AnyColumn", NoisyColumn, DerivedColumn)


@dataclass(frozen=True)
class StackedColumn(Generic[AnyColumn]):
    """Columns of several answers one below the other; ``rows`` says where each row is found."""

    columns: tuple[AnyColumn, ...]
    rows: tuple[tuple[int, int], ...]  # per row: which of the columns, and the row of it

    def interval(self, row: int, confidence: float) -> Interval | None:
        """Enclose the cell, as the answer that it comes from does."""
        column, place = self.rows[row]
        return self.columns[column].interval(place, confidence)

    def pick(self, rows: Sequence[int]) -> tuple[AnyColumn, list[int]]:
        """Give the column that all these rows come from, and their places in it.

        Rows of two groupings show the same people, so that adding them up would count those twice.
        """
        found = {self.rows[row][0] for row in rows}
        if len(found) > 1:
            raise ParameterError(
                "These rows come from several groupings, which show the same people, so they do "
                "not add up; name the values of every key of one grouping."
            )
        return self.columns[min(found, default=0)], [self.rows[row][1] for row in rows]
