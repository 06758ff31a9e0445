"""What a release will take is told from counts, in every engine, and nothing is written."""

from __future__ import annotations

import json

import pytest
from table_places import PLACES, put

import sfumato as sf
from sfumato import examples
from sfumato.anonymize.tables import forecast as forecasting
from sfumato.anonymize.tables.forecast import forecast
from sfumato.cli import main

KINDS = {"name": "VARCHAR", "age": "INTEGER", "zip": "VARCHAR", "disease": "VARCHAR"}
SCHEMA = sf.Schema(
    attributes={
        "name": {"role": "identifier"},
        "age": {"role": "quasi"},
        "zip": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    }
)


def cells(rows):
    return [
        [f"p{i}" for i in range(rows)],
        [30 + i % 4 for i in range(rows)],
        [f"10{i % 3}" for i in range(rows)],
        ["flu" if i % 2 else "cold" for i in range(rows)],
    ]


@pytest.mark.parametrize("place", PLACES)
def test_distinct_lines_are_counted_where_the_rows_are(place, request):
    found = forecast(sf.read(put(place, request, KINDS, cells(60)), schema=SCHEMA))
    assert (found.rows, found.columns, found.quasi_identifiers) == (60, 3, 2)
    assert found.distinct == 12  # the name, which is different in every row, is not released
    low, high = found.range
    assert 0 < low < found.seconds < high


def test_growth_is_carried_on(monkeypatch):
    monkeypatch.setattr(forecasting, "SAMPLE", 100)
    rows = {"age": list(range(10_000)), "zip": ["1"] * 10_000}
    schema = sf.Schema(attributes={name: {"role": "quasi"} for name in rows})
    assert forecast(sf.read(rows, schema=schema)).distinct == 10_000
    rows["age"] = [i % 50 for i in range(10_000)]
    assert forecast(sf.read(rows, schema=schema)).distinct == 50


def test_a_dry_run_writes_nothing(tmp_path, capsys, monkeypatch):
    examples.patients(300, 1).write(tmp_path / "clinic")
    monkeypatch.chdir(tmp_path)
    command = "anonymize clinic/patients.csv -s clinic/patients.yaml -k 5 -o out --dry-run --json"
    monkeypatch.setattr("sys.argv", ["sfumato", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    found = json.loads(capsys.readouterr().out)
    assert "300" in json.dumps(found)
    assert not (tmp_path / "out").exists()
