"""Spark: frames and tables of a running session.

Contract: a frame is made readable under a name that nobody else has, cells are brought to their
kinds in the plan, and nothing is cached or written. Results do not depend on whether ANSI mode is
on: no cast and no sum of the plan can overflow. Timestamps become days in the time zone of the
dataset, whatever that of the Spark session is. People are told apart exactly: by 64-bit integers
and dates where the column of a table holds such, else by its text, whatever it is declared to be.
No message of Spark leaves this module, as it may quote a cell.

Large tables are bounded by the compiled kernel on the workers, where these have this package, and
by the plan's window functions elsewhere, with equal results
(:mod:`sfumato.ask.engines.spark_kernel`).
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.engines.aggregate_rows import collected
from sfumato.ask.engines.table_checks import (
    fingerprint_of,
    fingerprint_plan,
    unknown_state,
    with_repetitions,
)
from sfumato.ask.engines.table_facts import (
    DATE_FORM,
    FIRST_DATE,
    GUESSED,
    LAST_DATE,
    MOST_BYTES,
    NUMBER_BYTES,
    NUMBER_FORM,
    KindFacts,
    declared_kinds,
    described,
)
from sfumato.ask.plan.dialects import printed, quoted
from sfumato.ask.plan.plan import plan
from sfumato.data.engines.errors import unheard
from sfumato.errors import DataError, MissingExtra, ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlglot import exp

    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.language.request import Aggregates, Request
    from sfumato.dp.publish.synthesis.held_rows import HeldRows

_WHOLE = {"tinyint", "smallint", "int", "bigint"}
_REAL = {"float", "double"}
_ROUNDED = 1000  # milliseconds within which two changes of a file may have the same time
_MOST = 2**63 - 1
_PLAIN, _MOST_DOUBLE = 2**53, 2**63 - 1024
"""Up to where a double is one whole number and no other, and the largest one of 64 bits."""

_SQL: Mapping[Kind, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "STRING",
    "boolean": "BOOLEAN",
    "date": "DATE",
}


class SparkEngine:
    """Frames and tables of a Spark session that can be asked for bounded aggregates."""

    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self._session = session
        self._facts: dict[str, TableFacts] = {}
        self._tables: dict[str, str] = {}
        self._views: list[str] = []
        self._kernel = True
        self._here = uuid.uuid4().hex  # rows that came with a frame are those of this engine
        self.left_out: dict[str, tuple[str, ...]] = {}

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
    ) -> SparkEngine:
        """Open a frame or a table of people, and others beside it.

        ``source`` is a Spark data frame, or the name of a table of the active session. A table in
        ``private`` may be given as (source, person column). ``kinds`` says what is public about the
        kinds of columns beside ``types``: a table's types are in the catalogue, those of a frame
        may have been found from its rows.
        """
        engine = cls(_session_of(source))
        title = name or (source.rpartition(".")[2] if isinstance(source, str) else "data")
        declared: dict[str, Any] = {"bounds": bounds or {}, "domains": domains or {}}
        declared["known"] = kinds
        try:
            engine._add(title, source, types or {}, person, private=True, main=True, **declared)
            for other, given in (private or {}).items():
                where, whose = given if isinstance(given, tuple) else (given, person)
                engine._add(other, where, {}, whose, private=True, main=False, **declared)
            for other, where in (public or {}).items():
                shown = {**declared, "known": replace(kinds, guess=True)}
                engine._add(other, where, {}, None, private=False, main=False, **shown)
        except BaseException:
            engine.close()
            raise
        return engine

    def _add(
        self,
        name: str,
        source: Any,
        types: Mapping[str, str],
        person: str | None,
        *,
        private: bool,
        main: bool,
        known: KindFacts,
        **declared: Any,
    ) -> None:
        if name.casefold() in {known.casefold() for known in self._facts}:
            raise SchemaError(f"Two tables are called '{name}'; give each a name of its own.")
        with unheard(_said):
            frame = self._session.table(source) if isinstance(source, str) else source
            stored = {str(field.name): field.dataType for field in frame.schema.fields}
        _check_names(list(stored))
        wanted = declared_kinds(known.known(name, types), stored, f"The table '{name}'")
        is_table = isinstance(source, str) or self._is_catalogued(frame)
        kinds: dict[str, Kind] = {}
        untyped: list[str] = []
        for column, type_ in stored.items():
            natural = _kind(type_.simpleString(), person=column == person)
            found = natural if is_table else known.found(name, column, natural, main=main)
            kind = wanted.get(column) or found
            if column == person and natural is not None:
                # whatever is declared: read as numbers, 7 and 07 are one person
                kind = natural if is_table or known.guess is True else "text"
            if kind is not None:
                kinds[column] = kind
            elif not is_table and not known.may_guess(name, column, main=main):
                untyped.append(column)
        self.left_out[name] = tuple(c for c in stored if c not in kinds and c not in untyped)
        facts = described(name, kinds, main=main, private=private, person=person, **declared)
        facts = replace(facts, untyped=tuple(untyped))
        read: dict[str, Kind] = {**kinds, **dict.fromkeys(untyped, "text")}
        cells = [_cell(column, stored[column], read[column], person, known.zone) for column in read]
        self._tables[name] = self._readable(name, frame, cells)
        if not private:
            facts = with_repetitions(facts, self._count)
        self._facts[name] = facts

    def _is_catalogued(self, frame: Any) -> bool:
        """Tell a table of the catalogue, whose types are declared there, from any other frame."""
        with unheard(_said):
            plan = frame._jdf.queryExecution().logical()  # noqa: SLF001
            if plan.getClass().getSimpleName() != "UnresolvedRelation":
                return False
            return not self._session.catalog.getTable(str(plan.name())).isTemporary

    def _readable(self, name: str, frame: Any, cells: list[str]) -> str:
        """Give a frame a name of its own, and the SQL of its cells."""
        view = f"sfumato_{uuid.uuid4().hex}"
        with unheard(_said):
            frame.createOrReplaceTempView(view)
        self._views.append(view)
        return f"(SELECT {', '.join(cells) or '1 AS one'} FROM {view}) AS {quoted(name, 'spark')}"

    # -- the engine -----------------------------------------------------------------------

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables it holds."""
        return tuple(self._facts.values())

    def aggregate(self, request: Request) -> Aggregates:
        """Compute exact, bounded totals."""
        found = self._on_workers(request)
        return self.aggregate_by_plan(request) if found is None else found

    def aggregate_by_plan(self, request: Request) -> Aggregates:
        """Compute totals by SQL alone, which needs nothing of ours on the workers."""
        return collected(self._rows(plan(request, self._facts)), request)

    def fingerprint(self, *, private: bool = True) -> str:
        """Give a text that changes when a row of a table changes, of a public one too."""
        tables = [facts for facts in self._facts.values() if private or not facts.private]
        return fingerprint_of([(f, self._rows(fingerprint_plan(f))[0]) for f in tables])

    def state(self) -> str:
        """Give a text that changes when rows may have changed, from the plans of the frames.

        Rows that came with a frame stay as they are, and files have a time and a size; of what
        comes from elsewhere nothing tells, so its text never comes again.
        """
        with unheard(_said):
            found = [self._state_of(view) for view in self._views]
        if None in found:
            return unknown_state()
        return hashlib.sha256(repr(found).encode()).hexdigest()

    def _state_of(self, view: str) -> list[str] | None:
        """Tell the sources of a frame by their state, or None where that is not known."""
        frame = self._session.table(view)
        told: list[str] = []
        leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()  # noqa: SLF001
        for place in range(leaves.size()):
            kind = str(leaves.apply(place).getClass().getSimpleName())
            if kind == "LogicalRDD":
                made_of = set(_RDD.findall(str(leaves.apply(place).rdd().toDebugString())))
                kind = "LocalRelation" if made_of <= _GIVEN else kind
            if kind in {"LocalRelation", "Range", "OneRowRelation"}:
                told.append(self._here)
            elif kind != "LogicalRelation":
                return None
        files = _file_states(self._session, frame.inputFiles())
        if files is None or (not files and self._here not in told):
            return None
        return [*told, *files]

    def held(self, table: str) -> HeldRows:
        """Give the rows of a table, to be coded and counted where they are."""
        from sfumato.dp.publish.synthesis.held_rows import HeldRows  # noqa: PLC0415 - loaded when used

        kinds = {column.name: column.kind for column in self._facts[table].columns}
        return HeldRows(table, "spark", self._tables[table], kinds, self._ask)

    def columns(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Read columns of a table, row by row, for what is published once; never shown."""
        cells = ", ".join(quoted(name, "spark") for name in names)
        return self._ask(f"SELECT {cells} FROM {self._tables[table]}")

    def close(self) -> None:
        """Forget the names; the frames and the session are the caller's."""
        with unheard(_said):
            for view in self._views:
                self._session.catalog.dropTempView(view)
        self._views.clear()

    def _on_workers(self, request: Request) -> Aggregates | None:
        """Let the workers bound and add up; what they could not do once is not tried again."""
        if not self._kernel:
            return None
        try:
            from sfumato.ask.engines import spark_kernel  # noqa: PLC0415 - an optional library
        except ImportError:
            return None
        try:
            with unheard(_said):
                return spark_kernel.aggregate_on_workers(
                    self._session, request, self._facts, self._tables
                )
        except spark_kernel.NoKernel:
            self._kernel = False
            return None

    def _rows(self, tree: exp.Select) -> list[tuple[Any, ...]]:
        return self._ask(printed(tree, "spark", tables=self._tables))

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        with unheard(_said):
            rows = self._session.sql(query).collect()
        return [tuple(row) for row in rows]

    def _count(self, tree: exp.Select) -> int:
        return int(self._rows(tree)[0][0])


_RDD = re.compile(r"\b(\w+RDD)\[")
_GIVEN = {"ParallelCollectionRDD", "MapPartitionsRDD", "PythonRDD"}


def _file_states(session: Any, files: Sequence[str]) -> list[str] | None:
    """Tell files from changed ones; None if one was written a moment ago."""
    jvm, found = session._jvm, []  # noqa: SLF001
    now = int(jvm.java.lang.System.currentTimeMillis())
    for name in sorted(files):
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(name))
        told = path.getFileSystem(session._jsc.hadoopConfiguration()).getFileStatus(path)  # noqa: SLF001
        changed = int(told.getModificationTime())
        if now - changed < _ROUNDED:
            return None
        found.append(f"{name} {told.getLen()} {changed}")
    return found


