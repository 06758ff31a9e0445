"""Releases written by the database that holds the rows: whole and verified, or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from table_places import put, rows_of, target

import sfumato as sf
from sfumato.data.tables import engine_rows
from sfumato.errors import DataError, PromiseBroken

KINDS = {"name": "VARCHAR", "age": "INTEGER", "zip": "VARCHAR", "disease": "VARCHAR"}
CELLS = [
    [f"p{i}" for i in range(60)],
    [30 + i % 4 for i in range(60)],
    [f"10{i % 3}0" for i in range(60)],
    ["flu" if i % 2 else "cold" for i in range(60)],
]
SCHEMA = sf.Schema(
    attributes={
        "name": {"role": "identifier"},
        "age": {"role": "quasi"},
        "zip": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    }
)
DATABASES = ("file", "postgres", "spark")


def people(place, request):
    return sf.read(put(place, request, KINDS, CELLS), schema=SCHEMA)


@pytest.mark.parametrize(
    ("place", "keys"),
    [
        *((place, (None, b"k" * 32)) for place in ("file", "postgres")),
        ("spark", (None,)),
        pytest.param("spark", (None, b"k" * 32), marks=pytest.mark.soak),
    ],
    ids=lambda told: told if isinstance(told, str) else len(told),
)
def test_a_release_is_written_verified_and_found_again(place, keys, request):
    """The same rows as in a folder, types kept, the promise beside them; nothing is replaced."""
    address = target(place, request)
    for key in keys:
        release = sf.anonymize(people(place, request), sf.KAnonymity(4), seed=1, pseudonym_key=key)
        folder = request.getfixturevalue("tmp_path") / f"out{key is None}"
        release.save(folder, file_format="csv", report=False)
        shown = release.save(address, replace=key is not None)
        assert "@" not in str(shown)
        assert rows_of(address) == rows_of(folder / "release.csv")
        verified = sf.verify(address, SCHEMA)
        assert verified.holds  # the promise is that of the table's comment
        assert verified.found["k"] >= 4
        assert sf.attack.linkage(address, people(place, request), schema=SCHEMA).certain == 0
    with pytest.raises(DataError, match="exists"):
        release.save(address)


@pytest.mark.parametrize("place", DATABASES)
def test_a_table_that_is_no_release_is_never_replaced(place, request):
    source = put(place, request, KINDS, CELLS)
    if place == "spark":
        source.write.saveAsTable("precious")
        source = "spark:precious"
    release = sf.anonymize(sf.read(source, schema=SCHEMA), sf.KAnonymity(4))
    with pytest.raises(DataError, match="not replaced"):
        release.save(source, replace=True)
    assert len(rows_of(source)) == 60


@pytest.mark.parametrize("place", DATABASES)
def test_what_breaks_its_promise_never_appears(place, request, monkeypatch):
    """Rows that the engine spoils on the way are found out before anybody sees them."""
    release = sf.anonymize(people(place, request), sf.KAnonymity(4), seed=1)
    address = target(place, request)
    honest = engine_rows.rows_in

    def spoilt(engine, rows):
        return f"{honest(engine, rows)} LIMIT 2"

    monkeypatch.setattr("sfumato.data.tables.targets.rows_in", spoilt)
    with pytest.raises(PromiseBroken):
        release.save(address)
    with pytest.raises((DataError, sf.errors.SchemaError)):
        sf.read(address)
    monkeypatch.undo()
    release.save(address)
    assert sf.verify(address, SCHEMA).holds


def test_a_release_is_recorded_by_its_rows(postgres_url, request, tmp_path):
    """The ledger's fingerprint is that of the rows, the same in every database."""
    from sfumato.govern.ledger.ledger import Ledger

    prints = []
    for place in ("file", "postgres"):
        release = sf.anonymize(people(place, request), sf.KAnonymity(4), seed=1)
        release.save(target(place, request), ledger=tmp_path / f"{place}.db")
        with Ledger(tmp_path / f"{place}.db") as ledger:
            found = [entry for entry in ledger.entries() if entry.kind == "released"]
            prints += [entry.fingerprint for entry in found]
    assert len(prints) == 2
    assert len(set(prints)) == 1


# -- what goes wrong half-way ------------------------------------------------------------------

YAML = (
    "attributes:\n  name: {role: identifier}\n  age: {role: quasi}\n  zip: {role: quasi}\n"
    "  disease: {role: sensitive}\n"
)

