"""Sets in every form they come in, and input that cannot be used."""

from __future__ import annotations

import gzip

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, HierarchyError, ParameterError

SETS = [["a", "b"], ["c"], ["a", "c"]]


def contents(data):
    return sorted(sorted(members) for members in data.lists())


EXPECTED = sorted(sorted(members) for members in SETS)


def test_lines(tmp_path):
    plain, packed = tmp_path / "x.dat", tmp_path / "x.dat.gz"
    plain.write_text("a b a\nc\na c\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        assert contents(sf.read(path, shape="sets")) == EXPECTED  # a duplicate counts once


def test_long_form(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("who,what\n1,a\n1,b\n2,c\n3,a\n3,c\n")
    assert contents(sf.read(path, shape="sets")) == EXPECTED
    assert contents(sf.read(path, shape="sets", person="who", items="what")) == EXPECTED
    assert contents(sf.read(pd.read_csv(path), shape="sets")) == EXPECTED


def test_list_cells_and_columns(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("n,what\n1,a|b\n2,c\n3,a|c\n")
    assert contents(sf.read(path, shape="sets", items="what", separator="|")) == EXPECTED
    columns = {"what": [[*members, members[0]] for members in SETS]}  # a duplicate counts once
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert contents(sf.read(frame, shape="sets")) == EXPECTED
    pl.DataFrame({"what": SETS}).write_parquet(tmp_path / "x.parquet")
    assert contents(sf.read(tmp_path / "x.parquet", shape="sets")) == EXPECTED


def test_tables_of_a_duckdb_file(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE lists (who INTEGER, what VARCHAR[])")
        connection.executemany("INSERT INTO lists VALUES (?, ?)", [*enumerate(SETS), (9, [])])
        connection.execute("CREATE TABLE long AS SELECT who, unnest(what) AS what FROM lists")
    data = sf.read(f"{path}::lists", shape="sets")
    assert len(data) == 4  # an empty one is a set, too
    assert contents(data)[1:] == EXPECTED
    assert contents(sf.read(f"{path}::long", shape="sets")) == EXPECTED
    assert contents(sf.read(f"{path}::long", shape="sets", person="who")) == EXPECTED
    with pytest.raises(ParameterError, match="no column 'item'"):
        sf.read(f"{path}::long", shape="sets", items="item")
    with pytest.raises(DataError, match="cannot be read"):
        sf.read(f"{path}::short", shape="sets")


def test_what_is_missing_in_a_database_is_no_item_and_nobody_is_no_person(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE texts AS SELECT ['a', NULL, '', 'b'] AS what")
        connection.execute("CREATE TABLE numbers AS SELECT [1.5, 'nan'::DOUBLE, NULL] AS what")
        connection.execute("INSERT INTO numbers VALUES (NULL)")
        connection.execute("CREATE TABLE long (who VARCHAR, what VARCHAR)")
        connection.execute("INSERT INTO long VALUES ('1', 'a'), (NULL, 'b'), (NULL, 'c')")
    assert contents(sf.read(f"{path}::texts", shape="sets")) == [["a", "b"]]
    assert contents(sf.read(f"{path}::numbers", shape="sets")) == [[], ["1.5"]]
    with pytest.raises(DataError, match=r"2 row\(s\) name nobody in column 'who'"):
        sf.read(f"{path}::long", shape="sets")


def test_arrays_and_long_tables_of_postgres(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE baskets (who int, what text[])")
        for who, members in [*enumerate(SETS), (9, [])]:
            connection.execute("INSERT INTO baskets VALUES (%s, %s)", (who, members))
        connection.execute("CREATE TABLE long AS SELECT who, unnest(what) AS what FROM baskets")
    address = f"{postgres_url}{'&' if '?' in postgres_url else '?'}table="
    assert contents(sf.read(f"{address}baskets", shape="sets"))[1:] == EXPECTED
    assert contents(sf.read(f"{address}long", shape="sets", person="who")) == EXPECTED
    with pytest.raises(DataError, match="check the address"):
        sf.read(f"{address}nothing", shape="sets")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE baskets, long")


def test_a_release_comes_back_in_kind():
    data = sf.read(pl.DataFrame({"what": SETS * 3}), shape="sets")
    assert isinstance(sf.anonymize(data, sf.KAnonymity(2)).data, pl.DataFrame)


def test_empty_baskets_are_kept_and_not_released(tmp_path):
    path = tmp_path / "x.dat"
    path.write_text("a\n\na\n")
    data = sf.read(path, shape="sets")
    assert len(data) == 3
    release = sf.anonymize(data, sf.KAnonymity(2))
    assert release.data == [["a"], ["a"]]
    assert release.suppressed == 1


def test_unusable_input_gets_a_clear_message(tmp_path):
    with pytest.raises(HierarchyError, match="does not cover 1 item"):
        sf.read(SETS, shape="sets", hierarchy=sf.Hierarchy.tree({"X": ["a", "b"]}))
    with pytest.raises(DataError, match="collection"):
        sf.read(["ab", "c"], shape="sets")
    with pytest.raises(DataError, match=r"no item|No set"):
        sf.read([[], []], shape="sets")
    with pytest.raises(ParameterError, match="no column 'who'"):
        sf.read(pd.DataFrame({"n": [1], "what": ["a"]}), shape="sets", person="who")
    empty = tmp_path / "x.dat"
    empty.write_text("")
    with pytest.raises(DataError, match="no set in the data"):
        sf.read(empty, shape="sets")


@pytest.mark.parametrize("name", ["x.dat", "x.csv"])
def test_a_file_with_nul_bytes_is_no_text(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"a b\na\x00b\n")
    with pytest.raises(DataError, match="line 2, holds a NUL byte"):
        sf.read(path, shape="sets", form="lines")


def test_line_ends_of_windows_and_a_byte_order_mark_are_no_items(tmp_path):
    path = tmp_path / "x.dat"
    path.write_bytes(b"\xef\xbb\xbfa b\r\nc\r\na c\r\n")
    assert contents(sf.read(path, shape="sets")) == EXPECTED


def test_a_huge_basket_does_not_stop_anything():
    data = sf.read([[str(i) for i in range(10_000)], *[["1", "2"]] * 9], shape="sets", hierarchy=10)
    release = sf.anonymize(data, sf.KmAnonymity(3, m=2))
    assert release.verify().holds


def test_items_that_go_together_share_a_group():
    pairs = [["a", "b"]] * 5 + [["c", "d"]] * 5 + [["e", "f"]] * 5 + [["g", "h"]] * 5
    tree = sf.read(pairs, shape="sets").tree
    assert tree.items == 8
    order = {label: tree.codes[label] // 2 for label in "abcdefgh"}
    assert all(order[x] == order[y] for x, y in ("ab", "cd", "ef", "gh"))
