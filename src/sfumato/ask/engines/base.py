"""What a session needs of an engine: three methods.

Contract: an engine runs requests of ours and gives back whole numbers. It never sees noise, budget
or analyst. It raises :class:`sfumato.errors.DataError` with a sentence of ours; an engine's own
message may quote a cell and never leaves it. ``sfumato.testing.check_engine`` checks an engine,
a third party's too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sfumato.ask.language.language import TableFacts
    from sfumato.ask.language.request import Aggregates, Request


class Engine(Protocol):
    """A place with tables that can compute bounded aggregates."""

    dialect: str

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables it holds."""

    def aggregate(self, request: Request) -> Aggregates:
        """Compute exact, bounded totals."""

    def fingerprint(self) -> str:
        """Give a text that changes when a row of a table changes.

        It has one part about all private tables and, each after a full stop, one about every
        public table, in the order of `tables`.
        """
