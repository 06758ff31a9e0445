"""Schemas: built in code, read and written as YAML, and clear about every mistake."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy
from sfumato.data.schema import Attribute, Schema
from sfumato.errors import DataError, HierarchyError, InputError, SchemaError

SAMPLE = """\
# A comment
attributes:
  name: identifier
  age:
    role: quasi
    type: integer
    hierarchy: {intervals: {width: 5, levels: 2}}
    domain: {low: 0, high: 119}
  zip: {role: quasi, hierarchy: {mask: {length: 5}}, weight: 2}
  job: {role: quasi, hierarchy: jobs/job.csv}
  country: {role: quasi, hierarchy: {tree: {'*': {north: [NO, SE], south: [IT]}}}}
  seen: {role: quasi, hierarchy: dates}
  disease: {role: sensitive, domain: [mild, bad, worst]}
  note: insensitive
unit: patient
purposes: [research, care]
"""


@pytest.fixture
def sample(tmp_path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.csv").write_text("nurse;health;*\ncook;food;*\n")
    path = tmp_path / "people.yaml"
    path.write_text(SAMPLE)
    return path


def bound(schema):
    """Return every hierarchy bound to values, as rows: what a schema means."""
    values = {
        "age": ["3", "117"], "zip": ["13053", MISSING], "job": ["cook"],
        "country": ["NO", MISSING], "seen": ["2024-01-01"],
    }  # fmt: skip
    return {name: schema.hierarchy_for(name, v).rows() for name, v in values.items()}


def test_a_file_says_what_the_data_is(sample):
    schema = sf.Schema.read(sample)
    assert schema.identifier_names == ("name",)
    assert schema.quasi_names == ("age", "zip", "job", "country", "seen")
    assert schema.sensitive_names == ("disease",)
    assert schema.insensitive_names == ("note",)
    assert schema.weights == (1.0, 2.0, 1.0, 1.0, 1.0)
    assert schema.unit == "patient"
    assert schema.purposes == ("research", "care")
    rows = bound(schema)
    assert rows["zip"][0] == ("13053", "1305*", "130**", "13***", "1****", "*")
    assert rows["job"] == [("nurse", "health", "*"), ("cook", "food", "*")]
    assert rows["country"][0] == ("NO", "north", "*")
    assert rows["country"][-1] == (MISSING, MISSING, "*")


def test_writing_reads_back_and_says_the_same_again(sample, tmp_path):
    schema = sf.Schema.read(sample)
    other = tmp_path / "deeper" / "copy.yaml"
    other.parent.mkdir()
    schema.write(other)
    again = sf.Schema.read(other)
    assert "../jobs/job.csv" in other.read_text()
    assert bound(again) == bound(schema)
    assert {n: a.role for n, a in again.attributes.items()} == {
        n: a.role for n, a in schema.attributes.items()
    }
    assert again.attributes["age"].domain == schema.attributes["age"].domain
    assert again.weights == schema.weights
    again.write(tmp_path / "deeper" / "third.yaml")
    assert (tmp_path / "deeper" / "third.yaml").read_text() == other.read_text()


def test_a_hierarchy_whose_file_changed_is_written_in_place(sample, tmp_path):
    schema = sf.Schema.read(sample)
    before = bound(schema)
    (tmp_path / "jobs" / "job.csv").write_text("nurse;work;*\ncook;work;*\n")
    schema.write(tmp_path / "kept.yaml")
    assert bound(sf.Schema.read(tmp_path / "kept.yaml")) == before


@pytest.mark.parametrize(
    "rule",
    [
        Hierarchy.intervals(width=0.25, fanout=3, levels=2, low=-1, high=7.5),
        Hierarchy.quantiles(3, fanout=3),
        Hierarchy.cuts([[1, 2.5, 4], [2.5]]),
        Hierarchy.mask(3, side="left", char="#"),
        Hierarchy.frequency(groups=[3, 2]),
        Hierarchy.frequency(groups=2),
        Hierarchy.automatic(),
        Hierarchy.flat(["1", "2", "3", "5"]),
        Hierarchy.from_rows([("1", "a", "*"), ("2", "b", "*"), ("3", "a", "*"), ("5", "b", "*")]),
        Hierarchy.intervals(width=2).over(["1", "2", "3", "5"], "x"),
    ],
)
def test_every_rule_round_trips(tmp_path, rule):
    schema = Schema(quasi={"x": rule})
    schema.write(tmp_path / "s.yaml")
    values = ["1", "2", "3", "5"]
    counts = {"1": 5, "2": 1, "3": 2, "5": 9}
    before = schema.hierarchy_for("x", values, counts)
    after = Schema.read(tmp_path / "s.yaml").hierarchy_for("x", values, counts)
    assert after.rows() == before.rows()
    assert after.ordered == before.ordered
    assert [s.tolist() for s in after.spans] == [s.tolist() for s in before.spans]


def test_dates_round_trip(tmp_path):
    schema = Schema(quasi={"x": Hierarchy.dates(levels=["year"], format="%d.%m.%Y")})
    schema.write(tmp_path / "s.yaml")
    again = Schema.read(tmp_path / "s.yaml")
    assert again.hierarchy_for("x", ["03.04.1999"]).rows() == [("03.04.1999", "1999", "*")]


def test_names_and_values_that_yaml_would_guess_at(tmp_path):
    names = ["no", "2024", "a: b", "# x", "é", "'", "null", "on"]
    schema = Schema(
        attributes={n: Attribute(role="sensitive", domain=["no", "1", "", "~"]) for n in names},
        purposes=["yes", "10"],
    )
    schema.write(tmp_path / "s.yaml")
    again = Schema.read(tmp_path / "s.yaml")
    assert again.sensitive_names == tuple(names)
    assert all(a.domain == ("no", "1", "", "~") for a in again.attributes.values())
    assert again.purposes == ("yes", "10")


def test_a_rule_of_ones_own_works_and_cannot_be_written(tmp_path):
    class Initials:
        def over(self, values, attribute, counts=None):
            return Hierarchy.from_rows([(v, v[:1], "*") for v in values])

    schema = Schema(quasi={"name": Initials()})
    assert schema.hierarchy_for("name", ["Ann", "Bob"]).rows()[0] == ("Ann", "A", "*")
    with pytest.raises(SchemaError, match=r"'name'.*Initials"):
        schema.write(tmp_path / "s.yaml")
    assert not (tmp_path / "s.yaml").exists()


def test_existing_files_can_be_protected(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        Schema(quasi=["a"]).write(path, replace=False)
    assert path.read_text() == "mine"


# -- mistakes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no attributes"]),
        ("- a\n", ["no attributes"]),
        ("attributes: [a]\n", ["no attributes"]),
        ("attributes: {a: [b\n", ["line", "not valid YAML"]),
        ("attributes:\n  a: quasi\n  a: quasi\n", ["line 3", "'a'", "line 2"]),
        ("atributes: {}\nattributes: {a: quasi}", ["'atributes'", "Did you mean 'attributes'"]),
        ("attributes: {a: quasy}\n", ["'a'", "identifier, quasi", "Did you mean 'quasi'"]),
        ("attributes: {a: {type: integer}}\n", ["'a'", "'role' is missing"]),
        ("attributes: {a: }\n", ["'a'", "role", "must be one of"]),
        ("attributes: {a: [quasi]}\n", ["'a'", "expected a role"]),
        ("attributes: {a: {role: quasi, tpye: x}}\n", ["'a'", "'tpye'", "Did you mean 'type'"]),
        ("attributes: {a: {role: quasi, type: int}}\n", ["'a'", "text, integer, number, date"]),
        ("attributes: {a: {role: quasi, weight: -1}}\n", ["'a'", "weight", "greater than 0"]),
        ("attributes: {a: {role: quasi, weight: x}}\n", ["'a'", "weight"]),
        ("attributes: {a: {role: quasi, hierarchy: gone.csv}}\n", ["'a'", "gone.csv", "not exist"]),
        ("attributes: {a: {role: quasi, hierarchy: maks}}\n", ["'a'", "Did you mean 'mask'"]),
        ("attributes: {a: {role: quasi, hierarchy: {mask: {lenth: 5}}}}\n", ["'a'", "'length'"]),
        ("attributes: {a: {role: quasi, hierarchy: {quantiles: }}}\n", ["'a'", "'n' is missing"]),
        (
            "attributes: {a: {role: quasi, hierarchy: {mask: 5, dates: }}}\n",
            ["'a'", "names one of"],
        ),
        ("attributes: {a: {role: quasi, hierarchy: {file: x.csv, odd: 1}}}\n", ["'a'", "x.csv"]),
        (
            "attributes: {a: {role: quasi, hierarchy: {rows: [[a, b], [c, d]]}}}\n",
            ["'a'", "2 roots"],
        ),
        ("attributes: {a: {role: quasi, hierarchy: {rows: x}}}\n", ["'a'", "rows"]),
        ("attributes: {a: {role: quasi, domain: {low: 5, high: 1}}}\n", ["'a'", "domain"]),
        ("attributes: {a: quasi}\nunit: [a]\n", ["unit"]),
        ("attributes: {a: quasi}\npurposes: {a: b}\n", ["purposes"]),
    ],
)
def test_every_mistake_names_the_file_and_what_is_allowed(tmp_path, text, words):
    path = tmp_path / "people.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Schema.read(path)
    message = str(caught.value)
    assert "people.yaml" in message
    assert [word for word in words if word not in message] == []


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SchemaError, match=r"none\.yaml cannot be read"):
        Schema.read(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("attributes: {é: quasi}".encode("latin-1"))
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.read(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"quasi": "age"}, ["list of names", "['age']"]),
        ({"quasi": ["a"], "sensitive": ["a"]}, ["'a'", "twice"]),
        ({"quasi": ["age"], "weights": {"agee": 2}}, ["'agee'", "Did you mean 'age'"]),
        ({"quasi": ["age"], "weights": {"age": 0}}, ["'age'", "weight"]),
        ({"quasi": {"age": 7}}, ["'age'", "file name"]),
        ({"quasi": [""]}, ["not empty"]),
        ({"attributes": {"a": {"role": "quazi"}}}, ["'a'", "Did you mean 'quasi'"]),
    ],
)
def test_mistakes_in_code(arguments, words):
    with pytest.raises(SchemaError) as caught:
        Schema(**arguments)
    assert [word for word in words if word not in str(caught.value)] == []


# -- asking ----------------------------------------------------------------------------


def test_roles_in_code():
    schema = Schema(
        identifiers=["name"],
        quasi={"age": Hierarchy.intervals(width=10), "zip": "mask"},
        sensitive=["disease"],
        insensitive=["ward"],
        weights={"zip": 3},
    )
    assert schema.quasi_names == ("age", "zip")
    assert schema.weights == (1.0, 3.0)
    assert schema.hierarchy_for("zip", ["12"]).rows() == [("12", "1*", "*")]
    with pytest.raises(ValueError, match="frozen"):
        schema.unit = "other"


def test_without_a_hierarchy_one_is_chosen_by_values_and_type():
    schema = Schema(
        attributes={
            "a": {"role": "quasi", "type": "text"},
            "b": {"role": "quasi", "type": "number"},
            "c": {"role": "quasi", "type": "date"},
            "d": "quasi",
        }
    )
    assert schema.hierarchy_for("a", ["1", "2", "3"]).source == "frequency"
    assert schema.hierarchy_for("b", ["1", "2", "3"]).source == "intervals"
    assert schema.hierarchy_for("c", ["2024-01-01"]).source == "dates"
    assert schema.hierarchy_for("d", ["x", "y"]).source == "frequency"
    with pytest.raises(HierarchyError, match="'b'"):
        schema.hierarchy_for("b", ["x"])


def test_a_declared_domain_is_covered_and_enforced():
    schema = Schema(
        attributes={
            "age": Attribute(role="quasi", type="integer", domain=(30, 39)),
            "grade": Attribute(role="quasi", domain=["A", "B", "C"]),
        }
    )
    age = schema.hierarchy_for("age", ["35", MISSING])
    assert set(age.leaves) == {*map(str, range(30, 40)), MISSING}
    assert schema.hierarchy_for("grade", ["B"]).size == 3
    with pytest.raises(SchemaError, match=r"'age'.*2 distinct.*30 to 39") as caught:
        schema.hierarchy_for("age", ["29", "77", "31"])
    assert "77" not in str(caught.value)
    with pytest.raises(SchemaError, match=r"'grade'.*3 declared values"):
        schema.order_of("grade", ["Z"])


def test_the_natural_order_of_values():
    schema = Schema(
        attributes={
            "salary": "sensitive",
            "stage": Attribute(role="sensitive", domain=["mild", "bad", "10", "9"]),
            "place": Attribute(role="sensitive", hierarchy=Hierarchy.tree(["west", "east"])),
            "word": "sensitive",
        }
    )
    assert schema.order_of("salary", ["10", "9", MISSING, "-1.5"]) == ("-1.5", "9", "10", MISSING)
    assert schema.order_of("stage", ["9", "10", "mild"]) == ("mild", "10", "9")
    assert schema.order_of("place", ["east", MISSING, "west"]) == ("west", "east", MISSING)
    assert schema.order_of("word", ["b", "a", "a"]) == ("a", "b")


def test_hierarchies_of_sensitive_attributes():
    schema = Schema(sensitive={"d": Hierarchy.tree({"*": {"x": ["a", "b"]}}), "e": None})
    assert schema.sensitive_hierarchy("d", ["a"]).height == 3
    assert schema.sensitive_hierarchy("e", ["a"]) is None


def test_columns_are_checked_and_the_unnamed_returned(sample):
    schema = Schema.read(sample)
    columns = ["name", "age", "zip", "job", "country", "seen", "disease", "note"]
    assert schema.check_columns(columns, "people.csv") == ()
    assert schema.check_columns([*columns, "extra"], "people.csv") == ("extra",)
    with pytest.raises(SchemaError) as caught:
        schema.check_columns([c.replace("zip", "ZIP") for c in columns], "people.csv")
    for word in ("people.yaml", "quasi attribute 'zip'", "people.csv", "Did you mean 'ZIP'?"):
        assert word in str(caught.value)
    with pytest.raises(SchemaError, match="more than one column called age"):
        schema.check_columns([*columns, "age"], "people.csv")
    with pytest.raises(SchemaError, match=r"no attribute 'agee'.*Did you mean 'age'"):
        schema.hierarchy_for("agee", ["1"])
