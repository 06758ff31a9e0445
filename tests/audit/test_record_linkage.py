"""Linking perturbed records with originals, against plain loops."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit import record_linkage
from sfumato.errors import ParameterError


def by_loops(before, after):
    spread = [np.std(column) or 1.0 for column in zip(*before, strict=True)]
    total = 0.0
    for i, row in enumerate(after):
        far = [
            sum(((a - b) / s) ** 2 for a, b, s in zip(row, other, spread, strict=True))
            for other in before
        ]
        near = [j for j, d in enumerate(far) if d <= min(far) + 1e-12]
        total += (i in near) / len(near)
    return total / len(before)


@pytest.mark.parametrize("at_once", [7, 4_000_000])
@pytest.mark.parametrize("noise", [0.0, 0.5, 3.0])
def test_equals_plain_loops(noise, at_once):
    rng = np.random.default_rng(5)
    before = rng.normal(size=(40, 3)) * [1, 50, 0.01]
    after = before + noise * rng.normal(size=(40, 3)) * [1, 50, 0.01]
    with patch.object(record_linkage, "CELLS_AT_ONCE", at_once):
        found = sf.audit.linkage_risk(before, after)
    assert found.linked == pytest.approx(by_loops(before.tolist(), after.tolist()))
    assert found.blind == 1 / 40


def test_ties_share_the_guess_and_constants_do_not_count():
    assert sf.audit.linkage_risk([5, 5, 5, 5], [5, 5, 5, 5]).linked == 0.25
    assert sf.audit.linkage_risk([[1, 7], [2, 7]], [[1, 7], [2, 7]]).linked == 1


def test_more_noise_links_fewer():
    rng = np.random.default_rng(6)
    before = rng.normal(size=(300, 2))
    shares = [
        sf.audit.linkage_risk(before, before + scale * rng.normal(size=(300, 2))).linked
        for scale in (0.0, 0.1, 1.0)
    ]
    assert shares[0] == 1 > shares[1] > shares[2]


@pytest.mark.parametrize(
    ("before", "after"), [([1, 2], [1]), ([], []), ([1, 2], [1, np.nan]), ([[1, 2]], [[1]])]
)
def test_slips_are_told(before, after):
    with pytest.raises(ParameterError, match="linkage_risk"):
        sf.audit.linkage_risk(before, after)


def test_intervals_are_those_of_every_column_together():
    before = [[0.0, 0.0], [2.0, 20.0]]  # standard deviations 1 and 10
    after = [[0.1, 1.0], [2.1, 22.0]]
    assert sf.audit.interval_risk(before, after, width=0.11) == 0.5
    assert sf.audit.interval_risk(before, after, width=0.21) == 1
    assert sf.audit.interval_risk(before, after, width=0.0) == 0
    with pytest.raises(ParameterError, match="width"):
        sf.audit.interval_risk(before, after, width=-1)
    with pytest.raises(ParameterError, match="interval_risk"):
        sf.audit.interval_risk(before, [[1.0]])
