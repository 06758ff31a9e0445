"""Loss of tables that others made: the worked examples, releases of ours, refusals."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.errors import DataError, ParameterError

WORK = sf.Hierarchy.from_rows([
    ("state", "government", "*"), ("local", "government", "*"), ("federal", "government", "*"),
    ("private", "private", "*"), ("inc", "self-employed", "*"), ("not-inc", "self-employed", "*"),
    ("without-pay", "unemployed", "*"), ("never-worked", "unemployed", "*"),
])  # fmt: skip
AGE = sf.Hierarchy.from_rows(
    [(str(a), "30-35" if a < 35 else "35-40", "30-40") for a in range(30, 40)], ordered=True
)
JOBS = sf.Schema(quasi={"work": WORK, "age": AGE}, weights={"work": 0.6, "age": 0.4})


def test_the_loss_metric_of_the_worked_example():
    came = {"work": ["state", "private"], "age": ["31", "38"]}
    left = {"work": ["government", "private"], "age": ["30-35", "30-40"]}
    found = sf.loss(came, left, JOBS)
    assert found["LM sum"] == pytest.approx(0.749206, abs=1e-6)
    assert found["LM"] == pytest.approx(0.749206 / 2, abs=1e-6)
    assert found.attributes["work"]["LM"] == pytest.approx((2 / 7) / 2)
    assert found["MD sum"] == 1 + 0 + 1 + 2  # steps: one of work, none, one and two of age
    assert found.notes == ()
    one = sf.loss(
        {"work": ["state"], "age": ["31"]}, {"work": ["government"], "age": ["30-35"]}, JOBS
    )
    assert one["LM"] == pytest.approx(0.349206, abs=1e-6)


PATIENTS = {
    "zip": [13053, 13068, 13068, 13053, 14853, 14853, 14850, 14850, 13053, 13053, 13068, 13068],
    "age": [28, 29, 21, 23, 50, 55, 47, 59, 31, 37, 36, 32],
}
BY_HAND = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + [">=40"] * 4 + ["[30,40)"] * 4,
}
MASKED = sf.Schema(quasi={"zip": sf.Hierarchy.mask(5), "age": sf.Hierarchy.intervals(width=10)})


def test_the_query_error_of_the_worked_example():
    found = sf.loss(PATIENTS, BY_HAND, MASKED, workload=[{"zip": "13053", "age": "37"}])
    assert found.queries.truths.tolist() == [1]
    assert found.queries.estimates == pytest.approx([0.004])
    assert found["classes"] == 3
    assert found["average class size"] == 4
    assert found["discernibility"] == 3 * 16
    assert found["DM"] == pytest.approx(48 / 144)
    assert any("values that occur" in note for note in found.notes)


def test_an_interval_costs_its_share_of_the_declared_domain():
    age = {"role": "quasi", "type": "integer", "hierarchy": {"intervals": {"width": 10}}}
    came, left = {"age": ["31", "37"]}, {"age": ["[30,40)", "[30,40)"]}
    declared = sf.Schema(attributes={"age": {**age, "domain": (0, 99)}})
    found = sf.loss(came, left, declared)
    assert found["LM"] == pytest.approx(9 / 99)
    assert found.notes == ()
    occurring = sf.loss(came, left, sf.Schema(attributes={"age": age}))
    assert occurring["LM"] == 1
    assert "the 2 values that occur" in occurring.notes[0]


@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_our_releases_lose_what_they_say(algorithm):
    people = sf.examples.patients(300, seed=3)
    release = sf.anonymize(
        people.columns, sf.KAnonymity(4), schema=people.schema, algorithm=algorithm,
        suppression=0.05,
    )  # fmt: skip
    found = sf.loss(people.columns, release.table, people.schema, queries=40)
    for name in ("LM", "DM", "AECS"):
        assert found[name] == pytest.approx(release.loss[name], abs=1e-9)
    assert found["MD"] == pytest.approx(release.loss["MD"], abs=0.02)
    same = sf.query_error(release, queries=40)
    assert found.queries.estimates == pytest.approx(same.estimates, rel=1e-6)


def test_suppressed_records_and_columns_cost_all():
    found = sf.loss({"work": ["state"] * 2, "age": ["31"] * 2}, {"work": ["state"]}, JOBS)
    assert found.attributes["age"]["LM"] == 1  # left out altogether
    assert found.attributes["work"]["LM"] == 0.5  # one record of two is missing
    assert found["suppressed"] == 1


def test_refusals():
    with pytest.raises(DataError, match="stand for no value"):
        sf.loss({"work": ["state"], "age": ["31"]}, {"work": ["pilot"], "age": ["31"]}, JOBS)
    with pytest.raises(DataError, match="at most as many"):
        sf.loss(
            {"work": ["state"], "age": ["31"]}, {"work": ["state"] * 2, "age": ["31"] * 2}, JOBS
        )
    with pytest.raises(ParameterError, match=r"sf\.loss"):
        sf.query_error({"age": ["30"]})
    with pytest.raises(ParameterError, match="There is no loss"):
        sf.loss(PATIENTS, BY_HAND, MASKED)["XY"]


def test_the_command(tmp_path, capsys):
    import pandas as pd

    pd.DataFrame(PATIENTS).to_csv(tmp_path / "came.csv", index=False)
    pd.DataFrame(BY_HAND).to_csv(tmp_path / "left.csv", index=False)
    MASKED.write(tmp_path / "schema.yaml")
    files = [str(tmp_path / name) for name in ("came.csv", "left.csv")]
    assert run(["loss", *files, "-s", str(tmp_path / "schema.yaml")]) == 0
    shown = capsys.readouterr().out
    assert "discernibility" in shown
    assert "values that occur" in shown
