"""Poison hurts, its gradient is right, and neighbours that are asked in number tell it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC, LinearSVC

import sfumato as sf
from sfumato.attack.models.learners import Learner, score
from sfumato.attack.models.poisoning import _aim, _slopes
from sfumato.errors import ParameterError

RNG = np.random.default_rng(1)
X = np.clip(RNG.normal(0.5, 0.18, (900, 6)), 0, 1)
Y = (X @ [2, -1, 1, 0, 0.5, 0] + RNG.normal(0, 0.1, 900) > 1.25).astype(int)
KINDS = ["logistic", "squared_hinge", "hinge", "ridge", "clipped"]
TRAIN, CHECK, TEST = slice(0, 200), slice(200, 500), slice(500, 900)


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_knows_its_derivatives(kind):
    learner, margin = Learner(kind, clip=0.3), np.linspace(-4, 4, 81) + 0.013
    measured = (learner.loss(margin + 1e-6) - learner.loss(margin - 1e-6)) / 2e-6
    assert np.allclose(learner.slope(margin), measured, atol=1e-5)
    measured = (learner.slope(margin + 1e-6) - learner.slope(margin - 1e-6)) / 2e-6
    assert np.allclose(learner.curvature(margin), measured, atol=1e-4)
    theta = learner.fit(X[TRAIN], 2.0 * Y[TRAIN] - 1, steps=300)
    assert np.abs(learner.gradient(X[TRAIN], 2.0 * Y[TRAIN] - 1, theta)).max() < 1e-4


@pytest.mark.parametrize("kind", ["logistic", "ridge", "hinge"])
def test_the_implicit_gradient_is_that_of_training_again(kind):
    learner, signs = Learner(kind, ridge=0.05), 2.0 * Y[TRAIN] - 1
    aim = _aim((X[CHECK], Y[CHECK]), None, np.array([0, 1]), 6)
    bad, bad_sign = X[3:4].copy(), np.array([-signs[3]])

    def gain(row):
        rows, all_signs = np.concatenate([X[TRAIN], row]), np.append(signs, bad_sign)
        return aim.value(learner.fit(rows, all_signs, steps=200))

    rows, all_signs = np.concatenate([X[TRAIN], bad]), np.append(signs, bad_sign)
    theta = learner.fit(rows, all_signs, steps=200)
    slope = _slopes(learner, rows, all_signs, theta, aim, bad, bad_sign)[0]
    for column in range(6):
        away = np.zeros((1, 6))
        away[0, column] = 1e-3
        measured = (gain(bad + away) - gain(bad - away)) / 2e-3
        assert slope[column] == pytest.approx(measured, rel=0.05, abs=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_poison_hurts_more_than_flipped_labels(kind):
    found = sf.attack.models.poison(
        X[TRAIN], Y[TRAIN], points=20, validation=(X[CHECK], Y[CHECK]), learner=kind
    )
    flips = sf.attack.models.flip_labels(
        X[TRAIN], Y[TRAIN], points=20, validation=(X[CHECK], Y[CHECK]), learner=kind
    )
    assert found.after > found.before
    assert found.after >= flips.after
    assert (found.rows >= 0).all()
    assert (found.rows <= 1).all()


def test_poison_hurts_a_model_that_it_was_not_made_on():
    found = sf.attack.models.poison(X[TRAIN], Y[TRAIN], points=20, validation=(X[CHECK], Y[CHECK]))
    plain = LogisticRegression(C=5).fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST])
    hurt = LogisticRegression(C=5).fit(*found.add_to(X[TRAIN], Y[TRAIN])).score(X[TEST], Y[TEST])
    assert hurt < plain - 0.02


@pytest.mark.parametrize(
    ("kind", "victim"),
    [("hinge", SVC(kernel="linear")), ("squared_hinge", LinearSVC()), ("ridge", RidgeClassifier())],
)
def test_poison_hurts_the_learner_of_scikit_learn_that_it_stands_for(kind, victim):
    found = sf.attack.models.poison(
        X[TRAIN], Y[TRAIN], points=20, validation=(X[CHECK], Y[CHECK]), learner=kind
    )
    plain = victim.fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST])
    assert victim.fit(*found.add_to(X[TRAIN], Y[TRAIN])).score(X[TEST], Y[TEST]) < plain - 0.02


def test_one_target_is_won():
    border = np.argsort(np.abs(score(X[TEST], Learner().fit(X[TRAIN], 2.0 * Y[TRAIN] - 1))))[:5]
    rows, wanted = X[TEST][border], 1 - Y[TEST][border]
    won = [
        sf.attack.models.poison(X[TRAIN], Y[TRAIN], points=10, targets=(rows[i], [wanted[i]])).after
        for i in range(5)
    ]
    assert sum(won) >= 4


def test_poison_rows_cannot_vouch_for_each_other():
    clean, labels = np.concatenate([X[TRAIN] * 0.4, 0.6 + X[TRAIN] * 0.4]), np.repeat([0, 1], 200)
    poison = np.tile(clean[:1], (9, 1)) + np.linspace(0, 1e-3, 9)[:, None]  # collapsed on one spot
    rows, names = np.concatenate([clean, poison]), np.append(labels, np.ones(9, int))
    plain = sf.attack.models.vouch(rows, names, neighbours=10)
    assert plain.kept[-9:].all()  # eight of ten neighbours are poison, too
    stated = sf.attack.models.vouch(rows, names, expected=9)
    assert not stated.kept[-9:].any()
    assert (~stated.kept[:-9]).mean() <= 0.05


@pytest.mark.parametrize(
    "given",
    [{"points": 0}, {"learner": "forest"}, {"validation": None}, {"targets": ([[0] * 6], [1])},
     {"labels": [0] * 200}, {"validation": ([[0]], [1])}],
    ids=str,
)  # fmt: skip
def test_bad_input_is_refused(given):
    usual = {"points": 2, "validation": (X[CHECK], Y[CHECK]), "labels": Y[TRAIN], **given}
    with pytest.raises(ParameterError):
        sf.attack.models.poison(X[TRAIN], usual.pop("labels"), **usual)


def test_the_defence_refuses_too_few_rows():
    with pytest.raises(ParameterError, match="more than 40"):
        sf.attack.models.vouch(X[:20], Y[:20], expected=10)
