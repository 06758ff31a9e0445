"""What work with the rows of a table needs of the engine that holds them.

Contract: a :class:`TableEngine` scans relations whose cells have a *text* each, the same on every
engine (`docs/reference/sources-and-engines.md` lists the texts of all types): NULL and NaN are the
empty text, and texts are compared by their bytes. Queries of ours are written in DuckDB's SQL over
these texts; an engine with another dialect spells them anew (:mod:`.spelling`). Rows stay with the
engine: what comes out are counts, and rows of a release where a file or frame of it is asked for.

No message of an engine leaves it, as it may quote a cell: whatever runs, runs inside
``explained``. ``sfumato.testing.check_table_engine`` checks an engine, a third party's too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.data.engines.counted import Counted
    from sfumato.data.engines.duckdb import DuckDB

ROW = "sfumato_internal_row"
"""Column of a numbered copy that numbers its rows."""


class TableEngine(Protocol):
    """A place with relations, whose rows can be counted, joined and written."""

    dialect: str

    @property
    def local(self) -> DuckDB:
        """The embedded engine, for work on what was counted; DuckDB itself."""

    def fresh(self, stem: str) -> str:
        """Return a name no other relation of this engine has."""

    def run(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query of ours to its end and return its rows."""

    def explained(self, source: str) -> AbstractContextManager[None]:
        """Turn the engine's errors into sentences of ours about a source."""

    def text(self, column: str, kind: str) -> str:
        """Return the SQL of the text of a cell of this type."""

    def rows(self, scan: str) -> int:
        """Count the records of a relation."""

    def count(self, scan: str, columns: Mapping[str, str]) -> Counted:
        """Count distinct combinations of the texts of columns, given with their types."""

    def ways_missing(self, scan: str, column: str, kind: str) -> tuple[bool, bool]:
        """Tell whether cells of texts or floats are missing as NULL, and as empty text or NaN."""

    def numbered(self, scan: str, columns: Mapping[str, str]) -> str:
        """Copy columns within the engine, and number the rows in their order as `ROW`, from 1."""

    def replaced(
        self, relation: str, columns: Mapping[str, str], texts: Mapping[str, NDArray[np.object_]]
    ) -> str:
        """Put texts, row by row, in the place of some columns of a numbered copy.

        The copy is forgotten; the relation returned has its columns, rows in the same order.
        """

    def drop(self, relation: str) -> None:
        """Forget a relation that `numbered` or `register` made."""

    def register(self, columns: Mapping[str, Any]) -> str:
        """Make arrays readable as a relation, whose name is returned."""

    def repeated(self, relation: str, columns: Sequence[str]) -> str:
        """Return the engine's own SQL of columns of a relation, each row `n` times."""

    def spell(self, query: str) -> str:
        """Write a query of ours in the engine's own SQL."""

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query in the engine's own SQL to its end and return its rows."""

    def in_order(self) -> AbstractContextManager[None]:
        """Scan relations in the order of their rows while a block runs."""

    def bring(self, query: str) -> tuple[DuckDB, str]:
        """Bring the rows of a query over texts, in their order, into the embedded engine.

        This is for rows of a release, which are to be a file or frame here, and for work that is
        done on rows in memory.
        """

    def close(self) -> None:
        """Give back what the engine holds of its own."""
