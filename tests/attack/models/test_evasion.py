"""Evasion: exact where it says so, rows that the model really misreads, nothing fixed moved."""

from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.attack.models.projection import length, reach, reach_all
from sfumato.attack.models.targets import LinearTarget, NetworkTarget, TorchTarget, target_of
from sfumato.errors import ParameterError

RNG = np.random.default_rng(7)
X = RNG.random((400, 5))
Y = (X @ [1.0, -2.0, 1.5, 0.3, 0.0] + 0.2 * np.sin(9 * X[:, 0]) > 0.4).astype(int)
THREE = np.digitize(X @ [1.0, -1.0, 1.0, 0.5, 0.2], [0.45, 1.1])


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_a_step_is_the_shortest(norm):
    generator = np.random.default_rng(3)
    for _ in range(30):
        gradient, start = generator.normal(size=4), generator.random(4)
        need = generator.uniform(0, 0.6) * np.abs(gradient).sum()
        step, there = reach(gradient[None], np.array([need]), start[None], (1 - start)[None], norm)
        most = np.where(gradient > 0, (1 - start) * gradient, -start * gradient).sum()
        assert there[0] == (most >= need)
        if not there[0]:
            continue
        assert gradient @ step[0] >= need - 1e-9
        assert (start + step[0] >= -1e-12).all()
        assert (start + step[0] <= 1 + 1e-12).all()
        for _ in range(400):  # nothing feasible that is near is shorter
            other = np.clip(step[0] * generator.uniform(0.5, 1) + generator.normal(size=4) * 0.1,
                            -start, 1 - start)  # fmt: skip
            if gradient @ other >= need:
                assert length(other[None], norm)[0] >= length(step, norm)[0] - 1e-9


def test_several_half_spaces_as_a_solver_finds_them():
    generator, cases = np.random.default_rng(5), 10
    gradients = generator.normal(size=(cases, 3, 4))
    starts = generator.uniform(0.3, 0.7, (cases, 4))
    needs = generator.uniform(0, 0.25, (cases, 3))
    steps = reach_all(gradients, needs, starts, 1 - starts, sweeps=1_500)
    solved = 0
    for gradient, need, start, step in zip(gradients, needs, starts, steps, strict=True):
        best = minimize(
            lambda d: d @ d, np.zeros(4), jac=lambda d: 2 * d, method="SLSQP",
            bounds=[(-a, 1 - a) for a in start],
            constraints={"type": "ineq", "fun": lambda d, g=gradient, n=need: g @ d - n},
        )  # fmt: skip
        if best.success:
            solved += 1
            assert (gradient @ step >= need - 1e-3).all()
            assert step @ step <= best.fun + 1e-3
    assert solved > cases / 2


MODELS = [
    LogisticRegression(), LinearSVC(), RidgeClassifier(), SVC(kernel="linear"),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), StandardScaler(), LinearSVC()),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda m: str(m)[:40].replace("\n", ""))
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
def test_linear_models_are_evaded_exactly(model, labels):
    model.fit(X, labels)
    if len(set(labels)) > 2 and isinstance(model, SVC):
        pytest.skip("SVC votes among pairs of classes; it is a black box then")
    assert isinstance(target_of(model), LinearTarget)
    found = sf.attack.models.evade(model, X[:60], labels[:60])
    said = model.predict(found.changed)
    assert (said[found.misled] != labels[:60][found.misled]).all()
    assert found.success > 0.99
    moved = found.steps > 0
    shorter = X[:60] + 0.99 * (found.changed - X[:60])  # a hundredth less, and it is not misled
    assert (model.predict(shorter[moved]) == labels[:60][moved]).all()


def test_no_point_of_a_grid_is_nearer_than_the_exact_one():
    rows, labels = X[:, :2], (X[:, 0] + 0.7 * X[:, 1] > 0.8).astype(int)
    model = LogisticRegression(C=50).fit(rows, labels)
    found = sf.attack.models.evade(model, rows[:20], labels[:20])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), -1).reshape(-1, 2)
    said = model.predict(grid)
    for row, label, step in zip(rows[:20], labels[:20], found.steps, strict=True):
        nearest = np.linalg.norm(grid[said != label] - row, axis=1).min()
        assert step <= nearest + 1e-6