HANGS = """
    import sys, time
    import sfumato as sf
    from sfumato.data.tables import targets
    source, address, schema = sys.argv[1:]
    release = sf.anonymize(sf.read(source, schema=schema), sf.KAnonymity(4), seed=1)
    import sfumato.release_table as table
    def hang(*_, **__):
        print("written", flush=True)
        time.sleep(60)
    table.verify = hang
    release.save(address)
"""


@pytest.mark.parametrize("place", ["file", "postgres"])
def test_a_killed_process_leaves_nothing(place, request, tmp_path):
    """Killed between writing and naming, not even a staged table is left."""
    source, address = put(place, request, KINDS, CELLS), target(place, request)
    schema = tmp_path / "schema.yaml"
    schema.write_text(YAML)
    script = textwrap.dedent(HANGS)
    process = subprocess.Popen(
        [sys.executable, "-c", script, source, address, str(schema)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == b"written\n"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert _names(place, address) == []


SLEEPS = """
    import sys
    import sfumato as sf
    from sfumato.data.tables import targets
    source, address, schema = sys.argv[1:]
    release = sf.anonymize(sf.read(source, schema=schema), sf.KAnonymity(4), seed=1)
    honest = targets.rows_in
    wait = "(SELECT pg_catalog.pg_sleep(60)) AS waiting(slept)"
    def slowly(engine, rows):
        return f"SELECT made.* FROM ({honest(engine, rows)}) AS made, {wait}"
    targets.rows_in = slowly
    release.save(address)
"""


def test_a_process_killed_while_the_server_writes_leaves_nothing(postgres_url, request, tmp_path):
    """The server is in the midst of CREATE TABLE AS: it ends it by itself, and shows nothing."""
    import psycopg

    source, address = put("postgres", request, KINDS, CELLS), target("postgres", request)
    schema = tmp_path / "schema.yaml"
    schema.write_text(YAML)
    staged = address.partition("?table=")[2][:40]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SLEEPS), source, address, str(schema)]
    )
    with psycopg.connect(postgres_url, autocommit=True) as other:
        busy = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s"
        sought = (f'CREATE TABLE "public"."{staged}%',)
        try:
            while not (found := other.execute(busy, sought).fetchall()):
                assert process.poll() is None
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        assert len(found) == 1
        assert _names("postgres", address) == []
        for _ in range(300):
            if not other.execute(busy, sought).fetchall():
                break
            time.sleep(0.1)
        assert other.execute(busy, sought).fetchall() == []  # far before its 60 seconds are over


def _names(place, address):
    """Give what the database shows of a release, staged or not."""
    if place == "file":
        path = address.partition("::")[0]
        return [path] if Path(path).exists() else []
    import psycopg

    url, _, name = address.partition("?table=")
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(50):  # the server notices within a moment that the client is gone
            found = connection.execute(
                "SELECT relname FROM pg_class WHERE relname LIKE %s", (f"{name[:40]}%",)
            ).fetchall()
            if not found:
                break
            time.sleep(0.1)
    return found


def test_a_lost_connection_says_one_sentence(postgres_url, request, monkeypatch):
    import psycopg

    import sfumato.release_table

    table = people("postgres", request)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    address = target("postgres", request)
    backend = table.engine.connection.info.backend_pid
    honest = sfumato.release_table.verify

    def cut(*arguments, **options):
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,))
        return honest(*arguments, **options)

    monkeypatch.setattr(sfumato.release_table, "verify", cut)
    with pytest.raises(
        DataError, match="connection to Postgres was lost; nothing was written"
    ) as e:
        release.save(address)
    assert e.value.__cause__ is None
    assert _names("postgres", address) == []


def _while_written(postgres_url, backend, act):
    """Do something as soon as a server process creates a table; give the thread that waits."""
    import psycopg

    def wait():
        with psycopg.connect(postgres_url, autocommit=True) as other:
            for _ in range(600):
                found = other.execute(
                    "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state = 'active' "
                    "AND query LIKE 'CREATE TABLE%%'",
                    (backend,),
                ).fetchone()
                if found:
                    act(other)
                    return
                time.sleep(0.05)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_connection_lost_while_rows_are_written_says_one_sentence(
    postgres_url, request, monkeypatch
):
    """The server ends our process there in the midst of its own CREATE TABLE AS."""
    table = people("postgres", request)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    address = target("postgres", request)
    honest = engine_rows.rows_in

    def slowly(engine, rows):
        wait = "(SELECT pg_catalog.pg_sleep(60)) AS waiting(slept)"
        return f"SELECT made.* FROM ({honest(engine, rows)}) AS made, {wait}"

    monkeypatch.setattr("sfumato.data.tables.targets.rows_in", slowly)
    backend = table.engine.connection.info.backend_pid
    thread = _while_written(
        postgres_url,
        backend,
        lambda other: other.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,)),
    )
    with pytest.raises(
        DataError, match="connection to Postgres was lost; nothing was written"
    ) as e:
        release.save(address)
    thread.join()
    assert e.value.__cause__ is None
    assert _names("postgres", address) == []


