"""Estimators learn, refuse what is not declared, and have scikit-learn's manners."""

from __future__ import annotations

import math
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import sfumato as sf
from sfumato.dp import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    ApproxDP,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    PureDP,
)
from sfumato.dp.learn import residuals
from sfumato.dp.learn.linear import shrink
from sfumato.errors import DataError, ParameterError

RNG = np.random.default_rng(3)
N = 6000
X = RNG.uniform(-1, 1, (N, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * RNG.normal(size=N) > 0.15).astype(int)
NUMBER = 2 * X[:, 0] - X[:, 2] + 0.1 * RNG.normal(size=N)
THREE = np.digitize(X[:, 0], [-0.3, 0.3])
CLASSIFIERS = (AdditiveClassifier, LogisticRegression, NaiveBayes)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_learn_two_classes(kind):
    model = kind(epsilon=2, bounds=(-1, 1)).fit(X[:5000], Y[:5000])
    assert model.score(X[5000:], Y[5000:]) > 0.8
    chances = model.predict_proba(X[5000:])
    assert np.allclose(chances.sum(axis=1), 1)
    assert (chances >= 0).all()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_learn_three_classes_by_name(kind):
    names = np.array(["low", "middle", "high"])
    model = kind(epsilon=5, bounds=(-1, 1), classes=names).fit(X[:5000], names[THREE[:5000]])
    assert model.score(X[5000:], names[THREE[5000:]]) > 0.75
    assert model.predict_proba(X[:3]).shape == (3, 3)


@pytest.mark.parametrize("kind", [LinearRegression, AdditiveRegressor])
def test_regressions_learn(kind):
    model = kind(epsilon=2, bounds=(-1, 1), target=(-4, 4)).fit(X[:5000], NUMBER[:5000])
    assert model.score(X[5000:], NUMBER[5000:]) > 0.8


def test_linear_regression_stays_sane_where_noise_drowns_everything():
    for _ in range(5):
        model = LinearRegression(epsilon=0.01, bounds=(-1, 1), target=(-4, 4))
        found = model.fit(X[:200], NUMBER[:200])
        assert np.abs(found.predict(X)).max() <= 4  # and not 10⁹
        assert np.abs(found.coef_).max() < 8


def test_principal_components_are_found():
    line = np.outer(RNG.uniform(-1, 1, N), [0.8, 0.6]) + 0.02 * RNG.normal(size=(N, 2))
    model = PCA(1, epsilon=1, bounds=(-1, 1)).fit(line)
    assert abs(model.components_[0] @ [0.8, 0.6]) > 0.99
    again = model.inverse_transform(model.transform(line))
    assert np.abs(again - line).mean() < 0.05


def test_categories_and_missing_cells_are_read():
    rows = {
        "kind": np.where(Y > 0, "yes", "no").astype(object),
        "size": np.where(RNG.random(N) < 0.1, np.nan, X[:, 3]),
    }
    rows["kind"][:50] = None
    for kind in CLASSIFIERS:
        model = kind(epsilon=1, bounds={"size": (-1, 1)}, domain={"kind": ["yes", "no"]})
        assert model.fit(rows, Y).score(rows, Y) > 0.95


def test_what_is_not_declared_is_refused_before_anything_is_read():
    with pytest.raises(ParameterError, match="not declared"):
        AdditiveClassifier(bounds={0: (-1, 1)}).fit(X, Y)
    with pytest.raises(ParameterError, match="classes are not declared"):
        LogisticRegression(bounds=(-1, 1)).fit(X, np.where(Y, "ill", "well"))
    with pytest.raises(ParameterError, match="target is not declared"):
        LinearRegression(bounds=(-1, 1)).fit(X, NUMBER)
    with pytest.raises(ParameterError, match="no column 'salary'"):
        NaiveBayes(bounds={"salary": (0, 1)}).fit({"age": X[:, 0]}, Y)
    with pytest.raises(ParameterError, match="delta"):
        AdditiveClassifier(delta=0, bounds=(-1, 1)).fit(X, Y)
    with pytest.raises(DataError, match="features"):
        NaiveBayes(bounds=(-1, 1)).fit(X, Y).predict(X[:, :2])


def test_errors_quote_no_cell():
    cells = np.array(["secret-17"] * 8, dtype=object)
    model = NaiveBayes(bounds={"a": (0, 1)}).fit({"a": cells}, np.array([0, 1] * 4))
    assert model.predict({"a": cells}).shape == (8,)


def test_guarantees_are_known_before_and_kept_after():
    model = AdditiveClassifier(epsilon=0.5, delta=1e-6, bounds=(-1, 1))
    assert model.guarantee == ApproxDP(0.5, 1e-6)
    assert NaiveBayes(epsilon=0.5).guarantee == PureDP(0.5)
    assert model.count_error(columns=4) > 0
    assert pickle.loads(pickle.dumps(model.fit(X, Y))).guarantee_ == model.guarantee


def test_stated_noise_is_the_noise_of_the_counts():
    model = NaiveBayes(epsilon=0.5, bounds=(-1, 1))
    stated = model.noise(4)
    exact = np.zeros(2 * (4 * 33 + 1))
    found = np.concatenate([model.fit(X[:0], Y[:0]).counts_.ravel() - exact for _ in range(20)])
    assert found.std() == pytest.approx(stated, rel=0.1)


def test_shape_functions_follow_the_truth_and_can_be_drawn():
    model = AdditiveClassifier(epsilon=4, bounds=(-1, 1)).fit(X, Y)
    shapes = {shape.name: shape for shape in model.shapes_}
    assert shapes[0].values[-1] - shapes[0].values[0] > 2  # rises along the first column
    assert shapes[0].spread > 3 * shapes[3].spread  # and the last does not matter
    middle = len(shapes[1].values) // 2
    assert shapes[1].values[[0, -1]].mean() > shapes[1].values[middle]  # a square has a dip
    picture = model.picture()
    assert picture.startswith("<svg")
    assert picture.count("<polyline") == 4


def test_probabilities_are_calibrated_though_residuals_are_clamped():
    coin = (RNG.random(40_000) < 0.2).astype(int)
    flat = np.zeros((40_000, 1))
    for kind in (AdditiveClassifier, LogisticRegression):
        chance = kind(epsilon=20, bounds=(-1, 1)).fit(flat, coin).predict_proba(flat[:1])[0, 1]
        assert chance == pytest.approx(0.2, abs=0.02)


# -- scikit-learn's own checks ------------------------------------------------------------------

_LABELS = "labels other than 0 and 1 must be declared, and the check declares none"
_TELLS = "an error about rows or labels would tell of them; what is not declared adds nothing"
_NOISE = "two fits differ by their noise, and few rows drown in it"
PRIVACY = {
    "check_classifiers_classes": _LABELS,
    "check_classifiers_train": _LABELS,
    "check_classifiers_one_label": _NOISE,
    "check_classifiers_regression_target": _TELLS,
    "check_supervised_y_no_nan": _TELLS,
    "check_estimators_empty_data_messages": "that there are no rows is not told: noise is learnt",
    "check_dtype_object": _TELLS,
    "check_classifier_data_not_an_array": _NOISE,
    "check_regressor_data_not_an_array": _NOISE,
    "check_regressors_train": _NOISE,
    "check_regressors_int": _NOISE,
    "check_fit_idempotent": _NOISE,
    "check_supervised_y_2d": _NOISE,
    "check_classifiers_multilabel_representation_invariance": _NOISE,
}


@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(bounds=(-10, 10), rounds=5),
        LogisticRegression(bounds=(-10, 10), rounds=5),
        AdditiveRegressor(bounds=(-10, 10), target=(-10, 10), rounds=5),
        NaiveBayes(bounds=(-10, 10)),
        LinearRegression(bounds=(-10, 10), target=(-10, 10)),
        PCA(bounds=(-10, 10)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learn_finds_its_manners(model):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(model, expected_failed_checks=PRIVACY, on_fail=None)
    failed = [
        (r["check_name"], str(r["exception"])[:200]) for r in results if r["status"] == "failed"
    ]
    assert failed == []
    assert sum(r["status"] == "passed" for r in results) >= 25


def test_the_page_on_learning_names_every_check_that_does_not_apply():
    page = Path(__file__).resolve().parents[3] / "docs/explanation/learning.md"
    named = set(re.findall(r"`(check_\w+)`", page.read_text(encoding="utf-8")))
    assert named == set(PRIVACY)


def test_public_names():
    for name in ("AdditiveClassifier", "LogisticRegression", "PCA", "train", "Training"):
        assert name in sf.dp.__all__


def test_coefficients_are_shrunk_as_far_as_the_noise_asks_for():
    """Against least squares where there is no noise, and brute force over τ² where there is."""
    generator = np.random.default_rng(4)
    x = generator.uniform(-1, 1, (4000, 6))
    y = x @ [0.3, -0.2, 0.1, 0.0, 0.25, 0.0] + generator.normal(0, 0.1, 4000)
    spread, shared = x.T @ x, x.T @ y
    exact = np.linalg.solve(spread, shared)
    assert shrink(spread, shared, 1e-9, 0.01) == pytest.approx(exact, abs=2e-3)
    assert np.abs(shrink(spread, shared, 1e6, 0.01)).max() < 1e-3
    assert np.abs(shrink(np.zeros((6, 6)), shared, 1.0, 0.01)).max() == 0
    broken = spread - 2 * np.linalg.eigvalsh(spread)[0] * np.eye(6)  # a negative eigenvalue
    assert np.linalg.norm(shrink(broken, shared, 100.0, 0.01)) < 2 * np.linalg.norm(exact)
    noisy = shared + generator.normal(0, 200, 6)
    found = shrink(spread, noisy, 200.0, 0.01)
    assert np.linalg.norm(found - exact) < np.linalg.norm(np.linalg.solve(spread, noisy) - exact)
    penalised = shrink(spread, shared, 1e-9, 1e-9, alpha=1000.0)
    assert penalised == pytest.approx(np.linalg.solve(spread + 1000 * np.eye(6), shared), abs=1e-6)


@pytest.mark.parametrize("kind", [AdditiveClassifier, LogisticRegression])
@pytest.mark.parametrize(
    "wrong",
    [
        {"damping": 0}, {"damping": math.nan}, {"rate": math.nan}, {"rate": math.inf},
        {"momentum": 1}, {"momentum": -0.1}, {"clip": 1e-6}, {"clip": 2}, {"rounds": 0},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_lead_nowhere_are_refused_before_anything_is_read(kind, wrong):
    model = kind(bounds={"x": (0, 1)}, classes=[0, 1, 2], **wrong)
    with pytest.raises(ParameterError):
        model.forecast(1000)
    with pytest.raises(ParameterError):
        model.fit({"x": [0.5]}, [1])


def test_parameters_without_a_number_leave_residuals_within_their_clip():
    """A score that overflowed would be looked up beside the table, and its residual be anything."""
    odd = np.array([math.nan, math.inf, -math.inf, 1e300, 2.0**14 + 0.3])
    grid = residuals.on_grid(odd)
    assert grid.tolist() == [0, 1 << 24, -(1 << 24), 1 << 24, 1 << 24]
    values = residuals.on_grid(np.tile(odd[:4, None], (8, 3)) * [1, -1, 1])
    codes = np.arange(32, dtype=np.uint32)[None, :]
    for label in range(3):
        out = np.zeros((32, 3), dtype=np.int64)
        residuals.sum_classes(codes, np.array([label]), values, residuals.EXPONENTIAL, 9000, out)
        assert (np.square(out).sum(axis=1) <= 9000**2).all()


def test_a_list_of_labels_needs_classes_whatever_it_holds():
    """Its type would follow from its cells: an error would tell that one of them is odd."""
    x = np.zeros((3, 1))
    for labels in ([0, 1, 0], [0, 1, None], ["a", "b", "a"]):
        with pytest.raises(ParameterError, match="classes are not declared"):
            NaiveBayes(bounds=(0, 1)).fit(x, labels)
        NaiveBayes(bounds=(0, 1), classes=[0, 1]).fit(x, labels)
    NaiveBayes(bounds=(0, 1)).fit(x, np.array([0, 1, 0]))


def test_a_fit_that_did_not_end_promises_nothing(monkeypatch):
    x, y = np.zeros((30, 1)), np.zeros(30)
    model = LogisticRegression(epsilon=1, bounds=(0, 1)).fit(x, y)
    model.set_params(epsilon=100)
    assert model.release().promise == ApproxDP(1, 1e-5)
    assert model.noise_told() == LogisticRegression(epsilon=1, bounds=(0, 1)).fit(x, y).noise_told()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(LogisticRegression, "_sum", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    with pytest.raises(NotFittedError):
        model.release()
    with pytest.raises(NotFittedError):
        model.predict(x)
