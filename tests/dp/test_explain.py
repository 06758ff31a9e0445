"""`sfumato explain`: the words are true, the page is one valid file, the command works."""

from __future__ import annotations

import itertools
import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
import typer
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.explain import explain as command
from sfumato.dp import explain
from sfumato.dp.explanation import belief, limits_in_words, promise_in_words
from sfumato.dp.tradeoff import interpolate
from sfumato.errors import ParameterError
from sfumato.pictures.planes import Line, plane, ticks
from sfumato.report.explain import page

app = typer.Typer()
app.command()(command)


@app.callback()
def _root():
    """Keep `explain` a command of its own."""


ALL = [
    ("laplace", {"epsilon": 1}),
    ("geometric", {"epsilon": 0.5, "sensitivity": 3}),
    ("gaussian", {"epsilon": 1, "delta": 1e-6}),
    ("laplace", {"epsilon": 0.1, "sensitivity": 100, "neighbours": "bounded"}),
]


def area(points):
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))


@pytest.mark.parametrize(("noise", "parameters"), ALL)
def test_laws_and_curves(noise, parameters):
    found = explain(noise, **parameters)
    total = sum(y for _, y in found.here) if found.whole else area(found.here)
    assert total == pytest.approx(1, abs=0.01)
    size = parameters.get("sensitivity", 1)
    top_here = max(found.here, key=lambda point: point[1])[0]
    top_there = max(found.there, key=lambda point: point[1])[0]
    assert top_there - top_here == pytest.approx(size)
    for alarm, missed in found.curve:
        assert missed >= interpolate(found.promised, alarm) - 1e-9


@pytest.mark.parametrize(("noise", "parameters"), ALL[:2])
def test_likelihoods_differ_by_at_most_the_factor_of_the_words(noise, parameters):
    found = explain(noise, **parameters)
    stated = float(re.search(r"more than ([\d.]+) times", found.promise[0])[1])
    worst = max(max(a / b, b / a) for (_, a), (_, b) in zip(found.here, found.there, strict=True))
    assert worst <= stated
    assert stated <= worst * 1.01


def test_beliefs_are_those_of_bayes():
    ratio = math.exp(0.7)
    assert belief(0.5, 0.7) == pytest.approx(ratio / (1 + ratio))
    assert belief(0.01, 0.7) == pytest.approx(0.01 * ratio / (0.01 * ratio + 0.99))
    assert belief(0.5, 10**6) == 1
    words = promise_in_words(sf.PureDP(1))
    assert "73.2 %" in words[2]  # 73.1058… rounded up
    assert "2.68 %" in words[2]
    assert "13.6 %" in words[3]


def test_delta_is_not_sold_as_a_probability_of_failure():
    """(ε, δ) bounds the loss by 2ε but for δ/(1 − e^−ε) in each direction, and not by ε."""
    words = promise_in_words(sf.ApproxDP(1, 1e-6))
    assert "88.1 %" in words[2]
    assert f"{math.ceil(2e-6 / -math.expm1(-1) * 1e8) / 1e8:.3g}" in words[2]
    groups = explain("gaussian", epsilon=1, delta=1e-6).limits[1]
    assert "ε is 10 and δ is 0.0129" in groups


class Outside(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in {"src", "href", "xlink:href"}]


@pytest.mark.parametrize(("noise", "parameters"), ALL)
def test_the_page_is_one_file_without_scripts(noise, parameters):
    html = page(explain(noise, **parameters))
    reader = Outside()
    reader.feed(html)
    assert reader.tags.count("svg") == 2
    assert "script" not in reader.tags
    assert reader.links == []
    assert "http" not in html
    assert "url(" not in html
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        tree = ET.fromstring(svg)
        numbers = [float(v) for e in tree.iter() for k, v in e.attrib.items() if k in {"x", "y"}]
        assert all(math.isfinite(number) for number in numbers)
        assert "nan" not in svg
    assert "What it does not promise" in html


def test_texts_are_escaped():
    drawn = plane(
        [Line("<b>", "here", ((0.0, 0.0), (1.0, 1.0)))], label='"x"', x_name="a<b", y_name="&"
    )
    assert "<b>" not in drawn
    assert ET.fromstring(str(drawn)).attrib["aria-label"] == '"x"'


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-6, 7), (0, 0.0123), (-1e6, 3e6), (0, 0.53)])
def test_ticks_are_few_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 <= tick <= high * (1 + 1e-9) for tick in found)


def test_the_command(tmp_path):
    target = tmp_path / "page.html"
    result = CliRunner().invoke(
        app, ["explain", "laplace", "--epsilon", "1", "--sensitivity", "1", "-o", str(target)]
    )
    assert result.exit_code == 0, result.output
    assert "2.72 times as likely" in " ".join(result.output.split())
    assert "expected error" in result.output
    assert target.read_text(encoding="utf-8").count("<svg") == 2


def test_the_command_names_its_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["explain", "geometric", "-e", "0.5"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "explain-geometric.html").exists()


@pytest.mark.parametrize(
    ("noise", "parameters"),
    [
        ("poisson", {"epsilon": 1}),
        ("gaussian", {"epsilon": 1}),
        ("laplace", {"epsilon": 1, "delta": 1e-6}),
        ("laplace", {"epsilon": 0}),
        ("laplace", {"epsilon": "much"}),
        ("geometric", {"epsilon": 1, "sensitivity": 0.5}),
        ("laplace", {"epsilon": 1, "neighbours": "friends"}),
    ],
)
def test_wrong_parameters_are_refused(noise, parameters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError):
        explain(noise, **parameters)
    arguments = [text for k, v in parameters.items() for text in (f"--{k}", str(v))]
    result = CliRunner().invoke(app, ["explain", noise, *arguments])
    assert isinstance(result.exception, ParameterError)
    assert list(tmp_path.iterdir()) == []