def test_networks_have_the_gradients_of_their_scores():
    for activation in ("relu", "tanh", "logistic", "identity"):
        model = MLPClassifier((8, 6), activation=activation, max_iter=60, random_state=1)
        model = make_pipeline(StandardScaler(), model).fit(X, THREE)
        target = target_of(model)
        assert isinstance(target, NetworkTarget)
        assert (target.decide(X) == model.predict(X)).all()
        _check_gradients(target)


def _check_gradients(target):
    rows = X[:5] + 0.001
    slope = target.gradients(rows)
    for column in range(rows.shape[1]):
        away = np.zeros(rows.shape[1])
        away[column] = 1e-6
        measured = (target.scores(rows + away) - target.scores(rows - away)) / 2e-6
        assert np.allclose(slope[:, :, column], measured, atol=1e-4)


def test_torch_modules():
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
    ).double()
    target = target_of(module, classes=[0, 1, 2])
    assert isinstance(target, TorchTarget)
    _check_gradients(target)
    found = sf.attack.models.evade(module, X[:40], classes=[0, 1, 2])
    assert (found.before != found.after)[found.misled].all()
    with pytest.raises(ParameterError, match="classes="):
        sf.attack.models.evade(module, X[:4])


def test_networks_are_evaded_and_made_to_say_what_is_wanted():
    model = MLPClassifier((16,), max_iter=400, random_state=0).fit(X, THREE)
    found = sf.attack.models.evade(model, X[:80], THREE[:80])
    assert found.success == 1
    assert (model.predict(found.changed) != THREE[:80]).all()
    aimed = sf.attack.models.evade(model, X[:80], THREE[:80], wanted=2, reference=X)
    assert aimed.success == 1
    assert (model.predict(aimed.changed) == 2).all()


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_are_evaded_through_their_thresholds(kind):
    model = kind(15, random_state=0).fit(X, THREE)
    found = sf.attack.models.evade(model, X[:12], THREE[:12], reference=X, tries=6)
    assert found.method == "thresholds of the trees"
    assert found.success == 1
    assert (model.predict(found.changed) != THREE[:12]).all()
    blind = sf.attack.models.evade(
        model.predict, X[:12], THREE[:12], classes=[0, 1, 2], reference=X
    )
    assert blind.method == "decisions alone"
    assert found.mean < blind.mean  # who sees the trees needs less


def test_rows_that_are_misread_already_stay_as_they_are(tmp_path):
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    wrong = 1 - model.predict(X[:4])
    found = sf.attack.models.evade(model, X[:4], wrong, reference=X, tries=3)
    assert (found.changed == X[:4]).all()
    assert found.mean == 0
    picture = sf.attack.models.draw_evasion({"<forest>": found}, tmp_path / "steps.svg")
    assert "&lt;forest&gt;" in picture.read_text("utf-8")


def test_a_black_box_needs_rows_to_start_from():
    model = GradientBoostingClassifier(n_estimators=5).fit(X, Y)
    with pytest.raises(ParameterError, match="reference="):
        sf.attack.models.evade(model, X[:3])
    found = sf.attack.models.evade(model, X[:10], Y[:10], reference=X)
    assert (model.predict(found.changed)[found.misled] != Y[:10][found.misled]).all()
    assert found.success > 0.8


def test_what_cannot_be_changed_is_not():
    model = LogisticRegression(C=10).fit(X, Y)
    found = sf.attack.models.evade(model, X[:50], Y[:50], immutable=[1, 4])
    assert (found.changed[:, [1, 4]] == X[:50][:, [1, 4]]).all()
    assert found.mean > sf.attack.models.evade(model, X[:50], Y[:50]).mean


def test_whole_numbers_stay_whole_and_choices_stay_choices():
    generator = np.random.default_rng(2)
    hot = np.eye(3)[generator.integers(0, 3, 400)]
    whole = generator.integers(0, 10, 400)
    rows = np.column_stack([X[:, 0], whole, hot])
    labels = (rows @ [2.0, 0.2, 1.0, -0.5, 0.0] > 2).astype(int)
    model = LogisticRegression(C=10, max_iter=500).fit(rows, labels)
    bounds = (np.zeros(5), np.array([1, 9, 1, 1, 1.0]))
    found = sf.attack.models.evade(
        model, rows[:60], labels[:60], bounds=bounds, integer=[1], one_hot=[[2, 3, 4]]
    )
    assert (found.changed[:, 1] == np.rint(found.changed[:, 1])).all()
    assert (found.changed[:, 2:].sum(axis=1) == 1).all()
    assert set(np.unique(found.changed[:, 2:])) <= {0.0, 1.0}
    assert found.success > 0.9
    assert (model.predict(found.changed)[found.misled] != labels[:60][found.misled]).all()


