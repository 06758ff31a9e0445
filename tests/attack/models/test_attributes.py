"""Attribute inference: what a model tells of its rows, beside what it tells of anybody's."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.attack.models import infer_attribute
from sfumato.errors import ParameterError

RNG = np.random.default_rng(3)
X = np.column_stack([RNG.random((2000, 5)), RNG.integers(0, 2, 2000)])
CHANCE = (X[:, 5] == 1).astype(int) ^ (RNG.random(2000) < 0.1)  # the label tells the last column
COIN = RNG.integers(0, 2, 2000)  # the label tells nothing of anybody
HALVES = slice(None, 1000), slice(1000, None)


def guessed(model, labels, **given):
    pairs = [(X[half], labels[half]) for half in HALVES]
    return infer_attribute(model, *pairs, **({"column": 5, "values": [0, 1]} | given))


def test_what_was_learnt_by_heart_is_told_of_members_alone():
    """Labels of a coin: a tree that splits by the hidden column gives members away."""
    heart = DecisionTreeClassifier(random_state=0).fit(X[:1000, [5, 0]], COIN[:1000])

    class Heart:
        classes_ = heart.classes_

        def predict_proba(self, rows):
            return heart.predict_proba(rows[:, [5, 0]])

    found = guessed(Heart(), COIN)
    assert found.members > 0.65
    assert found.outsiders == pytest.approx(0.5, abs=0.08)  # five standard deviations
    assert "without the model" in repr(found)


def test_a_guess_is_the_likeliest_value():
    """Against Bayes' rule by hand, for a model whose every probability is known."""

    class Known:
        classes_ = np.array([0, 1])

        def predict_proba(self, rows):
            share = np.where(rows[:, 5] == 1, 0.9, 0.1)
            return np.column_stack([1 - share, share])

    found = guessed(Known(), CHANCE)
    for half, share in zip(HALVES, (found.members, found.outsiders), strict=True):
        assert share == (CHANCE[half] == X[half, 5]).mean()  # both values are about as common
    assert (
        found.blind == max((X[:1000, 5] == value).mean() for value in (0, 1)) or found.blind < 0.5
    )


def test_what_holds_of_everybody_is_no_leak_and_a_private_model_keeps_to_its_bound():
    model = sf.dp.NaiveBayes(epsilon=1, bounds=(0, 1), bins=4).fit(X[:1000], CHANCE[:1000])
    found = guessed(model, CHANCE, guarantee=model.guarantee_)
    assert found.outsiders > 0.8  # learnt of people in general: nobody's row is needed for it
    assert found.members == pytest.approx(found.outsiders, abs=0.08)
    assert found.bound == pytest.approx(
        min(np.e * found.outsiders, 1 - (1 - found.outsiders) / np.e), rel=1e-6
    )


@pytest.mark.parametrize(
    "given", [{"column": 6}, {"column": -1}, {"values": [1]}, {"values": [1, 1]}]
)
def test_bad_input_is_refused(given):
    model = DecisionTreeClassifier(max_depth=2).fit(X[:1000], COIN[:1000])
    with pytest.raises(ParameterError):
        guessed(model, COIN, **given)
    with pytest.raises(ParameterError, match="none of the classes"):
        guessed(model, COIN + 5)
    with pytest.raises(ParameterError, match="a label for each"):
        infer_attribute(model, (X, COIN[:3]), (X, COIN), column=5, values=[0, 1])
