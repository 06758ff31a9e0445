"""Surveys as values, files and pages: what is promised is what the coins keep."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from fractions import Fraction

import pytest

from sfumato.errors import ParameterError, SchemaError
from sfumato.local.collect.survey import PROTOCOLS, Survey
from sfumato.local.collect.survey_files import read_survey, write_survey
from sfumato.local.collect.survey_page import render_page
from sfumato.local.protocols.coins import ONE
from sfumato.local.wire.recipe import client_script, recipe

ANSWERS = ("none", "one", "two", "three", "many")
NAMES = tuple(PROTOCOLS)


def survey(protocol="OUE", *, epsilon=1, answers=ANSWERS, **more):
    return Survey.of(
        "cups", "How many cups?", list(answers), epsilon=epsilon, protocol=protocol, **more
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_file_brings_the_same_survey_back(name, tmp_path):
    agreed = survey(
        name, epsilon="1/3", answers=["no", "07", "é: 'x'", "~", "</script>"], version=12,
        asked_by="Us", about="Why: because", send_to="https://a.example/r", remember=True,
    )  # fmt: skip
    again = read_survey(write_survey(agreed, tmp_path / "s.yaml"))
    assert again == agreed
    assert again.terms == agreed.terms
    assert again.epsilon == Fraction(1, 3)
    assert again.answers == ("no", "07", "é: 'x'", "~", "</script>")


def test_json_is_read_too(tmp_path):
    given = {"id": "a", "question": "Q?", "answers": ["x", "y"], "epsilon": 0.1, "protocol": "GRR"}
    (tmp_path / "s.json").write_text(json.dumps(given))
    assert read_survey(tmp_path / "s.json").epsilon == Fraction(1, 10)


def test_what_gives_reports_their_meaning_changes_the_terms():
    base = survey()
    assert base.terms == survey().terms
    same = survey(asked_by="Us", about="Why", send_to="/r")
    assert same.terms == base.terms
    others = [
        survey(epsilon=2), survey("SUE"), survey(version=2), survey(remember=True),
        survey(answers=[*ANSWERS, "x"]), survey(answers=ANSWERS[::-1]),
        Survey.of("cup", "How many cups?", list(ANSWERS), epsilon=1, protocol="OUE"),
        Survey.of("cups", "How many?", list(ANSWERS), epsilon=1, protocol="OUE"),
    ]  # fmt: skip
    assert len({one.terms for one in [base, *others]}) == len(others) + 1


def test_a_sentence_that_the_coins_do_not_keep_is_refused(tmp_path):
    file = write_survey(survey(epsilon=1), tmp_path / "s.yaml")
    file.write_text(file.read_text().replace("epsilon: 1", "epsilon: 3"))
    with pytest.raises(SchemaError, match="'told' is not what this protocol and epsilon promise"):
        read_survey(file)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5", "12"])
def test_the_sentence_states_a_factor_that_holds(epsilon):
    agreed = survey("GRR", epsilon=epsilon)
    factor = float(re.search(r"at most ([\d.,]+) times", agreed.told)[1].replace(",", ""))
    assert float(agreed.protocol.ratio) <= factor < 1.02 * math.exp(float(epsilon))
    assert f"ε = {epsilon}" in agreed.told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "Two words"}, "id of a survey"),
        ({"version": "0"}, "version"),
        ({"version": "x"}, "whole number"),
        ({"answers": ["a", "a"]}, "distinct"),
        ({"answers": ["a"]}, "at least two answers|2 to"),
        ({"answers": ["a", ""]}, "not empty"),
        ({"answers": "ab"}, "a list"),
        ({"protocol": "XXX"}, "protocol is one of"),
        ({"epsilon": "-1"}, "above 0"),
        ({"epsilon": "many"}, "epsilon"),
        ({"send_to": "javascript:alert(1)"}, "sent to an address"),
        ({"send_to": "//evil.example"}, "sent to an address"),
        ({"send_to": "https://a.example/ ; script-src *"}, "sent to an address"),
        ({"remember": "perhaps"}, "yes or no"),
        ({"epsilom": "1"}, "Did you mean 'epsilon'"),
        ({"question": " "}, "asks a question"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_by_name(change, message, tmp_path):
    given = {"id": "a", "question": "Q?", "answers": ["x", "y"], "epsilon": "1", **change}
    (tmp_path / "s.json").write_text(json.dumps(given))
    with pytest.raises((SchemaError, ParameterError), match=message):
        read_survey(tmp_path / "s.json")


def test_without_a_protocol_the_most_accurate_one_is_taken():
    for answers, epsilon in ((3, 1), (5, 3), (40, 1), (300, 1)):
        texts = [str(i) for i in range(answers)]
        variances = {
            name: survey(name, answers=texts, epsilon=epsilon).protocol.variance(1, 1 / answers)
            for name in NAMES
        }
        chosen = Survey.of("a", "Q?", texts, epsilon=epsilon).protocol_name
        assert variances[chosen] <= 1.001 * min(variances.values())


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_keeps_the_epsilon_by_its_thresholds_alone(name, epsilon):
    """Compute the largest ratio from the whole numbers of the recipe, exactly."""
    r = recipe(survey(name, epsilon=epsilon))
    if name in {"SUE", "OUE"}:
        one, zero = Fraction(r["one"], ONE), Fraction(r["zero"], ONE)
        ratio = one * (1 - zero) / (zero * (1 - one))
    else:
        yes, d = r["keep" if "keep" in r else "inside" if "inside" in r else "include"], r["size"]
        inside, outside = {
            "GRR": lambda: (1, d - 1),
            "OLH": lambda: (1, r["cells"] - 1),
            "Hadamard": lambda: (r["width"] // 2, r["blocks"] * r["width"] - r["width"] // 2),
            "SubsetSelection": lambda: (
                math.comb(d - 1, r["chosen"] - 1), math.comb(d - 1, r["chosen"])
            ),
        }[name]()  # fmt: skip
        ratio = Fraction(yes, ONE) / inside / (Fraction(ONE - yes, ONE) / outside)
    assert 0 <= epsilon - math.log(ratio) < 1e-6


def test_a_page_is_self_contained_and_can_connect_to_one_address_only():
    page = render_page(survey(answers=["</script><script>alert(1)</script>", "b"],
                              send_to="https://a.example/reports"))  # fmt: skip
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert policy.endswith("; connect-src https://a.example/reports")
    digest = base64.b64encode(hashlib.sha256(client_script().encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert page.count("<script") == page.count("</script>") == 3
    assert "alert(1)</script>" not in page
    assert not re.search(r'(src|href)="(?!data:,)', page)
    assert "connect-src" not in render_page(survey())


def test_the_client_has_no_other_randomness_than_the_browsers():
    script = client_script()
    assert "Math.random" not in script
    assert "Date" not in script
    assert script.count("crypto.getRandomValues(") == 3  # words, a secret, a nonce


@pytest.mark.parametrize(
    ("question", "answers"), [("Q\ud800?", ["a", "b"]), ("Q?", ["a", "b\udc00"])]
)
def test_half_a_surrogate_pair_is_refused(question, answers):
    with pytest.raises(SchemaError, match="surrogate"):
        Survey.of("q", question, answers, epsilon=1)
