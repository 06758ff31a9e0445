"""What modules, data sets and other trainings do beside the sums: coins, errors, shared files."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - after the check that torch is there

import sfumato as sf  # noqa: E402
from sfumato.dp.learn.sgd import training  # noqa: E402
from sfumato.dp.learn.sgd.clipping import Clipper  # noqa: E402
from sfumato.dp.learn.sgd.lots import Examples  # noqa: E402
from sfumato.dp.learn.sgd.rehearsal import check_rules  # noqa: E402
from sfumato.errors import DataError, ParameterError  # noqa: E402

OPTIONS = {"epsilon": 1, "delta": 1e-5, "lot": 8, "steps": 1, "rows": 8}
X, Y = torch.ones(8, 5), torch.arange(8) % 3


def sums_of_a_step(monkeypatch, model, data, **options):
    """Train from a known seed, without noise, and give the sums of the last step."""
    kept = []
    monkeypatch.setattr(training, "add_noise", lambda steps, *_: kept.append(steps.clone()))
    torch.manual_seed(4)
    sf.dp.train(model, data, nn.CrossEntropyLoss(), **{**OPTIONS, **options})
    return kept[-1]


def dropping(kind):
    if kind == "by torch.func":
        return nn.Sequential(nn.Linear(5, 8), nn.PReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    return nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 3))


@pytest.mark.parametrize("kind", ["by layers", "by torch.func"])
@pytest.mark.parametrize("microbatch", [1, 64])
def test_coins_of_dropout_are_secret_so_that_an_example_shifts_no_others(
    kind, microbatch, monkeypatch
):
    """Known coins would go to whoever comes next: one example more, and all later masks change."""
    torch.manual_seed(1)
    model = dropping(kind)
    rate = {"rows": 8, "learning_rate": 0.0, "microbatch": microbatch}
    monkeypatch.setattr(training, "seats_of", lambda *_: 64)
    places = torch.arange(8).numpy()
    monkeypatch.setattr(training, "draw_lot", lambda *_: iter([(places, places, 64)]))
    first, second = (sums_of_a_step(monkeypatch, model, (X, Y), **rate) for _ in range(2))
    assert not torch.equal(first, second)


def test_a_training_leaves_torchs_generator_as_it_was():
    model = nn.Linear(5, 3)
    torch.manual_seed(9)
    sf.dp.train(model, (X, Y), nn.CrossEntropyLoss(), **OPTIONS)
    first = torch.rand(3)
    torch.manual_seed(9)
    sf.dp.train(model, (X, Y), nn.CrossEntropyLoss(), **OPTIONS)
    assert torch.equal(first, torch.rand(3))


class Changing(torch.utils.data.Dataset):
    """Examples that are changed at random whenever they are read."""

    def __len__(self):
        return 8

    def __getitem__(self, place):
        return X[place] + torch.randn(5), Y[place]


def test_coins_of_a_data_set_are_secret_and_each_examples_own():
    examples, drawn = Examples(Changing()), []
    for _ in range(2):
        torch.manual_seed(4)
        (x,), _ = examples.take(torch.arange(4).numpy())
        drawn.append(x)
    assert not torch.isclose(*drawn).any()


class Failing(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, place):
        if place == 5:
            raise ValueError("the cell of Ada")
        return X[place], Y[place]


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (nn.Linear(5, 3), (X, torch.full((8,), 7))),
        (nn.Sequential(nn.Embedding(4, 2), nn.Flatten(), nn.Linear(2, 3)),
         (torch.full((8, 1), 977), Y)),
        (nn.Linear(5, 3), Failing()),
        (nn.Linear(5, 3), [(torch.ones(5 + k // 7), k % 3) for k in range(8)]),
    ],
    ids=["class beyond the outputs", "word beyond the list", "data set", "shapes"],
)  # fmt: skip
def test_errors_about_examples_quote_none(model, data):
    with pytest.raises(DataError, match="may quote an example") as found:
        sf.dp.train(model, data, nn.CrossEntropyLoss(), **OPTIONS)
    assert not any(word in str(found.value) for word in ("7", "Ada", "6"))
    assert found.value.__context__ is None


def test_two_trainings_do_not_take_the_same_steps_twice(tmp_path):
    """Each would get answers of its own for steps that are charged once."""
    place, inner = tmp_path / "state.pt", []
    options = {**OPTIONS, "steps": 3, "checkpoint": place}

    def train_another(*_):
        with pytest.raises(ParameterError, match="Another training goes on"):
            sf.dp.train(nn.Linear(5, 3), (X, Y), nn.CrossEntropyLoss(), **options)
        inner.append(1)

    model = nn.Linear(5, 3)
    sf.dp.train(model, (X, Y), nn.CrossEntropyLoss(), **options, progress=train_another)
    assert len(inner) == 3
    done = sf.dp.train(model, (X, Y), nn.CrossEntropyLoss(), **options)
    assert done.steps_taken == 0
    with pytest.raises(DataError, match="another module"):
        sf.dp.train(nn.Linear(5, 3, bias=False), (X, Y), nn.CrossEntropyLoss(), **options)
    with pytest.raises(DataError, match="can be no checkpoint"):
        sf.dp.train(model, (X, Y), nn.CrossEntropyLoss(), **{**options, "checkpoint": place / "x"})
    torch.save({"plan": {"lot": 3}}, place)
    with pytest.raises(DataError, match="not a checkpoint"):
        sf.dp.train(model, (X, Y), nn.CrossEntropyLoss(), **options)


# -- modules that do more than their layers show ---------------------------------------------------


class Doubled(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, 2 * self.weight, self.bias)


class TiedByHand(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(6, 4)

    def forward(self, x):
        return nn.functional.linear(self.words(x).mean(1), self.words.weight)


def hooked():
    layer = nn.Linear(5, 3)
    layer.register_forward_hook(lambda _, __, out: 3 * out)
    return layer


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.again = nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.again(torch.relu(self.first(torch.relu(self.first(x)))))


@pytest.mark.parametrize(
    ("make", "slow"),
    [
        (lambda: nn.Sequential(Doubled(5, 3)), True),
        (TiedByHand, True),
        (hooked, True),
        (lambda: nn.utils.weight_norm(nn.Linear(5, 3)), True),
        (Plain, False),
        (lambda: nn.Linear(5, 3), False),
    ],
    ids=["subclass", "tied by hand", "hook", "weight norm", "used twice", "linear"],
)
@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_gradients_are_those_of_the_module_whatever_its_layers_show(make, slow):
    torch.manual_seed(2)
    model = make()
    words = isinstance(model, TiedByHand)
    x = torch.randint(0, 6, (7, 3)) if words else torch.randn(7, 5)
    y = torch.arange(7) % 3
    clipper = Clipper(model, nn.CrossEntropyLoss(), 1e3)
    assert clipper.reading.slow is None
    check_rules(clipper, (x,), y)
    assert (clipper.reading.slow is not None) == slow
    clipper.measure((x,), y)
    total = clipper.zero()
    clipper.add(total, (x,), y)
    model.zero_grad()
    nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
    for name, parameter in model.named_parameters():
        found = total.sums[name] * 1e3 * 2.0**-20
        assert torch.allclose(found, parameter.grad.double(), atol=1e-2)


def test_a_batch_that_is_as_long_as_a_sequence_is_told_from_it():
    """Two examples of two positions each, turned about: positions would pass for examples."""

    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 3)

        def forward(self, x):
            return self.out(x.transpose(0, 1)).transpose(0, 1).flatten(1)

    with pytest.raises(ParameterError, match="first dimension is not the batch"):
        sf.dp.train(
            Turned(), (torch.randn(8, 2, 4), Y), nn.CrossEntropyLoss(), **OPTIONS, microbatch=2
        )


@pytest.mark.parametrize(
    ("model", "data", "loss"),
    [
        (nn.Linear(5, 3).double(), (X, Y), nn.CrossEntropyLoss()),
        (nn.Linear(4, 3), (X, Y), nn.CrossEntropyLoss()),
        (nn.Linear(5, 3), (X, torch.zeros(8, 2)), nn.CrossEntropyLoss()),
        (nn.Linear(5, 3), (X, Y), None),
        (None, (X, Y), nn.CrossEntropyLoss()),
        (nn.Linear(5, 3), "abc", nn.CrossEntropyLoss()),
        (nn.Linear(5, 3), [(X[0],)] * 8, nn.CrossEntropyLoss()),
        (nn.Linear(5, 3), (X, Y[:3]), nn.CrossEntropyLoss()),
        (nn.Flatten(), (X, Y), nn.CrossEntropyLoss()),
    ],
    ids=["doubles", "inputs", "targets", "no loss", "no module", "text", "no target", "rows",
         "nothing to train"],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused_in_a_sentence(model, data, loss):
    with pytest.raises((ParameterError, DataError)):
        sf.dp.train(model, data, loss, **OPTIONS)
