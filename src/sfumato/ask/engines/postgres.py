"""Postgres: tables stay where they are, and are asked in read-only transactions.

Contract: every request runs in a transaction of its own, READ ONLY and REPEATABLE READ, so that a
plan sees one state of the tables; with a limit on time, and with a search path on which only
Postgres' own functions stand, so that nobody's function of the same name runs instead. Nothing is
written. No message of the server leaves this module, as it may quote a cell.

Rows stay in the server, which gives back totals. Where the owner says ``stream=on`` in the address,
the columns of a question pass through this process instead, where the compiled kernel adds them up
in a fraction of the time, with equal results (:mod:`sfumato.ask.engines.postgres_stream`).
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sfumato.ask.engines.aggregate_rows import collected
from sfumato.ask.engines.postgres_types import COLUMNS, StoredColumn, cell
from sfumato.ask.engines.table_checks import (
    fingerprint_of,
    fingerprint_plan,
    unknown_state,
    with_repetitions,
)
from sfumato.ask.engines.table_facts import GUESSED, KindFacts, declared_kinds, described
from sfumato.ask.engines.views import Relation, check_rows_of_one_table
from sfumato.ask.plan.dialects import printed, quoted
from sfumato.ask.plan.plan import plan
from sfumato.data.engines.errors import nothing_quoted
from sfumato.data.engines.postgres_server import (
    SETTINGS,
    driver,
    end_with_us,
    refusal,
    split_url,
)
from sfumato.errors import DataError, ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlglot import exp

    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.language.request import Aggregates, Request
    from sfumato.dp.publish.synthesis.held_rows import HeldRows

_STATE = """
WITH RECURSIVE used AS (
    SELECT unnest(CAST(%s AS oid[])) AS relation
    UNION
    SELECT d.refobjid FROM used
    JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = used.relation
    JOIN pg_catalog.pg_depend AS d ON d.objid = r.oid
        AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass)
        AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
)
SELECT CAST(pg_current_snapshot() AS TEXT)
        || ' ' || CAST(pg_postmaster_start_time() AS TEXT)
        || ' ' || (SELECT string_agg(CAST(relation AS TEXT), ',' ORDER BY relation) FROM used),
    NOT EXISTS (SELECT FROM used JOIN pg_catalog.pg_class AS c ON c.oid = relation
                WHERE c.relkind = 'f'),
    (SELECT CASE WHEN bool_and(c.relkind = 'r' AND s.relid IS NOT NULL
                               AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS i
                                               WHERE i.inhparent = c.oid)) THEN
        'counted ' || CAST(pg_postmaster_start_time() AS TEXT) || ' '
        || COALESCE(CAST((SELECT stats_reset FROM pg_catalog.pg_stat_database
                          WHERE datname = current_database()) AS TEXT), 'never') || ' '
        || string_agg(concat_ws(',', c.oid, c.relfilenode, s.n_tup_ins, s.n_tup_upd, s.n_tup_del,
                                pg_relation_size(c.oid)), ' ' ORDER BY c.oid) END
     FROM pg_catalog.pg_class AS c
     LEFT JOIN pg_catalog.pg_stat_user_tables AS s ON s.relid = c.oid
     WHERE c.oid = ANY (CAST(%s AS oid[]))),
    current_setting('track_counts') = 'on' AND current_setting('server_version_num') >= '150000'
        AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND backend_type <> 'autovacuum worker'
                AND COALESCE(state_change > now() - INTERVAL '2 minutes', TRUE))
"""
"""Of relations: the snapshot, whether all they read is in this database, what was counted of them,
and whether all of that has been counted."""

SECONDS = 600
"""How long one request may take, unless the caller says otherwise."""

_PLANNING = {"enable_mergejoin": "off", "work_mem": "64MB", "hash_mem_multiplier": "8"}
"""The few people and groups are to be hashed: to merge, all rows would be sorted for each join.

