"""(k, δ): traces within δ of each other, which is checked; no k-anonymity, which is shown."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import run

BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture(scope="module")
def people():
    columns = sf.examples.cabs(40, hours=1)
    return sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS, unit="person")


@pytest.fixture(scope="module")
def near(people):
    return sf.anonymize(people, sf.CoLocalization(4, delta=400), time_bin=600)


def test_everybody_is_in_a_group_of_k_within_delta_at_every_moment(people, near):
    assert near.verify().holds
    plan = near.decision.content
    count = plan.starts[1]
    boxes = plan.boxes.reshape(len(people), count, 4)
    for number in np.unique(plan.group):
        members = boxes[plan.group == number]
        assert len(np.unique(plan.person[plan.group == number])) >= 4
        for a in members:  # the farthest corners of any two cells at any moment
            across = np.maximum(members[..., 1] - a[:, 0], a[:, 1] - members[..., 0])
            up = np.maximum(members[..., 3] - a[:, 2], a[:, 3] - members[..., 2])
            assert np.hypot(across, up).max() <= 400
    assert near.suppressed == 0


def test_places_are_moved_no_more_than_needed(people):
    wide = sf.anonymize(people, sf.CoLocalization(4, delta=100_000), time_bin=600)
    assert wide.provenance.record.facts["places moved (%)"] == 0
    assert wide.loss["moves"] == 0
    moves = [
        sf.anonymize(people, sf.CoLocalization(4, delta=delta), time_bin=600).loss["moves"]
        for delta in (30, 400, 2000)
    ]
    assert moves[0] > moves[1] > moves[2] > 0


def test_trips_get_the_moments_of_their_group():
    columns = sf.examples.cabs(40, hours=1)
    trips = sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS)
    release = sf.anonymize(trips, sf.CoLocalization(3, delta=500), places=4)
    assert release.verify().holds
    assert any("mean times" in what for what in release.untruthful)


def test_it_is_no_k_anonymity_and_every_place_says_so(people, near, tmp_path):
    found = near.verify()
    [k] = [row for row in found.measured if row.measure == "k"]
    assert k.found == 1  # traces of a group differ
    assert any("no k-anonymity" in str(finding) for finding in found.findings)
    assert "no k-anonymity" in near.promise.in_words()
    assert "anonym" not in str(near.promise)
    assert any("moved" in what for what in near.untruthful)
    assert next(iter(near.loss)) == "moves"
    assert not sf.verify(near.data, shape="trajectories", definition=sf.KAnonymity(2)).holds
    near.save(tmp_path / "out")
    assert "This is no k-anonymity" in (tmp_path / "out/report.html").read_text()


def test_whoever_knows_places_exactly_finds_the_trace_of_a_person(people, near):
    """The nearest released trace to all that is known: hers far more often than one in k."""
    plan = near.decision.content
    middles = ((plan.boxes[:, [0, 2]] + plan.boxes[:, [1, 3]]) / 2).reshape(len(people), -1, 2)
    moments = plan.spans.mean(axis=1).reshape(len(people), -1)[0]
    right = 0
    for i in range(len(people)):
        trace = people.trace(i)
        known = np.column_stack([np.interp(moments, trace[:, 2], trace[:, a]) for a in (0, 1)])
        away = np.hypot(*(middles - known).transpose(2, 0, 1)).sum(axis=1)
        right += int(np.argmin(away) == i)
    assert right > len(people) / 2  # k = 4 would leave a quarter
    attacked = sf.attack.precheck(near)
    assert not attacked.holds
    assert sf.attack.precheck(sf.anonymize(people, sf.KAnonymity(4), time_bin=600)).holds


@pytest.mark.parametrize("change", ["moved away", "one person", "no groups", "other moments"])
def test_verification_from_the_file_fails_where_it_was_changed(near, change):
    columns = {name: np.array(column) for name, column in near.data.items()}
    first = columns["trace"] == 1
    if change == "moved away":
        for edge in ("lon_low", "lon_high"):
            columns[edge] = np.where(first, columns[edge] + 0.006, columns[edge])
    elif change == "one person":
        columns["person"] = np.ones_like(columns["person"])
    elif change == "no groups":
        del columns["group"]
    else:
        later = columns["time_last"] + np.timedelta64(60, "s")
        columns["time_last"] = np.where(first, later, columns["time_last"])
    found = sf.verify(columns, shape="trajectories", definition=sf.CoLocalization(4, delta=400))
    assert not found.holds


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sf.CoLocalization(3, delta=0), "KAnonymity"),
        (lambda: sf.CoLocalization(3, delta=float("nan")), "metres"),
        (lambda: sf.CoLocalization(0, delta=5), "k"),
        (lambda: sf.CoLocalization(3, delta="far"), "metres"),
    ],
)
def test_what_cannot_be_promised(make, words):
    with pytest.raises(sf.errors.ParameterError, match=words):
        make()


def test_it_stands_alone_and_needs_a_fitting_grid(people):
    near = sf.CoLocalization(3, delta=100)
    with pytest.raises(sf.errors.ParameterError, match="alone"):
        sf.anonymize(people, near & sf.KAnonymity(3))
    with pytest.raises(sf.errors.ParameterError, match="grid"):
        sf.anonymize(people, near, metres=50)
    for algorithm in ("microaggregate", "generalize", "split"):
        with pytest.raises(sf.errors.ParameterError, match="approach"):
            sf.anonymize(people, near, algorithm=algorithm)
    with pytest.raises(sf.errors.ParameterError, match="told apart"):
        sf.anonymize(people, sf.KAnonymity(3), algorithm="approach")
    with pytest.raises(sf.errors.Unsatisfiable):
        sf.anonymize(people, sf.CoLocalization(41, delta=100))
    table = {"age": [1, 2, 3, 4]}
    with pytest.raises(sf.errors.ParameterError, match="trajectories"):
        sf.anonymize(sf.read(table, schema=sf.Schema(quasi=["age"])), near)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = sf.examples.cabs(25, hours=0.5)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "cabs.csv").write_text("\n".join(lines) + "\n")
    shape = ["--shape", "trajectories"]
    read = ["--person", "cab", "--unit", "person", "--bounds", "-122.52,-122.36,37.7,37.82"]
    line = ["anonymize", "cabs.csv", *shape, *read]
    assert run([*line, "--k-delta", "3:300", "-o", "near"]) == 0
    assert "not truthful" in capsys.readouterr().out
    assert run(["verify", "near", *shape]) == 0
    assert "no k-anonymity" in capsys.readouterr().out
    assert run(["verify", "near", "-k", "2", *shape]) == 1
    split = ["--km", "3:2", "--algorithm", "split", "--time-bin", "600", "--levels", "3"]
    assert run([*line, *split, "--price", "0.2", "-o", "pieces"]) == 0
    assert run(["verify", "pieces", *shape]) == 0
    assert run([*line, "--k-delta", "3", "-o", "bad"]) == 2
    assert "--k-delta 5:200" in capsys.readouterr().err