def _kind(type_: str, *, person: bool) -> Kind | None:
    """Give the kind of a type; people are told apart exactly."""
    if type_ in _WHOLE:
        return "integer"
    if type_ in _REAL:
        return "text" if person else "real"
    if type_.startswith("decimal("):
        precision, scale = (int(part) for part in type_[8:-1].split(","))
        if scale == 0 and precision <= 18:
            return "integer"
        return "text" if person else "real"
    if type_.startswith(("string", "varchar", "char")):
        return "text"
    if type_.startswith("timestamp"):
        return "text" if person else "date"
    return {"boolean": "boolean", "date": "date"}.get(type_)  # type: ignore[return-value]


def _cell(column: str, type_: Any, kind: Kind, person: str | None, zone: str) -> str:
    """Give the SQL of a cell in its kind, under its name."""
    name, stored = quoted(column, "spark"), type_.simpleString()
    by_name = _named(name, stored, column) if column == person else None
    return f"{by_name or _typed(name, type_, kind, column, zone)} AS {name}"


def _named(name: str, stored: str, column: str) -> str | None:
    """Give the text that names a person where a cast to text would not tell all people apart."""
    if "<" in stored or stored == "variant":
        raise SchemaError(
            f"The person '{column}' is of the type {stored}, whose values have no text of their "
            "own by which people could be told apart; name another column."
        )
    if stored == "timestamp":  # as a text, an hour would come twice when clocks are put back
        return f"CAST(UNIX_MICROS({name}) AS STRING)"
    if stored not in _REAL:
        return None
    number = f"CAST({name} AS DOUBLE)"  # a whole number by its digits; NaN names nobody
    near = f"CASE WHEN ABS({number}) <= {_PLAIN}D THEN CAST({number} AS BIGINT) END"
    digits = f"CASE WHEN CAST({near} AS DOUBLE) = {number} THEN CAST({near} AS STRING) END"
    return f"CASE WHEN NOT ISNAN({number}) THEN COALESCE({digits}, CAST({number} AS STRING)) END"


