"""The section "Local" of the worked examples, number by number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.local.reports import Aggregate


def test_warners_coins():
    warner = sf.local.Warner(("no", "yes"), coin=0.75)
    assert warner.probabilities == (Fraction(3, 4), Fraction(1, 4))
    # 80 of 100 are a true yes: 80·0.75 + 20·0.25 = 65 say yes on average.
    p, q = warner.probabilities
    assert 80 * p + 20 * q == 65
    estimate = warner.estimate(Aggregate(warner, 100, np.array([35, 65])))
    assert estimate.counts == pytest.approx([20, 80], abs=1e-12)
    assert warner.guarantee.epsilon == pytest.approx(math.log(3), abs=1e-15)


def test_alpha_form_is_the_coin_form():
    alpha = sf.local.Warner(alpha="1/2")
    assert alpha.probabilities.p == Fraction(3, 4)
    assert alpha.ratio == (1 + Fraction(1, 2)) / (1 - Fraction(1, 2))
    assert alpha.guarantee.epsilon >= math.log(3) - 1e-16


GRR_P = {
    0.1: (0.5250, 0.1364, 0.0086, 0.0011),
    1: (0.7311, 0.2797, 0.0210, 0.0027),
    2: (0.8808, 0.5135, 0.0550, 0.0072),
    4: (0.9820, 0.8864, 0.3007, 0.0507),
}


@pytest.mark.parametrize("epsilon", GRR_P)
def test_p_of_grr(epsilon):
    sizes = (2, 8, 128, 1024)
    found = [sf.local.GRR(d, epsilon=epsilon).probabilities for d in sizes]
    assert [round(float(p), 4) for p, _ in found] == list(GRR_P[epsilon])
    assert all(q == (1 - p) / (d - 1) for (p, q), d in zip(found, sizes, strict=True))


def test_estimate_of_grr():
    grr = sf.local.GRR(["a", "b", "c"], epsilon=1)
    p, q = grr.probabilities
    seen = np.array([50, 30, 20])
    wanted = [float((int(i) - 100 * q) / (p - q)) for i in seen]
    assert grr.estimate(Aggregate(grr, 100, seen)).counts == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_basic_rappor_keeps_a_bit(epsilon):
    p, q = sf.local.SUE(16, epsilon=epsilon).probabilities
    keep = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    assert float(p) == pytest.approx(keep, abs=2**-32)
    assert p + q == 1


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_oue_and_its_estimate(epsilon):
    oue = sf.local.OUE(4, epsilon=epsilon)
    p, q = oue.probabilities
    grown = math.exp(epsilon)
    assert p == Fraction(1, 2)
    assert float(q) == pytest.approx(1 / (grown + 1), abs=2**-32)
    seen, n = np.array([400, 300, 310, 290]), 1000
    wanted = 2 * ((grown + 1) * seen - n) / (grown - 1)
    assert oue.estimate(Aggregate(oue, n, seen)).counts == pytest.approx(wanted, rel=1e-6)


def test_shuffling_a_million_people():
    shuffled = sf.local.shuffle_epsilon(1, 10**6, 1e-6)
    assert shuffled.epsilon == pytest.approx(0.0043, abs=0.00005)
    assert "trusted shuffler" in str(shuffled)


def test_the_line_of_the_contract():
    domain = ["red", "green", "blue"]
    oue = sf.local.OUE(domain, epsilon=1)
    values = ["red"] * 600 + ["blue"] * 400
    assert oue.estimate(oue.perturb(values)).frequencies.shape == (3,)
