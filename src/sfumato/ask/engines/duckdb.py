"""DuckDB, embedded: the engine of files, frames and DuckDB databases.

Contract: :meth:`DuckDBEngine.open` reads every table once into typed columns of a database in
memory when it takes less than a quarter of the machine's, and scans files in place otherwise.
Bounded aggregates are computed by the compiled kernel of :mod:`sfumato.ask.engines.bounded` where
that applies and by the plan's window functions elsewhere, with equal results. No message of DuckDB
leaves this module.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from sfumato.ask.engines.aggregate_rows import collected
from sfumato.ask.engines.duckdb_sources import (
    ScannedRelation,
    kinds_of,
    memory,
    named_by_text,
    stored,
    typed_cells,
)
from sfumato.ask.engines.table_checks import (
    file_state,
    fingerprint_of,
    fingerprint_plan,
    unknown_state,
    with_repetitions,
)
from sfumato.ask.engines.table_facts import GUESSED, KindFacts, declared_kinds, described
from sfumato.ask.language.request import RowBound
from sfumato.ask.plan.dialects import SCHEMA, printed
from sfumato.ask.plan.plan import plan
from sfumato.data.engines.duckdb import quoted, quoted_text, translated
from sfumato.data.engines.errors import nothing_quoted
from sfumato.data.tables.table import Table
from sfumato.errors import DataError, SchemaError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.language.request import Aggregates, Request
    from sfumato.data.engines.duckdb import DuckDB

LOADED = 0.25
"""The share of memory below which a table is read into memory."""


class DuckDBEngine:
    """Tables in DuckDB that can be asked for bounded aggregates."""

    dialect = "duckdb"

    def __init__(self, engine: DuckDB) -> None:
        self._engine = engine
        self._catalog = engine.fresh("asked")
        self._facts: dict[str, TableFacts] = {}
        self._in_place: dict[str, Path] = {}
        self._scanned: list[ScannedRelation] = []
        self._kept: list[ScannedRelation] = []
        self._by_text = False
        self._hashes: dict[str, tuple[object, tuple[Any, ...]]] = {}
        self._kept_cursor = threading.local()
        self._busy: dict[int, Any] = {}
        self.left_out: dict[str, tuple[str, ...]] = {}
        with translated("the database in memory"):
            engine.run(f"ATTACH ':memory:' AS {quoted(self._catalog)}")
            engine.run(f"CREATE SCHEMA {quoted(self._catalog)}.{quoted(SCHEMA)}")

    @classmethod
    def open(
        cls,
        source: Any,
        *,
        person: str | None = None,
        types: Mapping[str, str] | None = None,
        name: str | None = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        domains: Mapping[str, Iterable[Any]] | None = None,
        public: Mapping[str, Any] | None = None,
        private: Mapping[str, Any] | None = None,
        kinds: KindFacts = GUESSED,
        table: str | None = None,
    ) -> DuckDBEngine:
        """Open a table of people, and others beside it.

        ``source`` is anything `sf.read` takes, or a DuckDB database file with ``table``. ``person``
        names the column of the privacy unit, None for rows. Tables in ``private`` have the same
        person column, or are given as (source, person column); those in ``public`` have none.
        ``kinds`` says what is public about the kinds of columns beside ``types``; left out, the
        caller says that the types of frames, and what files look like, may be known.
        """
        main = stored(source, table)
        others = {}
        for other, given in (private or {}).items():
            where, whose = given if isinstance(given, tuple) else (given, person)
            others[other] = stored(where), whose
        title = name or (main.table.name if main.table is not None else table) or "data"
        engine = cls(main.engine)
        engine._by_text = named_by_text(main, person, kinds) or any(
            named_by_text(rows, whose, kinds) for rows, whose in others.values()
        )
        facts: dict[str, Any] = {"bounds": bounds or {}, "domains": domains or {}, "known": kinds}
        try:
            engine._add(main, title, types or {}, person=person, main=True, private=True, **facts)
            for other, (where, whose) in others.items():
                engine._add(where, other, {}, person=whose, private=True, **facts)
            for other, place in (public or {}).items():
                shown = {**facts, "known": replace(kinds, guess=True)}
                rows = stored(place, private=False)
                engine._add(rows, other, {}, person=None, private=False, **shown)
        except BaseException:
            engine.close()
            raise
        return engine

    def _add(
        self,
        source: ScannedRelation,
        name: str,
        types: Mapping[str, str],
        *,
        person: str | None,
        private: bool,
        known: KindFacts,
        main: bool = False,
        **declared: Any,
    ) -> None:
        if name.casefold() in {known.casefold() for known in self._facts}:
            raise SchemaError(f"Two tables are called '{name}'; give each a name of its own.")
        wanted = {**_schema_types(source), **types}
        found = kinds_of(
            source,
            declared_kinds(known.known(name, wanted), source.types, source.source),
            person,
            found=lambda column, cells: known.found(name, column, cells, main=main),
            by_text=self._by_text,
        )
        kinds = {column: kind for column, kind in found.items() if kind is not None}
        untyped = tuple(
            column for column in found
            if column not in kinds and not source.catalogued
            and not known.may_guess(name, column, main=main)
        )  # fmt: skip
        self.left_out[name] = tuple(c for c in found if c not in kinds and c not in untyped)
        facts = described(name, kinds, main=main, private=private, person=person, **declared)
        facts = replace(facts, untyped=untyped)
        read: dict[str, Kind] = {**kinds, **dict.fromkeys(untyped, "text")}
        self._hold(source, name, typed_cells(source, read, person, known.zone))
        if not private:
            facts = with_repetitions(facts, self._count)
        self._facts[name] = facts

    def _hold(self, source: ScannedRelation, name: str, cells: str) -> None:
        """Load a table, or make a view of it where it is large."""
        target = f"{quoted(self._catalog)}.{quoted(SCHEMA)}.{quoted(name)}"
        in_place = source.path is not None and source.size() > LOADED * memory()
        self._kept.append(source)
        with translated(source.source):
            scan, tidy = self._reachable(source)
            form = "VIEW" if in_place else "TABLE"
            try:
                rows = f"SELECT {cells or '1 AS one'} FROM {scan}"
                self._engine.run(f"CREATE {form} {target} AS {rows}")
            finally:
                tidy()
        if in_place and source.path is not None:
            self._in_place[name] = source.path
            self._scanned.append(replace(source, scan=scan))

    def _reachable(self, source: ScannedRelation) -> tuple[str, Callable[[], None]]:
        """Give a scan that our connection can run; frames of another one go through a file."""
        if source.engine is self._engine or source.path is not None:
            if source.engine is not self._engine and source.table is None:  # another database
                name = self._engine.fresh("source")
                self._engine.run(
                    f"ATTACH {quoted_text(str(source.path))} AS {quoted(name)} (READ_ONLY)"
                )
                return source.scan.replace("source.", f"{quoted(name)}.", 1), _nothing
            return source.scan, _nothing
        file = self._engine.folder / f"{self._engine.fresh('frame')}.parquet"
        source.engine.run(f"COPY (SELECT * FROM {source.scan}) TO {quoted_text(str(file))}")
        return f"read_parquet({quoted_text(str(file))})", file.unlink

    def held(self, name: str) -> Table:
        """Give a table that it holds as one that other readers of this engine can scan."""
        scan = f"{quoted(self._catalog)}.{quoted(SCHEMA)}.{quoted(name)}"
        with translated(name):
            return Table(self._engine, name, name, "pandas", scan, self._engine.types(scan))

    # -- the engine -----------------------------------------------------------------------

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables it holds."""
        return tuple(self._facts.values())

    def aggregate(self, request: Request) -> Aggregates:
        """Compute exact, bounded totals."""
        if not isinstance(request.bound, RowBound):
            found = self._by_kernel(request)
            if found is not None:
                return found
        return self.aggregate_by_plan(request)

    def aggregate_by_plan(self, request: Request) -> Aggregates:
        """Compute totals by the plan alone, without the compiled kernel."""
        return collected(self._rows(plan(request, self._facts)), request)

    def _by_kernel(self, request: Request) -> Aggregates | None:
        try:
            from sfumato.ask.engines.bounded import aggregate_bounded  # noqa: PLC0415 - compiled
        except ImportError:
            return None
        with self._asked() as cursor:
            return aggregate_bounded(cursor, request, self._facts)

    def columns(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Read columns of a table, row by row, for what is published once; never shown."""
        cells = [exp.column(name, quoted=True) for name in names]
        return self._rows(exp.select(*cells).from_(exp.table_(table, db=SCHEMA, quoted=True)))

    def fingerprint(self, *, private: bool = True) -> str:
        """Give a text that changes when a row of a table changes, of a public one too.

        It says nothing of the machine: a file has the same wherever it was loaded or scanned in
        place.
        """
        return fingerprint_of([
            (facts, self._hashed(facts)) for facts in self._facts.values()
            if private or not facts.private
        ])  # fmt: skip

    def state(self) -> str:
        """Give a text that changes when rows may have changed, without reading them.

        Rows in memory never change, and were hashed when they were read; a file that is scanned in
        place has changed if its place on the disk, its size or a time of it has.
        """
        self._check_unchanged()
        loaded = [facts for facts in self._facts.values() if facts.name not in self._in_place]
        found = [fingerprint_of([(facts, self._hashed(facts)) for facts in loaded])]
        for path in self._in_place.values():
            told = file_state(path)
            if told is None:
                return unknown_state()
            found.append("-".join(map(str, told)))
        return " ".join(found)

    def _check_unchanged(self) -> None:
        """Refuse files scanned in place whose columns are no longer what they were at opening."""
        for source in self._scanned:
            with translated(source.source):
                now = self._engine.types(source.scan)
            if now != source.types:
                raise SchemaError(
                    f"{source.source} was replaced, or its columns are others, since the session "
                    "was opened; open the session again."
                )

    def _hashed(self, facts: TableFacts) -> tuple[Any, ...]:
        """Hash the rows of a table, in memory or in a scan of the file, so that both agree."""
        state = file_state(self._in_place[facts.name]) if facts.name in self._in_place else ()
        known = self._hashes.get(facts.name)
        if known is None or state is None or known[0] != state:
            known = state, tuple(self._rows(fingerprint_plan(facts))[0])
            self._hashes[facts.name] = known
        return known[1]

    def interrupt(self) -> None:
        """End what other threads are asking just now; for them it is an error of DuckDB."""
        for cursor in tuple(self._busy.values()):
            cursor.interrupt()

    def close(self) -> None:
        """Give back the memory of the tables; the source itself is left as it was."""
        self._kept_cursor = threading.local()
        with translated("the database in memory"):
            self._engine.run(f"DETACH {quoted(self._catalog)}")
        self._kept.clear()

    def _cursor(self) -> Any:
        """Give the cursor of this thread, in which the names of the plan mean our tables.

        Making one and pointing it at our tables takes as long as a question about few rows.
        """
        cursor = getattr(self._kept_cursor, "cursor", None)
        if cursor is None:
            cursor = self._engine.connection.cursor()
            cursor.execute(f"USE {quoted(self._catalog)}")
            self._kept_cursor.cursor = cursor
        return cursor

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        """Use the cursor of this thread; after an error the next question gets another."""
        with nothing_quoted(_said):
            thread = threading.get_ident()
            try:
                self._busy[thread] = cursor = self._cursor()
                yield cursor
            except BaseException:
                self._kept_cursor.__dict__.clear()
                raise
            finally:
                self._busy.pop(thread, None)

    def _rows(self, tree: exp.Select) -> list[tuple[Any, ...]]:
        with self._asked() as cursor:
            rows: list[tuple[Any, ...]] = cursor.execute(printed(tree, "duckdb")).fetchall()
        return rows

    def _count(self, tree: exp.Select) -> int:
        return int(self._rows(tree)[0][0])


def _said(error: BaseException) -> str | DataError | None:
    """Say what an error of DuckDB means, without its message."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return Unavailable("DuckDB needs more memory or temporary disk space than there is.")
    if isinstance(error, duckdb.InterruptException):
        return Unavailable("The question was ended before its answer, because the server stops.")
    if isinstance(error, duckdb.Error):
        return "DuckDB could not compute the aggregates of the question."
    return None


def _schema_types(source: ScannedRelation) -> dict[str, str]:
    schema = source.table.known_schema if source.table is not None else None
    if schema is None:
        return {}
    return {
        name: attribute.type
        for name, attribute in schema.attributes.items()
        if attribute.type is not None and name in source.types
    }


def _nothing() -> None:
    """Leave nothing to tidy."""
