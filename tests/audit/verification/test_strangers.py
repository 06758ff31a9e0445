"""What a stranger can tell apart, or take for one, beside the cells as texts."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf

SCHEMA = sf.Schema(quasi=["zip"], sensitive=["disease"])


def findings(source, schema=SCHEMA, promise=None):
    checked = sf.verify(source, schema, promise or sf.KAnonymity(2))
    return {finding.kind: finding for finding in checked.findings}, checked


def frame(**more):
    return pd.DataFrame({"zip": ["a", "a", "", ""], "disease": ["x", "y", "x", "y"], **more})


# -- cells counted as one that are two -------------------------------------------------------


@pytest.mark.parametrize("form", ["frame", "parquet"])
def test_null_and_the_empty_text_are_two(form, tmp_path):
    data = pa.table({"zip": ["a", "a", "", None], "disease": ["x", "y", "x", "y"]})
    if form == "parquet":
        pq.write_table(data, tmp_path / "r.parquet")
        data = tmp_path / "r.parquet"
    found, checked = findings(data)
    assert found["two kinds of missing"].serious
    assert not checked.holds
    plain = pa.table({"zip": ["a", "a", None, None], "disease": ["x", "y", "x", "y"]})
    assert findings(plain)[1].holds


def test_null_and_nan_are_two():
    data = pa.table(
        {
            "zip": pa.array([1.0, 1.0, float("nan"), None], from_pandas=False),
            "disease": ["x", "y", "x", "y"],
        }
    )
    assert findings(data)[0]["two kinds of missing"].serious


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('zip,disease\na,x\na,y\n"",x\n,y\n', "quoted in two ways"),
        ('zip,disease\na,x\n"a",y\n', "quoted in two ways"),
        ("zip,disease\na,x\na,y\r\nb,x\nb,y\n", "line ends"),
    ],
)
def test_cells_and_lines_written_in_two_ways(text, kind, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(text.encode())
    found, checked = findings(path)
    assert found[kind].serious
    assert not checked.holds
    path.write_bytes(text.replace('"', "").replace("\r", "").encode())
    assert findings(path)[1].holds


# -- values that are one to a reader ---------------------------------------------------------


def test_values_that_agree_to_a_reader_are_no_diversity():
    promise = sf.DistinctLDiversity(3, "disease")
    same = {"zip": ["a"] * 4, "disease": ["hiv", "HIV", "hiv ", "h\u200biv"]}
    found, checked = findings(same, promise=promise)
    assert found["alike"].serious
    assert not checked.holds
    assert "hiv" not in str(found["alike"]).lower()  # no cell is quoted
    found, checked = findings({"zip": ["a"] * 4, "disease": ["hiv", "flu", "cold", "HIV"]},
                              promise=promise)  # fmt: skip
    assert not found["alike"].serious  # three are left
    assert checked.holds


# -- columns that name people ----------------------------------------------------------------


def insensitive(cells):
    n = len(cells)
    data = {"zip": ["a"] * n, "disease": ["x", "y"] * (n // 2), "more": cells}
    return findings(data, sf.Schema(quasi=["zip"], sensitive=["disease"], insensitive=["more"]))


def test_numbers_and_addresses_that_name_people():
    numbers, checked = insensitive([123_000_000 + 7919 * i for i in range(40)])
    assert numbers["linkable"].serious
    assert not checked.holds
    addresses, checked = insensitive([f"a{i}@mail.example" for i in range(40)])
    assert addresses["address"].serious
    assert not checked.holds
    wages, checked = insensitive([100 + 97 * i for i in range(40)])
    assert "row number" not in wages
    assert wages["linkable"].serious
    assert not checked.holds


# -- what a file tells beside its cells ------------------------------------------------------


def test_the_original_order_is_told(tmp_path):
    table = {"zip": ["a", "b"] * 4, "disease": ["x", "y"] * 4}
    release = sf.anonymize(table, sf.KAnonymity(2), schema=SCHEMA, order="keep")
    path = release.save(tmp_path / "out", report=False)
    assert "order" in findings(path)[0]
    other = sf.anonymize(table, sf.KAnonymity(2), schema=SCHEMA).save(tmp_path / "o", report=False)
    assert "order" not in findings(other)[0]


def test_metadata_of_a_parquet_file_are_looked_at(tmp_path):
    path = tmp_path / "r.parquet"
    data = pa.table({"zip": ["a", "a"], "disease": ["x", "y"]})
    pq.write_table(data.replace_schema_metadata({"exported-by": "dr. house, ward 7"}), path)
    found, checked = findings(path)
    assert found["metadata"].serious
    assert "house" not in str(found["metadata"])
    assert not checked.holds
    data.to_pandas().to_parquet(path)  # what pandas writes about types is no secret
    assert findings(path)[1].holds


@pytest.mark.parametrize("guard", [False, True])
def test_cells_that_a_spreadsheet_would_run(guard, tmp_path):
    cells = ["=1+1", "@x", "-3", "+4.5", "-x", "plain", "'=1+1", "=1+1"]
    table = {"zip": ["a"] * 8, "disease": cells}
    release = sf.anonymize(table, sf.KAnonymity(2), schema=SCHEMA)
    path = release.save(tmp_path / "out", report=False, formulas="guard" if guard else "keep")
    found, checked = findings(path)
    assert checked.holds
    assert ("formula" in found) is not guard
    written = set(pd.read_csv(path, dtype=str)["disease"])
    assert "'=1+1" in written
    assert "-3" in written
    assert ("=1+1" in written) is not guard
    assert len(written) == 7  # different cells stay different
