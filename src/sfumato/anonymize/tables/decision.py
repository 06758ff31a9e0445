"""What was decided about a table, and how its rows are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.decision import Decision

if TYPE_CHECKING:
    from sfumato.anonymize.tables.apply.recode import LabelledShares
    from sfumato.anonymize.tables.apply.rows import RowSettings
    from sfumato.anonymize.tables.people.search import People
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableDecision(Decision):
    """The problem, its solution, and how rows are made of it.

    `people` says who holds the records where somebody holds several; `numbers` is then the column
    of the release that tells the people of a class apart.
    """

    content: Recoding
    problem: Problem
    rows: Any
    row_settings: RowSettings
    shares: LabelledShares
    people: People | None = None
    numbers: str | None = None

    @property
    def recoding(self) -> Recoding:
        """What the algorithm decided."""
        return self.content

    @property
    def objective(self) -> str:
        """The loss that was minimised."""
        return self.problem.objective
