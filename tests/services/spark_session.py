"""A Spark session for one run of the tests."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

JVM = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:NewSize=500m -XX:MetaspaceSize=256m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-XX:ReservedCodeCacheSize=160m"  # what is compiled for these tests hardly fits in 48 MB
)
"""Little compiling and little collecting: the machine's other core is busy with other tests."""

FIRST = ("spark-catalyst", "spark-sql_", "spark-core", "scala-library", "spark-sql-api", "py4j")
"""Jars that hold most classes: each class is sought in one jar after the other, of 280."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Give a local session, quiet and small; skip, loudly, where Java or pyspark is missing."""
    if shutil.which("java") is None:
        pytest.skip("SPARK NOT TESTED: there is no Java; install Debian's default-jre-headless.")
    sql = pytest.importorskip("pyspark.sql", reason="SPARK NOT TESTED: pyspark is not installed.")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers have what the tests have
    place = tmp_path_factory.mktemp("spark")
    jars = Path(sql.__file__).parents[1] / "jars"
    settings = {
        "spark.driver.extraClassPath": ":".join(
            str(jar) for stem in FIRST for jar in sorted(jars.glob(f"{stem}*.jar"))
        ),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.local.dir": str(place / "local"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={place} {JVM}",
        "spark.buffer.pageSize": "256k",  # every sort and every join takes a page and fills it
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",  # compiling would take most of the time
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.ui.explainMode": "simple",  # no page shows plans
        "spark.sql.maxPlanStringLength": "0",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = sql.SparkSession.builder.master("local[1]").appName("sfumato-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    _first[session] = dict(session.conf.getAll), _written(session)
    yield session
    _first.clear()
    session.stop()


_first: dict = {}
"""The settings that a session was started with, as long as it runs."""


def _written(session):
    """Write all settings by one call of the JVM; to read them one by one takes hundreds."""
    return session._jsparkSession.conf().getAll().toString()


def restore():
    """Give the session the settings it was started with, whatever a test has set."""
    for session, (settings, written) in _first.items():
        if _written(session) == written:
            continue
        now = dict(session.conf.getAll)
        for name in now.keys() - settings.keys():
            session.conf.unset(name)
        for name, value in settings.items():
            if now.get(name) != value:
                session.conf.set(name, value)
