"""One way to answer the question of `asking.py`, in a process of its own.

    python bench/asking_ways.py WAY FILE

Prints one line of JSON. The data are loaded first where a way needs them in memory; measured is the
question alone, and the peak of the whole process.
"""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import sys
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "rival_scripts"))

from asked_meter import Meter

from timed_cursor import TimedCursor

GROUPS, ROWS, HIGH = 20, 5, 100
SALT = b"a fixed salt ..."
CLAMPED = f"greatest(least(value, {HIGH}), 0)"


def request(ids="integer"):
    from sfumato.ask.language.language import Column, Key, Scan
    from sfumato.ask.language.request import Grid, GroupsBound, Request, Total

    group = Column("grp", "integer")
    value = Column("value", "real", (Fraction(0), Fraction(HIGH)))
    grid = Grid((Fraction(0), Fraction(HIGH)), Fraction(1, 2**14), Fraction(0))
    scan = Scan("visits", (Column("person", ids), group, value))
    totals = Total("rows"), Total("sum", value, grid)
    return Request(scan, (Key("grp", group),), totals, GroupsBound(GROUPS, ROWS), SALT)


def facts(ids):
    from sfumato.ask.language.language import TableFacts

    columns = request(ids).relation.columns
    return {"visits": TableFacts("visits", columns, person="person")}


def loaded(file, texts=False):
    person = "'user-' || person AS person" if texts else "person"
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA sfumato")
    connection.execute(
        f"CREATE TABLE sfumato.visits AS SELECT {person}, grp, value FROM read_parquet(?)", [file]
    )
    return connection


def in_place(file):
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA sfumato")
    connection.execute(f"CREATE VIEW sfumato.visits AS SELECT * FROM read_parquet('{file}')")
    return connection


def measured(answer, *, warm=1, repeats=3):
    """Run warm, then take the cheapest of several."""
    for _ in range(warm):
        answer()
    best = None
    for _ in range(repeats):
        with Meter() as meter:
            result = answer()
        if best is None or meter.cpu < best.cpu:
            best = meter
    best.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return best, result


def plain(file):
    connection = loaded(file)
    sql = f"SELECT grp, count(*), sum({CLAMPED}) FROM sfumato.visits GROUP BY grp"
    meter, rows = measured(lambda: connection.execute(sql).fetchall())
    meter.tell(groups=len(rows))


def figures(found):
    kept, summed = (int(total.sum()) for total in found.totals)
    people = {key: n for (key,), n in zip(found.keys, found.people.tolist(), strict=True)}
    return {"groups": len(found.keys), "kept": kept, "sum": summed, "people": people}


def kernel(file, connection=None, ids="integer"):
    from sfumato.ask.engines.bounded import aggregate_bounded
    from sfumato.compiled import ACCOUNT

    ACCOUNT.lost = 1e9  # the first run, which is not measured, loads the compiler
    connection = connection or loaded(file)
    meter, found = measured(lambda: aggregate_bounded(connection, request(ids), facts(ids)))
    meter.tell(**figures(found))


def kernel_texts(file):
    kernel(file, loaded(file, texts=True), "text")


def kernel_in_place(file):
    kernel(file, in_place(file))


def plan_windows(file):
    from sfumato.ask.plan.dialects import printed
    from sfumato.ask.plan.plan import plan

    connection = loaded(file)
    sql = printed(plan(request(), facts("integer")), "duckdb")
    meter, rows = measured(lambda: connection.execute(sql).fetchall())
    kept, summed = (int(sum(row[i] for row in rows)) for i in (2, 3))
    meter.tell(groups=len(rows), kept=kept, sum=summed)


def hand_windows(file):
    connection = loaded(file)
    sql = f"""
        SELECT grp, count(DISTINCT person), count(*), sum({CLAMPED}) FROM (
            SELECT *, dense_rank() OVER (PARTITION BY person ORDER BY h, grp) AS g,
                row_number() OVER (PARTITION BY person, grp ORDER BY r) AS n
            FROM (SELECT *, hash(person, grp) AS h, hash(person, value) AS r FROM sfumato.visits)
        ) WHERE g <= {GROUPS} AND n <= {ROWS} GROUP BY grp"""
    meter, rows = measured(lambda: connection.execute(sql).fetchall())
    meter.tell(groups=len(rows), kept=sum(row[2] for row in rows))