def test_an_attack_carries_over_to_other_models():
    models = {"plain": LogisticRegression().fit(X, Y), "svm": LinearSVC().fit(X[::2], Y[::2])}
    found = sf.attack.models.transfer(models, X[:100], Y[:100], grow=1.5)
    assert found["plain"]["plain"] > 0.95
    assert 0 <= found["plain"]["svm"] <= 1


def test_a_longer_step_keeps_to_what_can_be_changed():
    class Watched:
        classes_ = np.array([0, 1])
        seen: ClassVar[list] = []

        def predict(self, rows):
            self.seen.append(np.array(rows))
            return (rows[:, 0] + rows[:, 1] > 9).astype(int)

    rows = np.round(10 * X[:20])
    sf.attack.models.transfer(
        {"seen": Watched()}, rows, Watched().predict(rows), grow=1.7, reference=rows,
        bounds=(0, 10), integer=[0, 1], immutable=[2], tries=4,
    )  # fmt: skip
    longer = Watched.seen[-1]
    assert (longer[:, :2] == np.round(longer[:, :2])).all()
    assert (longer >= 0).all()
    assert (longer <= 10).all()
    assert (longer[:, 2] == rows[:, 2]).all()


@pytest.mark.parametrize(
    "given",
    [{"rows": [[np.nan] * 5]}, {"bounds": (1, 0)}, {"immutable": [9]}, {"labels": [7]},
     {"wanted": 9}, {"one_hot": [[0, 1], [1, 2]]}],
    ids=str,
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(given):
    model = LogisticRegression().fit(X, Y)
    given = {"rows": X[:1], **given}
    with pytest.raises(ParameterError):
        sf.attack.models.evade(model, given.pop("rows"), **given)


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(),
        GaussianNB(),
        AdaBoostClassifier(n_estimators=10, random_state=0),
        BaggingClassifier(n_estimators=5, max_features=0.6, random_state=0),
        DecisionTreeClassifier(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_classifier_is_evaded_with_a_cell_that_is_fixed(model):
    """Each row can be misled: some row with its fixed cell is in another class."""
    rows, labels = X[:200], THREE[:200]
    model.fit(rows, labels)
    tried = rows[:12]
    said = model.predict(tried)
    mixed = np.repeat(rows[None], 12, axis=0)
    mixed[:, :, 0] = tried[:, :1]
    other = model.predict(mixed.reshape(-1, rows.shape[1])).reshape(12, -1) != said[:, None]
    found = sf.attack.models.evade(model, tried, said, reference=rows, immutable=[0])
    assert (found.changed[:, 0] == tried[:, 0]).all()
    assert (model.predict(found.changed)[found.misled] != said[found.misled]).all()
    assert found.misled.sum() >= other.any(axis=1).sum() > 6
    assert ("trees" in found.method) == isinstance(model, DecisionTreeClassifier)


@pytest.mark.parametrize(
    ("rows", "labels", "said"),
    [
        ([[0.1, 0.2], [0.9, 0.8]], [0], "one per row"),
        ([[0.1, 0.2, 0.3]], [0], "trained on"),
        ([[0.1, 7.0]], [0], "outside bounds"),
    ],
)
def test_rows_and_labels_that_do_not_fit_are_refused(rows, labels, said):
    model = LogisticRegression().fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 1, 0, 1])
    with pytest.raises(ParameterError, match=said):
        sf.attack.models.evade(model, rows, labels)


def test_a_module_that_gives_no_probabilities_is_refused():
    pair = (np.zeros((2, 2)), [0, 1])
    with pytest.raises(ParameterError, match="predict_proba"):
        sf.attack.models.membership(torch.nn.Linear(2, 2), pair, pair)
