"""Broken copies of a training step are refuted by the black-box audit, and the true one is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from chance import audited

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - after the check that torch is there

import sfumato as sf  # noqa: E402
from sfumato.dp.learn.sgd import training  # noqa: E402
from sfumato.dp.learn.sgd.clipping import Clipper  # noqa: E402
from sfumato.dp.learn.sgd.lots import Examples  # noqa: E402
from sfumato.dp.learn.sgd.plan import plan_training  # noqa: E402

ONE, FEW, MANY = [1.0], [1.0, 1.0], [1.0, 1.0, 1.0]


def judged(refuted, function, pair, runs=300):
    return refuted(function, sf.ApproxDP(function.epsilon, function.delta), [pair], runs=runs)


class Steps:
    """One step of private training on rows of a single number; every row is in every lot.

    Every gradient is longer than the clip, so a row moves the sum by the whole of it.
    """

    def __init__(self, *, epsilon=1, delta=0.1, noise=1.0, clip=True, declared=True):
        self.epsilon, self.delta, self.noise, self.declared = epsilon, delta, noise, declared
        model = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(model.weight)
        self.plan = plan_training(
            epsilon=epsilon, delta=delta, lot=2, steps=1, clip=1.0, rows=2, count=2
        )
        self.clipper = Clipper(model, nn.MSELoss(), 1.0)
        self.clipper.measure((torch.ones(1, 1),), torch.ones(1, 1))
        if not clip:
            self.clipper._factors = lambda parts: torch.ones(len(parts[0].a)).double()

    def __call__(self, values):
        noisy = self.sums(values)
        training.add_noise(noisy, self.plan.multiplier * self.noise, self.clipper.sensitivity())
        found = float(noisy)
        if self.declared:
            return found / self.plan.lot
        # All that division by the lot drawn tells is how much noise there is around a mean.
        return abs(found / len(values) - float(self.sums(ONE)))

    def sums(self, values):
        x = torch.tensor(values).view(-1, 1)
        total = self.clipper.zero()
        self.clipper.add(total, (x,), 50 * x)
        return total.steps()


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("broken", "pair"),
    [
        ({"noise": 0.5}, (FEW, MANY)),
        pytest.param({"clip": False}, (FEW, MANY), marks=pytest.mark.soak),
        pytest.param(
            {"declared": False, "epsilon": 0.1, "delta": 0.01}, (ONE, FEW), marks=pytest.mark.soak
        ),
    ],
    ids=["half the noise", "no clipping", "divided by the lot drawn"],
)
@audited
def test_broken_steps_are_refuted(broken, pair, refuted):
    """With any noise many runs miss a broken step with a chance below 1e-6."""
    assert judged(refuted, Steps(**broken), pair, runs=700)


@pytest.mark.parametrize(
    ("epsilon", "delta", "pair"),
    [(1, 0.1, (FEW, MANY)), pytest.param(0.1, 0.01, (ONE, FEW), marks=pytest.mark.soak)],
)
@audited
def test_true_steps_are_not_refuted(epsilon, delta, pair, refuted):
    assert not judged(refuted, Steps(epsilon=epsilon, delta=delta), pair)


def test_lots_are_poisson_samples():
    from sfumato.dp.learn.sgd.lots import draw_lot

    sizes = [sum(len(places) for places, _, _ in draw_lot(40, 0.25, 64, 7)) for _ in range(2000)]
    assert np.mean(sizes) == pytest.approx(10, abs=0.4)
    assert np.var(sizes) == pytest.approx(40 * 0.25 * 0.75, rel=0.2)
    assert Examples((np.zeros((3, 2)), np.zeros(3))).take(np.array([2]))[1].shape == (1,)
    assert Fraction(0.25) == Fraction(1, 4)
