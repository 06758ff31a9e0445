"""What mechanisms say before they run: guarantees, errors, the ε for an error, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hangs import usually

import sfumato as sf
from sfumato.errors import BudgetExceeded, DataError, ParameterError

MECHANISMS = [
    sf.dp.Laplace(sensitivity=2, epsilon=1),
    sf.dp.Laplace(sensitivity=2, epsilon=1, size=50),
    sf.dp.Geometric(sensitivity=1, epsilon=1),
    sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6),
    sf.dp.DiscreteGaussian(sensitivity=1, epsilon=1, delta=1e-6),
    sf.dp.Exponential(sensitivity=1, epsilon=1, size=100),
    sf.dp.PermuteAndFlip(sensitivity=1, epsilon=1, size=100),
    sf.dp.ReportNoisyMax(sensitivity=1, epsilon=1, size=100),
    sf.dp.AboveThreshold(threshold=5, sensitivity=1, epsilon=1, size=10),
    sf.dp.RandomizedResponse(epsilon=1, size=10_000),
    sf.dp.ExponentialQuantile(lower=0, upper=100, epsilon=1),
    sf.dp.Pricing(prices=[2.1, 3.9, 4.1], epsilon=1),
]
LARGE = {"RandomizedResponse": 0.02}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_the_epsilon_for_an_error_gives_that_error_and_hardly_less_does(mechanism):
    wanted = LARGE.get(type(mechanism).__name__, 25.0)
    for query in ({"expected": wanted}, {"tail": wanted, "beta": 0.01}):
        epsilon = mechanism.epsilon_for(**query)
        for value, good in ((epsilon, True), (epsilon * 0.99, False)):
            error = mechanism.at(value).error
            reached = error.expected if "expected" in query else error.tail(0.01)
            # whole numbers have whole tails, so a little less ε may give the same one
            assert (reached <= wanted) == good or ("tail" in query and reached == wanted)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_guarantees_carry_epsilon_and_neighbours(mechanism):
    assert mechanism.guarantee.epsilon == 1.0
    assert str(mechanism.error)
    assert mechanism.error.tail(0.01) >= mechanism.error.tail(0.1)
    low, high = mechanism.error.interval(0.9)
    assert low <= 0 < high


def test_guarantees_name_the_neighbours_given():
    bounded = sf.dp.Laplace(sensitivity=1, epsilon=1, neighbours="bounded")
    assert bounded.guarantee.neighbours == sf.dp.BOUNDED
    user = sf.dp.Geometric(sensitivity=5, epsilon=1, neighbours=sf.dp.Unit("user_id", rows=5))
    assert "user_id" in str(user.guarantee)


def test_an_epsilon_that_no_float_holds_is_stated_no_smaller():
    third = Fraction(1, 3)
    for mechanism in (
        sf.dp.Laplace(sensitivity=1, epsilon=third),
        sf.dp.Exponential(sensitivity=1, epsilon=third),
        sf.dp.RandomizedResponse(epsilon=third),
    ):
        assert mechanism.guarantee.exact_epsilon >= third
    tenth = sf.dp.Geometric(sensitivity=1, epsilon=0.1)
    assert tenth.steps(1) == 10  # 0.1 means one tenth


def test_an_error_that_cannot_be_reached_is_refused():
    with pytest.raises(ParameterError, match="larger"):
        sf.dp.RandomizedResponse(epsilon=1, size=100).epsilon_for(expected=1e-6)
    with pytest.raises(ParameterError, match="exactly one"):
        sf.dp.Laplace(sensitivity=1, epsilon=1).epsilon_for()
    with pytest.raises(ParameterError, match="above 0"):
        sf.dp.Laplace(sensitivity=1, epsilon=1).epsilon_for(expected=-1)
    with pytest.raises(ParameterError, match="number of candidates"):
        _ = sf.dp.Exponential(sensitivity=1, epsilon=1).error
    with pytest.raises(ParameterError, match="above 0 and below 1"):
        sf.dp.Laplace(sensitivity=1, epsilon=1).error.tail(0)


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: sf.dp.Laplace(sensitivity=1, epsilon=0), "release nothing"),
        (lambda: sf.dp.Laplace(sensitivity=1, epsilon=math.inf), "publish the value itself"),
        (lambda: sf.dp.Laplace(sensitivity=1, epsilon=math.nan), "finite number above 0"),
        (lambda: sf.dp.Laplace(sensitivity=1, epsilon=True), "finite number above 0"),
        (lambda: sf.dp.Laplace(sensitivity=0, epsilon=1), "needs no noise"),
        (lambda: sf.dp.Laplace(sensitivity="wide", epsilon=1), "finite number above 0"),
        (lambda: sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=0), "use Laplace"),
        (lambda: sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1), "promise nothing"),
        (
            lambda: sf.dp.gaussian(1, sensitivity=1, epsilon=2, delta=0.1, method="classic"),
            "analytic",
        ),
        (lambda: sf.dp.laplace(math.nan, sensitivity=1, epsilon=1), "clamp"),
        (lambda: sf.dp.exponential([1, math.inf], sensitivity=1, epsilon=1), "NaN or infinite"),
        (lambda: sf.dp.exponential([], sensitivity=1, epsilon=1), "at least one"),
        (lambda: sf.dp.exponential([[1, 2]], sensitivity=1, epsilon=1), "one number per candidate"),
        (lambda: sf.dp.randomized_response([1, 0], epsilon=1), "True or False"),
        (lambda: sf.dp.median([1, 2], lower=5, upper=5, epsilon=1), "low end below"),
        (lambda: sf.dp.quantile([1, 2], 1.5, lower=0, upper=5, epsilon=1), "between 0 and 1"),
        (lambda: sf.dp.median([1, 2], bounds=(-1e308, 1e308), epsilon=1), "too far apart"),
        (lambda: sf.dp.median([1], lower=0, upper=1e300, step=1e-9, epsilon=1), "coarser"),
        (lambda: sf.dp.quantiles([1], [], lower=0, upper=1, epsilon=1), "at least one quantile"),
        (lambda: sf.dp.price([1], [], epsilon=1), "number of prices"),
        (lambda: sf.dp.price([1], [0], epsilon=1), "price is above 0"),
        (lambda: sf.dp.sensitivity(lambda data: data[0]), "a function was given"),
        (lambda: sf.dp.sensitivity(sf.dp.Count), "derived from its description"),
        (lambda: sf.dp.exponential([1, 2], sensitivity=1, epsilon=-1), "above 0"),
        (lambda: sf.dp.permute_and_flip([1, 2], sensitivity=1, epsilon=0), "above 0"),
    ],
)
def test_refusals_say_what_to_do(make, advice):
    with pytest.raises((ParameterError, DataError), match=advice):
        make()


def test_an_exponential_mechanism_without_budget_chooses_evenly():
    mechanism = sf.dp.Exponential(sensitivity=1, epsilon=0, size=4)
    assert mechanism.guarantee == sf.PureDP(0)
    assert mechanism.probabilities([0, 10, 2**70, -3]).tolist() == [0.25] * 4
    counts = np.bincount(mechanism.simulate([0, 10**6, 5, -3], 4000), minlength=4)
    assert counts.min() > 750  # a chance of less than 1e-17 that one is chosen as rarely
    assert mechanism.error.expected == math.inf
    assert sf.dp.exponential({"a": 1, "b": 2}, sensitivity=1, epsilon=0) in {"a", "b"}


def test_refusals_do_not_quote_data():
    secret = 123456.789
    for call in (
        lambda: sf.dp.laplace([secret, math.nan], sensitivity=1, epsilon=1),
        lambda: sf.dp.exponential([secret, math.inf], sensitivity=1, epsilon=1),
        lambda: sf.dp.geometric([secret], sensitivity=1, epsilon=1),
    ):
        with pytest.raises(DataError) as caught:
            call()
        assert "123456" not in str(caught.value)


def test_selections_take_a_million_candidates_quickly():

    scores = np.random.default_rng(1).normal(size=1_000_000) * 3
    for kind in (sf.dp.Exponential, sf.dp.PermuteAndFlip, sf.dp.ReportNoisyMax):
        mechanism = kind(sensitivity=1, epsilon=1)
        mechanism.release(scores[:1000])
        with usually(0.4):
            picked = mechanism.release(scores)
        assert 0 <= picked < 1_000_000
    keys = {f"k{i}": 0 for i in range(100)} | {"best": 60}
    assert sf.dp.exponential(keys, sensitivity=1, epsilon=2) == "best"


def test_above_threshold_runs_until_its_positives_are_used():
    mechanism = sf.dp.AboveThreshold(threshold=100, sensitivity=1, epsilon=5, positives=2)
    run = mechanism.start()
    assert [run.ask(x) for x in (0, 200, 0, 0)] == [False, True, False, False]
    assert not run.finished
    assert run.ask(300)
    assert run.finished
    with pytest.raises(BudgetExceeded, match="2 times"):
        run.ask(0)
    assert mechanism.release([0, 500, 0, 500, 500]) == [False, True, False, True]
    with pytest.raises(DataError, match="one number at a time"):
        mechanism.start().ask([1, 2])
    with pytest.raises(ParameterError, match="at most"):
        mechanism.simulate([0] * 100, 2)


def test_simulated_and_interactive_sparse_vectors_agree():
    mechanism = sf.dp.AboveThreshold(threshold=0.5, sensitivity=1, epsilon=3, positives=1)
    answers, runs = [0, 1, 0], 3000
    with sf.dp.noise.insecure_seeded(1):
        slow = [mechanism.release(answers) for _ in range(runs)]
        fast = mechanism.simulate(answers, runs)
    codes = [int("1" + "".join(str(int(a)) for a in run), 2) for run in slow]
    for code in set(codes) | set(fast.tolist()):
        a, b = codes.count(code) / runs, float((fast == code).mean())
        assert abs(a - b) < 5 * math.sqrt((a + b) / runs)


def test_quantiles_rise_and_large_data_is_quick():
    values = np.random.default_rng(2).normal(50, 10, 100_000)
    found = sf.dp.quantiles(values, [0.75, 0.25, 0.5], lower=0, upper=100, epsilon=1)
    assert found[1] < found[2] < found[0]
    for q, got in zip((0.75, 0.25, 0.5), found, strict=True):
        assert abs((values < got).mean() - q) < 0.02
    thirds = sf.dp.quantile(values, 1 / 3, lower=0, upper=100, epsilon=1, step=0.01)
    assert abs((values < thirds).mean() - 1 / 3) < 0.02
    far = sf.dp.median([10**400, -(10**400), 50], lower=0, upper=100, epsilon=200, step=1)
    assert far == 50
    assert 0 <= sf.dp.median([], lower=0, upper=1, epsilon=1) <= 1


def test_randomised_response_estimates_without_bias():
    truth = np.arange(100_000) < 30_000
    for mechanism in (
        sf.dp.RandomizedResponse(epsilon=1, size=100_000),
        sf.dp.RandomizedResponse(truth=0.4, size=100_000),
    ):
        with sf.dp.noise.insecure_seeded(5):
            estimate = mechanism.estimate(mechanism.release(truth))
        assert abs(estimate - 0.3) < mechanism.error.tail(1e-4)
    assert isinstance(sf.dp.randomized_response(True, epsilon=1), bool)
    with pytest.raises(ParameterError, match="exactly one"):
        sf.dp.RandomizedResponse(epsilon=1, truth=0.5)
    with pytest.raises(DataError, match="at least one"):
        sf.dp.RandomizedResponse(epsilon=1).estimate(np.array([], dtype=bool))


def test_mechanisms_are_values():
    one, two = (sf.dp.Laplace(sensitivity=1, epsilon=0.5) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(AttributeError):
        one.epsilon = 3
    assert isinstance(one(546), float)


def test_units_that_own_several_values_get_their_sensitivity():
    user = sf.dp.Unit("user_id", rows=5)
    quarter = sf.dp.ExponentialQuantile(lower=0, upper=9, q=0.25, epsilon=1, neighbours=user)
    assert quarter.rank_sensitivity == Fraction(15, 4)
    replaced = sf.dp.Neighbours("bounded", user)
    both = sf.dp.ExponentialQuantile(lower=0, upper=9, q=0.25, epsilon=1, neighbours=replaced)
    assert both.rank_sensitivity == Fraction(5)
    family = sf.dp.Group(sf.dp.Row(), 10)
    assert sf.dp.Pricing(prices=[3], epsilon=1, neighbours=family).mechanism.sensitivity == 30
    for unlimited in (sf.dp.Unit("user_id"), sf.dp.Node()):
        with pytest.raises(ParameterError, match="not limited"):
            sf.dp.median([1, 2], lower=0, upper=5, epsilon=1, neighbours=unlimited)
        with pytest.raises(ParameterError, match="not limited"):
            sf.dp.top1(["a"], ["a", "b"], epsilon=1, neighbours=unlimited)


def brute_force_rank_sensitivity(q, rows, bounded):
    """Try all data sets of up to four values on three points, and all their neighbours."""
    from itertools import combinations_with_replacement as multisets

    def distances(values):
        n = len(values)
        pairs = [(sum(x < v for x in values), sum(x <= v for x in values)) for v in range(3)]
        return [max(Fraction(0), a - q * n, q * n - b) for a, b in pairs]

    worst = Fraction(0)
    for rest in (m for n in range(4) for m in multisets(range(3), n)):
        own = [m for n in range(rows + 1) for m in multisets(range(3), n)]
        if bounded and rows == 1:
            own = [m for m in own if len(m) == 1]
        for one in own:
            for two in own if bounded else [()]:
                gaps = zip(distances(rest + one), distances(rest + two), strict=True)
                worst = max(worst, *(abs(a - b) for a, b in gaps))
    return worst


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(0)])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_rank_sensitivities_hold_by_brute_force(q, rows, relation):
    unit = sf.dp.Row() if rows == 1 else sf.dp.Unit("user_id", rows=rows)
    mechanism = sf.dp.ExponentialQuantile(
        lower=0, upper=2, q=q, epsilon=1, neighbours=sf.dp.Neighbours(relation, unit)
    )
    worst = brute_force_rank_sensitivity(q, rows, relation == "bounded")
    assert worst <= mechanism.rank_sensitivity
    if rows == 1:
        assert worst >= mechanism.rank_sensitivity / 2