STOPS = """
    import sys, time
    import sfumato as sf
    from sfumato.data.engines.duckdb import DuckDB
    source, address, schema = sys.argv[1:]
    release = sf.anonymize(sf.read(source, schema=schema), sf.KAnonymity(4), seed=1)
    run = DuckDB.run
    def stop(engine, statement):
        if statement == "COMMIT":
            print("written", flush=True)
            time.sleep(60)
        return run(engine, statement)
    DuckDB.run = stop
    release.save(address, replace=True)
"""


def test_a_process_killed_before_the_commit_leaves_the_file_as_it_was(request, tmp_path):
    """An earlier release stays whole, rows and comment, when its replacement is half-way."""
    source, address = put("file", request, KINDS, CELLS), target("file", request)
    schema = tmp_path / "schema.yaml"
    SCHEMA.write(schema)
    sf.anonymize(sf.read(source, schema=SCHEMA), sf.KAnonymity(20), seed=1).save(address)
    before = rows_of(address)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STOPS), source, address, str(schema)],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout.readline() == b"written\n"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert rows_of(address) == before
    assert sf.verify(address, SCHEMA).found["k"] >= 20


def test_a_failed_task_of_spark_says_one_sentence(spark, request):
    """A cell that no executor can read ends the write; no table and no cell is to be seen."""
    frame = spark.range(40).selectExpr(
        "CAST(30 + id % 4 AS INT) AS age", "'1000' AS zip", "CAST(id AS STRING) AS name",
        "IF(id = 39, RAISE_ERROR('the secret cell'), 'flu') AS disease",
    )  # fmt: skip
    with pytest.raises(DataError, match="Spark could not finish") as error:
        sf.anonymize(sf.read(frame, schema=SCHEMA), sf.KAnonymity(4))
    assert "secret" not in str(error.value)
    release = sf.anonymize(people("spark", request), sf.KAnonymity(4), seed=1)
    address = target("spark", request)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sfumato.data.tables.targets.rows_in",
            lambda *_: "SELECT RAISE_ERROR('the secret cell') AS age FROM RANGE(3)",
        )
        with pytest.raises(DataError, match="Spark could not finish"):
            release.save(address)
    shown = [row["tableName"] for row in spark.sql("SHOW TABLES").collect()]
    assert not [name for name in shown if name.startswith(address.removeprefix("spark:")[:40])]


def test_spark_writes_parquet_in_parts(spark, request, tmp_path):
    release = sf.anonymize(people("spark", request), sf.KAnonymity(4), seed=1)
    path = release.save(tmp_path / "out", report=False)
    assert path.name == "release.parquet"
    assert all(p.name.startswith("part-") for p in path.iterdir())
    assert sf.verify(tmp_path / "out", SCHEMA).holds
    assert release.data.count() == len(release.artefact)
    other = sf.anonymize(people("memory", request), sf.KAnonymity(4), seed=1)
    other.save(tmp_path / "other", report=False, file_format="csv")
    assert rows_of(path) == rows_of(tmp_path / "other" / "release.csv")


def test_rights_that_lack_are_said(postgres_url, request):
    import psycopg

    source = put("postgres", request, KINDS, CELLS)
    name = source.partition("?table=")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        try:
            stranger = source.replace("postgres@", "reader@", 1)
            with pytest.raises(DataError, match="does not grant the right"):
                sf.anonymize(sf.read(stranger, schema=SCHEMA), sf.KAnonymity(4))
            connection.execute(f"GRANT SELECT ON {name} TO reader")
            release = sf.anonymize(sf.read(stranger, schema=SCHEMA), sf.KAnonymity(4))
            with pytest.raises(DataError, match="does not grant the right"):
                release.save(target("postgres", request).replace("postgres@", "reader@", 1))
        finally:
            connection.execute(f"REVOKE ALL ON {name} FROM reader")
            connection.execute("DROP ROLE reader")


