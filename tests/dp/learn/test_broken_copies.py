"""Broken copies of a training step are refuted by the black-box audit, and the true one is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - after the check that torch is there

import sfumato as sf  # noqa: E402
from sfumato.dp.learn.sgd import training  # noqa: E402
from sfumato.dp.learn.sgd.clipping import Clipper  # noqa: E402
from sfumato.dp.learn.sgd.lots import Examples  # noqa: E402
from sfumato.dp.learn.sgd.plan import plan_training  # noqa: E402

CLAIM = sf.ApproxDP(1, 1e-2)
FEW, MANY = [1.0, 1.0], [1.0, 1.0, 1.0]


def verdict_on(function, pairs, claim=CLAIM, samples=4000):
    return sf.audit.check(
        function, claim, pairs=pairs, samples=samples, seconds=300, seed=1, processes=1
    )


class Steps:
    """One step of private training on rows of a single number; every row is in every lot."""

    def __init__(self, *, noise=1.0, clip=True, declared=True):
        self.noise, self.declared = noise, declared
        model = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(model.weight)
        self.plan = plan_training(epsilon=1, delta=1e-2, lot=2, steps=1, clip=1.0, rows=2, count=2)
        self.clipper = Clipper(model, nn.MSELoss(), 1.0)
        self.clipper.measure((torch.ones(1, 1),), torch.ones(1, 1))
        if not clip:
            self.clipper._factors = lambda parts: torch.ones(len(parts[0].a)).double()

    def __call__(self, values):
        x = torch.tensor(values).view(-1, 1)
        total = self.clipper.zero()
        self.clipper.add(total, (x,), 50 * x)
        noisy = total.steps()
        sensitivity = self.clipper.sensitivity()
        training.add_noise(noisy, self.plan.multiplier * self.noise, sensitivity)
        return float(noisy["weight"]) / (self.plan.lot if self.declared else len(values))


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("broken", "refuted"),
    [({}, False), ({"noise": 0.4}, True), ({"clip": False}, True), ({"declared": False}, True)],
    ids=["true", "less than half the noise", "no clipping", "divided by the lot drawn"],
)
def test_training_steps(broken, refuted):
    far = [([1.0], [1.0, 1.0])] if "declared" in broken else [(FEW, MANY)]
    assert verdict_on(Steps(**broken), far, samples=1200).refuted == refuted


def test_lots_are_poisson_samples():
    from sfumato.dp.learn.sgd.lots import draw_lot

    sizes = [sum(len(places) for places, _, _ in draw_lot(40, 0.25, 64, 7)) for _ in range(2000)]
    assert np.mean(sizes) == pytest.approx(10, abs=0.4)
    assert np.var(sizes) == pytest.approx(40 * 0.25 * 0.75, rel=0.2)
    assert Examples((np.zeros((3, 2)), np.zeros(3))).take(np.array([2]))[1].shape == (1,)
    assert Fraction(0.25) == Fraction(1, 4)