def _typed(name: str, type_: Any, kind: Kind, column: str, zone: str) -> str:
    """Bring a cell to its kind; what does not fit is NULL."""
    stored = type_.simpleString()
    natural = _kind(stored, person=False)
    if kind == "text":
        return _text(name, type_, natural, column)
    if natural == "text":
        return _read(_text(name, type_, natural, column), kind)
    if kind == natural == "date":
        return _date(name, stored, zone)
    if kind == natural == "boolean":
        return f"CAST({name} AS BOOLEAN)"
    if natural == "boolean" and kind in {"integer", "real"}:
        return f"CAST({name} AS {_SQL[kind]})"
    if natural in {"integer", "real"} and kind == "boolean":
        return f"CASE {name} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
    if kind == "real" and natural in {"integer", "real"}:
        return f"CAST({name} AS DOUBLE)"
    if kind == natural == "integer":
        return f"CAST({name} AS BIGINT)"
    if (natural, kind) == ("real", "integer"):
        return _whole(f"CAST({name} AS DOUBLE)")
    raise SchemaError(f"The column '{column}' cannot be read as {kind}.")


def _text(name: str, type_: Any, natural: Kind | None, column: str) -> str:
    stored = type_.simpleString()
    if stored in _REAL:
        return _named(name, stored, column) or name
    if stored.startswith("decimal(") and not stored.endswith(",0)"):
        return f"REGEXP_REPLACE(CAST({name} AS STRING), '[.]?0+$', '')"
    if natural != "text":
        return f"CAST({name} AS STRING)"
    collation = getattr(type_, "collation", None) or "UTF8_BINARY"
    text = name if collation == "UTF8_BINARY" else f"{name} COLLATE UTF8_BINARY"
    return f"CASE WHEN OCTET_LENGTH({text}) <= {MOST_BYTES} THEN {text} END"


