"""What a session needs of an engine: three methods, and a fourth where it can.

Contract: an engine runs requests of ours and gives back whole numbers. It never sees noise, budget
or analyst. It raises :class:`sfumato.errors.DataError` with a sentence of ours; an engine's own
message may quote a cell and never leaves it. ``sfumato.testing.check_engine`` checks an engine,
a third party's too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

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
        public table, in the order of `tables`. It may read all rows.

        An engine that can tell without touching a row whether rows may have changed has a method
        ``state`` beside it: a text that is the same only where all rows are, by which a question
        that is asked again is known before anything is charged, and ``fingerprint(private=False)``
        reads public rows only. Without it the rows are hashed for each question, whose time then
        depends on them also where it is refused.
        """


def state_of(engine: Engine) -> str:
    """Give a text that changes when a row may have changed, without touching one if possible."""
    found: str = engine.state() if hasattr(engine, "state") else engine.fingerprint()
    return found


def public_parts(engine: Engine) -> list[str]:
    """Give the parts of a fingerprint, that about private tables perhaps empty."""
    if not hasattr(engine, "state"):
        return engine.fingerprint().split(".")
    read: Callable[..., str] = engine.fingerprint
    return read(private=False).split(".")
