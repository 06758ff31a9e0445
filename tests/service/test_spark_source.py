"""A table of Spark's catalogue as a dataset of the server; and no file of the machine by it."""

from __future__ import annotations

import sys

import pytest

from sfumato.errors import ParameterError
from sfumato.service.settings import Settings
from sfumato.service.sources import source_at

BODY = {"unit": {"unit": "row"}, "told": {"tick": 0.02}, "owner": {"budget": {"budget": "100"}}}


@pytest.fixture(autouse=True)
def spark_is_named(site):
    object.__setattr__(site.house.settings, "spark", True)


def test_an_owner_starts_no_spark_that_the_operator_did_not_name(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    object.__setattr__(site.house.settings, "spark", False)
    owner = site.client("owner", token=True)
    told = owner.post("/api/v1/datasets", json=BODY | {"name": "unnamed", "source": "spark:visits"})
    assert told.status_code == 422
    assert "has named no Spark" in told.json()["detail"]


def test_a_table_of_spark_is_registered_and_asked(site, ask, spark):
    spark.createDataFrame([(20 + i % 40,) for i in range(200)], ["age"]).createOrReplaceTempView(
        "visits"
    )
    owner = site.client("owner", token=True)
    made = owner.post("/api/v1/datasets", json=BODY | {"name": "sparks", "source": "spark:visits"})
    assert made.status_code == 201, made.text
    owner.post("/api/v1/datasets/sparks/grants", json={"analyst": "ann", "purpose": None})
    told = ask("SELECT COUNT(*) AS n FROM sparks", "20", dataset="sparks").json()
    # ε = 20: the noise is beyond 3 with probability 2·e⁻⁶⁰/(1 + e⁻²⁰), less than 10⁻²⁵.
    assert abs(told["answer"]["rows"][0][0] - 200) <= 3


@pytest.mark.parametrize("name", ["text.`/etc/passwd`", "csv.passwd", "orc.`x/y`", "", "a b"])
def test_spark_names_no_file_of_the_machine(spark, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "passwd").write_text("root:x\n")
    with pytest.raises(ParameterError, match="catalogue"):
        source_at(Settings(folder=str(tmp_path), spark=True), f"spark:{name}")


def test_a_view_of_the_catalogue_is_not_taken_for_rows(spark, tmp_path):
    spark.sql("CREATE TABLE beneath USING parquet AS SELECT 1 AS pid, 2 AS v")
    spark.sql("CREATE VIEW above AS SELECT pid, sum(v) OVER () AS tot FROM beneath")
    try:
        settings = Settings(folder=str(tmp_path), spark=True)
        with pytest.raises(ParameterError, match="is a view"):
            source_at(settings, "spark:above")
        assert source_at(settings, "spark:beneath").columns == ["pid", "v"]
    finally:
        spark.sql("DROP VIEW above")
        spark.sql("DROP TABLE beneath")
