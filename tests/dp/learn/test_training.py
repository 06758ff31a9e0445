"""Private training: norms and sums against brute force, sensitivity, account, checkpoints."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
import threadpoolctl

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - after the check that torch is there

import sfumato as sf  # noqa: E402
from sfumato.dp.learn.sgd import training  # noqa: E402
from sfumato.dp.learn.sgd.clipping import Clipper  # noqa: E402
from sfumato.dp.learn.sgd.layers import INSIDE, Lookup, Outer, Whole  # noqa: E402
from sfumato.dp.learn.sgd.lots import draw_lot, seats_of  # noqa: E402
from sfumato.dp.learn.sgd.plan import least_multiplier, sampled_epsilon  # noqa: E402
from sfumato.dp.learn.sgd.rehearsal import check_rules  # noqa: E402
from sfumato.errors import DataError, ParameterError  # noqa: E402

STEP = 2.0**-20


class Text(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.words = nn.Embedding(12, 6, **options)
        self.norm = nn.LayerNorm(6)
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.norm(self.words(x)).mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.cell = kind(4, 5, batch_first=True, **options)
        self.out = nn.Linear(10 if options.get("bidirectional") else 5, 3)

    def forward(self, x):
        return self.out(self.cell(x)[0][:, -1])


class Attention(nn.Module):
    def __init__(self, cross):
        super().__init__()
        self.cross = cross
        self.mix = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.mix(x, 2 * x if self.cross else x, x)[0].mean(1))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 5)
        self.second = nn.Linear(5, 5)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))[:, :3]


def flat(*layers, size):
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(size, 3))


def models():
    normal, words = torch.randn, torch.randint(0, 12, (9, 7))
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    two = {"num_layers": 2, "bidirectional": True}
    return {
        "linear": (
            nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 3)),
            normal(9, 5),
        ),
        "linear over positions": (flat(nn.Linear(30, 40), nn.Tanh(), size=80), normal(9, 2, 30)),
        "conv1d": (flat(nn.Conv1d(2, 4, 3, stride=2), nn.ReLU(), size=16), normal(9, 2, 10)),
        "conv2d": (
            flat(nn.Conv2d(2, 4, 3, padding=1, dilation=2), nn.GroupNorm(2, 4), size=144),
            normal(9, 2, 8, 8),
        ),
        "grouped conv2d, by torch.func": (
            flat(nn.Conv2d(2, 4, 3, groups=2), size=144),
            normal(9, 2, 8, 8),
        ),
        "instance norm": (
            flat(nn.Conv2d(2, 4, 3), nn.InstanceNorm2d(4, affine=True), size=144),
            normal(9, 2, 8, 8),
        ),
        "rms norm": (nn.Sequential(nn.Linear(5, 8), nn.RMSNorm(8), nn.Linear(8, 3)), normal(9, 5)),
        "embedding": (Text(), words),
        "embedding with padding": (Text(padding_idx=0), words),
        "lstm": (Recurrent(nn.LSTM), normal(9, 4, 4)),
        "gru, two layers, both ways": (Recurrent(nn.GRU, **two), normal(9, 4, 4)),
        "rnn": (Recurrent(nn.RNN), normal(9, 4, 4)),
        "self-attention": (Attention(cross=False), normal(9, 5, 8)),
        "cross-attention": (Attention(cross=True), normal(9, 5, 8)),
        "transformer": (flat(encoder, size=40), normal(9, 5, 8)),
        "tied weights, by torch.func": (Tied(), normal(9, 5)),
        "unknown layer, by torch.func": (
            nn.Sequential(nn.Linear(5, 7), nn.PReLU(), nn.Linear(7, 3)),
            normal(9, 5),
        ),
    }


torch.manual_seed(1)
MODELS = models()


@pytest.mark.parametrize("name", MODELS)
def test_layers_with_a_rule_keep_it_when_held_against_torch(name):
    model, x = MODELS[name]
    clipper = Clipper(model, nn.CrossEntropyLoss(), 1.0)
    slow = clipper.reading.slow
    if slow is None:
        check_rules(clipper, (x,), torch.arange(len(x)) % 3)
    assert clipper.reading.slow == slow
    assert (slow is not None) == name.endswith("by torch.func")


def test_dropout_in_layers_that_are_written_out_is_no_difference():
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
    for model, x in (
        (flat(encoder, size=40), torch.randn(9, 5, 8)),
        (Recurrent(nn.LSTM, num_layers=2, dropout=0.3), torch.randn(9, 4, 4)),
    ):
        clipper = Clipper(model, nn.CrossEntropyLoss(), 1.0)
        check_rules(clipper, (x,), torch.arange(9) % 3)
        assert clipper.reading.slow is None
        assert 0.3 in [getattr(part, "p", getattr(part, "dropout", 0)) for part in model.modules()]


def gradients_one_by_one(model, x, y):
    """Brute force: a backward pass of its own for every example."""
    found = []
    for k in range(len(x)):
        model.zero_grad()
        nn.functional.cross_entropy(model(x[k : k + 1]), y[k : k + 1]).backward()
        found.append({n: p.grad.double().clone() for n, p in model.named_parameters()})
    model.zero_grad()
    return found


def norm_of(gradient):
    return math.sqrt(sum(float((g**2).sum()) for g in gradient.values()))


@pytest.mark.parametrize("name", MODELS)
def test_norms_and_clipped_sums_agree_with_brute_force(name):
    model, x = MODELS[name]
    y = torch.randint(0, 3, (len(x),))
    exact = gradients_one_by_one(model, x, y)
    norms = [norm_of(g) for g in exact]
    clip = float(np.median(norms))
    clipper = Clipper(model, nn.CrossEntropyLoss(), clip)
    clipper.measure((x[:2],), y[:2])
    assert (clipper.reading.slow is not None) == ("torch.func" in name)
    found = clipper.norms((x,), y)
    assert found.numpy() == pytest.approx(norms, rel=1e-6)
    total = clipper.zero()
    clipper.add(total, (x,), y)
    for parameter, steps in total.sums.items():
        shares = [min(1, INSIDE * clip / norm) for norm in norms]
        wanted = sum(g[parameter] * c for g, c in zip(exact, shares, strict=True))
        assert float((steps * clip * STEP - wanted).abs().max()) < 1e-4 * clip


@pytest.mark.parametrize("name", MODELS)
def test_no_example_moves_the_sums_by_more_than_is_declared(name):
    """All neighbours of small lots, exactly: sums are whole numbers."""
    model, x = MODELS[name]
    x = torch.cat([x[:3], 30 * x[3:5] if x.dtype.is_floating_point else x[3:5]])
    y = torch.tensor([0, 1, 2, 0, 1])
    clipper = Clipper(model, nn.CrossEntropyLoss(), 0.05)
    clipper.measure((x[:2],), y[:2])
    sums = {}
    for size in range(6):
        for chosen in combinations(range(5), size):
            total = clipper.zero()
            if chosen:
                clipper.add(total, (x[list(chosen)],), y[list(chosen)])
            sums[chosen] = total.steps()
    largest = 0.0
    for chosen, total in sums.items():
        for k in chosen:
            change = (total - sums[tuple(i for i in chosen if i != k)]).tolist()
            largest = max(largest, math.sqrt(sum(v * v for v in change)))
    assert largest <= clipper.sensitivity()
    assert largest > 0.9 * clipper.sensitivity() or largest == 0


def stored(part):
    """What a part holds of each example."""
    kept = {Whole: ("gradients",), Outer: ("a", "b"), Lookup: ("words", "b")}[type(part)]
    return [getattr(part, name) for name in kept]


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.soak)])
@pytest.mark.parametrize("size", [64, 192])
@pytest.mark.parametrize("name", MODELS)
def test_an_example_in_its_seat_counts_the_same_whoever_sits_elsewhere(name, size, threads):
    """The assumption of the proof: other examples change no bit of what is kept of one.

    What it adds is then the same but for the rounding that the slack declares.
    """
    torch.set_num_threads(threads)
    model, x = MODELS[name]
    y = torch.arange(size) % 3
    clipper = Clipper(model, nn.CrossEntropyLoss(), 0.05)
    clipper.measure((x[:2],), y[:2])
    everybody = torch.cat([x] * 22)[:size]

    def added(seats):
        """What examples leave behind and add, each in its seat, the other seats being empty."""
        batch, taken = torch.zeros_like(everybody), torch.zeros(size, dtype=torch.bool)
        batch[seats], taken[seats] = everybody[seats], True
        told = torch.where(taken, y, 0)
        parts = clipper._parts((batch,), told)
        total = clipper.zero()
        clipper.add(total, (batch,), told, taken)
        kept = [clipper._factors(parts), *(rows for part in parts for rows in stored(part))]
        return kept, total.flat

    seats = list(range(size))
    for seat in (0, 1, 13, size - 1):
        kept, alone = added([seat])
        for others in (seats[:5], seats[20:], seats):
            rest = [k for k in others if k != seat]
            among, more = added([*rest, seat])
            same = all(torch.equal(a[seat], b[seat]) for a, b in zip(kept, among, strict=True))
            assert same
            change = more - added(rest)[1]
            assert float((change - alone).norm()) <= clipper.slack * 2**20


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("positions", [1, 3, 200])
def test_an_example_changes_no_piece_but_its_own(positions, threads):
    """Pieces are multiplied in floats and rounded one by one: none knows who is in another."""
    generator = torch.Generator().manual_seed(positions)
    count = 150 if positions < 100 else 5
    a = torch.randn(count, positions, 31, generator=generator)
    b = torch.randn(count, positions, 17, generator=generator)
    together = Outer(None, a, b)._piece()[0]

    def added(taken):
        total = torch.zeros(17, 31, dtype=torch.float64)
        Outer(None, a, b).add(total, taken.double() / 50, 1.0)
        return total

    def only(taken, first):
        return taken & (torch.arange(count) // together == first)

    everybody = torch.ones(count, dtype=torch.bool)
    with threadpoolctl.threadpool_limits(threads):
        for k in (0, count // 2, count - 1):
            others = everybody & (torch.arange(count) != k)
            mine = k // together
            change = added(only(everybody, mine)) - added(only(others, mine))
            assert torch.equal(added(everybody) - added(others), change)


def test_pieces_with_norms_out_of_the_ordinary_are_added_as_well_as_others():
    """Rows that single precision has no room for are scaled; pieces beside them are not changed."""
    generator = torch.Generator().manual_seed(3)
    a = torch.randn(192, 1, 31, generator=generator)
    b = torch.randn(192, 1, 17, generator=generator)
    factors = torch.full((192,), 1 / 50, dtype=torch.float64)

    def added(a, b, factors):
        total = torch.zeros(17, 31, dtype=torch.float64)
        Outer(None, a, b).add(total, factors, 1.0)
        return total

    wanted = added(a, b, factors)
    odd, even = a.clone(), b.clone()
    odd[70], even[70] = odd[70] * 2.0**90, even[70] * 2.0**-90
    odd[80], even[80] = odd[80] * 2.0**-90, even[80] * 2.0**90
    found = added(odd, even, factors)
    assert float((found - wanted).abs().max()) <= Outer(None, a, b).slack * 2**20
    middle = factors * ((torch.arange(192) >= 64) & (torch.arange(192) < 128))
    assert torch.equal(found - wanted, added(odd, even, middle) - added(a, b, middle))
    odd[75], even[76] = math.inf, math.nan
    silent = factors * ((torch.arange(192) != 75) & (torch.arange(192) != 76))
    blank = (torch.arange(192) == 75) | (torch.arange(192) == 76)
    without = torch.where(blank[:, None, None], 0.0, a), torch.where(blank[:, None, None], 0.0, b)
    off = added(odd, even, silent) - added(*without, silent)
    assert float(off.abs().max()) <= Outer(None, a, b).slack * 2**20
    assert float((added(a.double(), b, factors) - wanted).abs().max()) <= 1


@pytest.mark.parametrize("positions", [1, 4])
def test_products_in_single_precision_stay_within_the_declared_slack(positions):
    """Against exact sums, of examples that are as bad as may be: all alike, near one, far apart."""
    generator = torch.Generator().manual_seed(7)
    for spread in (0.0, 1.0, 20.0):
        a = torch.rand(64, positions, 5, generator=generator) + 0.7
        b = torch.rand(64, positions, 3, generator=generator) + 0.7
        a = a * torch.exp(spread * torch.randn(64, positions, 1, generator=generator))
        part = Outer(None, a, b)
        factors = 1 / torch.sqrt(part.norms())
        total = torch.zeros(3, 5, dtype=torch.float64)
        part.add(total, factors, 1.0)
        wanted = [
            [
                sum(
                    Fraction(float(factors[i])) * Fraction(float(b[i, t, o])) * Fraction(float(v))
                    for i in range(64)
                    for t, v in enumerate(a[i, :, k])
                )
                for k in range(5)
            ]
            for o in range(3)
        ]  # fmt: skip
        off = math.sqrt(
            sum(float(Fraction(float(total[o, k])) - wanted[o][k] * 2**20) ** 2
                for o in range(3) for k in range(5))
        )  # fmt: skip
        assert off <= part.slack / 2 * 2**20


@pytest.mark.parametrize("name", ["linear", "conv2d", "lstm", "embedding"])
def test_micro_batches_change_nothing_but_the_last_bits(name):
    model, x = MODELS[name]
    y = torch.arange(9) % 3
    clipper = Clipper(model, nn.CrossEntropyLoss(), 0.1)
    clipper.measure((x[:2],), y[:2])
    whole, parts = clipper.zero(), clipper.zero()
    clipper.add(whole, (x,), y)
    for start in range(0, 9, 2):
        clipper.add(parts, (x[start : start + 2],), y[start : start + 2])
    assert int((whole.steps() - parts.steps()).abs().max()) <= 5


def test_an_example_that_is_no_number_adds_nothing():
    model, x = MODELS["linear"]
    y = torch.arange(9) % 3
    clipper = Clipper(model, nn.CrossEntropyLoss(), 0.1)
    clipper.measure((x[:2],), y[:2])
    broken = x.clone()
    broken[4] = math.inf
    kept = torch.arange(9) != 4
    first, second = clipper.zero(), clipper.zero()
    clipper.add(first, (broken,), y)
    clipper.add(second, (x,), y, kept)
    assert torch.equal(first.steps(), second.steps())


def test_layers_that_mix_examples_are_refused_with_advice():
    options = {"epsilon": 1, "delta": 1e-5, "lot": 4, "steps": 1, "rows": 8}
    data = (torch.randn(8, 5), torch.arange(8) % 3)
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    with pytest.raises(ParameterError, match="GroupNorm"):
        sf.dp.train(model, data, nn.CrossEntropyLoss(), **options)

    class Centred(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(5, 3)

        def forward(self, x):
            return self.out(x - x.mean(0))

    with pytest.raises(ParameterError, match="mixes examples"):
        sf.dp.train(Centred(), data, nn.CrossEntropyLoss(), **options)

    class InTrainingOnly(Centred):
        def forward(self, x):
            return super().forward(x) if self.training else self.out(x)

    with pytest.raises(ParameterError, match="mixes examples"):
        sf.dp.train(InTrainingOnly(), data, nn.CrossEntropyLoss(), **options)

    class Remembering(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(5, 3)
            self.register_buffer("seen", torch.zeros(5))

        def forward(self, x):
            self.seen += x.sum(0).detach()
            return self.out(x)

    model = Remembering()
    with pytest.raises(ParameterError, match="keeps what it has seen in 'seen'"):
        sf.dp.train(model, data, nn.CrossEntropyLoss(), **options)
    assert float(model.seen.abs().sum()) == 0
    with pytest.raises(ParameterError, match="one number for each example"):
        sf.dp.train(nn.Linear(5, 3), data, lambda out, y: out.mean(), **options)
    model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), nn.Flatten())
    turned = (torch.randn(8, 5, 8), torch.arange(8))
    with pytest.raises(ParameterError, match="batch_first"):
        sf.dp.train(model, turned, nn.CrossEntropyLoss(), **options)


def test_it_learns_and_states_what_it_promised():
    x = torch.randn(3000, 2)
    y = (x[:, 0] > x[:, 1]).long()
    model = nn.Linear(2, 2)
    done = sf.dp.train(
        model, (x, y), nn.CrossEntropyLoss(), epsilon=2, delta=1e-5, lot=300, steps=40, clip=1,
        learning_rate=2.0,
    )  # fmt: skip
    assert (model(x).argmax(1) == y).float().mean() > 0.9
    assert done.guarantee == sf.ApproxDP(2, 1e-5)
    assert all(p.requires_grad for p in model.parameters())
    frozen = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 2))
    frozen[0].requires_grad_(False)
    before = frozen[0].weight.clone()
    sf.dp.train(
        frozen, (x, y), nn.functional.cross_entropy, epsilon=1, delta=1e-5, lot=30, steps=3,
        optimizer="adam", rows=3000,
    )  # fmt: skip
    assert torch.equal(before, frozen[0].weight)


def test_a_trained_network_is_released_with_its_guarantee(tmp_path):
    x = torch.randn(300, 2)
    made = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.2), nn.Tanh(), nn.Linear(3, 2))
    done = sf.dp.train(
        made, (x, (x[:, 0] > 0).long()), nn.CrossEntropyLoss(), epsilon=2, delta=1e-5, lot=30,
        steps=5, rows=300,
    )  # fmt: skip
    done.release("net", purpose="a test").save(tmp_path / "net")
    checked = sf.verify(tmp_path / "net")
    assert checked.holds
    assert checked.records == sum(p.numel() for p in made.parameters())
    card = (tmp_path / "net/report.html").read_text()
    assert "5 steps on lots of about 30" in card
    assert "Linear(in_features=2" in card
    again = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.2), nn.Tanh(), nn.Linear(3, 2))
    sf.dp.read_network(again, tmp_path / "net")
    made.eval(), again.eval()
    assert torch.equal(again(x), made(x))
    with pytest.raises(DataError, match="does not hold the state"):
        sf.dp.read_network(nn.Linear(2, 2), tmp_path / "net")


def test_an_empty_table_is_trained_on_like_any_other():
    model = nn.Linear(3, 2)
    data = (torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
    done = sf.dp.train(
        model, data, nn.CrossEntropyLoss(), epsilon=1, delta=1e-5, lot=10, steps=3, rows=100
    )
    assert done.steps_taken == 3


def test_gradients_are_divided_by_the_declared_lot_and_empty_lots_are_steps(monkeypatch):
    """Without noise and with every row in the lot, the step is the clipped sum over the lot."""
    monkeypatch.setattr(training, "rounded_gaussian", lambda v, n: np.zeros(n, dtype=np.int64))
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    data = (torch.full((3, 1), 5.0), torch.full((3, 1), 100.0))
    sf.dp.train(
        model, data, nn.MSELoss(), epsilon=1, delta=1e-5, lot=2, steps=1, rows=2, clip=0.5,
        learning_rate=1.0,
    )  # fmt: skip
    assert float(model.weight.detach()) == pytest.approx(3 * 0.5 / 2, rel=2e-3)
    steps = []
    monkeypatch.setattr(training, "add_noise", lambda *_: steps.append(1))
    sf.dp.train(
        model, data, nn.MSELoss(), epsilon=1, delta=1e-5, lot=1, steps=5, rows=10**6, clip=0.5
    )
    assert len(steps) == 5


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_the_noise_keeps_the_promise_by_another_account(epsilon):
    """The finer account of the house agrees that (ε, δ) is kept, and not with much to spare."""
    rate, delta = Fraction(1, 20), Fraction(1, 10**5)
    sigma = least_multiplier(Fraction(epsilon), delta, rate, 200)
    steps = sf.dp.Step.gaussian(sigma, rate=rate, times=200)
    total = sf.dp.account(steps, delta=delta, accountants=["rdp"]).epsilon
    fine = sampled_epsilon(sigma, delta, rate, 200, interval=float(epsilon) / 10_000)
    assert 0.99 * float(epsilon) < fine <= float(epsilon) <= total * 1.02


def delta_of_sampled_steps(epsilon, sigma, rate, steps):
    """Compose losses of q·N(1, σ²) + (1 − q)·N(0, σ²) against N(0, σ²) by Fourier, both ways.

    Written from the definition: x on a grid, its probability, its loss; nothing is shared with the
    accountant that chose the noise. Losses are rounded to the nearest point of a fine grid.
    """
    step, size = 2e-4, 1 << 18
    edges = np.linspace(-12 * sigma, 12 * sigma + 1, 400_001)
    x = (edges[1:] + edges[:-1]) / 2
    without = np.diff(scipy.stats.norm.cdf(edges, 0, sigma))
    present = (1 - rate) * without + rate * np.diff(scipy.stats.norm.cdf(edges, 1, sigma))
    loss = np.log1p(rate * np.expm1((2 * x - 1) / (2 * sigma**2)))
    worst = 0.0
    for chance, told in ((present, loss), (without, -loss)):
        places = np.rint(told / step).astype(np.int64) % size
        held = np.bincount(places, weights=chance, minlength=size)
        composed = np.fft.irfft(np.fft.rfft(held) ** steps, size)
        total = (
            np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size) * step
        )
        worst = max(worst, float(composed @ np.maximum(-np.expm1(epsilon - total), 0.0)))
    return worst


@pytest.mark.parametrize(
    ("epsilon", "rate", "steps"),
    [("0.5", (1, 4), 1), ("1", (1, 20), 200), ("4", (1, 10), 50), ("2", (1, 100), 2000)],
)
def test_the_noise_keeps_the_promise_by_its_definition(epsilon, rate, steps):
    wanted, share, delta = float(epsilon), Fraction(*rate), Fraction(1, 10**5)
    sigma = least_multiplier(Fraction(epsilon), delta, share, steps)
    assert delta_of_sampled_steps(wanted, sigma, float(share), steps) <= 1e-5 * 1.02
    assert delta_of_sampled_steps(wanted * 0.98, sigma, float(share), steps) > 1e-5
    assert delta_of_sampled_steps(wanted, sigma * 0.97, float(share), steps) > 1e-5


def test_unsampled_steps_are_one_gaussian_mechanism():
    sigma = least_multiplier(Fraction(1), Fraction(1, 10**5), Fraction(1), 100)
    assert sf.GDP(10 / sigma).to(sf.ApproxDP, delta=1e-5).epsilon == pytest.approx(1, rel=1e-6)


def test_an_interrupted_training_goes_on_and_pays_for_lost_steps(tmp_path, monkeypatch):
    x, y = torch.randn(50, 2), torch.arange(50) % 2
    options = {"epsilon": 1, "delta": 1e-5, "lot": 10, "steps": 12, "rows": 50, "every": 4}
    taken = []
    true = training._step

    def counted(*args):
        taken.append(1)
        if len(taken) == 7:
            raise KeyboardInterrupt
        true(*args)

    monkeypatch.setattr(training, "_step", counted)
    place = tmp_path / "state.pt"
    model = nn.Linear(2, 2)
    with pytest.raises(KeyboardInterrupt):
        sf.dp.train(model, (x, y), nn.CrossEntropyLoss(), checkpoint=place, **options)
    fresh = nn.Linear(2, 2)
    done = sf.dp.train(fresh, (x, y), nn.CrossEntropyLoss(), checkpoint=place, **options)
    assert done.steps_taken == 4  # 4 were kept, 4 had begun and count as taken
    assert len(taken) <= 12
    with pytest.raises(ParameterError, match="begun with epsilon"):
        sf.dp.train(
            fresh, (x, y), nn.CrossEntropyLoss(), checkpoint=place, **{**options, "epsilon": 2}
        )


def test_seats_are_distinct_random_and_enough():
    seats = seats_of(100, Fraction(1, 10**5), 400)
    assert seats % 64 == 0
    assert scipy.stats.binom.sf(seats - 1, 2000, 0.05) * 400 < 1e-8
    first = []
    for _ in range(300):
        lot = list(draw_lot(40, 0.5, 64, 20))
        examples = np.concatenate([places for places, _, _ in lot])
        assert sorted(set(examples)) == sorted(examples)
        assert all(len(set(rows)) == len(rows) and rows.max() < size for _, rows, size in lot)
        first += [rows[0] for _, rows, _ in lot]
    assert len(set(first)) > 10
    crowd = list(draw_lot(500, 1.0, 64, 64))  # more than the seats: further tables
    assert sorted(np.concatenate([places for places, _, _ in crowd])) == list(range(500))
