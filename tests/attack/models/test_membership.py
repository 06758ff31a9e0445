"""Membership: scores are judged right, what was learnt by heart is found out, bounds are told."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.attack.models import Network, judge_scores, membership, shadow_membership
from sfumato.errors import ParameterError

RNG = np.random.default_rng(0)
X = RNG.random((600, 8))
Y = (X @ RNG.normal(size=8) + RNG.normal(0, 0.8, 600) > 0).astype(int)


def test_areas_and_shares_are_those_of_the_curve():
    inside, outside = RNG.normal(1, 1, 2_000), RNG.normal(0, 1, 2_000)
    found = judge_scores("test", inside, outside, alarms=[0.1])
    pairs = (inside[:, None] > outside[None]).mean()
    assert found.auc == pytest.approx(pairs, abs=1e-9)
    assert found.found[0.1] == pytest.approx(0.389, abs=0.05)  # 1 − Φ(Φ⁻¹(0.9) − 1)
    threshold = np.sort(outside)[-201]
    assert (outside > threshold).mean() <= 0.1


def test_the_bound_is_that_of_the_guarantee():
    found = judge_scores("test", [1.0], [0.0], guarantee=sf.PureDP(1), alarms=[0.01])
    assert found.bound[0.01] == pytest.approx(0.01 * np.e, rel=0.01)
    assert "at most 2.7" in repr(found)


def test_a_tree_that_learnt_by_heart_is_found_out_and_a_line_is_not():
    heart = DecisionTreeClassifier(random_state=0).fit(X[:300], Y[:300])
    line = LogisticRegression().fit(X[:300], Y[:300])
    told = membership(heart, (X[:300], Y[:300]), (X[300:], Y[300:]))
    assert told.auc > 0.6
    assert membership(line, (X[:300], Y[:300]), (X[300:], Y[300:])).auc < 0.56


def test_shadows_trained_together_find_members():
    found = shadow_membership(X[:200], Y[:200], models=16, targets=8, alarms=[0.05], seed=1,
                              network=Network(hidden=32, steps=200, rate=0.02))  # fmt: skip
    assert set(found) == {"loss threshold", "LiRA offline", "LiRA online"}
    assert found["LiRA online"].found[0.05] > 0.1
    assert found["LiRA online"].auc > 0.6


def test_shadows_of_a_function_of_ones_own():
    found = shadow_membership(
        X[:150], Y[:150], models=12, targets=6, alarms=[0.1],
        fit=lambda rows, labels: DecisionTreeClassifier(max_depth=8).fit(rows, labels),
    )  # fmt: skip
    assert found["LiRA online"].auc > 0.6


def test_labels_shuffled_after_training_tell_nothing():
    """Whoever was not trained on at all cannot be told apart from others."""
    line = LogisticRegression().fit(X[:100], Y[:100])
    told = membership(line, (X[100:350], Y[100:350]), (X[350:600], Y[350:600]))
    assert 0.42 < told.auc < 0.58


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="scores"):
        judge_scores("test", [], [0.0])
    with pytest.raises(ParameterError, match="models"):
        shadow_membership(X, Y, models=4)
    with pytest.raises(ParameterError, match="label"):
        membership(LogisticRegression().fit(X, Y), (X, Y + 7), (X, Y))
