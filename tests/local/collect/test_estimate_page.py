"""The picture of an estimate: every mark stands where its number says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sfumato.local.collect.estimate_page import Scale, render_estimate
from sfumato.local.collect.survey import Survey


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.01, 0.37, (0.0, 0.4)),
        (-0.13, 0.259, (-0.2, 0.3)),
        (-0.004, 1.02, (-0.5, 1.5)),
        (0.0, 0.0, (0.0, 0.5)),
        (1e-5, 2.9e-5, (0.0, 3e-5)),
        (-3.0, 4.0, (-4.0, 4.0)),
    ],
)
def test_a_scale_has_round_ends_and_few_ticks(low, high, ends):
    scale = Scale.over(np.array([low, high]))
    assert (scale.low, scale.high) == pytest.approx(ends)
    places = [place for place, _ in scale.ticks]
    assert places[0] == pytest.approx(0)
    assert places[-1] == pytest.approx(100)
    assert 2 <= len(places) <= 7
    assert "0 %" in [label for _, label in scale.ticks]


def test_marks_stand_where_the_numbers_say():
    survey = Survey.of("a", "Q <b>?", ["x", "y & z", "n"], epsilon=2, protocol="OUE")
    found = survey.protocol.estimate(survey.protocol.perturb(["x"] * 600 + ["y & z"] * 400))
    page = render_estimate(survey, found, level=0.9)
    bounds = found.interval(0.9)
    scale = Scale.over(np.concatenate([bounds.reshape(-1), found.frequencies]))
    dots = [float(x) for x in re.findall(r'class="dot" cx="([-\d.]+)%"', page)]
    assert dots == pytest.approx([scale.at(f) for f in found.frequencies], abs=0.006)
    ranges = re.findall(r'class="range" x1="([-\d.]+)%" x2="([-\d.]+)%" y1="13"', page)
    drawn = [[float(a), float(b)] for a, b in ranges]
    assert np.allclose(drawn, [[scale.at(a), scale.at(b)] for a, b in bounds], atol=0.006)
    assert "Q &lt;b&gt;?" in page
    assert "y &amp; z" in page
    assert "90 % interval" in page
    assert survey.told in page
    assert "<script" not in page


def test_an_estimate_of_nothing_but_zeros_is_drawn():
    survey = Survey.of("a", "Q?", ["x", "y"], epsilon=20, protocol="GRR")
    found = survey.protocol.estimate(survey.protocol.perturb(["x"] * 3))
    assert render_estimate(survey, found).count('class="dot"') == 2
