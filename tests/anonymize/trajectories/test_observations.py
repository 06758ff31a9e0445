"""k^m of traces: whoever saw somebody m times is left with k people."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import sfumato as sf

BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture(scope="module")
def people():
    columns = sf.examples.cabs(60, hours=1)
    return sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS, unit="person")


def test_any_two_observations_fit_k_people(people):
    release = sf.anonymize(people, sf.KmAnonymity(4, m=2), levels=5, time_bin=1800)
    assert release.verify().holds
    columns = release.data
    shown = np.column_stack(
        [columns[c].astype(float) for c in columns if c not in {"trace", "person"}]
    )
    counted = Counter()
    for trace in np.unique(columns["trace"]):
        boxes = sorted({tuple(row) for row in shown[columns["trace"] == trace]})
        for size in (1, 2):
            counted.update(combinations(boxes, size))
    assert min(counted.values()) >= 4


def test_every_shown_box_holds_a_point_of_its_person(people):
    plan = sf.anonymize(people, sf.KmAnonymity(3, m=2), levels=5, time_bin=1800).decision.content
    for i in range(len(people)):
        x, y, t = people.trace(i).T
        for row in range(plan.starts[i], plan.starts[i + 1]):
            (x0, x1, y0, y1), (t0, t1) = plan.boxes[row], plan.spans[row]
            inside = (x >= x0 - 1e-6) & (x <= x1 + 1e-6) & (y >= y0 - 1e-6) & (y <= y1 + 1e-6)
            assert (inside & (t >= t0) & (t <= t1)).any()


def test_cells_need_public_bounds(people):
    loose = sf.read(
        sf.examples.cabs(10, hours=1), shape="trajectories", person="cab", unit="person"
    )
    with pytest.raises(sf.errors.ParameterError, match="public bounds"):
        sf.anonymize(loose, sf.KmAnonymity(2, m=2))
    with pytest.raises(sf.errors.ParameterError, match="levels"):
        sf.anonymize(people, sf.KmAnonymity(2, m=2), levels=20)
    with pytest.raises(sf.errors.ParameterError, match="whole traces alike"):
        sf.anonymize(people, sf.KAnonymity(2), algorithm="generalize")
