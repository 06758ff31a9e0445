"""Spark with executors in processes of their own: a release is counted and written there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
    import sys
    from pathlib import Path
    from pyspark.sql import SparkSession
    import sfumato as sf

    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m", "spark.local.dir": sys.argv[1],
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frame = spark.range(60, numPartitions=4).selectExpr(
        "CONCAT('p', id) AS name", "CAST(30 + id % 4 AS INT) AS age", "CONCAT('10', id % 3) AS zip",
        "IF(id % 2 = 0, 'flu', 'cold') AS disease",
    )
    roles = {"name": "identifier", "age": "quasi", "zip": "quasi", "disease": "sensitive"}
    schema = sf.Schema(attributes={n: {"role": role} for n, role in roles.items()})
    for key in (None, b"k" * 32):
        release = sf.anonymize(
            sf.read(frame, schema=schema), sf.KAnonymity(4), seed=1, pseudonym_key=key
        )
        folder = Path(sys.argv[1]) / f"out{key is None}"
        release.save(folder, report=False)
        assert sf.verify(folder, schema).holds
    assert spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3  # and the driver
    spark.stop()
"""


@pytest.mark.soak
def test_executors_in_processes_of_their_own(tmp_path):
    if shutil.which("java") is None:
        pytest.skip("SPARK NOT TESTED: there is no Java; install Debian's default-jre-headless.")
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path)],
        capture_output=True, timeout=600, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    assert list(Path(tmp_path).glob("out*/release.parquet/part-*.parquet"))


LOST = """
    import contextlib, os, signal, sys, threading, time, traceback
    from pathlib import Path
    from pyspark.sql import SparkSession
    import sfumato as sf
    from sfumato.data.tables import targets
    from sfumato.errors import DataError

    place, whom = sys.argv[1:]
    builder = SparkSession.builder.master("local-cluster[1,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m", "spark.local.dir": place,
        "spark.sql.warehouse.dir": place + "/warehouse", "spark.task.maxFailures": "1",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    frame = spark.range(60, numPartitions=2).selectExpr(
        "CAST(30 + id % 4 AS INT) AS age", "IF(id % 2 = 0, 'flu', 'cold') AS disease",
    )
    schema = sf.Schema(attributes={"age": {"role": "quasi"}, "disease": {"role": "sensitive"}})
    release = sf.anonymize(sf.read(frame, schema=schema), sf.KAnonymity(4), seed=1)
    honest = targets.rows_in

    def slowly(engine, rows):
        wait = "java_method('java.lang.Thread', 'sleep', CAST(2000 + 0 * id AS BIGINT))"
        return f"SELECT made.* FROM ({honest(engine, rows)}) AS made, RANGE(30) WHERE {wait} = ''"

    targets.rows_in = slowly

    def executors():
        # not by ps: this script is an argument, and its lines would be lines of that list
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                parents[int(stat.parent.name)] = int(fields[1])
        ours = {jvm}
        while more := {p for p, parent in parents.items() if parent in ours} - ours:
            ours |= more
        lines = {p: Path(f"/proc/{p}/cmdline").read_bytes() for p in ours}
        return [p for p, line in lines.items() if b"ExecutorBackend" in line]

    def busy():
        status = spark.sparkContext.statusTracker()
        stages = {stage: status.getStageInfo(stage) for stage in status.getActiveStageIds()}
        return {stage for stage, info in stages.items() if info and info.numActiveTasks}

    def kill():
        seen = set()
        while not seen & (seen := busy()):  # a stage that goes on for so long is the slow one
            time.sleep(3)
        for process in [jvm] if whom == "driver" else executors():
            os.kill(process, signal.SIGKILL)
            print("KILLED", flush=True)

    def or_end():
        # without a killer the slow task would go on for hours
        try:
            kill()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    thread = threading.Thread(target=or_end)
    thread.start()
    try:
        release.save("spark:released")
    except DataError as error:
        print("SAID", error, flush=True)
    thread.join()
    if whom == "executor":
        shown = spark.sql("SHOW TABLES").collect()
        print("TABLES", [row["tableName"] for row in shown if not row["isTemporary"]])
        targets.rows_in = honest
        release.save("spark:released")  # the session goes on, with an executor in its place
        assert sf.verify("spark:released", schema).holds
        spark.stop()
    print("ENDED", flush=True)
    os._exit(0)
"""


@pytest.mark.soak
@pytest.mark.parametrize("whom", ["executor", "driver"])
def test_whoever_is_killed_while_rows_are_written_leaves_nothing(tmp_path, whom):
    """A killed executor or driver: one sentence, and no table that could be taken for a release."""
    if shutil.which("java") is None:
        pytest.skip("SPARK NOT TESTED: there is no Java; install Debian's default-jre-headless.")
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOST), str(tmp_path), whom],
        capture_output=True, timeout=600, cwd=tmp_path, check=False, text=True,
    )  # fmt: skip
    told = found.stdout.splitlines()
    assert "ENDED" in told, found.stderr[-2000:]
    assert told.count("KILLED") == 1
    (said,) = [line for line in told if line.startswith("SAID ")]
    sentence = {"executor": "could not finish the work", "driver": "session has ended"}[whom]
    assert sentence in said
    assert "nothing was written" in said
    if whom == "executor":
        assert "TABLES []" in told
    else:
        assert not (tmp_path / "warehouse" / "released").exists()
