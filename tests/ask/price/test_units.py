"""A stated unit is the unit: a word names a column, and limits, kinds and noise keep to it."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato as sf
from sfumato.dp.neighbours import Edge, Person
from sfumato.dp.noise import insecure_seeded
from sfumato.errors import GovernanceError, ParameterError, SchemaError
from sfumato.testing import allow_known_noise

COUNT = "SELECT COUNT(*) FROM t"
ROWS = {"person": ["ann"] * 100 + ["bob"], "x": list(range(101))}


@pytest.fixture
def schema(tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text("unit: person\nattributes:\n  x: {role: insensitive}\n")
    return file


def test_a_column_called_person_is_the_person(schema):
    for stated in ({"unit": "person"}, {"schema": schema}):
        with sf.Session(ROWS, public_types=True, name="t", budget=sf.PureDP(1), **stated) as one:
            assert one.unit == sf.Unit("person")
            with pytest.raises(sf.errors.Refused):
                one.sql("SELECT SUM(x) FROM t", epsilon=1, bounds={"x": (0, 1)})
    unit = sf.Unit("person", rows=1)
    with sf.Session(ROWS, public_types=True, name="t", unit=unit, budget=sf.PureDP(1000)) as one:
        assert one.sql(COUNT, epsilon=500).value == 2


def test_a_word_that_names_no_column_is_refused(schema):
    rows = {"who": ["ann", "bob"], "x": [1, 2]}
    for stated in ({"unit": "person"}, {"schema": schema}, {"unit": "user"}, {"unit": "edge"}):
        with pytest.raises((SchemaError, ParameterError)):
            sf.Session(rows, public_types=True, name="t", budget=sf.PureDP(1), **stated)
    for unit in (Person(), Edge()):
        with pytest.raises(ParameterError, match="hides one row"):
            sf.Session(rows, public_types=True, name="t", unit=unit, budget=sf.PureDP(1))


FOUR = sf.Unit("person", rows=4)


@pytest.mark.parametrize(
    ("unit", "limit", "holds"),
    [
        ("row", FOUR, False),
        (sf.Unit("other", rows=4), FOUR, False),
        (sf.Unit("person", rows=2), FOUR, False),
        (FOUR, FOUR, True),
        (sf.Unit("person", rows=5), FOUR, True),
        (FOUR, "row", True),
        ("row", "row", True),
    ],
)
def test_a_limit_about_another_unit_is_refused(unit, limit, holds):
    rows = {**ROWS, "other": ROWS["person"]}
    limits = sf.Limits(sf.PureDP(1), analyst=sf.PureDP(1, neighbours=limit))
    ledger = sf.Ledger(None)
    if holds:
        sf.Session(rows, public_types=True, name="t", unit=unit, limits=limits, ledger=ledger)
        return
    with pytest.raises(GovernanceError, match="about one person"):
        sf.Session(rows, public_types=True, name="t", unit=unit, limits=limits, ledger=ledger)
    assert ledger.registration("t") is None
    sf.Session(rows, public_types=True, name="t", unit=unit, budget=sf.PureDP(1), ledger=ledger)
    with pytest.raises(GovernanceError, match="about one person"):
        ledger.amend("t", limits=limits)


def test_seeded_noise_is_no_noise():
    with sf.Session(ROWS, public_types=True, name="t", unit="row", budget=sf.PureDP(1)) as one:
        with insecure_seeded(1), pytest.raises(ParameterError, match="follows from a seed"):
            one.sql(COUNT, epsilon="0.1")
        assert one.remaining == sf.PureDP(1)
        with insecure_seeded(1), allow_known_noise():
            one.sql(COUNT, epsilon="0.1")
        assert one.remaining == sf.PureDP(0.9)
        with insecure_seeded(1), pytest.raises(ParameterError, match="follows from a seed"):
            one.together([COUNT], epsilon="0.2")
        one.sql(COUNT, epsilon="0.3")


def kinds_of(ids):
    frame = pd.DataFrame({"who": ids, "x": [1] * len(ids)})
    with sf.Session(
        frame, public_types=True, name="t", unit=sf.Unit("who", rows=1), budget=sf.PureDP(999)
    ) as one:
        kinds = {column.name: column.kind for column in one.desk.opened.facts["t"].columns}
        return kinds, one.sql(COUNT, epsilon=500).value


def test_one_person_s_id_does_not_change_what_can_be_asked():
    whole, count = kinds_of([1.0, 2.0, 3.0, 3.0])
    broken, more = kinds_of([1.0, 2.0, 3.0, 3.5])
    assert whole == broken == {"who": "text", "x": "integer"}
    assert (count, more) == (3, 4)


def test_people_named_by_doubles_are_joined_with_people_named_by_whole_numbers():
    doubles = pd.DataFrame({"who": [1.0, 2.0, 3.0], "x": [1, 1, 1]})
    whole = pd.DataFrame({"who": [1, 2, 9], "y": [1, 1, 1]})
    with sf.Session(
        doubles,
        public_types=True,
        name="t",
        private={"u": whole},
        unit=sf.Unit("who", rows=1),
        budget=sf.PureDP(999),
    ) as one:
        asked = "SELECT COUNT(*) FROM t JOIN u ON t.who = u.who"
        assert one.sql(asked, epsilon=500).value == 2


def test_registered_kinds_decide_without_the_schema(tmp_path):
    file, schema = tmp_path / "t.parquet", tmp_path / "t.yaml"
    pd.DataFrame({"age": [1.0, 2.0, 3.0], "x": [1, 2, 3]}).to_parquet(file)
    schema.write_text("unit: row\nattributes:\n  age: {role: quasi, type: integer}\n")
    with sf.Session(file, public_types=True, schema=schema, budget=sf.PureDP(1)) as one:
        first = one.sql("SELECT COUNT(*) FROM t WHERE age = 2", epsilon="0.1")
    with sf.Session(file) as one:  # which failed, and named no column
        again = one.sql("SELECT COUNT(*) FROM t WHERE age = 2", epsilon="0.1")
        assert again.stored
        assert again.value == first.value


def test_a_column_that_changed_is_named(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("age,job\n1,nurse\n")
    with sf.Session(file, public_types=True, unit="row", budget=sf.PureDP(1)):
        pass
    file.write_text("age,work\n1,nurse\n")
    with pytest.raises((GovernanceError, SchemaError), match="job"):
        sf.Session(file)


def test_people_registered_by_whole_numbers_keep_their_budget(tmp_path):
    """A ledger from before: doubles that were all whole were registered as whole numbers."""
    file, place = tmp_path / "t.parquet", str(tmp_path / "ledger.sqlite")
    pd.DataFrame({"who": [1.0, 2.0], "x": [1, 2]}).to_parquet(file)
    more = {"unit": sf.Unit("who", rows=1), "ledger": place}
    with sf.Session(file, public_types=True, budget=sf.PureDP(1), **more) as one:
        known, salt = one.ledger.registration("t"), one.ledger.salt("t")
    known.rules["tables"]["t"]["kinds"]["who"] = "integer"
    (tmp_path / "ledger.sqlite").unlink()
    for rest in tmp_path.glob("ledger.sqlite-*"):
        rest.unlink()
    with sf.Ledger(place) as ledger:
        ledger.register(known, salt=salt)
    with sf.Session(file, public_types=True, **more) as one:
        one.sql(COUNT, epsilon=1)
        assert one.remaining.epsilon == 0
