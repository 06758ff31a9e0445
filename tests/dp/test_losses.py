"""Pairs of mechanisms: their laws, and what is claimed about coarse grids."""

from __future__ import annotations

import math
import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest

import sfumato as sf
from sfumato.dp import (
    AboveThreshold,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    Pair,
    RandomizedResponse,
    geometric_pair,
    pair_of,
)
from sfumato.dp.explanation import laplace_missed
from sfumato.errors import ParameterError
from sfumato.report.explain import pair_page


@pytest.mark.parametrize("delta", [0, 1e-6, 1e-2])
def test_pure_mechanisms_have_their_epsilon(delta):
    for mechanism in (
        Geometric(sensitivity=3, epsilon=0.7),
        Laplace(sensitivity=2.5, epsilon=0.7),
        RandomizedResponse(epsilon=0.7),
    ):
        pair = pair_of(mechanism)
        assert pair.epsilon(delta) <= 0.7 + 1e-12
        if not delta:
            assert pair.epsilon() == pytest.approx(0.7, abs=1e-12)
    assert pair_of(RandomizedResponse(truth=0.5)).epsilon() == pytest.approx(math.log(3))


@pytest.mark.parametrize("epsilon", [0.3, 1, 2.5])
def test_a_pair_satisfies_what_its_mechanism_promises_and_no_less(epsilon):
    """Rounding of the listed law is no breach, and a truly smaller ε is one."""
    for mechanism in (
        Laplace(sensitivity=1, epsilon=epsilon),
        Geometric(sensitivity=1, epsilon=epsilon),
        RandomizedResponse(epsilon=epsilon),
    ):
        assert pair_of(mechanism).satisfies(sf.PureDP(epsilon))
        assert not pair_of(mechanism).satisfies(sf.PureDP(epsilon - 1e-9))


def test_the_pair_of_laplace_noise_is_that_of_the_continuous_law():
    pair = pair_of(Laplace(sensitivity=1, epsilon=1.5))
    for alarm in (0.01, 0.1, 0.3, 0.6, 0.9):
        assert pair.missed(alarm) == pytest.approx(laplace_missed(alarm, 1.5), abs=2e-3)
        assert pair.missed(alarm) <= laplace_missed(alarm, 1.5) + 1e-12  # coarse is the worse


@pytest.mark.parametrize("r", [2, 3])
def test_fine_noise_is_coarse_noise_plus_noise_of_its_own(r):
    """r·DL(t) + (R₁ − R₂) has the law DL(r·t), R being geometric below r."""
    t, reach = 1.5, 80

    def law(scale):
        q = math.exp(-1 / scale)
        return {n: (1 - q) / (1 + q) * q ** abs(n) for n in range(-reach, reach + 1)}

    q = math.exp(-1 / (r * t))
    part = [q**k / sum(q**j for j in range(r)) for k in range(r)]
    made = Counter()
    for n, mass in law(t).items():
        for a in range(r):
            for b in range(r):
                made[r * n + a - b] += mass * part[a] * part[b]
    for n, mass in law(r * t).items():
        if abs(n) < 40:
            assert made[n] == pytest.approx(mass, rel=1e-9)


@pytest.mark.parametrize("steps", [1, 2, 4, 8])
def test_coarser_grids_are_worse(steps):
    for epsilon in (0, 0.3, 0.8):
        coarse, fine = geometric_pair(1, steps), geometric_pair(1, 2 * steps)
        assert coarse.delta(epsilon) >= fine.delta(epsilon) - 1e-15


def test_gaussian_pairs():
    pair = pair_of(Gaussian(sensitivity=2, epsilon=1, delta=1e-5))
    assert pair.delta(1) == pytest.approx(1e-5, rel=5e-3)
    assert pair.epsilon(1e-5) <= 1
    discrete = pair_of(DiscreteGaussian(sensitivity=2, rho=0.125))  # σ = 4
    weights = {n: math.exp(-(n**2) / 32) for n in range(-60, 63)}
    here = {n: w / sum(weights.values()) for n, w in weights.items()}
    there = {n + 2: p for n, p in here.items()}
    listed = Pair.of(here, there)
    for epsilon in (0.1, 0.5, 1.5):
        assert discrete.delta(epsilon) == pytest.approx(listed.delta(epsilon), rel=1e-9)
        assert discrete.delta(epsilon) <= sf.ZCDP(0.125).to(sf.ApproxDP, delta=0.5).delta


def test_selections_are_listed():
    mechanism = Exponential(sensitivity=1, epsilon=1)
    pair = pair_of(mechanism, [27, 23, 9, 0], [26, 24, 10, 1])
    assert 0.4 < pair.epsilon() <= 1
    assert pair.satisfies(sf.PureDP(1))
    for wrong in (
        lambda: pair_of(mechanism),
        lambda: pair_of(Laplace(sensitivity=1, epsilon=1), 0, 1),
        lambda: pair_of(AboveThreshold(sensitivity=1, epsilon=1, threshold=3)),
    ):
        with pytest.raises(ParameterError):
            wrong()


@pytest.mark.parametrize(
    "pair",
    [
        geometric_pair(0.5).repeat(8),
        Pair.of({"D": 1}, {"E": 1}),  # every output is a proof
        Pair.of([1], [1]),  # nothing is learned
    ],
)
def test_the_page_of_a_pair(pair):
    html = pair_page(pair, title="A <pair>", guarantee=sf.ApproxDP(3, 1e-3))
    assert "A &lt;pair&gt;" in html
    assert "http" not in html
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) == 2
    for drawing in drawings:
        assert "nan" not in drawing
        assert ET.fromstring(drawing).attrib["role"] == "img"
    proofs = "have probability 1" if math.isinf(pair.epsilon()) else "do not occur"
    assert proofs in html


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "3", "20"])
def test_a_pair_keeps_the_pure_promise_of_its_mechanism(epsilon):
    for kind in (sf.dp.Laplace, sf.dp.Geometric):
        mechanism = kind(sensitivity=1, epsilon=epsilon)
        pair = pair_of(mechanism)
        assert pair.satisfies(mechanism.guarantee)
        assert not pair.satisfies(sf.PureDP(0.999999 * float(epsilon)))
        assert pair.epsilon() == pytest.approx(float(epsilon), abs=1e-12)
