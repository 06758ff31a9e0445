"""`sfumato inspect` and `sfumato hierarchy`, as a person uses them."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import inspect as command
from sfumato.cli.hierarchy import hierarchy
from sfumato.cli.inspect import inspect
from sfumato.errors import DataError, ParameterError, SchemaError

app = typer.Typer()
app.command()(inspect)
app.command()(hierarchy)


@pytest.fixture
def data(tmp_path):
    sf.examples.patients(200, seed=2).write(tmp_path)
    (tmp_path / "patients.yaml").unlink()
    return tmp_path / "patients.csv"


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_inspect_shows_and_writes(data):
    output = run("inspect", data)
    for word in ("200 records", "identifier", "mask length=5", "single out", "patients.yaml"):
        assert word in output
    schema = sf.Schema.read(data.with_suffix(".yaml"))
    assert schema.quasi_names == ("age", "zip", "sex", "nationality", "job")
    text = data.with_suffix(".yaml").read_text()
    assert "# unique: every record has a value of its own\n  patient: identifier" in text


def test_inspect_keeps_an_existing_schema(data):
    target = data.with_suffix(".yaml")
    target.write_text("mine")
    with pytest.raises(DataError, match=r"patients\.yaml exists already.*--force"):
        run("inspect", data)
    assert target.read_text() == "mine"
    run("inspect", data, "--force")
    assert sf.Schema.read(target).identifier_names == ("patient", "name")


def test_inspect_with_an_unwritable_output_leaves_nothing(data):
    with pytest.raises(DataError, match="cannot be written"):
        run("inspect", data, "-o", data.parent / "no" / "s.yaml")


def test_hierarchy_prints_lines_from_value_to_root(data):
    output = run("hierarchy", data, "age", "--rule", "intervals", "--width", 5, "--levels", 2)
    lines = output.splitlines()
    ages = {line.split(";")[0] for line in lines}
    assert lines[0].endswith(";*")
    assert ages == {str(a) for a in sf.examples.patients(200, seed=2).columns["age"]}
    for line in lines:
        age, fine, coarse, root = line.split(";")
        start = int(age) // 5 * 5
        assert fine == f"[{start},{start + 5})"
        assert coarse == f"[{int(age) // 10 * 10},{int(age) // 10 * 10 + 10})"
        assert root == "*"


def test_hierarchy_writes_a_file_that_covers_the_data(data, tmp_path):
    target = tmp_path / "zip.csv"
    output = run("hierarchy", data, "zip", "--rule", "mask", "-o", target)
    assert "6 levels" in output
    built = sf.Hierarchy.read(target)
    values = set(sf.examples.patients(200, seed=2).columns["zip"])
    assert built.over(values, "zip") is built
    with pytest.raises(DataError, match="--force"):
        run("hierarchy", data, "zip", "-o", target)


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (["--rule", "cuts", "--points", "30,60/60"], "<60"),
        (["--rule", "quantiles", "-n", "4"], ">="),
        (["--rule", "intervals", "--low", "0", "--high", "50", "--width", "25"], ">=50"),
        (["--rule", "flat"], ";*"),
        (["--rule", "mask", "--side", "left"], ";*"),
        (["--rule", "frequency", "--groups", "4,2"], "more}"),
    ],
)
def test_every_rule_has_its_options(data, options, label):
    assert label in run("hierarchy", data, "age", *options)


def test_wrong_options_and_columns(data):
    with pytest.raises(ParameterError, match=r"'mask'.*'width' is unknown.*length"):
        run("hierarchy", data, "age", "--rule", "mask", "--width", 3)
    with pytest.raises(SchemaError, match=r"no column 'agee'.*Did you mean 'age'"):
        run("hierarchy", data, "agee")


@pytest.mark.parametrize("command", ["inspect", "hierarchy"])
def test_help_teaches_with_an_example(command):
    assert f"sfumato {command} patients.csv" in " ".join(run(command, "--help").split())


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (
            "postgresql://ann:se@cr/et@db/shop?table=people&a=b",
            "'postgresql://ann@db/shop?table=people&a=b'",
        ),
        ("postgresql://ann@db/shop?table=people", "'postgresql://ann@db/shop?table=people'"),
        ("my people.csv", "'my people.csv'"),
    ],
)
def test_the_next_step_can_be_pasted_and_holds_no_password(
    address, shown, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    found = sf.inspect(str(data))
    monkeypatch.setattr(command, "_look", lambda *_: found)
    output = run("inspect", address)
    assert f"  sfumato anonymize {shown} -s " in output
    assert "cr/et" not in output
