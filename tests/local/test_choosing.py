"""Choosing a protocol, several attributes, and what shuffling adds."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hangs import usually
from scipy.stats import binom, norm

import sfumato as sf
from sfumato.binomial import binomial
from sfumato.errors import DataError, ParameterError, Unsatisfiable


@pytest.mark.parametrize(("d", "epsilon", "winner"), [
    (2, 1, "GRR"), (4, 3, "GRR"), (1024, 1, "SubsetSelection"), (2**40, 1, "OLH"),
])  # fmt: skip
def test_the_best_protocol_is_the_one_of_least_variance(d, epsilon, winner):
    comparison = sf.local.best(d, epsilon, 10_000)
    assert comparison.name == winner
    least = min(c.variance for c in comparison.candidates)
    assert comparison.candidates[0].variance <= 1.001 * least
    assert comparison.protocol.domain.values == range(d)
    assert winner in str(comparison)


def test_the_rule_of_thumb_for_grr_against_oue():
    """GRR has less variance than OUE for rare values when d < 3·e^ε + 2."""
    for epsilon in (0.5, 1, 2):
        turn = 3 * math.exp(epsilon) + 2
        for d in (math.floor(turn - 0.5), math.ceil(turn + 0.5)):
            better = sf.local.GRR(d, epsilon=epsilon).variance(100) < sf.local.OUE(
                d, epsilon=epsilon
            ).variance(100)
            assert better == (d < turn)


def test_reports_fit_the_size_asked_for():
    comparison = sf.local.best(1024, 1, 10_000, max_report_bits=80)
    assert comparison.protocol.report_bits <= 80
    assert comparison.name in {"OLH", "ProjectiveGeometry"}
    assert any(not c.fits for c in comparison.candidates)
    assert "too large" in str(comparison)
    with pytest.raises(Unsatisfiable, match="smallest takes 8"):
        sf.local.best(8, 1, 100, max_report_bits=4)
    with pytest.raises(ParameterError):
        sf.local.best(8, 0, 100)
    with pytest.raises(ParameterError):
        sf.local.best(8, 1, 0)


def test_the_picture_is_one_well_formed_file():
    picture = sf.local.best(["<a>", "b&c", "d"], 1, 1_000, max_report_bits=16).svg()
    root = ET.fromstring(picture)
    assert root.tag.endswith("svg")
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert len(texts) == 2 + 2 * 7
    assert "script" not in picture


def test_sampling_one_attribute_beats_splitting(seeded):
    domains = {"colour": ["red", "green"], "age": range(20), "job": 15, "city": 12}
    n = 12_000
    columns = {
        "colour": ["red"] * (n // 3) + ["green"] * (n - n // 3),
        "age": np.arange(n) % 20, "job": np.zeros(n, int), "city": np.arange(n) % 6,
    }  # fmt: skip
    errors = {}
    for method in ("sample", "split"):
        asked = sf.local.Attributes(domains, epsilon=1, method=method, protocol=sf.local.OUE)
        assert asked.guarantee.epsilon <= 1
        assert asked.guarantee.epsilon > 0.999
        squares = []
        for _ in range(6):
            reports = asked.perturb(columns)
            assert len(reports) == n
            found = asked.estimate(reports)["age"]
            assert found.n == n
            squares.append(((found.frequencies - 0.05) ** 2).mean())
        errors[method] = np.mean(squares)
        assert errors[method] == pytest.approx(asked.compare(n, 0.05)["age"][method], rel=0.5)
        assert np.mean(found.standard_error**2) == pytest.approx(
            asked.compare(n, 0.05)["age"][method], rel=0.2
        )
    assert errors["sample"] < 0.6 * errors["split"]
    table = asked.compare(n)
    assert all(row["sample"] < row["split"] for row in table.values())


def test_attributes_merge_and_refuse():
    asked = sf.local.Attributes({"a": 4, "b": ["x", "y"]}, epsilon=2)
    first = asked.perturb({"a": [0, 1, 2] * 50, "b": ["x"] * 150})
    both = first + first
    assert len(both) == 300
    sums = both.aggregate()
    assert sums["a"].n + sums["b"].n == 300
    merged = asked.estimate(sums)
    assert (merged["a"].frequencies == asked.estimate(both)["a"].frequencies).all()
    assert asked.estimate(both, consistency="norm-sub")["b"].frequencies.sum() == pytest.approx(1)
    with pytest.raises(DataError, match="'b'"):
        asked.perturb({"a": [1]})
    with pytest.raises(DataError, match="one value per person"):
        asked.perturb({"a": [1], "b": ["x", "y"]})
    with pytest.raises(ParameterError):
        sf.local.Attributes({}, epsilon=1)
    with pytest.raises(ParameterError):
        sf.local.Attributes({"a": 3}, epsilon=1, method="both")


def exact_delta(local, n, epsilon):
    """Sum the hockey-stick divergence of the clones over all outcomes, without any shortcut."""
    alpha, total = math.exp(local) / (math.exp(local) + 1), 0.0
    for c in range(n):
        a = np.arange(c + 2)
        here, before = binom.pmf(a, c, 0.5), binom.pmf(a - 1, c, 0.5)
        one = alpha * before + (1 - alpha) * here
        two = (1 - alpha) * before + alpha * here
        weight = binom.pmf(c, n - 1, math.exp(-local))
        total += weight * np.maximum(one - math.exp(epsilon) * two, 0).sum()
    return total


@pytest.mark.parametrize(("local", "n", "delta"), [
    (1, 1, 1e-3), (1, 2, 1e-3), (1, 100, 1e-4), (2, 300, 1e-5), (0.5, 400, 1e-8), (4, 500, 1e-5),
])  # fmt: skip
def test_the_shuffle_bound_is_the_exact_sum(local, n, delta):
    found = sf.local.shuffle_epsilon(local, n, delta)
    assert exact_delta(local, n, found.epsilon) <= delta
    assert exact_delta(local, n, found.epsilon * (1 - 1e-4)) > delta
    assert found.epsilon <= local


def test_shuffling_hides_randomised_response_as_well_as_promised():
    """Count yes answers of all but one person: the exact divergence stays below the bound."""
    n, local, delta = 200, 1.0, 1e-5
    epsilon = sf.local.shuffle_epsilon(local, n, delta).epsilon
    p = math.exp(local) / (math.exp(local) + 1)
    for others in (0, n // 2, n - 1):
        counts = np.arange(n)
        noise = np.convolve(
            binom.pmf(np.arange(others + 1), others, p),
            binom.pmf(np.arange(n - others), n - 1 - others, 1 - p),
        )
        assert noise.size == counts.size
        yes = np.convolve(noise, [1 - p, p])
        no = np.convolve(noise, [p, 1 - p])
        assert np.maximum(yes - math.exp(epsilon) * no, 0).sum() <= delta
        assert np.maximum(no - math.exp(epsilon) * yes, 0).sum() <= delta


def test_a_million_shuffled_people_take_a_moment():
    with usually(0.1):
        shuffled = sf.local.shuffle_epsilon(1, 10**6, 1e-6)
    assert shuffled.guarantee == sf.ApproxDP(
        shuffled.epsilon, 1e-6, neighbours=sf.LocalDP(1).neighbours
    )
    for text in (str(shuffled), repr(shuffled), f"{shuffled}"):
        assert "holds only if a trusted shuffler" in text


@pytest.mark.parametrize("n", [10**7, 10**9])
def test_very_many_shuffled_people_look_gaussian(n):
    """The first count moves by tanh(ε₀/2) in mean, and has half a deviation per root of clones."""
    epsilon = sf.local.shuffle_epsilon(1, n, 1e-6).epsilon
    mu = math.tanh(0.5) / (math.sqrt(n / math.e) / 2)
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta == pytest.approx(1e-6, rel=0.02)


@pytest.mark.parametrize(
    "bad", [(0, 10, 1e-6), (1, 0, 1e-6), (1, 10, 0), (1, 10, 1), (1, 10, 1e-20)]
)
def test_bad_parameters_of_the_shuffle_are_refused(bad):
    with pytest.raises(ParameterError):
        sf.local.shuffle_epsilon(*bad)


@pytest.mark.parametrize(
    ("n", "p"), [(5, 0.3), (40, 0.5), (3_000, 0.01), (10**6, 0.37), (10**8, 0.5)]
)
def test_binomial_probabilities(n, p):
    spread = math.sqrt(n * p * (1 - p))
    k = np.unique(np.clip(np.rint(n * p + np.linspace(-6, 6, 50) * spread), 0, n)).astype(np.int64)
    assert binomial(k, n, p) == pytest.approx(binom.pmf(k, n, p), rel=1e-9)
    assert binomial(np.array([-1, n + 1]), n, p).tolist() == [0, 0]


def test_every_public_name_of_the_room_can_be_loaded():
    for name in sf.local.__all__:
        assert getattr(sf.local, name) is not None
    with pytest.raises(AttributeError):
        _ = sf.local.no_such_name


def test_no_public_name_is_hidden_by_a_module_of_the_same_name():
    """Importing a submodule sets an attribute of the package, which would replace the name."""
    modules = {path.stem for path in Path(sf.local.__file__).parent.glob("*.py")}
    assert not modules & set(sf.local.__all__)
