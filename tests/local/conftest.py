"""Protocols to check, and how sure a failing test is."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.dp.noise import insecure_seeded

PURE = [
    sf.local.GRR,
    sf.local.SUE,
    sf.local.OUE,
    sf.local.OLH,
    sf.local.Hadamard,
    sf.local.SubsetSelection,
    sf.local.ProjectiveGeometry,
]


@pytest.fixture(params=PURE, ids=lambda kind: kind.__name__)
def kind(request):
    """A protocol for frequencies."""
    return request.param


@pytest.fixture
def seeded():
    """Fixed coins, so that a statistical test gives the same verdict every time."""
    with insecure_seeded(20_240_517):
        yield
