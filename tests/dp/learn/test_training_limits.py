"""Private training at its limits: extreme numbers, losses that mix, changed checkpoints."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import scipy.stats

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - after the check that torch is there
from torch.nn import functional  # noqa: E402

import sfumato as sf  # noqa: E402
from sfumato.dp.learn.sgd import training  # noqa: E402
from sfumato.dp.learn.sgd.clipping import Clipper  # noqa: E402
from sfumato.dp.learn.sgd.layers import Lookup, Outer, lengths  # noqa: E402
from sfumato.dp.learn.sgd.lots import seats_of  # noqa: E402
from sfumato.dp.learn.sgd.plan import least_multiplier, plan_training  # noqa: E402
from sfumato.errors import DataError, ParameterError  # noqa: E402

OPTIONS = {"epsilon": 1, "delta": 1e-5, "lot": 4, "steps": 2, "rows": 8}


def moved(model, x, y, loss):
    """Give what one example adds to the sums, as a multiple of the declared sensitivity."""
    clipper = Clipper(model, loss, 1.0)
    clipper.measure((torch.zeros_like(x),), torch.zeros_like(y))
    total = clipper.zero()
    clipper.add(total, (x,), y)
    return float(total.steps().double().norm()) / clipper.sensitivity()


def test_an_example_of_tiny_inputs_and_a_huge_target_is_clipped():
    model = nn.Linear(4096, 1, bias=False)
    nn.init.zeros_(model.weight)
    x = torch.full((1, 4096), 2.6e-23)
    x[0, 0] = 4e-23
    ratio = moved(model, x, torch.full((1, 1), 1e23), nn.MSELoss())
    assert 0.9 < ratio <= 1


@pytest.mark.parametrize(("largest", "others"), [(2.3e-162, 1.5e-162), (1e-315, 1e-315)])
def test_doubles_whose_squares_underflow_are_clipped(largest, others):
    model = nn.Linear(4096, 1, bias=False).double()
    nn.init.zeros_(model.weight)
    x = torch.full((1, 4096), others, dtype=torch.float64)
    x[0, 0] = largest
    target = torch.full((1, 1), 1e162 if largest > 1e-300 else 1e307, dtype=torch.float64)
    assert moved(model, x, target, nn.MSELoss()) <= 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_lengths_are_those_of_exact_sums(dtype):
    torch.manual_seed(3)
    scales = torch.tensor([1.0, 2.0**-20, 2.0**-70, 0.0, 2.0**60], dtype=torch.float64)
    x = (torch.rand(5, 3000, dtype=torch.float64) * scales[:, None]).to(dtype)
    for row, found in zip(x.tolist(), lengths(x).tolist(), strict=True):
        if any(map(math.isinf, row)):
            assert math.isinf(found)
        else:
            exact = math.sqrt(sum(Fraction(v) ** 2 for v in row))
            assert found == pytest.approx(exact, rel=1e-12)
    assert math.isnan(float(lengths(torch.tensor([[1.0, math.nan]], dtype=dtype))))


def test_norms_over_positions_hold_in_doubles_far_from_one():
    torch.manual_seed(4)
    a, b = (torch.randn(3, 4, 5, dtype=torch.float64) for _ in range(2))
    plain = Outer(None, a, b).norms()
    far = Outer(None, a * 2.0**-600, b * 2.0**600).norms()
    assert torch.allclose(plain, far, rtol=1e-9)


def test_rows_of_a_word_that_cancel_wipe_out_no_other_example():
    clipper = Clipper(nn.Embedding(2, 1), nn.MSELoss(), 1.0)
    words = torch.zeros(2, 2, dtype=torch.long)
    rows = torch.tensor([[[0.5], [0.0]], [[1e30], [-1e30]]])
    part = Lookup(clipper.module.weight, words, rows)
    added = torch.zeros(2, 1, dtype=torch.float64)
    part.add(added, clipper._factors([part]), 1.0)
    assert float(added[0, 0]) == 2**19


def test_a_clip_too_small_for_doubles_is_refused():
    with pytest.raises(ParameterError, match="clip is at least"):
        Clipper(nn.Linear(2, 2), nn.CrossEntropyLoss(), 1e-15)


def contrast(out, _):
    return functional.cross_entropy(out @ out.T, torch.arange(len(out)), reduction="none")


def centred(out, target):
    plain = functional.cross_entropy(out, target, reduction="none")
    return ((out - out.mean(0)) ** 2).sum(1) + plain


def hardest(out, target):
    found = functional.cross_entropy(out, target, reduction="none")
    return found * (found >= found.max())


def balanced(out, target):
    return functional.cross_entropy(out, target, reduction="none") / (1 + target.sum())


def averaged_over_many(out, target):
    wide = (out - out.mean(0)).repeat(1, 10**5)
    return (wide**2).mean(1) + 0 * target


@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("loss", [contrast, centred, hardest, balanced, averaged_over_many])
def test_losses_that_mix_examples_are_refused(loss, zero):
    torch.manual_seed(5)
    model = nn.Linear(5, 3)
    if zero:
        nn.init.zeros_(model.weight)
        nn.init.zeros_(model.bias)
    data = (torch.randn(8, 5), torch.arange(8) % 3)
    with pytest.raises(ParameterError, match="The loss mixes examples"):
        sf.dp.train(model, data, loss, **OPTIONS)


def test_outputs_and_targets_that_broadcast_are_refused():
    data = (torch.randn(8, 5), torch.randn(8))
    with pytest.raises(ParameterError, match="the same shape"):
        sf.dp.train(nn.Linear(5, 1), data, nn.MSELoss(), **OPTIONS)


def positions(out, target):
    return functional.cross_entropy(out.transpose(1, 2), target, reduction="none")


def strict(out, target):
    if bool((target != 0).any()):
        raise ValueError
    return functional.cross_entropy(out, target, reduction="none")


SOFT, BITS, X = torch.rand(8, 3), torch.rand(8, 3) > 0.5, torch.randn(8, 5)
CLASSES = torch.arange(8) % 3
LEGITIMATE = {
    "cross entropy": (nn.CrossEntropyLoss(), CLASSES),
    "smoothed and weighted": (
        nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1, ignore_index=1),
        CLASSES,
    ),
    "soft classes": (nn.CrossEntropyLoss(), SOFT / SOFT.sum(1, keepdim=True)),
    "function": (functional.cross_entropy, CLASSES),
    "mean square": (nn.MSELoss(), torch.randn(8, 3)),
    "huber": (nn.HuberLoss(), torch.randn(8, 3)),
    "bits": (nn.BCEWithLogitsLoss(), BITS.float()),
    "margins": (nn.MultiMarginLoss(), CLASSES),
    "poisson": (nn.PoissonNLLLoss(), torch.ones(8, 3)),
    "by hand": (lambda out, target: (out - target).abs().sum(1), torch.randn(8, 3)),
    "over the batch's size": (lambda out, target: ((out - target) ** 2).sum(1) / len(out), SOFT),
    "which takes one class": (strict, torch.zeros(8, dtype=torch.long)),
}


@pytest.mark.parametrize("name", LEGITIMATE)
def test_losses_that_treat_examples_apart_are_taken(name):
    loss, target = LEGITIMATE[name]
    done = sf.dp.train(nn.Linear(5, 3), (X, target), loss, **OPTIONS)
    assert done.slow is None


@pytest.mark.parametrize(
    ("last", "data", "loss"),
    [
        (nn.Sigmoid(), (X, BITS.float()), nn.BCELoss()),
        (nn.LogSoftmax(-1), (X, CLASSES), nn.NLLLoss()),
        (nn.Identity(), (torch.randn(8, 4, 5), torch.randint(0, 3, (8, 4))), positions),
    ],
    ids=["probabilities", "logarithms", "sequences"],
)
def test_losses_of_probabilities_and_of_sequences_are_taken(last, data, loss):
    model = nn.Sequential(nn.Linear(5, 3), last)
    before = model[0].weight.detach().clone()
    done = sf.dp.train(model, data, loss, **OPTIONS)
    assert done.slow is None
    assert not torch.equal(model[0].weight, before)


@pytest.mark.parametrize("dropped", [True, False])
def test_a_changed_checkpoint_is_refused(tmp_path, dropped):
    place = tmp_path / "state.pt"
    options = {**OPTIONS, "rows": None if dropped else 8}
    train = (nn.Linear(5, 3), (X, CLASSES), nn.CrossEntropyLoss())
    sf.dp.train(*train, checkpoint=place, **options)
    sf.dp.train(*train, checkpoint=place, **options)  # as it was written, it is taken
    state = torch.load(place, weights_only=True)
    multiplier = state["plan"]["multiplier"]
    for changed in (
        {"multiplier": multiplier * 0.9}, {"multiplier": math.nan}, {"multiplier": -multiplier},
        {"rate": state["plan"]["rate"] * 0.9},
    ):  # fmt: skip
        torch.save({**state, "plan": {**state["plan"], **changed}}, place)
        with pytest.raises(ParameterError, match="does not keep this ε and δ"):
            sf.dp.train(*train, checkpoint=place, **options)
    torch.save({**state, "begun": -100}, place)
    with pytest.raises(DataError, match="more or fewer steps"):
        sf.dp.train(*train, checkpoint=place, **options)
    torch.save(state, place)
    with pytest.raises(ParameterError, match="was begun with"):
        sf.dp.train(*train, checkpoint=place, **{**options, "rows": 9})


def test_seats_are_enough_where_a_bought_number_of_rows_is_too_small(monkeypatch):
    plan = plan_training(epsilon=1, delta=1e-5, lot=100, steps=400, clip=1.0, rows=None, count=3000)
    assert not plan.declared
    short = round(math.log(1000 / 1e-5) * 100)  # rows that noise hides but for δ/1000
    unlucky = replace(plan, rows=3000, rate=100 / 3000)
    seats = []
    true = training.seats_of
    monkeypatch.setattr(training, "seats_of", lambda *a: seats.append(true(*a)) or seats[-1])
    clipper = Clipper(nn.Linear(5, 3), nn.CrossEntropyLoss(), 1.0)
    clipper.measure((X[:2],), CLASSES[:2])
    optimizer = torch.optim.SGD(clipper.module.parameters(), lr=0.1)
    training._step(clipper, training.Examples((X, CLASSES)), unlucky, optimizer, 64)
    assert scipy.stats.binom.sf(seats[0] - 1, 3000 + short, 100 / 3000) * 400 < 1e-8
    declared = replace(unlucky, declared=True)
    assert declared.mean == 100
    assert seats_of(declared.mean, Fraction(1, 10**5), 400) < seats[0]


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-7", "1e6"])
def test_extreme_budgets_are_calibrated_in_no_time(epsilon):
    """Where δ alone decides, losses are far larger than ε, and so is the grid that tells them."""
    rate, failure = Fraction(1, 6), Fraction(1, 10**5)
    found = least_multiplier(Fraction(epsilon), failure, rate, 2)
    unsampled = least_multiplier(Fraction(epsilon), failure, Fraction(1), 2)
    assert found == 0.2 if epsilon == "1e6" else 0.1 * unsampled < found < 0.5 * unsampled


@pytest.mark.parametrize(
    "wrong", [{"clip": "a"}, {"microbatch": "a"}, {"learning_rate": -1}, {"momentum": -1}], ids=str
)
def test_bad_options_are_refused_in_a_sentence(wrong):
    data = (torch.zeros(4, 2), torch.zeros(4, dtype=torch.int64))
    options = {"epsilon": 1, "delta": 1e-5, "lot": 2, "steps": 1, "rows": 4, **wrong}
    with pytest.raises(ParameterError):
        sf.dp.train(nn.Linear(2, 2), data, nn.CrossEntropyLoss(), **options)
