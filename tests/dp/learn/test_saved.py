"""Models as releases: written without code, read back to the bit, with guarantee and card."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.learn.saved import KINDS, model_from_json, model_to_json
from sfumato.errors import DataError, ParameterError

RNG = np.random.default_rng(8)
ROWS = {
    "age": RNG.integers(18, 90, 4000),
    "kind": RNG.choice(np.array(["a", "b", "c"]), 4000),
    "size": RNG.normal(size=4000),
}
LABELS = np.where(RNG.random(4000) < 1 / (1 + np.exp((50 - ROWS["age"]) / 8)), "ill", "well")
DECLARED = {
    "bounds": {"age": range(18, 90), "size": (-3, 3)},
    "domain": {"kind": ["a", "b", "c"]},
}
TWO, NUMBER = {"classes": ["well", "ill"]}, {"target": (18, 90)}
THREE = {"classes": ["well", "ill", "dead"]}
CASES = {
    "additive": (sf.dp.AdditiveClassifier(**DECLARED, **TWO), LABELS),
    "additive, three classes": (sf.dp.AdditiveClassifier(**DECLARED, **THREE), LABELS),
    "additive regression": (sf.dp.AdditiveRegressor(**DECLARED, **NUMBER), ROWS["age"]),
    "logistic": (sf.dp.LogisticRegression(**DECLARED, **TWO), LABELS),
    "logistic, three classes": (sf.dp.LogisticRegression(**DECLARED, **THREE), LABELS),
    "linear": (sf.dp.LinearRegression(**DECLARED, **NUMBER), ROWS["age"]),
    "naive Bayes": (sf.dp.NaiveBayes(**DECLARED, **TWO), LABELS),
    "naive Bayes, Gaussian": (sf.dp.NaiveBayes(delta=1e-6, **DECLARED, **TWO), LABELS),
}


def fitted(name):
    model, target = CASES[name]
    return model.fit(ROWS, target)


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_read_back_to_the_bit_with_its_guarantee(name):
    model = fitted(name)
    again = model_from_json(json.loads(json.dumps(model_to_json(model))))
    assert type(again) is type(model)
    assert np.array_equal(again.predict(ROWS), model.predict(ROWS))
    assert again.guarantee_ == again.guarantee == model.guarantee
    assert again.errors(3, 100.0) == pytest.approx(model.errors(3, 100.0), rel=1e-9)
    if hasattr(model, "predict_proba"):
        assert np.array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))


def test_principal_components_are_read_back():
    x = RNG.normal(size=(500, 3))
    model = sf.dp.PCA(2, bounds=(-4, 4)).fit(x)
    again = model_from_json(json.loads(json.dumps(model_to_json(model))))
    assert np.array_equal(again.transform(x), model.transform(x))


@pytest.mark.parametrize("name", CASES)
def test_a_saved_model_is_verified_recorded_and_has_a_card(name, tmp_path):
    model = fitted(name)
    release = model.release("illness", predicts="state", purpose="a test", left_out=["note", "who"])
    ledger = tmp_path / "ledger.sqlite"
    path = release.save(tmp_path / "out", ledger=ledger, by="the owner")
    assert path.name == "model.json"
    checked = sf.verify(tmp_path / "out")
    assert checked.holds
    assert checked.records == len(release.artefact) == sum(map(np.size, model.learnt().values()))
    told = json.loads((tmp_path / "out/release.json").read_text())
    assert told["shape"] == "model"
    assert told["predicts"] == "state"
    assert told["noise"] == model.noise_told()
    assert any(entry.kind == "released" for entry in sf.Ledger(ledger).entries())
    card = (tmp_path / "out/report.html").read_text()
    assert "May be given away" in card
    assert "<svg" in card
    assert "whole number from 18 to 89" in card
    assert "left out, as nothing is declared of them</b>: note, who" in card
    assert "Settings and search" not in card  # there are none
    assert np.array_equal(sf.dp.read_model(tmp_path / "out").predict(ROWS), model.predict(ROWS))


def test_a_file_that_was_changed_is_not_the_one_that_was_released(tmp_path):
    path = fitted("naive Bayes").release().save(tmp_path / "out", report=False)
    path.write_text(path.read_text().replace('"classes"', '"classes" '), encoding="utf-8")
    assert not sf.verify(tmp_path / "out").holds


def test_what_is_no_model_is_refused(tmp_path):
    whole = model_to_json(fitted("logistic"))
    for broken in (
        {"format": "sfumato model 1"},
        whole | {"format": "other"},
        whole | {"learnt": {}},
        whole | {"columns": whole["columns"][:1]},
        whole | {"options": {"no_such": 1}},
        whole | {"kind": "os.system"},
    ):
        with pytest.raises(DataError, match="not a model"):
            model_from_json(broken)
    place = Path(tmp_path / "model.json")
    place.write_text("import os", encoding="utf-8")
    with pytest.raises(DataError, match="not a model"):
        sf.dp.read_model(place)
    with pytest.raises(DataError, match="cannot be read"):
        sf.dp.read_model(tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="nothing yet"):
        model_to_json(sf.dp.NaiveBayes())
    assert set(KINDS) <= set(sf.dp.__all__)


def spread(model, target, value):
    return np.std([value(model.fit(ROWS, target)) for _ in range(30)])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("additive", lambda m: np.subtract(*m.shapes_[1].values[:2])),
        ("additive regression", lambda m: np.subtract(*m.shapes_[1].values[:2]) * 36),
        ("logistic", lambda m: m.coef_[0, 0] - m.coef_[0, 1]),
        ("linear", lambda m: m.coef_[0] - m.coef_[1]),
        ("naive Bayes", lambda m: np.subtract(*m.feature_log_prob_[0, 33:35])),
    ],
)
def test_noise_is_as_large_as_was_told_before(name, value):
    """Of two groups of a third of the rows; told within a factor of four.

    The ratios are .6 to 2.1; of 30 fits it is seen to 13 %, so that a miss is an error of the code.
    """
    model, target = CASES[name]
    *_, told = model.errors(3, len(target) / 3).values()
    assert 0.25 < spread(model, target, value) / np.sqrt(2) / told < 4


def test_forecasts_need_no_rows_and_tell_how_many_would_do():
    model = sf.dp.AdditiveClassifier(epsilon=1, **DECLARED)
    assert model.forecast(100_000).useful
    poor = model.forecast(50)
    assert not poor.useful
    needed = int(poor.advice.split("about ")[1].split(" rows")[0].replace(",", ""))
    assert model.forecast(needed).useful
    assert not model.forecast(needed // 4).useful
    with pytest.raises(ParameterError, match="not named"):
        sf.dp.AdditiveClassifier(bounds=(0, 1)).forecast(10)