Rows are sorted in pieces of 64 MB, whatever the server has set: with more memory a sort goes to and
fro between rows that are in no cache. Single runs on ten million rows took 22 to 24 CPU seconds,
and 25 to 27 with 128 or 256 MB.
"""


class PostgresEngine:
    """Tables of a Postgres database that can be asked for bounded aggregates."""

    dialect = "postgres"

    def __init__(
        self,
        url: str,
        *,
        seconds: float = SECONDS,
        stream: bool = False,
        views_stated: bool = False,
    ) -> None:
        self._url = url
        self._views_stated = views_stated
        self._stream = stream
        self._settings = {**SETTINGS, **_PLANNING, "statement_timeout": str(int(seconds * 1000))}
        self._facts: dict[str, TableFacts] = {}
        self._tables: dict[str, str] = {}
        self._known: tuple[str, str] | None = None
        self._opened: dict[str, tuple[bool, int, str, list[StoredColumn]]] = {}
        self._connection = self._connected()
        self.left_out: dict[str, tuple[str, ...]] = {}
        if self._run("SHOW server_encoding")[0][0] != "UTF8":
            raise DataError("The database has another encoding than UTF8; texts would be unclear.")

    @classmethod
    def open(
        cls,
        source: str,
        *,
        table: str | None = None,
        person: str | None = None,
        types: Mapping[str, str] | None = None,
        name: str | None = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        domains: Mapping[str, Iterable[Any]] | None = None,
        public: Mapping[str, str] | None = None,
        private: Mapping[str, Any] | None = None,
        kinds: KindFacts = GUESSED,
        seconds: float = SECONDS,
    ) -> PostgresEngine:
        """Open a table of a database, and others beside it.

        ``source`` is ``postgresql://…/database?table=schema.table``, or without the table, which is
        then given by ``table``; with ``&stream=on`` rows may pass through this process. Tables in
        ``private`` and ``public`` are names in the same database; a private one may be given as
        (name, person column).
        """
        address, stream = split_option(source, "stream", ("off", "on"))
        address, stated = split_option(address, "view", ("", "rows"))
        url, named = split_url(address)
        where = table or named
        if where is None:
            raise ParameterError("Say which table is asked about, as in …/database?table=visits.")
        engine = cls(url, seconds=seconds, stream=stream, views_stated=stated)
        declared: dict[str, Any] = {"bounds": bounds or {}, "domains": domains or {}}
        declared["known"] = kinds
        title = name or where.rpartition(".")[2]
        try:
            engine._add(title, where, types or {}, person, private=True, main=True, **declared)
            for other, given in (private or {}).items():
                place, whose = given if isinstance(given, tuple) else (given, person)
                engine._add(other, place, {}, whose, private=True, main=False, **declared)
            for other, place in (public or {}).items():
                engine._add(other, place, {}, None, private=False, main=False, **declared)
        except BaseException:
            engine.close()
            raise
        return engine

    def _add(
        self,
        name: str,
        where: str,
        types: Mapping[str, str],
        person: str | None,
        *,
        private: bool,
        main: bool,
        known: KindFacts,
        **declared: Any,
    ) -> None:
        if name in self._facts:
            raise SchemaError(f"Two tables are called '{name}'; give each a name of its own.")
        oid, place, columns = self._columns(where, private=private)
        self._opened[where] = private, oid, place, columns
        names = [column.name for column in columns]
        wanted = declared_kinds(known.known(name, types), names, f"The table '{where}'")
        kinds: dict[str, Kind] = {}
        for column in columns:
            kind = wanted.get(column.name) or column.kind(person=column.name == person)
            if column.name == person and column.kind(person=True) == "text":
                kind = "text"  # whatever is declared: read as numbers, 7 and 07 are one person
            if kind is not None:
                kinds[column.name] = kind
        self.left_out[name] = tuple(c.name for c in columns if c.name not in kinds)
        facts = described(name, kinds, main=main, private=private, person=person, **declared)
        cells = ", ".join(
            f"{cell(column, kinds[column.name], person=column.name == person, zone=known.zone)} "
            f"AS {quoted(column.name, 'postgres')}"
            for column in columns
            if column.name in kinds
        )
        self._tables[name] = f"(SELECT {cells} FROM {place}) AS {quoted(name, 'postgres')}"
        if not private:
            facts = with_repetitions(facts, self._count)
        self._facts[name] = facts

    def _columns(self, where: str, *, private: bool) -> tuple[int, str, list[StoredColumn]]:
        """Find a table: its number, its name in queries and its columns.

        A name without a schema is one of the schema public.
        """
        schema, _, relation = where.rpartition(".")
        found = self._run(
            "SELECT c.oid, n.nspname, c.relname, c.relkind::text FROM pg_catalog.pg_class AS c "
            "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
            "WHERE ((n.nspname = %s AND c.relname = %s) OR (n.nspname = 'public' AND c.relname = %s"
            ")) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
            (schema or "public", relation, where),
        )
        if len(found) != 1:
            raise SchemaError(
                f"The database has no table '{where}', or more than one; write it as schema.table."
            )
        if private and not self._views_stated:
            self._check_view(*found[0])
        columns = [
            StoredColumn(str(name), str(type_), form == "e", int(modifier))
            for name, type_, form, modifier in self._run(COLUMNS, (found[0][0],))
        ]
        place = ".".join(quoted(str(name), "postgres") for name in found[0][1:3])
        return int(found[0][0]), place, columns

    def _check_unchanged(self) -> None:
        """Refuse tables that are no longer what they were when they were opened.

        Queries are spelt for the types that columns had then: on others a cast may fail for one
        cell and not for another.
        """
        for where, (private, *opened) in self._opened.items():
            if list(self._columns(where, private=private)) != opened:
                raise SchemaError(
                    f"The table '{where}' was replaced, or its columns are others, since the "
                    "session was opened; open the session again."
                )

    def _check_view(self, number: int, schema: str, relation: str, kind: str) -> None:
        """Refuse a view each of whose rows is not known to be one row of one table."""
        first = self._relation(number, f"{schema}.{relation}", kind)
        check_rows_of_one_table(first, self._find_relation, "postgres")

    def _find_relation(self, schema: str, name: str) -> Relation | None:
        found = self._run(
            "SELECT c.oid, n.nspname || '.' || c.relname, c.relkind::text "
            "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
            "ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
            (schema or "pg_catalog", name),
        )
        return self._relation(*found[0]) if found else None

    def _relation(self, number: int, name: str, kind: str) -> Relation:
        """Describe a relation; its definition names every other one with its schema."""
        if kind not in {"v", "m"}:  # of a foreign table nothing is known here
            return Relation(name, is_table=kind != "f")
        found = self._run("SELECT pg_catalog.pg_get_viewdef(%s::oid)", (number,))
        return Relation(name, is_table=False, definition=found[0][0])

    # -- the engine -----------------------------------------------------------------------

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables it holds."""
        return tuple(self._facts.values())

    def aggregate(self, request: Request) -> Aggregates:
        """Compute exact, bounded totals."""
        found = self._streamed(request) if self._stream else None
        return self.aggregate_by_plan(request) if found is None else found

    def aggregate_by_plan(self, request: Request) -> Aggregates:
        """Compute totals in the server alone."""
        return collected(self._rows(plan(request, self._facts)), request)

    def fingerprint(self, *, private: bool = True) -> str:
        """Give a text that changes when a row of a table changes, of a public one too."""
        tables = [facts for facts in self._facts.values() if private or not facts.private]
        return fingerprint_of([(facts, self._rows(fingerprint_plan(facts))[0]) for facts in tables])

    def state(self) -> str:
        """Give a text that changes when rows may have changed, from what the server counts.

        Two transactions with the same snapshot see the same rows. Where something was written
        meanwhile, perhaps elsewhere, the counters of the tables tell; but a server process counts
        up to a minute late, so they are believed only where no other has been active in this
        database for longer than that. What neither tells has a text that never comes again.
        """
        self._check_unchanged()
        relations = [number for _, number, *_ in self._opened.values()]
        [(snapshot, is_local, counted, is_quiet)] = self._run(_STATE, (relations,) * 2)
        if not is_local:
            return unknown_state()
        if self._known is None or self._known[0] != snapshot:
            self._known = snapshot, counted if is_quiet and counted else unknown_state()
        return self._known[1]

    def held(self, table: str) -> HeldRows:
        """Give the rows of a table, to be coded and counted where they are."""
        from sfumato.dp.publish.synthesis.held_rows import HeldRows  # noqa: PLC0415 - loaded when used

        kinds = {column.name: column.kind for column in self._facts[table].columns}
        return HeldRows(table, "postgres", self._tables[table], kinds, self._read)

    def columns(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Read columns of a table, row by row, for what is published once; never shown."""
        cells = ", ".join(quoted(name, "postgres") for name in names)
        return self._read(f"SELECT {cells} FROM {self._tables[table]}")

    def interrupt(self) -> None:
        """Ask the server to end what it is asked just now, by whichever thread."""
        with suppress(driver().Error):
            self._connection.cancel()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # -- talking to the server ------------------------------------------------------------

    def _rows(self, tree: exp.Select) -> list[tuple[Any, ...]]:
        return self._read(printed(tree, "postgres", tables=self._tables))

    def _count(self, tree: exp.Select) -> int:
        return int(self._rows(tree)[0][0])

    def _streamed(self, request: Request) -> Aggregates | None:
        try:
            from sfumato.ask.engines.postgres_stream import aggregate_streamed  # noqa: PLC0415
        except ImportError:  # the compiler is an optional library
            return None
        return aggregate_streamed(self._packed, request, self._facts, self._tables)

    def _packed(self, statement: str) -> tuple[bytes | None, ...] | None:
        """Run a query of one row in binary form; None where the server cannot make that row."""
        errors = driver().errors
        too_much = errors.ProgramLimitExceeded, errors.OutOfMemory, errors.DatetimeFieldOverflow
        with nothing_quoted(_said):
            try:
                with self._as_opened():
                    return self._fetched(statement, binary=True)[0]
            except too_much:
                return None

    def _run(self, statement: str, values: tuple[Any, ...] | None = None) -> list[tuple[Any, ...]]:
        with nothing_quoted(_said):
            return self._fetched(statement, values)

    def _read(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query of rows."""
        with nothing_quoted(_said), self._as_opened():
            return self._fetched(statement)

    @contextmanager
    def _as_opened(self) -> Iterator[None]:
        """Hold the tables as they are, for one transaction, and see that they are as opened."""
        self._reconnect()
        with self._connection.transaction():
            for _, _, place, _ in self._opened.values():
                self._fetched(f"SELECT FROM {place} LIMIT 0")  # locks what it names
            self._check_unchanged()
            yield

    def _fetched(
        self, statement: str, values: tuple[Any, ...] | None = None, *, binary: bool = False
    ) -> list[tuple[Any, ...]]:
        self._reconnect()
        with self._connection.transaction():
            found: list[tuple[Any, ...]] = self._connection.execute(
                statement, values, prepare=False, binary=binary
            ).fetchall()
        return found

    def _reconnect(self) -> None:
        if self._connection.closed:
            self._connection = self._connected()

    def _connected(self) -> Any:
        psycopg = driver()
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        with nothing_quoted(lambda error: refusal(error, self._url)):
            connection = psycopg.connect(
                self._url, autocommit=True, options=options, client_encoding="utf8"
            )
            end_with_us(connection)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection


def _said(error: BaseException) -> str | None:
    """Say what an error of the server means, without its message."""
    psycopg = driver()
    if isinstance(error, psycopg.errors.QueryCanceled):
        return "Postgres took longer than the time that one request may take."
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return (
            "The user of the address may not read the table in Postgres; its owner grants it, as "
            "by GRANT SELECT ON visits TO analyst, and USAGE of its schema."
        )
    if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
        return "A table or column of the question is no longer in the Postgres database."
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return "The connection to Postgres was lost; ask again."
    if isinstance(error, psycopg.Error):
        return "Postgres could not compute the aggregates of the question."
    return None


def split_option(url: str, option: str, words: tuple[str, str]) -> tuple[str, bool]:
    """Take an option out of an address: whether it is the second of two words, not the first.

    ``stream=on`` lets rows pass through this process; ``view=rows`` states that each row of a view
    belongs to one person and depends on theirs alone.
    """
    parts = urlsplit(url)
    given = parse_qsl(parts.query)
    stated = dict(given).get(option, words[0])
    if stated not in words:
        said = " or ".join(word for word in words if word)
        raise ParameterError(f"The option {option} of a Postgres address is {said}.")
    rest = urlencode([(name, value) for name, value in given if name != option])
    return urlunsplit(parts._replace(query=rest)), stated == words[1]