def mixed(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def numpy_kernel(file):
    columns = duckdb.execute("SELECT person, grp, value FROM read_parquet(?)", [file]).fetchnumpy()
    person, group, value = (columns[name] for name in ("person", "grp", "value"))

    def answer():
        hashed = mixed((person.astype(np.uint64) << np.uint64(20)) ^ group.astype(np.uint64))
        key = (person.astype(np.uint64) << np.uint64(44)) | (hashed >> np.uint64(20))
        order = np.argsort(key)
        key = key[order]
        new_group = np.r_[True, key[1:] != key[:-1]]
        who = person[order]
        new_person = np.r_[True, who[1:] != who[:-1]]
        number = np.cumsum(new_group)
        first = np.maximum.accumulate(np.where(new_person, number, 0))
        starts = np.flatnonzero(new_group)
        place = np.arange(len(key)) - starts[number - 1]
        keep = (number - first < GROUPS) & (place < ROWS)
        rows = order[keep]
        kept = group[rows]
        clamped = np.clip(value[rows], 0, HIGH)
        people = np.bincount(group[order[keep & new_group]], minlength=1)
        return np.bincount(kept), np.bincount(kept, clamped), people

    meter, (counts, *_) = measured(answer)
    meter.tell(groups=int((counts > 0).sum()), kept=int(counts.sum()))


def polars_frame(file):
    import polars as pl

    frame = pl.read_parquet(file)

    def answer():
        pairs = (
            frame.lazy()
            .select("person", "grp", pl.col("value").clip(0, HIGH))
            .with_columns(h=pl.struct("person", "grp").hash(1))
        )
        few = (
            pairs.select("person", "grp", "h")
            .unique()
            .sort("h")
            .group_by("person", maintain_order=True)
            .head(GROUPS)
            .select("person", "grp")
        )
        rows = pairs.join(few, on=["person", "grp"]).group_by("person", "grp")
        cells = rows.agg(pl.col("value").head(ROWS)).select(
            "grp", count=pl.col("value").list.len(), total=pl.col("value").list.sum()
        )
        return (
            cells.group_by("grp").agg(pl.len().alias("people"), pl.sum("count", "total")).collect()
        )

    meter, result = measured(answer)
    meter.tell(groups=len(result), kept=int(result["count"].sum()))


def postgres(file, stream="off"):
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "services"))
    import psycopg
    import throwaway_postgres

    from sfumato.ask.engines.postgres import PostgresEngine

    home = throwaway_postgres.prepare()
    try:
        server = throwaway_postgres.url(home)
        with throwaway_postgres.database(server, "asking") as address:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("ALTER DATABASE asking SET work_mem = '256MB'")
                connection.execute(
                    "CREATE TABLE visits (person BIGINT, grp BIGINT, value DOUBLE PRECISION)"
                )
                with (
                    connection.cursor().copy("COPY visits FROM STDIN (FORMAT csv)") as copy,
                    open(file.replace(".parquet", ".csv"), "rb") as lines,
                ):
                    while piece := lines.read(1 << 20):
                        copy.write(piece)
                connection.execute("ANALYZE visits")
            source = f"{address}{'&' if '?' in address else '?'}stream={stream}"
            engine = PostgresEngine.open(source, table="visits", person="person", seconds=3600)
            master = int((home / "cluster" / "postmaster.pid").read_text().split()[0])
            with Meter(master) as meter:
                found = engine.aggregate(request())
            engine.close()
    finally:
        throwaway_postgres.stop(home)
    meter.tell(**figures(found))


def postgres_stream(file):
    postgres(file, "on")


def spark(file, kernel=False):
    """Ask twice: the first question also starts and warms what the second finds ready."""
    from pyspark.sql import SparkSession

    from sfumato.ask.engines.spark import SparkEngine

    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers have what we have
    running = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    running.sparkContext.setLogLevel("ERROR")
    engine = SparkEngine.open(running.read.parquet(file), person="person", name="visits")
    answer = engine.aggregate if kernel else engine.aggregate_by_plan
    with Meter() as first:
        answer(request())
    with Meter() as meter:
        found = answer(request())
    meter.tell(**figures(found), note=f"first question of the session {first.cpu:.1f}")
    running.stop()


def spark_kernel(file):
    spark(file, kernel=True)


