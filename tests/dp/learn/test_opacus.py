"""Norms and clipped sums beside those of Opacus, which shares nothing with ours."""

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus", reason="Opacus is the oracle of these tests")

from torch import nn  # noqa: E402 - after the checks

from sfumato.dp.learn.sgd.clipping import Clipper  # noqa: E402

CLIP = 0.4


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm, self.out = nn.Embedding(20, 8), nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.norm(self.words(x)).mean(1))


def models():
    torch.manual_seed(4)
    conv = (nn.Conv2d(1, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten())
    return {
        "mlp": (nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3)), torch.randn(33, 6)),
        "cnn": (nn.Sequential(*conv, nn.Linear(36, 3)), torch.randn(33, 1, 8, 8)),
        "signal": (
            nn.Sequential(nn.Conv1d(2, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(24, 3)),
            torch.randn(33, 2, 8),
        ),
        "text": (Text(), torch.randint(0, 20, (33, 7))),
    }


@pytest.mark.parametrize("name", ["mlp", "cnn", "signal", "text"])
def test_clipped_sums_agree_with_opacus(name):
    from opacus.grad_sample import GradSampleModule

    model, x = models()[name]
    y = torch.arange(33) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = GradSampleModule(copy.deepcopy(model), loss_reduction="sum")
        nn.CrossEntropyLoss(reduction="sum")(theirs(x), y).backward()
    each = {n: p.grad_sample.double() for n, p in theirs._module.named_parameters()}
    norms = torch.sqrt(sum((g.flatten(1) ** 2).sum(1) for g in each.values()))
    clipper = Clipper(model, nn.CrossEntropyLoss(), CLIP)
    clipper.measure((x[:2],), y[:2])
    assert clipper.norms((x,), y).numpy() == pytest.approx(norms.numpy(), rel=1e-6)
    total = clipper.zero()
    clipper.add(total, (x,), y)
    factors = (CLIP / norms).clamp(max=1.0)
    for parameter, steps in total.sums.items():
        wanted = torch.einsum("i,i...->...", factors, each[parameter]).numpy()
        found = steps.double().numpy() * CLIP * 2.0**-20
        assert np.abs(found - wanted).max() < 2e-3 * CLIP * math.sqrt(33)


def test_the_noise_is_what_the_accountant_of_opacus_asks_for():
    from fractions import Fraction

    from opacus.accountants import PRVAccountant

    from sfumato.dp.learn.sgd.plan import least_multiplier

    sigma = least_multiplier(Fraction(1), Fraction(1, 10**5), Fraction(1, 20), 200)
    account = PRVAccountant()
    account.history = [(sigma, 0.05, 200)]
    assert account.get_epsilon(1e-5, eps_error=0.01) == pytest.approx(1, abs=0.03)
