"""Anonymising where the rows live: a whole job beside the engine's own GROUP BY + CREATE TABLE AS.

Times are CPU seconds of all processes that took part: this one, the server's and the JVM. The whole
job reads nothing before it begins, searches (k = 5, at most 5 % suppressed), lets the engine write
the release as a table, and verifies that table.

`python bench/where_engines.py ENGINE ROWS` with ENGINE one of duckdb, postgres, spark prints one
line of JSON; `bench/where.py` puts the engines beside each other.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import adult
import sfumato as sf
import tables

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "services"))

TICK = os.sysconf("SC_CLK_TCK")


def main(engine, rows):
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        tables.write_schema(place)
        tables.make_rows(rows, place / "rows.csv")
        own, ours, wall = MEASURES[engine](place)
    print(json.dumps({"own": own, "cpu": ours, "wall": wall}))


def released(source, target, schema):
    """Do the whole job."""
    release = sf.anonymize(sf.read(source, schema=schema), sf.KAnonymity(5), suppression=0.05)
    return release.save(target)


def clocked(work, others):
    """Return CPU seconds of this process and others, and wall seconds."""
    before, wall = time.process_time() + others(), time.perf_counter()
    work()
    return time.process_time() + others() - before, time.perf_counter() - wall


def own_sql(source, target):
    quasi = ", ".join(f'"{name}"' for name in adult.QUASI)
    return (
        f"SELECT {quasi}, COUNT(*) FROM {source} GROUP BY {quasi}",
        f"CREATE TABLE {target} AS SELECT * FROM {source}",
    )


def in_duckdb(folder):
    import duckdb

    path = str(folder / "rows.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT * FROM read_csv('{folder / 'rows.csv'}', delim=';', "
            "all_varchar=true)"
        )
        count, copy = own_sql("people", "copy")
        own, _ = clocked(
            lambda: (connection.execute(count).fetchnumpy(), connection.execute(copy).fetchall()),
            lambda: 0.0,
        )
    ours, wall = clocked(
        lambda: released(f"{path}::people", f"{path}::released", folder / "adult.yaml"), lambda: 0.0
    )
    return own, ours, wall


def in_postgres(folder):
    import psycopg
    import throwaway_postgres

    home = throwaway_postgres.prepare()
    try:
        url = throwaway_postgres.url(home) + "/postgres"
        main_process = int((home / "cluster" / "postmaster.pid").read_text().split()[0])
        with psycopg.connect(url, autocommit=True) as connection:
            header = (folder / "rows.csv").open().readline().strip().split(";")
            columns = ", ".join(f'"{name}" text' for name in header)
            connection.execute(f"CREATE TABLE people ({columns})")
            with (
                (folder / "rows.csv").open("rb") as file,
                connection.cursor().copy(
                    "COPY people FROM STDIN (FORMAT csv, HEADER, DELIMITER ';')"
                ) as copying,
            ):
                while piece := file.read(1 << 20):
                    copying.write(piece)
            connection.execute("VACUUM ANALYZE people")
        count, copy = own_sql("people", "copied")

        def alone():
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(count).fetchall()
                connection.execute(copy)

        def served():
            return family(main_process)

        own, _ = clocked(alone, served)
        source, target = (f"{url}?table={name}" for name in ("people", "released"))
        ours, wall = clocked(lambda: released(source, target, folder / "adult.yaml"), served)
        return own, ours, wall
    finally:
        throwaway_postgres.stop(home)


def in_spark(folder):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.memory": "3g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001 - its process is measured
    spark.read.csv(str(folder / "rows.csv"), sep=";", header=True).write.saveAsTable("people")
    count, copy = (text.replace('"', "`") for text in own_sql("people", "copied"))

    def alone():
        spark.sql(count).toArrow()
        spark.sql(copy.replace(" AS ", " USING parquet AS ", 1)).collect()

    def served():
        return seconds(jvm)[0]

    alone_once = spark.sql(count)  # the session is warm
    alone_once.toArrow()
    own, _ = clocked(alone, served)
    ours, wall = clocked(
        lambda: released("spark:people", "spark:released", folder / "adult.yaml"), served
    )
    spark.stop()
    return own, ours, wall


def seconds(process):
    """Return CPU seconds of a process, and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    used, ended = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    return used / TICK, ended / TICK


def family(process):
    """Return CPU seconds of a process and of all its children, alive or not."""
    total = sum(seconds(process))
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            total += sum(map(int, fields[11:15])) / TICK
    return total


MEASURES = {"duckdb": in_duckdb, "postgres": in_postgres, "spark": in_spark}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
