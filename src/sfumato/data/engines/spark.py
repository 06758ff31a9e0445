"""Spark as the place of a table's rows.

Contract: rows stay with Spark. It groups them, and what it counted comes as an Arrow table of
distinct combinations, which are encoded as those of any engine. Frames are made readable under
names that nobody else has; nothing is cached but copies that are read several times. The order of
rows is that of partitions, and of rows within them.
"""

# SQL here is built from names that `quoted_for` quotes.

from __future__ import annotations

import uuid
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.data.engines.base import ROW
from sfumato.data.engines.duckdb import DuckDB, encoded, quoted, unread
from sfumato.data.engines.errors import unheard
from sfumato.data.engines.replacing import chosen_texts, numbered_texts
from sfumato.data.engines.spark_cells import cell_kind, texts_of
from sfumato.data.engines.spelling import quoted_for, spelt
from sfumato.errors import DataError, MissingExtra, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.data.engines.counted import Counted

_PER_PARTITION = 33
"""Bits of `monotonically_increasing_id` that number the rows of a partition."""


def is_frame(source: Any) -> bool:
    """Tell whether something is a Spark data frame, without loading Spark."""
    return type(source).__module__.startswith("pyspark.") and hasattr(source, "sparkSession")


class Spark:
    """A session of Spark, and the relations made in it."""

    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session
        self._cached: dict[str, Any] = {}
        self._frames: dict[str, Any] = {}
        self._views: list[str] = []

    @cached_property
    def local(self) -> DuckDB:
        """The embedded engine, in which what was counted is encoded."""
        return DuckDB()

    # -- relations --------------------------------------------------------------------------

    def open(self, source: Any) -> tuple[str, dict[str, str]]:
        """Make a frame known as texts; return its scan and the types of its columns."""
        frame = self.session.table(source) if isinstance(source, str) else source
        fields = {str(field.name): field.dataType for field in frame.schema.fields}
        if len({name.casefold() for name in fields}) < len(frame.schema.fields):
            raise SchemaError(
                "Two columns of the Spark frame have the same name (capitals do not count); every "
                "column needs a name of its own."
            )
        scan = self.view(texts_of(frame), "stored")
        self._frames[scan] = frame
        return scan, {name: cell_kind(type_) for name, type_ in fields.items()}

    def view(self, frame: Any, stem: str) -> str:
        """Give a frame a name of its own."""
        name = self.fresh(stem)
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name

    def fresh(self, stem: str) -> str:
        """Return a name that no other relation of the session has."""
        return f"sfumato_{stem}_{uuid.uuid4().hex}"

    def register(self, columns: Mapping[str, Any]) -> str:
        """Hand arrays over as a frame."""
        import pyarrow  # noqa: ICN001, PLC0415 - comes with Spark's extra

        arrow = pyarrow.table({name: pyarrow.array(array) for name, array in columns.items()})
        return self.view(self.session.createDataFrame(arrow), "given")

    def numbered(self, scan: str, columns: Mapping[str, str]) -> str:
        """Keep a copy of columns, with rows numbered partition by partition."""
        chosen = [quoted_for(c, "spark") for c in columns]
        place = "MONOTONICALLY_INCREASING_ID() AS sfumato_internal_place"
        frame = self.session.table(scan).selectExpr(*chosen, place).persist()
        part = f"SHIFTRIGHT(sfumato_internal_place, {_PER_PARTITION})"
        counts = frame.groupBy(_expression(part).alias("part")).count().collect()
        before, starts = 0, []
        for row in sorted(counts, key=lambda row: row[0]):
            starts.append(f"WHEN {row[0]} THEN {before}")
            before += row[1]
        start = f"CASE {part} {' '.join(starts)} END" if starts else "0"
        within = f"sfumato_internal_place - SHIFTLEFT({part}, {_PER_PARTITION})"
        number = f"CAST({within} + {start} + 1 AS BIGINT) AS {ROW}"
        name = self.view(frame.selectExpr(*chosen, number), "rows")
        self._cached[name] = frame
        return name

    def replaced(
        self, relation: str, columns: Mapping[str, str], texts: Mapping[str, NDArray[np.object_]]
    ) -> str:
        """Join a numbered copy with texts by the numbers of its rows."""
        given = self.register(numbered_texts(texts))
        joined = f"{relation} AS r JOIN {given} AS g ON r.{ROW} = g.{ROW}"
        chosen = chosen_texts(columns, texts, "spark")
        frame = self.session.sql(f"SELECT {chosen} FROM {joined} ORDER BY r.{ROW}")
        name = self.view(frame, "replaced")
        self._cached[name] = self._cached.pop(relation)  # the new relation reads it
        self.drop(relation)
        return name

    def repeated(self, relation: str, columns: Sequence[str]) -> str:
        """Return the SQL of columns of a relation, each row `n` times."""
        times = "LATERAL VIEW EXPLODE(SEQUENCE(1, n)) AS sfumato_internal_time"
        return f"SELECT {', '.join(columns)} FROM {relation} {times}"

    def spell(self, query: str) -> str:
        """Write a query of ours for Spark."""
        return spelt(query, "spark")

    def drop(self, relation: str) -> None:
        """Forget a relation."""
        self.session.catalog.dropTempView(relation)
        self._views.remove(relation)
        if relation in self._cached:
            self._cached.pop(relation).unpersist()

    def in_order(self) -> AbstractContextManager[None]:
        """Do nothing: a scan goes through partitions in their order."""
        return nullcontext()

    # -- asking -----------------------------------------------------------------------------

    def text(self, column: str, kind: str) -> str:  # noqa: ARG002 - scans are of texts already
        """Return the SQL of the text of a cell."""
        return quoted(column)

    def frame(self, query: str) -> Any:
        """Return a query of ours as a frame of Spark."""
        return self.session.sql(self.spell(query))

    def run(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query of ours to its end and return its rows."""
        return self.ask(self.spell(query))

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query in the words of Spark and return its rows."""
        return [tuple(row) for row in self.session.sql(statement).collect()]

    def rows(self, scan: str) -> int:
        """Count the records of a relation."""
        return int(self.session.table(scan).count())

    def ways_missing(self, scan: str, column: str, kind: str) -> tuple[bool, bool]:
        """Tell whether cells are missing as NULL, and as the empty text or NaN."""
        cell, frame = quoted_for(column, "spark"), self._frames.get(scan)
        number = frame is not None and kind != "VARCHAR"
        second = f"ISNAN({cell})" if number else f"CAST({cell} AS STRING) = ''"
        found = (self.session.table(scan) if frame is None else frame).selectExpr(
            f"BOOL_OR({cell} IS NULL)", f"BOOL_OR(COALESCE({second}, FALSE))"
        )
        [(absent, empty)] = found.collect()
        return bool(absent), bool(empty)

    def count(self, scan: str, columns: Mapping[str, str]) -> Counted:
        """Group rows by their texts in Spark."""
        keys = "".join(f"{quoted_for(c, 'spark')} AS c{i}, " for i, c in enumerate(columns))
        by = f" GROUP BY {', '.join(quoted_for(c, 'spark') for c in columns)}" if columns else ""
        grouped = self._bring(self.session.sql(f"SELECT {keys}COUNT(*) AS n FROM {scan}{by}"))
        return encoded(self.local, grouped, tuple(columns))

    def bring(self, query: str) -> tuple[DuckDB, str]:
        """Bring the rows of a query into the embedded engine."""
        return self.local, self._bring(self.frame(query))

    def _bring(self, frame: Any) -> str:
        """Bring the rows of a frame into the embedded engine."""
        relation = self.local.fresh("brought")
        handed = self.local.register(frame.toArrow())
        with self.local.in_order():
            self.local.run(f"CREATE TEMP TABLE {relation} AS SELECT * FROM {handed}")
        self.local.drop(handed)
        return relation

    def explained(self, source: str) -> unheard:
        """Turn errors of Spark into sentences of ours, without what they quote."""
        return unheard(lambda error: _said(error, source))

    def close(self) -> None:
        """Forget the names; the frames and the session are the caller's."""
        for view in list(self._views):
            self.drop(view)
        if "local" in self.__dict__:
            self.local.close()


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr  # noqa: PLC0415 - an optional library

    return expr(text)


def session_of(source: Any) -> Any:
    """Return the session of a frame, or the one that is running."""
    if is_frame(source):
        return source.sparkSession
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional library
    except ImportError:
        raise MissingExtra("pyspark", "spark", "Work on Spark") from None
    # the active session is one of this thread; the first is that of the process
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession  # noqa: SLF001
    if session is None:
        raise DataError(
            f"No Spark session is running in which '{source}' could be a table; start one with "
            "SparkSession.builder.getOrCreate(), or hand a data frame over."
        )
    return session


def start_session() -> None:
    """Have a session run in this process, as Spark's own settings say (SPARK_CONF_DIR, …).

    What Spark would write among our results, progress and warnings, is switched off; the settings
    of the site may switch it on.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional library
    except ImportError:
        raise MissingExtra("pyspark", "spark", "Work on Spark") from None
    if SparkSession._instantiatedSession is None:  # noqa: SLF001 - the public way would start one
        quiet = SparkSession.builder.appName("sfumato").config(
            "spark.ui.showConsoleProgress", "false"
        )
        with unheard(lambda error: _said(error, "Spark")):
            quiet.getOrCreate().sparkContext.setLogLevel("OFF")


_STOPPED = "stopped SparkContext"
"""What errors of Spark mention when a session was stopped."""


def _said(error: BaseException, source: str) -> str | DataError | None:
    """Say what an error of Spark means, without its message."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # noqa: PLC0415 - an optional library
    from pyspark.errors import AnalysisException, PySparkException  # noqa: PLC0415 - the same

    if isinstance(error, AnalysisException):
        # called so from version 4 on
        condition = getattr(error, "getCondition", error.getErrorClass)()
        if "ALREADY_EXISTS" in str(condition):
            return f"{source}: somebody else wrote a table of this name; nothing was written."
        return (
            f"{source}: Spark has no such table or database, cannot give a table this name, or its "
            "columns are no longer what they were."
        )
    gone = isinstance(error, (Py4JNetworkError, ConnectionError))
    if gone or (isinstance(error, (PySparkException, Py4JError)) and _STOPPED in str(error)):
        return f"{source}: the Spark session has ended; nothing was written. Start it again."
    if isinstance(error, (PySparkException, Py4JError)):
        return (
            f"{source}: Spark could not finish the work (an executor failed, or there was too "
            "little memory); nothing was written. Look at Spark's own log, and begin again."
        )
    return unread(error, source)