def session(file):
    import sfumato as sf

    unit = sf.Unit("person", groups=GROUPS, rows_per_group=ROWS)
    asked = sf.Session(
        file,
        unit=unit,
        budget=sf.ApproxDP(50, 1e-6),
        name="visits",
        bounds={"value": (0, HIGH)},
        ledger=f"{file}.{os.getpid()}.sqlite",
    )
    number = iter(range(100))
    known = asked.estimate(
        "SELECT grp, COUNT(*) AS n, SUM(value) AS s FROM visits GROUP BY grp",
        epsilon=1,
        keys={"grp": list(range(1000))},
    )

    def answer():  # another constant each time, or the stored answer would be given
        sql = (
            "SELECT grp, COUNT(*) AS n, SUM(value) AS s FROM visits "
            f"WHERE value > -{1000 + next(number)} GROUP BY grp"
        )
        return asked.sql(sql, epsilon=1)

    meter, answered = measured(answer)
    low, high = answered.intervals(0.95)["n"][0]
    threshold = [re.findall(r"at least ([0-9,]+)", note) for note in answered.notes]
    threshold = int(next(found[0] for found in threshold if found).replace(",", ""))
    meter.tell(
        groups=len(answered.table),
        sigma=float(high - low) / 2 / 1.959964,
        sigma_of_known_keys=known.errors["n"] / 1.959964,
        threshold=threshold,
        released=answered.column("grp"),
    )


QUESTIONS = {
    "rows, one count": ("row", "SELECT COUNT(*) FROM visits WHERE value > {i}"),
    "rows, by place": (
        "row",
        "SELECT place, COUNT(*), SUM(value) FROM visits WHERE value > {i} GROUP BY place",
    ),
    "people, count and sum": (
        "person",
        "SELECT COUNT(*), SUM(value) FROM visits WHERE value > {i}",
    ),
    "people, by place": (
        "person",
        "SELECT place, COUNT(*), SUM(value) FROM visits WHERE value > {i} GROUP BY place",
    ),
}


def overhead(_file):
    """Ask a small loaded table, and subtract what DuckDB takes by itself.

    Whatever runs outside the engine (DuckDB and the kernel that adds up its columns) is overhead:
    parsing, planning, printing, the charge, noise, and putting the answer together. A sync of the
    disk takes no CPU. Time
    is that of the asking thread, since DuckDB's own threads go on for a while after its calls.
    """
    from sfumato.ask.engines import bounded
    from sfumato.ask.engines.duckdb import DuckDBEngine
    from sfumato.govern import Ledger

    inside, charge = [0.0], []
    cursor = added(DuckDBEngine._cursor, inside)  # noqa: SLF001 - measured from outside
    DuckDBEngine._cursor = lambda engine: TimedCursor(cursor(engine), inside)  # noqa: SLF001
    for name in ("gathered", "summed"):
        setattr(bounded, name, added(getattr(bounded, name), inside))
    Ledger.charge = timed(Ledger.charge, charge)
    found = {}
    with TemporaryDirectory() as folder:
        for place, (name, (unit, text)) in enumerate(QUESTIONS.items()):
            asked = small_session(unit, f"{folder}/{place}.sqlite")
            own, engine = [], []
            for i in range(60):
                inside[0], start = 0.0, time.thread_time()
                asked.sql(text.format(i=i), epsilon=0.01)
                own.append(time.thread_time() - start - inside[0])
                engine.append(inside[0])
            found[name] = {"own": sorted(own)[30], "engine": sorted(engine)[30]}
            asked.close()
    print(json.dumps({"questions": found, "charge": sorted(charge)[len(charge) // 2]}))


def small_session(unit, ledger):
    import sfumato as sf

    rows = 1000
    table = {
        "person": list(range(rows)),
        "place": [f"place {i % 7}" for i in range(rows)],
        "value": [float(i % 90) for i in range(rows)],
    }
    return sf.Session(
        table,
        unit="row" if unit == "row" else sf.Unit("person", groups=3, rows_per_group=2),
        budget=sf.ApproxDP(1000, 1e-3),
        name="visits",
        bounds={"value": (0, HIGH)},
        keys={"place": [f"place {i}" for i in range(7)]},
        ledger=ledger,
    )


def added(function, spent):
    """Add the CPU time of a function to ``spent[0]``, but for what its DuckDB calls add."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        start, before = time.thread_time(), spent[0]
        result = function(*args, **kwargs)
        spent[0] = before + time.thread_time() - start
        return result

    return wrapped


def timed(function, times):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        start = time.process_time()
        result = function(*args, **kwargs)
        times.append(time.process_time() - start)
        return result

    return wrapped


WAYS = {
    way.__name__: way
    for way in (
        plain, kernel, kernel_texts, kernel_in_place, plan_windows, hand_windows, numpy_kernel,
        polars_frame, postgres, postgres_stream, spark, spark_kernel, session, overhead,
    )
}  # fmt: skip

if __name__ == "__main__":
    WAYS[sys.argv[1]](*sys.argv[2:])
