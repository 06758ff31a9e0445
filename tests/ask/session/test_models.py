"""Models in a session: charged before a row is read, given again, refused where free."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfumato as sf
from sfumato.ask.session import learn
from sfumato.errors import BudgetExceeded, GovernanceError, ParameterError, WorkFailed

RNG = np.random.default_rng(2)
N = 3000
AGE = RNG.integers(18, 90, N)
PEOPLE = {
    "who": np.arange(N) // 3,
    "age": AGE,
    "sex": RNG.choice(np.array(["f", "m"]), N),
    "income": RNG.uniform(0, 1000, N),
    "ill": np.where(RNG.random(N) < 1 / (1 + np.exp((50 - AGE) / 6)), "yes", "no"),
    "note": np.array(["?"] * N),
}
KEYS = {"sex": ["f", "m"], "ill": ["no", "yes"]}


def session(**given):
    facts = {"unit": "row", "budget": sf.ApproxDP(10, 1e-3), "bounds": {"age": (18, 90)}}
    return sf.Session(PEOPLE, name="people", keys=KEYS, public_types=True, **(facts | given))


def additive(epsilon=1.0, **options):
    return sf.dp.AdditiveClassifier(epsilon=epsilon, delta=1e-5, **options)


def test_a_fit_costs_what_the_model_promises_and_is_given_again_for_nothing():
    with session() as opened:
        release = opened.fit(additive(), target="ill")
        assert opened.remaining.epsilon == 9
        again = opened.fit(additive(), target="ill")
        assert opened.remaining.epsilon == 9
        assert np.array_equal(release.data.values_, again.data.values_)
        assert release.promise == sf.ApproxDP(1, 1e-5)
        assert release.data.classes_.tolist() == ["no", "yes"]
        assert release.manifest()["left_out"] == ["income", "note", "who"] or set(
            release.manifest()["left_out"]
        ) == {"income", "note", "who"}
        told = release.data.predict({"age": [20, 85], "sex": ["f", "m"]})
        assert told.tolist() == ["no", "yes"]
        assert release.verify().holds
        opened.fit(additive(0.5), target="ill")  # another price is another model
        assert opened.remaining.epsilon == 8.5


def test_rows_are_read_only_once_they_are_paid_for(monkeypatch):
    seen = []
    monkeypatch.setattr(learn, "read_rows", lambda *_: seen.append(1) or 1 / 0)
    with session() as opened:
        with pytest.raises(BudgetExceeded):
            opened.fit(additive(11), target="ill")
        opened.forecast(additive(), rows=1000, target="ill")
        assert not seen
        assert opened.remaining.epsilon == 10
        with pytest.raises(WorkFailed):
            opened.fit(additive(), target="ill")
        assert opened.remaining.epsilon == 9  # an error is no free question
        assert seen


def test_declarations_are_the_owners_or_else_the_estimators():
    with session() as opened:
        with pytest.raises(ParameterError, match="'income' is not declared"):
            opened.fit(additive(), target="ill", columns=["income"])
        found = opened.fit(additive(bounds={"income": (0, 1000)}), target="ill")
        assert [column.name for column in found.data.columns_] == ["age", "sex", "income"]
        with pytest.raises(GovernanceError, match="bounds of age"):
            opened.fit(additive(bounds={"age": (0, 10)}), target="ill")
        with pytest.raises(ParameterError, match="classes of 'note'"):
            opened.fit(additive(), target="note")
        with pytest.raises(ParameterError, match="target=\\(low, high\\)"):
            opened.fit(sf.dp.LinearRegression(delta=1e-5), target="income")
        with pytest.raises(ParameterError, match="target='column'"):
            opened.fit(additive())
        with pytest.raises(ParameterError, match="no column 'nothing'"):
            opened.fit(additive(), target="nothing")
        spent = opened.remaining.epsilon
        opened.fit(sf.dp.LinearRegression(delta=1e-5, target=(0, 1000)), target="income")
        opened.fit(sf.dp.PCA(1, delta=1e-5, bounds={"income": (0, 1000)}), columns=["age"])
        assert opened.remaining.epsilon == spent - 2


@pytest.mark.parametrize(
    "free",
    [
        make_pipeline(StandardScaler(), additive()),
        GridSearchCV(additive(), {"epsilon": [1, 2]}),
        StandardScaler(),
        "logistic",
    ],
    ids=["pipeline", "search", "scaler", "text"],
)
def test_what_would_be_free_is_refused(free):
    with session() as opened:
        with pytest.raises(ParameterError, match="promises nothing"):
            opened.fit(free, target="ill")
        assert opened.remaining.epsilon == 10


def test_the_noise_is_that_of_all_rows_of_a_person():
    with session(unit=sf.Unit("who", rows=2)) as opened:
        release = opened.fit(additive(), target="ill")
        assert "who" not in [column.name for column in release.data.columns_]
        assert "at most 2 rows" in str(release.promise)
    with session() as opened:
        single = opened.fit(additive(), target="ill")
    assert release.data.count_error() == pytest.approx(2 * single.data.count_error(), rel=0.02)


def test_cross_validation_costs_a_fit_for_each_fold_but_one():
    with session() as opened:
        found = opened.cross_validate(additive(), target="ill", folds=3, score_epsilon=1)
        assert opened.remaining.epsilon == 7
        assert opened.cross_validate(additive(), target="ill", folds=3, score_epsilon=1) == found
        assert opened.remaining.epsilon == 7
        assert 0.75 < found.score < 0.95
        assert 0 < found.error < 0.01
        error = opened.cross_validate(
            sf.dp.LinearRegression(epsilon=1, delta=1e-5), target="age", folds=2
        )
        assert opened.remaining.epsilon == pytest.approx(5.9)
        assert 5 < error.score < 25
        with pytest.raises(ParameterError, match="at least 2"):
            opened.cross_validate(additive(), target="ill", folds=1)


def test_the_score_of_numbers_has_noise_on_every_step(monkeypatch):
    """Noise in multiples of what a row may add would leave the sum modulo that as it is."""
    from sfumato.ask.session import cross_validation

    drawn = []
    true = cross_validation.discrete_laplace

    def watch(scale, size):
        drawn.append((scale, true(scale, size)))
        return drawn[-1][1]

    monkeypatch.setattr(cross_validation, "discrete_laplace", watch)
    monkeypatch.setattr(cross_validation, "_count", lambda *_: 1 << 20)
    model = sf.dp.LinearRegression(epsilon=1, delta=1e-5)
    sums = set()
    for _ in range(4):
        drawn.clear()
        with session() as opened:
            found = opened.cross_validate(model, target="age", folds=2, score_epsilon=1)
        (wide, _), (narrow, (more,)) = drawn
        assert (wide, narrow) == (2 * 1024, 2)  # a row adds 1,024 steps at most, and one row
        steps = found.score / (90 - 18) * 1024 * (N + int(more))
        assert steps == pytest.approx(round(steps), abs=1e-6)
        sums.add(round(steps) % 1024)
    assert sums != {0}  # by chance in one of 10¹² runs


def test_what_predicts_nothing_has_no_score_and_costs_nothing():
    with session() as opened:
        with pytest.raises(ParameterError, match="predicts nothing"):
            opened.cross_validate(sf.dp.PCA(1, delta=1e-5), target="ill", columns=["age"], folds=2)
        assert opened.remaining.epsilon == 10


def test_folds_do_not_part_the_rows_of_a_person():
    from sfumato.ask.session.cross_validation import _draw_folds

    owners = [*range(200), *range(200)]
    fold = _draw_folds(owners, 4)
    assert (fold[:200] == fold[200:]).all()
    assert set(fold) == {0, 1, 2, 3}


def test_a_closed_session_learns_nothing():
    opened = session()
    opened.close()
    with pytest.raises(ParameterError, match="closed"):
        opened.fit(additive(), target="ill")


def test_a_network_is_trained_for_one_charge_and_given_again():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    torch.manual_seed(3)
    start = torch.nn.Linear(4, 2).state_dict()

    def network(inputs):
        assert inputs == 4  # age; f, m, missing
        made = torch.nn.Linear(inputs, 2)
        made.load_state_dict(start)
        return made

    price = {"epsilon": 2, "delta": 1e-5, "lot": 300, "steps": 30, "learning_rate": 1.0}
    loss = torch.nn.CrossEntropyLoss()
    with session() as opened:
        release = opened.train(network, loss, target="ill", **price)
        assert opened.remaining.epsilon == 8
        again = opened.train(network, loss, target="ill", **price)
        assert opened.remaining.epsilon == 8
        assert torch.equal(release.data.weight, again.data.weight)
        assert not torch.equal(release.data.weight, start["weight"])
        assert release.promise == sf.ApproxDP(2, 1e-5)
        assert release.verify().holds
        old, young = torch.tensor([[1.0, 0, 0, 0.9]]), torch.tensor([[1.0, 0, 0, -0.9]])
        assert release.data(old).argmax() == 1
        assert release.data(young).argmax() == 0
        number = {"target": "age", "columns": ["sex", "ill"], **price}
        with pytest.raises(ParameterError, match="make 6 inputs"):
            opened.train(torch.nn.Linear(4, 1), torch.nn.MSELoss(), **number)
        with pytest.raises(ParameterError, match="loss mixes examples"):
            opened.train(torch.nn.Linear(6, 1), lambda o, _: (o - o.mean(0)).square(), **number)
        with pytest.raises(ParameterError, match="keeps no checkpoints"):
            opened.train(torch.nn.Linear(6, 1), loss, checkpoint="state.pt", **number)
        assert opened.remaining.epsilon == 8
        mean = opened.train(
            lambda inputs: torch.nn.Sequential(torch.nn.Linear(inputs, 1), torch.nn.Flatten(0)),
            torch.nn.MSELoss(), **number,
        )  # fmt: skip
        assert mean.data[0].weight.shape == (1, 6)
    with (
        session(unit=sf.Unit("who", rows=2)) as opened,
        pytest.raises(ParameterError, match="one row"),
    ):
        opened.train(network, loss, target="ill", **price)
