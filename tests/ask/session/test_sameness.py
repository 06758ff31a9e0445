"""Trainings that compute otherwise are not taken for the same, and the same ones are."""

from __future__ import annotations

import functools
import subprocess
import sys
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - after the check that torch is there

import sfumato as sf  # noqa: E402
from sfumato.ask.session.sameness import fingerprint  # noqa: E402
from sfumato.errors import ParameterError  # noqa: E402

SCALE = 2.0


def weighted(factor):
    def loss(out, target):
        return factor * nn.functional.cross_entropy(out, target, reduction="none")

    return loss


def scaled(out, target):
    return SCALE * nn.functional.cross_entropy(out, target, reduction="none")


def module(activation):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 2)
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

        def forward(self, x):
            return activation(self.out(x))

    return Net()


def linear(**changes):
    made = nn.Linear(2, 2)
    nn.init.ones_(made.weight)
    nn.init.zeros_(made.bias)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


DIFFERENT = [
    (weighted(1.0), weighted(2.0)),
    (lambda out, _: out.square().mean(1), lambda out, _: out.abs().mean(1)),
    (lambda a: {"f": lambda: a + 1}, lambda a: {"f": lambda: a + 2}),
    (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))),
    (torch.tensor([1.0]).mul, torch.tensor([2.0]).mul),
    (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.1)),
    (functools.partial(scaled, target=1), functools.partial(scaled, target=2)),
    (module(torch.tanh), module(torch.relu)),
    (linear(), linear(hidden=3)),
    (linear(), linear(weight=nn.Parameter(torch.zeros(2, 2)))),
    (weighted(1.0).__code__, weighted),
    (1, 1.0),
    ((scaled, None), (None, scaled)),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_computes_otherwise_has_another_fingerprint(one, other):
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: weighted(1.0),
        lambda: module(torch.tanh),
        lambda: lambda out, _: out.square(),
        lambda: {"loss": nn.CrossEntropyLoss(weight=torch.ones(2)), "lot": 3},
        lambda: functools.partial(torch.optim.Adam, lr=0.1),
        linear,
    ],
)
def test_what_computes_alike_has_the_same(make):
    assert fingerprint(make()) == fingerprint(make())


def test_a_value_of_the_module_is_part_of_a_function(monkeypatch):
    before = fingerprint(scaled)
    assert fingerprint(scaled) == before
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert fingerprint(scaled) != before


def test_what_cannot_be_looked_into_is_never_the_same():
    for opaque in (iter([1]), object(), memoryview(b"x"), functools.partial(print, iter("a"))):
        assert fingerprint(opaque) != fingerprint(opaque)


@pytest.mark.soak
def test_fingerprints_last_longer_than_a_process():
    code = (
        "from torch import nn; from sfumato.ask.session.sameness import fingerprint;"
        "m = nn.Linear(2, 2); nn.init.zeros_(m.weight); nn.init.zeros_(m.bias);"
        "print(fingerprint(m, nn.functional.cross_entropy, lambda o, t: {o, 'a', t}, {'a': 1}))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1


PRICE = {"target": "ill", "epsilon": 1, "delta": 1e-6, "lot": 20, "steps": 2, "rows": 200}


def session():
    return sf.Session(
        {"ill": ["no", "yes"] * 100, "sex": ["f", "m"] * 100}, name="people", unit="row",
        budget=sf.ApproxDP(5, 1e-4), keys={"ill": ["no", "yes"], "sex": ["f", "m"]},
    )  # fmt: skip


def start(inputs):
    made = nn.Linear(inputs, 2)
    nn.init.zeros_(made.weight)
    nn.init.zeros_(made.bias)
    return made


def test_another_loss_of_the_same_name_is_bought_anew():
    with session() as opened:
        first = opened.train(start, weighted(1.0), **PRICE)
        assert opened.remaining.epsilon == 4
        again = opened.train(start, weighted(1.0), **PRICE)
        assert opened.remaining.epsilon == 4
        assert torch.equal(first.data.weight, again.data.weight)
        other = opened.train(start, weighted(-1.0), **PRICE)
        assert opened.remaining.epsilon == 3
        assert not torch.equal(first.data.weight, other.data.weight)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"steps": 0}, "steps"), ({"lot": 0}, "lot"), ({"lot": 2.5}, "lot"),
        ({"clip": 0}, "clip"),
        ({"clip": float("nan")}, "clip"), ({"optimizer": "sgdd"}, "optimizer"),
        ({"microbatch": 0}, "microbatch"), ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"delta": 0}, "δ"), ({"speed": 3}, "no options"), ({"rows": -1}, "rows"),
        ({"target": "nobody"}, "no column"), ({"learning_rate": -1.0}, "learning rate"),
    ],
)  # fmt: skip
def test_what_would_fail_is_refused_before_it_is_paid_for(wrong, sentence):
    with session() as opened:
        made = start(3)
        with pytest.raises((ParameterError, ValueError), match=sentence):
            opened.train(made, nn.CrossEntropyLoss(), **{**PRICE, **wrong})
        assert opened.remaining.epsilon == 5
        assert not made.weight.any()


@pytest.mark.parametrize(
    ("network", "loss"),
    [
        (nn.Linear(3, 1), nn.CrossEntropyLoss()),  # no output for the second class
        (nn.Linear(3, 2), nn.NLLLoss(weight=torch.ones(5))),
        (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), nn.CrossEntropyLoss()),
        (nn.Sequential(nn.Flatten()), nn.CrossEntropyLoss()),  # nothing to train
        (nn.Linear(3, 2).double(), nn.CrossEntropyLoss()),
    ],
    ids=["outputs", "weights", "mixing", "no parameters", "doubles"],
)
def test_networks_that_do_not_fit_cost_nothing(network, loss):
    with session() as opened:
        with pytest.raises((ParameterError, RuntimeError)):
            opened.train(network, loss, **PRICE)
        assert opened.remaining.epsilon == 5


def test_a_module_without_a_version_is_never_taken_for_the_same():
    """Its text may be mended meanwhile."""
    own = ModuleType("losses")

    def loss(out, target):
        return own.error(out, target)

    assert fingerprint(loss) != fingerprint(loss)
