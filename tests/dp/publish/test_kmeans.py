"""k-means: accounting, sensitivities by enumeration, nothing but noisy numbers decides, quality."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from chance import audited
from sklearn.base import clone
from sklearn.cluster import KMeans as PlainKMeans

import sfumato as sf
from sfumato.dp.noise import insecure_seeded
from sfumato.dp.publish.kmeans import kernels, lloyd, tree
from sfumato.dp.publish.kmeans.weighted import cluster
from sfumato.dp.publish.purse import Purse, price_of
from sfumato.errors import DataError, ParameterError

RNG = np.random.default_rng(5)


def mixture(rows, width, count, seed, spread=0.05):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0.1, 0.9, (count, width))
    points = centres[rng.integers(count, size=rows)] + rng.normal(0, spread, (rows, width))
    return np.clip(points, 0, 1)


def cost(rows, centres):
    return ((rows[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum()


WIDTHS = [1, 2, 4, 12]

# -- accounting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["none", "huge", "negative", "alternating"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("price", [{"epsilon": 0.7}, {"rho": 0.1}], ids=str)
def test_the_entries_add_up_to_the_budget_whatever_the_noise(
    monkeypatch, adversarial, noise, width, price
):
    if noise == "huge" and width > 2:
        monkeypatch.setattr(tree, "DEPTH", 8)  # a tree that is always halved has 2^depth leaves
    adversarial(noise)
    model = sf.dp.KMeans(3, bounds=(0, 1), **price).fit(mixture(60, width, 3, 1))
    assert sum(entry.cost for entry in model.entries_) == Fraction(str(next(iter(price.values()))))
    assert model.cluster_centers_.shape == (len(model.sizes_), width)
    assert len(model.sizes_) in {1, 2, 3}
    assert np.isfinite(model.cluster_centers_).all()


def test_the_lecture_spends_half_of_each_round_on_sizes_and_half_on_sums():
    rows = mixture(100, 3, 2, 2)
    model = sf.dp.KMeans(2, epsilon=1, bounds=(0, 1), algorithm="lecture", rounds=5).fit(rows)
    assert [entry.what for entry in model.entries_] == ["sizes", "sums"] * 5
    assert {entry.cost for entry in model.entries_} == {Fraction(1, 10)}


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_but_noisy_numbers_decides(recorded, replayed, width):
    """Other data, the same noisy numbers: the same release, entry by entry."""
    first, second = mixture(400, width, 3, 3), np.ones((7, width))
    ask = sf.dp.KMeans(3, epsilon=2, bounds=(0, 1))
    with recorded() as kept, insecure_seeded(1):
        one = ask.fit(first)
    centres, entries = one.cluster_centers_.copy(), one.entries_
    # The noise itself used coins of the stream; start both replays from the same coins.
    released = []
    for rows in (first, second):
        with replayed(kept), insecure_seeded(2):
            again = sf.dp.KMeans(3, epsilon=2, bounds=(0, 1)).fit(rows)
        released.append((again.cluster_centers_.copy(), again.sizes_.copy(), again.entries_))
    assert np.array_equal(released[0][0], released[1][0])
    assert np.array_equal(released[0][1], released[1][1])
    assert released[0][2] == released[1][2] == entries
    assert centres.shape == (3, width)


# -- sensitivities, by enumeration of neighbours -------------------------------------------------


def test_one_row_moves_clipped_sums_by_no_more_than_the_proof_says():
    for width in (1, 2, 5, 11):
        rows = np.ascontiguousarray(RNG.random((40, width)))
        rows[0], rows[1] = 0.0, 1.0
        centres = np.ascontiguousarray(RNG.random((3, width)))
        radii = np.array([0.01, 0.3, 5.0])
        limit = math.isqrt(width * lloyd.ONE**2)
        labels = kernels.nearest(rows, centres)
        whole = kernels.clipped_sums(rows, labels, centres, radii, lloyd.ONE, limit)
        longest = 0
        for i in range(len(rows)):
            kept = np.arange(len(rows)) != i
            less = kernels.clipped_sums(rows[kept], labels[kept], centres, radii, lloyd.ONE, limit)
            moved = (whole - less).astype(object)
            assert (moved != 0).any(axis=1).sum() <= 1  # one cluster only
            assert abs(moved).sum() <= limit
            assert (moved**2).sum() <= lloyd.ONE**2
            longest = max(longest, math.sqrt((moved**2).sum()))
        assert longest > 0.999 * lloyd.ONE  # the bound is reached: none is refused for nothing


def test_one_row_moves_box_sums_by_half_a_side_in_each_coordinate():
    rows = np.ascontiguousarray(np.vstack([np.zeros(4), np.ones(4), RNG.random((9, 4))]))
    for row in rows:
        sums = kernels.box_sums(row[None], np.zeros(1, dtype=np.int64), 1, 1 << 20)
        assert np.abs(sums).max() <= 1 << 19


def halving(biased, scale):
    q = math.exp(-1 / scale)
    return q ** (1 - biased) / (1 + q) if biased <= 0 else 1 - q**biased / (1 + q)


def staying(biased, scale):
    q = math.exp(-1 / scale)
    return 1 - q ** (1 - biased) / (1 + q) if biased <= 0 else q**biased / (1 + q)


@pytest.mark.parametrize("scale", [0.3, 1.0, 1.44, 3.0, 7.5, 40.0])
def test_the_shape_of_a_tree_costs_at_most_three_over_the_scale(scale):
    """Along every path of counts, with and without the row, by the exact probabilities."""
    decay = max(math.ceil(scale * math.log(2)), 1)
    worst = 0.0
    starts = range(1, 8 * decay + 40)
    for start, slack in itertools.product(starts, range(1, 3)):
        counts = [max(start - slack * i, 1) for i in range(200)]
        up = 0.0
        for depth, count in enumerate(counts[: 10 + start // decay]):
            with_row = max(count - depth * decay, -decay)
            without = max(count - 1 - depth * decay, -decay)
            if with_row == -decay:
                break
            up += math.log(halving(with_row, scale) / halving(without, scale))
            leaf = math.log(staying(without, scale) / staying(with_row, scale))
            assert leaf <= (1 + 1e-9) / scale
        worst = max(worst, up)
    assert worst <= (1 + 1e-9) * 3 / scale
    assert worst >= 0.99 / scale  # the search reaches paths that matter


def test_the_leaves_of_a_tree_share_out_all_rows_and_the_whole_cube():
    rows = np.ascontiguousarray(RNG.random((500, 3)) ** 2)
    purse = Purse(price_of(epsilon=50))
    leaves = tree.grow(rows, purse, Fraction(1))
    assert leaves.sides.prod(axis=1).sum() == pytest.approx(1)
    low, high = leaves.centres - leaves.sides / 2, leaves.centres + leaves.sides / 2
    inside = ((rows[:, None] >= low) & (rows[:, None] < high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert np.abs(inside.sum(axis=0) - leaves.counts).max() <= 3
    assert len(leaves.counts) > 20


# -- the claim, as a black box -------------------------------------------------------------------


def released(width, epsilon=1.0, summed=False, **more):
    def ask(records):
        rows = np.array(records, dtype=np.float64).reshape(len(records), width)
        model = sf.dp.KMeans(1, epsilon=epsilon, bounds=(0, 1), **more).fit(rows)
        if summed:
            return int((model.cluster_centers_ > 0).sum())
        return (*model.sizes_.tolist(), *model.cluster_centers_.ravel().tolist())

    return ask


@pytest.mark.parametrize(
    ("width", "more"), [(2, {}), (3, {}), (3, {"algorithm": "lecture", "rounds": 1})], ids=str
)
@audited
def test_the_claim_is_not_refuted(width, more, refuted):
    low, high = (0.0,) * width, (1.0,) * width
    pairs = [([low], [low, low]), ([low], [low, high])]
    assert not refuted(released(width, **more), sf.PureDP(1.0), pairs)


@audited
def test_a_domain_of_one_side_for_many_columns_is_refuted(monkeypatch, refuted):
    """The common mistake: Dom = 1 for points of d coordinates."""
    measure = Purse.measure

    def one_side(self, what, share, exact, *, l1=1, l2_squared=1):
        return measure(self, what, share, exact, l1=min(l1, lloyd.ONE), l2_squared=l2_squared)

    monkeypatch.setattr(Purse, "measure", one_side)
    ask = released(40, summed=True, algorithm="lecture", rounds=1)
    pairs = [([(0.0,) * 40], [(0.0,) * 40, (1.0,) * 40])]
    assert refuted(ask, sf.PureDP(1.0), pairs, samples=3_000)


@audited
def test_a_step_without_its_noise_is_refuted(monkeypatch, refuted):
    measure = Purse.measure

    def bare(self, what, share, exact, **more):
        found = measure(self, what, share, exact, **more)
        return type(found)(exact, 0.01) if what == "sizes" else found

    monkeypatch.setattr(Purse, "measure", bare)
    assert refuted(released(2), sf.PureDP(1.0), [([(0.0, 0.0)], [(0.0, 0.0)] * 2)])


# -- quality and conventions ---------------------------------------------------------------------


@pytest.mark.parametrize(("width", "rows", "most"), [(2, 20_000, 1.12), (6, 30_000, 1.05)])
def test_the_cost_is_near_the_best_and_below_the_lecture(width, rows, most):
    points = mixture(rows, width, 6, 4)
    plain = cost(points, PlainKMeans(6, n_init=5, random_state=0).fit(points).cluster_centers_)
    with insecure_seeded(7):
        ours = sf.dp.KMeans(6, epsilon=1, bounds=(0, 1)).fit(points)
        lecture = sf.dp.KMeans(6, epsilon=1, bounds=(0, 1), algorithm="lecture").fit(points)
    assert cost(points, ours.cluster_centers_) < most * plain
    assert cost(points, ours.cluster_centers_) < cost(points, lecture.cluster_centers_)


def test_many_columns_and_their_concentrated_price():
    points = mixture(20_000, 25, 4, 6)
    plain = cost(points, PlainKMeans(4, n_init=3, random_state=0).fit(points).cluster_centers_)
    with insecure_seeded(8):
        model = sf.dp.KMeans(4, epsilon=1, delta=1e-6, bounds=(0, 1)).fit(points)
    assert model.guarantee == sf.ApproxDP(1.0, 1e-6)
    assert cost(points, model.cluster_centers_) < 1.2 * plain


def test_errors_of_sizes_and_centres_are_those_of_the_noise():
    points = np.full((4_000, 3), 0.25)
    sizes, errors, centres = [], [], []
    with insecure_seeded(9):
        for _ in range(150):
            model = sf.dp.KMeans(1, epsilon=1, bounds=(0, 1)).fit(points)
            sizes.append(model.sizes_[0] - 4_000)
            errors.append(model.size_error_[0])
            centres.append((model.cluster_centers_[0] - 0.25) / model.center_error_[0])
    assert np.std(sizes) == pytest.approx(np.mean(errors), rel=0.35)
    assert np.std(centres) < 1.25  # noisy sizes and steps that are shrunk add a little


def test_scikit_learns_conventions_hold():
    points = mixture(500, 2, 2, 1)
    model = clone(sf.dp.KMeans(2, epsilon=5, bounds=(0, 1)))
    labels = model.fit_predict(points)
    assert np.array_equal(labels, model.predict(points))
    assert model.set_params(n_clusters=4).get_params()["n_clusters"] == 4
    nearest = ((points[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(labels, nearest)
    with pytest.raises(ParameterError, match="fit first"):
        sf.dp.KMeans(2, epsilon=1, bounds=(0, 1)).predict(points)


def test_bounds_scale_name_and_clamp():
    points = mixture(3_000, 2, 2, 3)
    frame = {"x": points[:, 0] * 200 - 100, "y": points[:, 1] * 5, "z": np.zeros(3_000)}
    model = sf.dp.KMeans(2, epsilon=20, bounds={"x": (-100, 100), "y": (0, 5)}).fit(frame)
    assert model.columns_ == ("x", "y")
    centres = PlainKMeans(2, n_init=3, random_state=0).fit(points).cluster_centers_
    scaled = np.sort((model.cluster_centers_ - [-100, 0]) / [200, 5], axis=0)
    assert scaled == pytest.approx(np.sort(centres, axis=0), abs=0.03)
    wild = np.vstack([points, [[math.nan, 0.5], [1e300, -1e300], [math.inf, 0.1]]])
    seen = sf.dp.KMeans(2, epsilon=20, bounds=(0, 1)).fit(wild)
    assert seen.predict(wild)[-3] == -1
    assert np.isfinite(seen.cluster_centers_).all()
    odd = [(0.1, 0.2), ("x", 0.3), None, (0.4,)]
    one = sf.dp.KMeans(1, epsilon=1, bounds=[(0, 1)] * 2)
    assert one.fit_predict(odd).tolist() == [0, -1, -1, -1]


def test_labels_of_private_rows_are_not_kept():
    """A fitted model is handed out, by sessions and by hand; rows are labelled by `predict`."""
    model = sf.dp.KMeans(2, epsilon=1, bounds=(0, 1)).fit(mixture(400, 2, 2, 1))
    assert not hasattr(model, "labels_")
    assert all(np.size(value) < 400 for value in vars(model.release().data).values())


def test_what_will_be_useless_is_said_before_and_after():
    poor = sf.dp.KMeans(10, epsilon=0.01, bounds=[(0, 1)] * 4)
    assert not poor.forecast(1_000).useful
    assert "Noise will hide" in str(poor.forecast(1_000))
    assert sf.dp.KMeans(10, epsilon=1, bounds=[(0, 1)] * 4).forecast(100_000).useful
    assert poor.fit(mixture(1_000, 4, 10, 1)).notes_
    rich = sf.dp.KMeans(2, epsilon=1, bounds=[(0, 1)] * 2).fit(mixture(50_000, 2, 2, 1))
    assert not rich.notes_
    lecture = sf.dp.KMeans(5, epsilon=1, bounds=[(0, 1)] * 4, algorithm="lecture")
    assert lecture.forecast(1_000).errors.keys() == poor.forecast(9).errors.keys()


def inertia(rows, centres):
    return ((rows[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1])
@pytest.mark.parametrize(("width", "rows"), [(64, 1_800), (20, 1_000), (5, 300), (2, 200)])
def test_centres_are_never_worse_than_one_noisy_mean(width, rows, epsilon):
    data = mixture(rows, width, 8, 4)
    found, single = [], []
    with insecure_seeded(5):
        for _ in range(8):
            model = sf.dp.KMeans(8, epsilon=epsilon, bounds=(0, 1)).fit(data)
            found.append(inertia(data, model.cluster_centers_))
            total = len(data) + sf.dp.laplace(0, sensitivity=1, epsilon=epsilon / 2)
            sums = sf.dp.laplace(
                (data - 0.5).sum(axis=0), sensitivity=width / 2, epsilon=epsilon / 2
            )
            mean = np.clip(0.5 + sums / max(total, 1), 0, 1)
            single.append(inertia(data, mean[None]))
    assert np.mean(found) <= 1.02 * np.mean(single)


def test_a_warning_stands_where_noise_hides_the_clusters():
    data = mixture(1_800, 64, 8, 6)
    with insecure_seeded(7):
        pure = sf.dp.KMeans(8, epsilon=1, bounds=(0, 1)).fit(data)
        normal = sf.dp.KMeans(8, epsilon=3, delta=1e-6, bounds=(0, 1)).fit(data)
    assert len(pure.sizes_) < 8
    assert any("would hide 8 clusters" in note for note in pure.notes_)
    assert any("Noise will hide" in note for note in pure.notes_)
    assert pure.center_error_.max() < 0.2
    assert normal.notes_ == ()
    assert inertia(data, normal.cluster_centers_) < 0.5 * inertia(data, pure.cluster_centers_)


@pytest.mark.parametrize("rows", [np.empty((0, 2)), np.full((1, 2), 0.5), np.full((40, 2), 0.5)])
def test_few_rows_and_constant_columns_give_a_release(rows):
    model = sf.dp.KMeans(5, epsilon=1, bounds=(0, 1)).fit(rows)
    assert model.cluster_centers_.shape == (len(model.sizes_), 2)
    assert (len(model.sizes_) < 5) == any("would hide 5 clusters" in note for note in model.notes_)
    assert ((model.cluster_centers_ >= 0) & (model.cluster_centers_ <= 1)).all()


def test_units_of_several_rows_and_replaced_ones_cost_more():
    assert price_of(epsilon=1, neighbours="bounded").amount == Fraction(1, 2)
    assert price_of(epsilon=1, neighbours=sf.Unit("id", rows=4)).amount == Fraction(1, 4)
    assert price_of(rho=1, neighbours=sf.Unit("id", rows=4)).amount == Fraction(1, 16)
    assert price_of(epsilon=1, neighbours="transaction").amount == 1


BAD = [
    {"n_clusters": 0}, {"n_clusters": 2.5}, {"n_clusters": 10**6}, {"epsilon": None},
    {"epsilon": 0},
    {"epsilon": -1}, {"bounds": None}, {"bounds": (1, 0)}, {"bounds": (0, math.inf)},
    {"bounds": "x"}, {"bounds": [(0, 1)] * 3}, {"bounds": {"q": (0, 1)}}, {"algorithm": "magic"},
    {"rounds": 0}, {"algorithm": "lecture", "delta": 1e-6}, {"rho": 1}, {"delta": 0},
    {"neighbours": sf.Unit("id")},
]  # fmt: skip


@pytest.mark.parametrize("given", BAD, ids=str)
def test_bad_parameters_are_refused_in_a_sentence(given):
    rows = {"a": [1.0], "b": [2.0]} if isinstance(given.get("bounds"), dict) else np.ones((3, 2))
    whole = {"n_clusters": 2, "epsilon": 1, "bounds": (0, 1), **given}
    with pytest.raises((ParameterError, DataError)) as caught:
        sf.dp.KMeans(**whole).fit(rows)
    assert str(caught.value).endswith(".")


def test_the_picture_shows_released_numbers_only():
    model = sf.dp.KMeans(3, epsilon=5, bounds={"x": (0, 1), "y": (0, 1)})
    model.fit({"x": RNG.random(500), "y": RNG.random(500)})
    drawn = model.picture()
    assert drawn.count("<circle") == 3
    assert "noisy size" in drawn
    assert sf.dp.KMeans(2, epsilon=5, bounds=[(0, 1)]).fit(RNG.random((50, 1))).picture()
    assert "ε = 5 per row: number of rows 4 %" in model.statement


def test_weighted_clusters_match_scikit_learn():
    points = np.ascontiguousarray(RNG.random((400, 3)))
    weights = RNG.random(400)
    found = cost_of(points, weights, cluster(points, weights, 5))
    plain = PlainKMeans(5, n_init=10, random_state=0).fit(points, sample_weight=weights)
    assert found <= 1.01 * cost_of(points, weights, plain.cluster_centers_)


def cost_of(points, weights, centres):
    far = ((points[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1)
    return (weights * far).sum()