@pytest.mark.parametrize(
    ("statement", "name", "sentence"),
    [
        ("", "nowhere.released", "no such schema"),
        ("", "r" * 64, "cuts names of tables after 63 bytes"),
        (
            "CREATE VIEW public.needs_it AS SELECT * FROM public.{}",
            "{}",
            "need the table that is to be replaced",
        ),
        ("SET default_transaction_read_only = on", "{}", "can only be read"),
        ("", "{}", "somebody else wrote a table of this name meanwhile"),
    ],
)
def test_what_postgres_refuses_is_said(
    postgres_url, request, monkeypatch, statement, name, sentence
):
    """Each by a sentence of its own, and the release that was there stays as it was."""
    from sfumato.data.engines.postgres import Postgres

    release = sf.anonymize(people("postgres", request), sf.KAnonymity(4), seed=1)
    there = target("postgres", request).partition("?table=")[2]
    release.save(f"{postgres_url}?table={there}")
    if statement:
        release.artefact.home.execute(statement.format(there))
    if "meanwhile" in sentence:
        monkeypatch.setattr(Postgres, "exists", lambda *_: False)  # as it was a moment ago
    with pytest.raises((DataError, sf.errors.ParameterError), match=sentence):
        release.save(f"{postgres_url}?table={name.format(there)}", replace=True)
    assert sf.verify(f"{postgres_url}?table={there}", SCHEMA).holds
    if "VIEW" in statement:
        release.artefact.home.execute("DROP VIEW public.needs_it")


def test_a_column_named_as_ours_is_refused(postgres_url, request):
    kinds = {"age": "INTEGER", "sfumato_internal_row": "INTEGER"}
    source = put("postgres", request, kinds, [[30, 31] * 5, [*range(10)]])
    schema = sf.Schema(quasi=["age"], insensitive=["sfumato_internal_row"])
    with pytest.raises(sf.errors.SchemaError, match="needed for this work itself"):
        sf.anonymize(sf.read(source, schema=schema), sf.KAnonymity(2), order="keep")


def test_columns_of_the_same_name_are_refused(spark):
    frame = spark.range(8).selectExpr("CAST(30 + id % 2 AS INT) AS age", "'x' AS zip")
    for twice in (frame.select("age", "zip", "zip"), frame.selectExpr("age", "zip", "zip AS Zip")):
        with pytest.raises(sf.errors.SchemaError, match="every column needs a name of its own"):
            sf.read(twice, schema=sf.Schema(quasi=["age"]))


def test_two_threads_write_one_table_of_spark(spark, request):
    """The session is found in any thread; whoever comes second is told, and nothing is left."""
    source = put("spark", request, KINDS, CELLS)
    source.write.saveAsTable("of_two_threads")
    address, told = target("spark", request), []

    def write():
        try:
            people = sf.read("spark:of_two_threads", schema=SCHEMA)
            told.append(sf.anonymize(people, sf.KAnonymity(4), seed=1).save(address))
        except DataError as error:
            told.append(str(error))

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spark.sql("DROP TABLE of_two_threads")
    assert address in told, told
    told.remove(address)
    assert "somebody else wrote" in told[0] or "exists" in told[0]
    name = address.removeprefix("spark:")
    shown = [row["tableName"] for row in spark.sql("SHOW TABLES").collect()]
    assert [table for table in shown if table.startswith(name[:40])] == [name]
    assert sf.verify(address, SCHEMA).holds


def test_parquet_is_written_by_one_thread(tmp_path, monkeypatch):
    """Several threads would divide the rows by which of them comes first: other bytes each time."""
    table = sf.read({"age": [index % 7 for index in range(50)]})
    asked = []
    run = table.engine.run
    monkeypatch.setattr(
        table.engine, "run", lambda query, *more: asked.append(query) or run(query, *more)
    )
    before = table.engine.run("SELECT current_setting('threads')")
    table.engine.write_parquet(f"SELECT * FROM {table.scan}", tmp_path / "a.parquet")
    [copied] = [at for at, query in enumerate(asked) if query.startswith("COPY")]
    assert "SET threads = 1" in asked[:copied]
    assert table.engine.run("SELECT current_setting('threads')") == before
    table.engine.write_parquet(f"SELECT * FROM {table.scan}", tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
