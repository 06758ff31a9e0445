"""Protocols explained: the loss of a report is what the guarantee says, never more."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from sfumato.dp.tradeoff import interpolate
from sfumato.errors import ParameterError
from sfumato.local.explanation import PROTOCOLS
from sfumato.report.explain import page


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_a_report_loses_what_is_promised(name):
    found = sf.local.explain(name, epsilon=1.25, size=5)
    epsilon = found.guarantee.epsilon
    assert epsilon <= 1.25
    worst = max(abs(loss) for loss, _ in found.here)
    assert worst == pytest.approx(epsilon, rel=1e-6)
    assert sum(mass for _, mass in found.here) == pytest.approx(1)
    for alarm, missed in found.curve:
        assert missed >= interpolate(found.promised, alarm) - 1e-9
    assert "<svg" in page(found)


def test_the_error_is_that_of_the_protocol():
    found = sf.local.explain("grr", epsilon=1, size=4)
    protocol = sf.local.GRR(["a", "b", "c", "d"], epsilon=1)
    assert found.error[0][1] == f"{math.sqrt(protocol.variance(1000)):.3g}"


@pytest.mark.parametrize(("name", "size"), [("grr", 1), ("oue", 13), ("nothing", 4)])
def test_what_cannot_be_explained_is_said(name, size):
    with pytest.raises(ParameterError, match="explained"):
        sf.local.explain(name, epsilon=1, size=size)
