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
