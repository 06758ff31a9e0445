"""Traces come in from files and frames; what is no point is refused, what is outside is counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.trajectories.trajectories import Frame

POINTS = {
    "person": ["b", "a", "a", "b", "a"],
    "x": [0.0, 10.0, 0.0, 5.0, 20.0],
    "y": [0.0, 0.0, 0.0, 5.0, 0.0],
    "time": [7, 10, 0, 3, 20],
}


def read(columns=POINTS, **options):
    return sf.read(columns, shape="trajectories", **options)


def test_points_are_sorted_by_time_and_grouped_by_person():
    data = read()
    assert len(data) == 2 == data.people
    assert data.unit == "person"
    np.testing.assert_array_equal(data.trace(0), [[0, 0, 0], [10, 0, 10], [20, 0, 20]])
    np.testing.assert_array_equal(data.trace(1), [[5, 5, 3], [0, 0, 7]])
    np.testing.assert_allclose(data.lengths, [20.0, np.hypot(5, 5)])


def test_trips_come_from_a_column_or_from_a_gap():
    assert read({**POINTS, "trip": [1, 1, 1, 2, 2]}).unit == "trip"
    assert len(read({**POINTS, "trip": [1, 1, 1, 2, 2]})) == 4
    assert len(read({**POINTS, "trip": [1, 1, 1, 2, 2]}, unit="person")) == 2
    assert len(read(gap=5)) == 4
    assert read(gap=5).people == 2
    with pytest.raises(sf.errors.ParameterError, match="gap="):
        read(unit="trip")


def test_two_points_at_a_moment_count_once():
    data = read({**POINTS, "time": [7, 10, 10, 3, 20]})
    assert data.repeated == 1
    assert len(data.times) == 4


def test_times_are_read_in_several_forms(tmp_path):
    for form in ("2008/06/08 23:40:39", "2008-06-08T23:40:39", "2008-06-08 23:40:39"):
        data = read({"uid": [1], "lat": [37.0], "lon": [-122.0], "timestamp": [form]})
        assert data.clock
        assert data.times[0] == np.datetime64("2008-06-08T23:40:39").astype(float)
    file = tmp_path / "points.csv"
    file.write_text("user,lng,lat,t\n1,9.1,45.4,12.5\n2,9.2,45.5,13\n")
    data = read(file)
    assert data.name == "points"
    assert not data.clock
    assert data.frame.degrees


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": [0.0, None, 0.0, 5.0, 20.0]}, "no finite coordinates .the first is record 2"),
        ({"x": [0.0, np.nan, np.inf, 5.0, 20.0]}, "2 row.s. have no finite"),
        ({"time": [1, 2, 3, 4, None]}, "no time that can be read"),
        ({"time": ["soon", "1", "2", "3", "4"]}, "no time that can be read"),
        ({"person": ["a", "", "b", "b", "b"]}, "name no person"),
    ],
)
def test_what_is_no_point_is_refused_by_its_number(change, message):
    with pytest.raises(sf.errors.DataError, match=message):
        read({**POINTS, **change})


def test_degrees_beyond_the_globe_are_refused():
    columns = {"user": [1], "lat": [95.0], "lon": [0.0], "t": [1]}
    with pytest.raises(sf.errors.DataError, match="latitude beyond 90"):
        read(columns)


def test_points_outside_the_public_bounds_are_left_out_and_counted():
    data = read(bounds=(0, 12, 0, 12))
    assert data.outside == 1
    assert len(data.times) == 4
    with pytest.raises(sf.errors.DataError, match="No point lies inside"):
        read(bounds=(100, 112, 0, 12))
    for wrong in ((0, 1, 2), (5, 1, 0, 1), (0, 1, 0, np.nan), "here"):
        with pytest.raises(sf.errors.ParameterError, match="four public numbers"):
            read(bounds=wrong)


def test_columns_are_named_or_missing():
    with pytest.raises(sf.errors.ParameterError, match="holds the person, with person="):
        read({"who": ["a"], "x": [1], "y": [1], "time": [1]})
    assert len(read({"who": ["a"], "x": [1], "y": [1], "time": [1]}, person="who")) == 1
    with pytest.raises(sf.errors.ParameterError, match="no column 'hwo'"):
        read({"who": ["a"], "x": [1], "y": [1], "time": [1]}, person="hwo")
    with pytest.raises(sf.errors.DataError, match="no point"):
        read({"person": [], "x": [], "y": [], "time": []})


def test_a_schema_states_what_the_columns_are(tmp_path):
    schema = tmp_path / "traces.yaml"
    schema.write_text("unit: person\nbounds: [0, 12, 0, 12]\nperson: person\n")
    assert read(schema=schema).outside == 1
    schema.write_text("boundz: [0, 12, 0, 12]\n")
    with pytest.raises(sf.errors.SchemaError, match="Did you mean 'bounds'"):
        read(schema=schema)
    schema.write_text("bounds: [0, 12, zero, 12]\n")
    with pytest.raises(sf.errors.SchemaError, match="needs numbers"):
        read(schema=schema)


def test_a_frame_gives_places_back():
    frame = Frame(True, (-122.0, 37.5))
    x, y = np.array([-122.4, -121.9]), np.array([37.7, 37.4])
    plane = frame.project(x, y)
    np.testing.assert_allclose(frame.restore(plane[:, 0], 0), x)
    np.testing.assert_allclose(frame.restore(plane[:, 1], 1), y)
    # a degree of longitude at 37.5° north: 88.3 km
    assert abs(frame.scale[0] - 88_316) < 50


def test_packed_files_are_read(tmp_path):
    file = tmp_path / "points.txt.gz"
    with gzip.open(file, "wt") as packed:
        packed.write("lat,lng,datetime,uid\n39.9,116.3,2008-10-23 05:53:05,001\n")
    data = read(file)
    assert (len(data), data.name, data.clock) == (1, "points", True)
    (tmp_path / "bad.gz").write_text("no gzip")
    with pytest.raises(sf.errors.DataError, match="cannot be unpacked"):
        read(tmp_path / "bad.gz")


@pytest.mark.real_data
def test_the_sample_of_geolife_is_read_and_anonymised():
    file = Path(__file__).resolve().parents[4] / "shared/data/trajectories/geolife_sample.txt.gz"
    if not file.exists():
        pytest.skip(f"{file} is absent")
    trips = read(file, gap=1200)
    assert trips.people >= 2
    assert len(trips) > 50
    release = sf.anonymize(trips, sf.KAnonymity(2))
    assert release.verify().holds
    unique = sf.attack.unicity(read(file), points=2)
    assert unique.points[1] > 0.5