def test_the_words_state_what_the_noise_rests_on():
    """The noise comes from a cipher, so nothing is promised against whoever breaks it."""
    words = " ".join(promise_in_words(sf.PureDP(1)))
    assert "AES" in words
    assert "however long they compute" not in words


def test_repeated_gaussian_releases_add_up_in_delta_too():
    repeats = limits_in_words(sf.ApproxDP(0.5, 1e-6))[-1]
    assert "ε of up to 50 and δ of up to 0.0001." in repeats
    assert "δ" not in limits_in_words(sf.PureDP(0.5))[-1]
    assert "δ of up to 1." in limits_in_words(sf.ApproxDP(0.5, 0.5))[-1]


def test_the_factor_of_a_huge_epsilon_is_not_understated():
    assert "e^1000 times" in promise_in_words(sf.PureDP(1000))[0]


@pytest.mark.parametrize(
    ("noise", "parameters"),
    [
        ("geometric", {"epsilon": 1e4}),
        ("geometric", {"epsilon": 1e50}),
        ("geometric", {"epsilon": 1e-50}),
        ("geometric", {"epsilon": 1, "sensitivity": 10**9}),
        ("laplace", {"epsilon": 1e50, "sensitivity": 1e-50}),
        ("laplace", {"epsilon": 1e-50, "sensitivity": 1e50}),
        ("gaussian", {"epsilon": 1e50, "delta": 1e-300}),
        ("gaussian", {"epsilon": 1e-50, "delta": 1e-6}),
    ],
)
def test_extreme_parameters_are_explained(noise, parameters):
    found = explain(noise, **parameters)
    assert all(math.isfinite(y) for _, y in (*found.here, *found.there, *found.curve))
    assert len(found.here) < 5000
    assert page(found).startswith("<!doctype html>")


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 1e-320},
        {"epsilon": 0},
        {"epsilon": None},
        {"epsilon": "much"},
        {"epsilon": 10**400},
        {"epsilon": 1, "sensitivity": 10**400},
        {"epsilon": 1, "sensitivity": 0},
        {"epsilon": 1, "sensitivity": None},
    ],
)
@pytest.mark.parametrize("noise", ["laplace", "geometric"])
def test_parameters_that_cannot_be_explained(noise, parameters):
    with pytest.raises(ParameterError):
        explain(noise, **parameters)


CHOICES = ["exponential", "permute-and-flip", "noisy-max", "above-threshold", "randomized-response"]


@pytest.mark.parametrize("name", [*CHOICES, "discrete-gaussian"])
def test_every_mechanism_has_a_page(name):
    found = explain(name, epsilon=0.8, delta=1e-6 if "gauss" in name else None)
    assert sum(mass for _, mass in found.here) == pytest.approx(1, abs=1e-3)
    assert sum(mass for _, mass in found.there) == pytest.approx(1, abs=1e-3)
    assert "<svg" in page(found)


@pytest.mark.parametrize("name", CHOICES)
def test_laws_of_choices_are_what_the_mechanism_does(name):
    """The law of one world, computed on paper, against the mechanism's own draws."""
    draws, epsilon = 40_000, 2
    if name == "randomized-response":
        picked = sf.dp.RandomizedResponse(epsilon=epsilon).simulate(True, draws)
        counts = [int(picked.sum()), draws - int(picked.sum())]
    elif name == "above-threshold":
        made = sf.dp.AboveThreshold(threshold=0, sensitivity=1, epsilon=epsilon)
        codes = made.simulate([1, 1, 1, 1], draws)
        counts = [int((codes == code).sum()) for code in (0b11, 0b101, 0b1001, 0b10001, 0b10000)]
    else:
        made = {
            "exponential": sf.dp.Exponential,
            "permute-and-flip": sf.dp.PermuteAndFlip,
            "noisy-max": sf.dp.ReportNoisyMax,
        }[name](sensitivity=1, epsilon=epsilon)
        draws = 4_000 if name == "permute-and-flip" else draws
        picked = made.simulate([1, -1, -1, -1], draws)
        counts = [int((picked == 0).sum()), int((picked != 0).sum())]
    found = explain(name, epsilon=epsilon)
    law = sorted((mass for _, mass in found.there), reverse=True)
    if name == "randomized-response":
        law = sorted((mass for _, mass in found.here), reverse=True)
    for seen, mass in zip(sorted(counts, reverse=True), law, strict=True):
        assert seen / draws == pytest.approx(mass, abs=5 * math.sqrt(0.25 / draws))


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_loses_no_more_than_it_promises(name):
    found = explain(name, epsilon=1.5, size=5)
    assert max(abs(loss) for loss, _ in found.here) <= 1.5 + 1e-6
    for alarm, missed in found.curve:
        assert missed >= interpolate(found.promised, alarm) - 1e-6


@pytest.mark.parametrize("size", [1, 13, 0])
def test_a_choice_has_some_candidates(size):
    with pytest.raises(ParameterError, match="2 to 12"):
        explain("exponential", epsilon=1, size=size)


def test_the_command_explains_protocols(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["explain", "oue", "--epsilon", "1", "--size", "8"])
    assert result.exit_code == 0, result.output
    assert "OUE: what it promises" in (tmp_path / "explain-oue.html").read_text("utf-8")
