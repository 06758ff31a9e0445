"""Suggestions: counted against brute force, reasoned, and written without overwriting."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pandas as pd
import pytest

import sfumato as sf
from sfumato.data.tables import column_facts
from sfumato.data.tables.role_words import hinted, words
from sfumato.data.tables.singling_out import telling
from sfumato.errors import DataError, SchemaError


@pytest.fixture(scope="module")
def people():
    return sf.examples.patients(400, seed=5)


@pytest.fixture(scope="module")
def found(people):
    return sf.inspect(people.columns)


def test_roles_of_the_fictional_patients(found):
    roles = {one.name: one.role for one in found.columns}
    assert roles == {
        "patient": "identifier", "name": "identifier", "age": "quasi", "zip": "quasi",
        "sex": "quasi", "nationality": "quasi", "job": "quasi", "diagnosis": "sensitive",
        "salary": "sensitive",
    }  # fmt: skip


def test_facts_are_counted_exactly(people, found):
    for one in found.columns:
        cells = [str(cell) for cell in people.columns[one.name]]
        assert one.facts.distinct == len(set(cells))
        assert one.facts.missing == cells.count("")
    assert found.rows == 400


def test_people_singled_out_equal_brute_force(people, found):
    counted = {one.columns: one.people for one in found.sets}
    names = ["age", "zip", "sex", "nationality", "job"]
    for size in (1, 2, 3):
        for chosen in combinations(names, size):
            tuples = Counter(zip(*(people.columns[c].tolist() for c in chosen), strict=True))
            alone = sum(count == 1 for count in tuples.values())
            assert counted[chosen] == alone
    assert len(counted) == 5 + 10 + 10
    assert [one.people for one in found.sets] == sorted(counted.values(), reverse=True)


def test_what_is_shown_adds_something(found):
    counted = {one.columns: one.people for one in found.sets}
    shown = telling(found.sets)
    assert shown
    for one in shown:
        for size in range(1, len(one.columns)):
            for part in combinations(one.columns, size):
                assert counted[part] < one.people


def test_reasons_are_given_and_true(found):
    by_name = {one.name: one for one in found.columns}
    assert "unique" in by_name["patient"].reason
    assert "'zip'" in by_name["zip"].reason
    worst = next(one for one in found.sets if "sex" in one.columns)
    assert f"{worst.people} people" in by_name["sex"].company
    assert all(one.reason for one in found.columns)


def test_the_schema_works_on_the_data_it_was_suggested_for(people, found, tmp_path):
    found.write(tmp_path / "s.yaml")
    schema = sf.Schema.read(tmp_path / "s.yaml")
    assert schema.check_columns(list(people.columns), "patients") == ()
    for name in schema.quasi_names:
        values = {str(cell) for cell in people.columns[name]}
        assert set(schema.hierarchy_for(name, values).leaves) == values
    assert schema.hierarchy_for("zip", ["13053"]).label(0, 2) == "130**"
    assert schema.hierarchy_for("age", ["37", "81"]).label(0, 1) == "[35,40)"
    with pytest.raises(DataError, match="exists already"):
        found.write(tmp_path / "s.yaml")
    found.write(tmp_path / "s.yaml", force=True)


def test_what_was_found_in_the_data_is_marked_until_the_owner_says_more(people, found, tmp_path):
    assert found.schema.attributes["age"].origin == "data"
    assert found.schema.attributes["patient"].origin == "declared"  # of which it states nothing
    found.write(tmp_path / "s.yaml")
    text = (tmp_path / "s.yaml").read_text()
    read = sf.Schema.read(tmp_path / "s.yaml")
    assert read.attributes == found.schema.attributes
    read.write(tmp_path / "again.yaml")
    assert sf.Schema.read(tmp_path / "again.yaml").attributes == read.attributes
    asked = {"unit": "row", "budget": sf.PureDP(1), "ledger": sf.Ledger(None), "name": "t"}
    frame = pd.DataFrame(people.columns)
    for schema in (found.schema, tmp_path / "s.yaml"):
        with pytest.raises(SchemaError, match=r"found in the data.*remove 'from: data'"):
            sf.Session(frame, schema=schema, **asked)
    with pytest.raises(SchemaError, match="found in the data"):
        sf.dp.synthesize(
            frame, schema=found.schema, columns={"age": sf.dp.Column(bounds=(0, 100))}, epsilon=1
        )
    for stated in (text + "public_types: true\n", text.replace("from: data", "from: declared")):
        (tmp_path / "s.yaml").write_text(stated)
        with sf.Session(frame, schema=tmp_path / "s.yaml", **asked | {"ledger": None}) as one:
            one.sql("SELECT COUNT(*) FROM t WHERE age > 50", epsilon=0.1)
    sf.Session(frame, schema=found.schema, public_types=True, **asked).close()
    with pytest.raises(SchemaError, match="'from' must be one of declared, data, paid"):
        sf.Schema(attributes={"age": {"role": "quasi", "from": "dreams"}})


@pytest.mark.parametrize(
    ("column", "cells", "role", "word"),
    [
        ("x", ["same"] * 40, "insensitive", "same value"),
        ("x", [f"v{i}" for i in range(40)], "identifier", "unique"),
        ("email", ["a", "b"] * 20, "identifier", "email"),
        ("remarks", ["a long remark about somebody in particular, number 1", "b" * 60] * 20,
         "identifier", "free text"),
        ("x", ["a", "b", "c", "d"] * 10, "sensitive", "entropy 2.0 bits"),
        ("x", [str(i % 20) for i in range(40)], "quasi", "20 different values"),
        ("hasHIV", ["yes", "no"] * 20, "sensitive", "hiv"),
        ("birth_date", [f"1990-01-{i % 28 + 1:02}" for i in range(40)], "quasi", "birth"),
        ("salary", [str(20_000 + i) for i in range(40)], "sensitive", "salary"),
        ("ratio", [str(i / 7) for i in range(40)], "quasi", "40 different values"),
    ],
)  # fmt: skip
def test_each_kind_of_evidence(column, cells, role, word):
    found = sf.inspect({column: cells, "other": ["p", "q"] * 20})
    assert found.columns[0].role == role
    assert word in found.columns[0].reason


@pytest.mark.parametrize(
    ("column", "cells", "rule"),
    [
        ("age", [str(17 + i) for i in range(70)] * 2, {"intervals": {"width": 5}}),
        ("zip", ["01234", "01235"] * 70, {"mask": {"length": 5}}),
        ("sex", ["m", "f"] * 70, "flat"),
        ("country", ["a", "b", "c", "d", "e"] * 28, "frequency"),
        ("admission date", ["2024-01-01", "2024-02-01"] * 70, "dates"),
    ],
)
def test_suggested_hierarchies(column, cells, rule):
    from sfumato.data.hierarchies.rule_specs import spec_of

    assert spec_of(sf.inspect({column: cells}).columns[0].rule) == rule


def test_words_of_names():
    assert words("birthDate") == words("birth_date") == ["birth", "date"]
    assert hinted("salary-class") == ("sensitive", "salary")
    assert hinted("PatientID") == ("identifier", "id")
    assert hinted("native-country") == ("quasi", "native")
    assert hinted("frobnication") is None


def test_no_records(tmp_path):
    (tmp_path / "empty.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no records"):
        sf.inspect(tmp_path / "empty.csv")


def test_one_record_is_no_reason_to_fail():
    found = sf.inspect({"age": ["5"], "name": ["x"], "z": ["y"]})
    assert [one.role for one in found.columns] == ["quasi", "identifier", "quasi"]


def test_what_all_share_can_still_be_sensitive_or_a_name():
    found = sf.inspect({"diagnosis": ["HIV"] * 9, "name": ["x"] * 9, "country": ["IT"] * 9})
    assert [one.role for one in found.columns] == ["sensitive", "identifier", "insensitive"]


def visits():
    rows = [(f"K{p:03}", 20 + p % 60, 10_000 + p % 40, "abc"[(p + v) % 3], 7 * p + v)
            for p in range(80) for v in range(1 + p % 4)]  # fmt: skip
    names = ("client", "age", "zip", "ward", "cost")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


@pytest.mark.parametrize("name", ["client", "code_x"])
def test_a_column_that_names_people_with_several_rows_is_the_unit(name):
    columns = visits()
    columns = {name if key == "client" else key: cells for key, cells in columns.items()}
    found = sf.inspect(columns)
    assert found.schema.unit == name
    assert found.schema.attributes[name].role == "identifier"
    assert found.people == 80
    alone = {one.columns: one.people for one in found.sets}
    assert (name,) not in alone
    for chosen in (("age",), ("age", "zip"), ("zip", "ward")):
        held = {}
        for i in range(found.rows):
            held.setdefault(tuple(columns[c][i] for c in chosen), set()).add(columns[name][i])
        assert alone[chosen] == len(set().union(*(v for v in held.values() if len(v) == 1)))


@pytest.mark.parametrize(
    ("name", "values"),
    [("citizen", 5), ("ward_id", 7), ("region_id", 20), ("visitor_country", 30),
     ("employee_grade", 12), ("product_id", 300)],
)  # fmt: skip
def test_wards_products_and_nationalities_are_no_people(name, values):
    dice = random.Random(values)
    columns = {
        name: [f"v{dice.randrange(values)}" for _ in range(2000)],
        "amount": [dice.randrange(10_000) for _ in range(2000)],
    }
    assert sf.inspect(columns).schema.unit == "row"
    columns["age"] = [dice.randint(18, 90) for _ in range(2000)]
    columns["sex"] = [dice.choice("fm") for _ in range(2000)]
    found = sf.inspect(columns)
    assert found.schema.unit == "row"
    assert found.people == 2000
    if name in {"ward_id", "region_id"}:
        assert found.schema.attributes[name].role != "identifier"


def test_a_household_is_no_person():
    dice = random.Random(1)
    homes = [h for h in range(900) for _ in range(dice.choice((1, 2, 2, 3, 3)))]
    columns = {
        "hid": [f"H{h:04}" for h in homes],
        "city": [f"c{h % 40}" for h in homes],
        "age": [dice.randint(0, 90) for _ in homes],
        "sex": [dice.choice("fm") for _ in homes],
    }
    found = sf.inspect(columns)
    assert found.schema.unit == "row"
    assert found.schema.attributes["hid"].role == "quasi"


def test_one_row_each_is_a_person_each(found):
    assert found.schema.unit == "row"
    assert found.people == found.rows


def test_json_is_no_csv_and_quotes_nothing(tmp_path):
    file = tmp_path / "people.json"
    one = '{"name": "Ann Secret", "ill": "hiv", "age": "40"}'
    file.write_text(f"[{one}, {one}, {one}]")
    with pytest.raises(DataError, match="looks like JSON") as caught:
        sf.inspect(file)
    assert "Secret" not in str(caught.value)
    assert "hiv" not in str(caught.value)
    file = tmp_path / "headless.csv"
    file.write_text("Ann Secret,hiv,hiv\n")
    with pytest.raises(DataError, match="columns 2 and 3") as caught:
        sf.inspect(file)
    assert "hiv" not in str(caught.value)


def test_wide_tables_are_counted_a_few_columns_at_a_time(monkeypatch):
    """One statement about all columns takes an engine time and memory with their square."""
    table = sf.read({f"c{i}": [i, "", i + 1] for i in range(100)})
    asked = []
    run = table.engine.run
    monkeypatch.setattr(
        table.engine, "run", lambda query, *more: asked.append(query) or run(query, *more)
    )
    facts = column_facts.column_facts(table)
    assert [(one.name, one.distinct, one.missing) for one in facts] == [
        (f"c{i}", 3, 1) for i in range(100)
    ]
    assert max(query.count("count(DISTINCT") for query in asked) == column_facts.BATCH < 100
