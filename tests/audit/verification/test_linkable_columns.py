"""Columns that are released as they are and tell most records apart: found, refused, accepted."""

from __future__ import annotations

import datetime as dt
import json
import random

import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.data.tables.singling_out import FEW_VALUES, nearly_unique
from sfumato.errors import PromiseBroken, SchemaError

REASON = "drawn at random for this file"


def cells(kind, records, dice):
    """Return a column that another file could have, nearly all of its cells different."""
    if kind == "decimals":
        return [f"{dice.uniform(10, 99_999):.2f}" for _ in range(records)]
    if kind == "timestamps":
        start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
        seconds = dice.sample(range(10**7), records)
        return [str(start + dt.timedelta(seconds=s)) for s in seconds]
    if kind == "duplicates":
        values = dice.sample(range(10_000, 10**6), records)
        copied = dice.sample(range(records), records // 3)
        return [values[0] if i in copied else v for i, v in enumerate(values)]
    values = [f"{v:x}" for v in dice.sample(range(16**8), records)]
    return ["" if dice.random() < 0.4 else v for v in values]


def random_table(number):
    """Return a table in two classes, with one column that is nearly unique and one that is not."""
    dice = random.Random(number)
    records = dice.randint(30, 400)
    kind = ("decimals", "timestamps", "duplicates", "missing")[number % 4]
    return {
        "age": [("<40", ">=40")[i % 2] for i in range(records)],
        "disease": [dice.choice("abc") for _ in range(records)],
        "cost": cells(kind, records, dice),
        "ward": [dice.randrange(dice.randint(1, FEW_VALUES)) for _ in range(records)],
    }


SCHEMA = sf.Schema(quasi=["age"], sensitive=["disease"], insensitive=["cost", "ward"])


def accepting(reason=REASON):
    attributes = {"cost": {"role": "insensitive", "linkable": f"accepted, {reason}"}}
    return sf.Schema(
        quasi=["age"], sensitive=["disease"], insensitive=["ward"], attributes=attributes
    )


def found_in(number):
    table = random_table(number)
    checked = sf.verify(table, SCHEMA, sf.KAnonymity(5))
    linked = [f.attribute for f in checked.findings if f.kind == "linkable"]
    tried = sf.audit.precheck(table, schema=SCHEMA)
    outcome = tried.outcome("linkage by columns released as they are")
    return table, checked, linked, tried, outcome


def assert_found(number):
    table, checked, linked, tried, outcome = found_in(number)
    assert linked == ["cost"]
    assert not checked.holds
    assert checked.risk.prosecutor == 1
    assert tried.breaks
    assert outcome.exposed >= 0.3 * len(table["age"])


@pytest.mark.parametrize("number", range(8))
def test_a_nearly_unique_column_is_found_and_columns_of_few_values_are_not(number):
    assert_found(number)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(8, 300))
def test_a_nearly_unique_column_is_found_in_three_hundred_tables(number):
    assert_found(number)


def test_no_warning_on_few_values_however_small_the_table():
    for records in (2, 5, 11, 40):
        columns = {"age": ["x"] * records, "room": [i % FEW_VALUES for i in range(records)]}
        assert nearly_unique(sf.read(columns), ["room"]) == ()
    halves = {"n": [i // 2 for i in range(100)]}  # every value twice: half as many as cells
    assert nearly_unique(sf.read(halves), ["n"])
    thirds = {"n": [i // 3 for i in range(99)]}
    assert not nearly_unique(sf.read(thirds), ["n"])


def test_the_same_value_in_all_records_of_a_person_is_one():
    table = sf.read({"who": [i // 5 for i in range(200)], "number": [i // 5 for i in range(200)]})
    assert not nearly_unique(table, ["number"])
    assert nearly_unique(table, ["number"], ["who"])


def test_anonymising_warns_and_saving_is_refused(tmp_path):
    release = sf.anonymize(random_table(0), sf.KAnonymity(5), schema=SCHEMA)
    [warning] = release.warnings
    assert "'cost'" in warning
    assert not release.verify().holds
    with pytest.raises(PromiseBroken, match="nearly unique"):
        release.save(tmp_path / "out")


def test_what_was_accepted_in_writing_is_repeated_everywhere(tmp_path):
    accepting().write(tmp_path / "schema.yaml")
    schema = sf.Schema.read(tmp_path / "schema.yaml")
    assert schema.accepted == {"cost": REASON}
    release = sf.anonymize(random_table(0), sf.KAnonymity(5), schema=schema)
    assert release.warnings == ()
    place = release.save(tmp_path / "out")
    checked = sf.verify(place)
    assert checked.holds
    assert REASON in str(checked)
    assert checked.risk.prosecutor < 1
    assert REASON in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert REASON in str(sf.audit.precheck(place))
    assert not sf.audit.precheck(place).breaks
    stated = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert stated["linkable"] == {"cost": REASON}


@pytest.mark.parametrize(
    "attribute",
    [
        {"role": "insensitive", "linkable": "accepted"},
        {"role": "insensitive", "linkable": "no, never"},
        {"role": "quasi", "linkable": "accepted, why not"},
    ],
)
def test_acceptance_needs_a_reason_and_a_column_that_is_released_as_it_is(attribute):
    with pytest.raises(SchemaError, match="linkable"):
        sf.Schema(quasi=["age"], attributes={"cost": attribute})


def test_the_commands_say_not_kept(tmp_path, capsys):
    import pandas as pd

    pd.DataFrame(random_table(1)).to_csv(tmp_path / "people.csv", index=False)
    SCHEMA.write(tmp_path / "schema.yaml")
    file, schema = str(tmp_path / "people.csv"), str(tmp_path / "schema.yaml")
    assert run(["verify", file, "-s", schema, "-k", "5"]) == 1
    assert run(["attack", file, "-s", schema]) == 1
    told = capsys.readouterr()
    assert "0 of" not in told.out
    order = ["anonymize", file, "-s", schema, "-k", "5", "-o", str(tmp_path / "out")]
    assert run(order) == 1
    assert "'cost'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_public_table_is_joined_by_every_column_it_shares():
    records = 40
    ward = [i % 8 for i in range(records)]
    released = {"age": ["*"] * records, "disease": ["x", "y"] * 20, "ward": ward}
    public = {"age": [30] * 8, "ward": list(range(8)), "name": list("abcdefgh")}
    schema = sf.Schema(quasi=["age"], sensitive=["disease"], insensitive=["ward"])
    found = sf.audit.precheck(released, schema=schema, public=public)
    joined = found.outcome("linkage by a journalist")
    assert "ward" in joined.knows