def _date(name: str, stored: str, zone: str) -> str:
    """Give the day of a date, a time or an instant; one beyond what all engines know is none.

    The time zone of the Spark session has no part in it.
    """
    if stored == "timestamp":
        micros = f"UNIX_MICROS(FROM_UTC_TIMESTAMP({name}, '{zone}'))"
        day = f"CAST(({micros} - PMOD({micros}, 86400000000)) DIV 86400000000 AS INT)"
        ends = "TIMESTAMP '0001-01-02 00:00:00+00:00' AND TIMESTAMP '9999-12-31 00:00:00+00:00'"
        return f"CASE WHEN {name} BETWEEN {ends} THEN DATE_FROM_UNIX_DATE({day}) END"
    date = f"CAST({name} AS DATE)"
    ends = f"DATE '{FIRST_DATE}' AND DATE '{LAST_DATE}'"
    return f"CASE WHEN {date} BETWEEN {ends} THEN {date} END"


def _whole(number: str) -> str:
    """Bring a double that is whole to 64 bits; a fraction is no whole number, and NaN is none."""
    near = f"GREATEST(LEAST({number}, {_MOST_DOUBLE}D), -{_MOST_DOUBLE}D)"
    is_whole = f"NOT ISNAN({number}) AND CAST(CAST({near} AS BIGINT) AS DOUBLE) = {near}"
    return f"CASE WHEN {number} IS NOT NULL AND {is_whole} THEN CAST({near} AS BIGINT) END"


def _read(text: str, kind: Kind) -> str:
    """Read a text by how it is written, the same on every engine."""
    if kind == "date":
        form = f"{text} RLIKE '{DATE_FORM}' AND {text} >= '{FIRST_DATE}'"
        return f"CASE WHEN {form} THEN TRY_CAST(SUBSTR({text}, 1, 10) AS DATE) END"
    is_number = f"OCTET_LENGTH({text}) <= {NUMBER_BYTES} AND {text} RLIKE '{NUMBER_FORM}'"
    truth = f"CASE LOWER({text}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
    double = f"TRY_CAST(TRIM({text}) AS DOUBLE)"
    if kind == "real":
        ends = " ".join(
            f"WHEN {text} RLIKE '^{sign}[iI]nf(inity)?$' THEN {end}"
            for sign, end in (("[+]?", "1e300D"), ("-", "-1e300D"))
        )
        return f"CASE {ends} WHEN {is_number} THEN {double} ELSE {truth} END"
    digits = f"TRY_CAST(TRIM({text}) AS DECIMAL(38, 0))"
    near = f"CAST(GREATEST(LEAST({digits}, {_MOST}), -{_MOST}) AS BIGINT)"
    plain = f"{text} RLIKE '^[ ]*[-+]?[0-9]{{1,38}}[ ]*$'"
    whole = f"CASE WHEN {plain} THEN {near} ELSE {_whole(double)} END"
    number = f"CASE WHEN {is_number} THEN {whole} ELSE {truth} END"
    if kind == "integer":
        return f"CAST({number} AS BIGINT)"
    return f"CASE {number} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"


def _check_names(columns: list[str]) -> None:
    folded = [column.casefold() for column in columns]
    repeated = sorted({column for column in columns if folded.count(column.casefold()) > 1})
    if repeated:
        raise SchemaError(
            f"The frame has more than one column called {', '.join(repeated)} (capitals do not "
            "count); give each a name of its own."
        )


def _session_of(source: Any) -> Any:
    if not isinstance(source, str):
        session = getattr(source, "sparkSession", None)
        if session is None:
            raise ParameterError(
                f"A {type(source).__name__} is no Spark data frame; give one, or a table's name."
            )
        return session
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional library
    except ImportError:
        raise MissingExtra("pyspark", "spark", "Asking Spark") from None
    session = SparkSession.getActiveSession()
    if session is None:
        raise DataError(f"No Spark session is running in which '{source}' could be a table.")
    return session


def _said(error: BaseException) -> str | None:
    """Say what an error of Spark means, without its message."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an optional library
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional library

    if isinstance(error, (PySparkException, Py4JError)):
        return "Spark could not compute the aggregates of the question."
    return None
