"""Tumult Analytics on Spark: count and sum per group, half of the budget each, public keys."""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers run the same Python

from asked_meter import Meter
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

file, groups = sys.argv[1], int(sys.argv[2])
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.memory", "8g")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "8")
    .config("spark.sql.warehouse.dir", file + ".warehouse")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
frame = spark.read.parquet(file)
session = Session.from_dataframe(
    privacy_budget=ApproxDPBudget(1, 1e-6),
    source_id="visits",
    dataframe=frame,
    protected_change=AddRowsWithID(id_column="person"),
)
visits = (
    QueryBuilder("visits")
    .enforce(MaxGroupsPerID("grp", 20))
    .enforce(MaxRowsPerGroupPerID("grp", 5))
    .groupby(KeySet.from_dict({"grp": list(range(groups))}))
)
half = ApproxDPBudget(0.5, 5e-7)
with Meter() as meter:
    counts = session.evaluate(visits.count(name="n"), half).collect()
    sums = session.evaluate(visits.sum("value", 0, 100, name="s"), half).collect()
assert len(counts) == len(sums)
meter.tell(groups=len(counts), note="keys given, not found")
spark.stop()
