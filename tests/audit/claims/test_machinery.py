"""How functions are run, what is read from outputs and code, and what users can rely on."""

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from chance import false_alarm
from specimens import Specimens, on_grid

import sfumato as sf
from sfumato.audit.claims.deterministic import read_code
from sfumato.audit.claims.evidence import additive
from sfumato.audit.claims.evidence.additive import learn_alike
from sfumato.audit.claims.evidence.scores import Value, learn, places
from sfumato.audit.claims.outputs import Raised, read, read_objects
from sfumato.audit.claims.samples import sampler_of
from sfumato.audit.claims.workers import Workers
from sfumato.cli import run
from sfumato.errors import DataError, ParameterError, PromiseBroken

PURE = sf.PureDP(1.0)


# -- running ------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_verdict():
    def again(seed):
        verdict = sf.audit.check(
            Specimens(5).laplace_count(1.3), PURE, batched=True, samples=20_000, seed=seed
        )
        witness = verdict.witness
        return verdict.refuted, verdict.epsilon_lower_bound, witness.event, witness.counts

    assert again(3) == again(3)
    assert again(3) != again(4)


def test_batches_are_recognised():
    rng = np.random.default_rng(1)
    sizes = []

    def by_parameter(data, batch=None):
        sizes.append(batch)
        return on_grid(len(data) + rng.laplace(0, 0.5, batch))

    assert sf.audit.check(by_parameter, PURE).refuted
    assert min(sizes[1:10]) >= 100

    def plain(data):
        raise AssertionError("the batch is there to be used")

    plain.batch = lambda data, n: on_grid(len(data) + rng.laplace(0, 0.5, n))
    assert sf.audit.check(plain, PURE).refuted
    with pytest.raises(ParameterError, match="did not give an array or list of that length"):
        sf.audit.check(lambda data, n: [1, 2], PURE, batched=True)


def test_a_batch_that_raises_is_asked_one_by_one():
    rng = np.random.default_rng(2)

    def fragile(data, n):
        if len(data) > 1 and (n > 1 or rng.random() < 0.5):
            raise ValueError("too many")
        return np.zeros(n)

    verdict = sf.audit.check(fragile, PURE, batched=True, samples=2_000)
    assert verdict.refuted


def test_arguments_are_passed_on_and_data_cannot_be_spoilt():
    rng = np.random.default_rng(3)

    def count(data, scale, *, offset):
        data.append(0)
        return offset + on_grid(len(data) + rng.laplace(0, scale))

    verdict = sf.audit.check(count, PURE, arguments={"scale": 0.3, "offset": 5})
    assert verdict.refuted
    assert verdict.epsilon_lower_bound < 1 / 0.3


def test_processes_draw_independently_or_not_at_all():
    def fresh(data, scale=0.5):
        return on_grid(len(data) + np.random.default_rng().laplace(0, scale))

    sampler = sampler_of(fresh, arguments={}, batched=None, timing=False, processes=2)
    try:
        outputs = sampler.draw([1, 2], 500).numbers[:, 0]
        assert sampler._workers.count == 2
        # Two copies would give 250 values at most; of independent draws 61 pairs are expected to
        # be equal, and one draw changes the number of values by one at most (McDiarmid).
        assert len(set(outputs)) > 300
        false_alarm(math.exp(-2 * 138**2 / 500))
    finally:
        sampler.close()
    # One draw in 300 passes the middle between both answers; to hide that, a third would have to.
    found = sf.audit.check(lambda data: fresh(data, 0.1), PURE, processes=2, samples=2_000)
    assert found.refuted
    false_alarm(1e-12)

    generator = np.random.default_rng(1)
    copied = lambda data: on_grid(len(data) + generator.laplace(0, 0.5))  # noqa: E731
    sampler = sampler_of(copied, arguments={}, batched=None, timing=False, processes=2)
    try:
        outputs = sampler.draw([1, 2], 500).numbers[:, 0]
        assert sampler._workers.count == 1  # two would have repeated each other
        assert len(set(outputs)) > 300
    finally:
        sampler.close()


def slow(data):
    time.sleep(0.0008)
    return on_grid(len(data) + np.random.default_rng().laplace(0, 1.0))  # wherever it runs


def test_slow_functions_go_to_processes(monkeypatch):
    started, seen = [], []
    start = Workers.start
    monkeypatch.setattr(
        Workers, "start", lambda *given: started.append(start(*given)) or started[-1]
    )
    verdict = sf.audit.check(
        slow, PURE, samples=1_000, seconds=300, pairs=[([0, 1], [0])], confidence=1 - 1e-10,
        progress=lambda *said: seen.append(said),
    )  # fmt: skip
    false_alarm(1e-10)
    assert started
    assert not verdict.refuted
    assert verdict.looks == 1
    assert sum(verdict.witness.runs) == 2_000
    assert all(0 <= share <= 1 and "ε" in words for share, words in seen)
    assert seen


def test_slow_functions_stop_in_time():
    verdict = sf.audit.check(slow, PURE, seconds=1, pairs=[([0, 1], [0])])
    assert verdict.calls < 100_000  # of 400,000, which would take five minutes


# -- reading ----------------------------------------------------------------------------


def test_outputs_have_the_same_code_exactly_when_they_are_the_same():
    different = [
        1, 1.0, True, np.float64(1), "1", b"1", None, (1,), [1], {1}, {"a": 1}, {"b": 1}, (1, 2),
        (2, 1), [1, [2]], [[1], 2], np.array([1, 2]), np.array([1.0, 2.0]), 2**70, 2**70 + 1,
        Raised("KeyError", "a"), Raised("KeyError", "b"), Raised("IndexError", "a"), math.nan,
        math.inf, -0.0, 0.0, 1 + 2j, "", (), [],
    ]  # fmt: skip
    codes = read_objects(different).whole()
    assert len(set(codes.tolist())) == len(different)
    for item, code in zip(different, codes, strict=True):  # alone as in company
        assert read_objects([item]).whole()[0] == code
    assert read_objects([object()]).whole() == read_objects([object()]).whole()  # no addresses


def test_a_row_of_an_array_reads_like_the_row_alone():
    rows = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    together = read(rows, 2)
    assert together.names[int(together.shapes[0])] == "array of float64[3] with NaN at [1]"
    assert len(set(together.shapes.tolist())) == 2
    assert (together.whole() == read_objects(list(rows)).whole()).all()
    assert read(np.arange(5), 6) is None
    assert read(7, 1) is None
    scalars = read(np.array([0.5, 0.25]), 2)
    assert scalars.scalar
    assert (scalars.whole() == read_objects(list(np.array([0.5, 0.25]))).whole()).all()


def test_many_numbers_are_summed_up():
    wide = read(np.arange(300.0).reshape(3, 100), 3)
    assert wide.numbers.shape == (3, 64)
    assert wide.numbers[0, -3:].tolist() == [4950.0, 0.0, 99.0]
    assert read_objects([list(range(100))]).numbers.shape == (1, 64)


def test_the_place_of_the_lowest_bit():
    values = np.array([1.0, 3.0, 2.0, 0.5, 1 + 2.0**-52, 0.0, 6.0])
    lowest = (places(values) + 5_000) % 10_000 - 5_000
    exponent = [0, 0, 1, -1, -52, None, 1]
    for place, right in zip(lowest, exponent, strict=True):
        assert right is None or place == right
    assert len(set(places(np.array([0.0, np.nan])).tolist())) == 1


def test_scores_order_outputs_by_likelihood():
    rng = np.random.default_rng(4)
    first = read(rng.normal(1.0, 1, (20_000, 3)), 20_000)
    second = read(rng.normal(0.0, 1, (20_000, 3)), 20_000)
    probe = read(np.array([[-1.0] * 3, [0.5] * 3, [2.0] * 3]), 3)
    families = {score.family: score.of(probe) for score in learn(first, second, floats=True)}
    assert set(families) == {"sum", "histogram", "low bits", "linear", "additive"}
    for name in ("sum", "histogram", "linear", "additive"):
        assert (np.diff(families[name]) > 0).all()
    # The log-ratio of N(1, 1) and N(0, 1) is x − 1/2 in each of three places.
    assert families["histogram"][2] == pytest.approx(4.5, abs=0.8)


def test_outputs_that_come_often_are_told_apart_by_themselves_alone():
    rng = np.random.default_rng(5)
    chances = np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    marks = np.eye(3, dtype=np.int64)
    first, second = (read(marks[rng.choice(3, 20_000, p=p)], 20_000) for p in chances)
    scores = {score.family: score for score in learn(first, second, floats=False)}
    assert set(scores) == {"sum", "atoms"}
    found = scores["atoms"].of(read(marks, 3))
    assert found == pytest.approx(np.log(chances[0] / chances[1]), abs=0.1)


@pytest.mark.parametrize("compiled", [True, False])
def test_columns_that_look_alike_share_their_weights(compiled, monkeypatch):
    """Twenty Laplace answers: the log-ratio is the number above less that below, times 1/b."""
    monkeypatch.setattr("sfumato.compiled.WaitingAccount.worth", lambda *_: compiled)
    rng = np.random.default_rng(6)
    first, second = (read(rng.laplace(x, 5, (20_000, 20)), 20_000) for x in (1.0, 0.0))
    alike = next(s for s in learn(first, second, floats=False) if s.family == "alike")
    probe = np.where(np.arange(20) < np.arange(21)[:, None], 9.0, -9.0)
    found = alike.of(read(probe, 21))
    assert np.diff(found) == pytest.approx(2 / 5, abs=0.05)
    apart = learn_alike(first, read(rng.laplace(0, 5, (20_000, 20)) + np.arange(20) * 9, 20_000),
                        ranges=2)  # fmt: skip
    assert apart is None


def test_ranges_that_come_together_are_counted_alike_in_both_ways():
    codes = np.random.default_rng(7).integers(0, 5, (500, 4)).astype(np.uint8)
    marks = np.zeros((500, 20))
    marks[np.arange(500)[:, None], codes + 5 * np.arange(4)] = 1
    assert np.array_equal(additive._plain_together(codes, 5), marks.T @ marks)
    assert np.array_equal(additive._together.compiled(codes, 5), marks.T @ marks)


COMPANY = [
    1, 2.5, [1.0, 2.0, 3.0], [4.0], None, "a", ("b", "c"), ("d", 0.5), list(range(100)), math.nan,
    [math.nan, 1.0], {"k": "a"}, np.array([1.0, np.nan]), np.array([np.nan, 1.0]),
    Raised("KeyError", "a"), [str(i) for i in range(80)],
]  # fmt: skip


def test_what_is_read_from_an_output_does_not_depend_on_its_company():
    """An event is a set of outputs; if a batch could change membership, no bound would hold."""
    rng = np.random.default_rng(7)
    mixed = [[COMPANY[i] for i in rng.integers(0, len(COMPANY), 3_000)] for _ in range(2)]
    mixed = [[x if rng.random() < 0.9 else rng.normal() for x in side] for side in mixed]
    shifted = [[x] if isinstance(x, float) else x for x in mixed[1]]
    first, second = read_objects(mixed[0]), read_objects(shifted)
    scores = learn(first, second, floats=True)
    families = {"sum", "atoms", "histogram", "low bits", "linear", "additive"}
    assert families == {score.family for score in scores}
    for score in [*scores, Value()]:
        together = score.of(first)
        for i in range(200):
            alone = score.of(read_objects([mixed[0][i]]))
            assert alone[0] == pytest.approx(together[i], nan_ok=True)


def test_gaps_in_an_array_are_told_apart_in_any_company():
    rng = np.random.default_rng(8)
    rows = np.where(rng.random((4_000, 10)) < 0.5, np.nan, rng.integers(0, 3, (4_000, 10)))
    together = read(rows, len(rows))
    assert (together.whole() == read_objects(list(rows)).whole()).all()
    patterns = {tuple(row) for row in np.isnan(rows).tolist()}
    assert len(set(together.shapes.tolist())) == len(patterns)
    for i in range(100):
        assert read(rows[i : i + 1], 1).shapes[0] == together.shapes[i]
    wide = np.full((64, 64), 1.0)
    wide[np.arange(64), np.arange(64)] = np.nan
    assert len(set(read(wide, 64).shapes.tolist())) == 64


@pytest.mark.parametrize("variant", [3, 4, 5, 6])
def test_an_event_is_a_set_of_outputs_however_they_are_batched(variant):
    s = Specimens(9)
    run = s.sparse_vector(variant, 1.0, positives=2)
    answers = [0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5
    first, second = (read(run(data, 20_000), 20_000) for data in answers)
    for score in learn(first, second, floats=True):
        rows = run(answers[0], 2_000)
        together = score.of(read(rows, 2_000))
        apart = np.concatenate(
            [score.of(read(rows[i : i + 7], len(rows[i : i + 7]))) for i in range(0, 2_000, 7)]
        )
        alone = np.concatenate([score.of(read_objects([row])) for row in rows[:200]])
        assert np.allclose(together, apart, rtol=0, atol=1e-9)
        assert np.allclose(together[:200], alone, rtol=0, atol=1e-9)


def test_code_proves_determinism_only_where_it_can():
    import random

    def squares(data):
        return sorted(x * x for x in data)[:3]

    def loops(data):
        total = 0
        for x in data:
            total += x if x > 0 else -x
        return [total, {"n": len(data)}]

    outside = 3
    for func in (squares, loops, lambda d: len(d) + 10, len, sum):
        facts = read_code(func)
        assert facts.deterministic
        assert not facts.ignores_data
    for func in (lambda d: 999, lambda d: (1, "x", [2])):
        assert read_code(func).ignores_data
    for func in (
        lambda d: random.random(),
        lambda d: d.pop(),
        lambda d: outside,
        lambda d: [id(d)],
        lambda d, e=1: 5,
        lambda *d: 5,
        lambda d: (yield 1),
        print,
        Specimens(1).laplace_count(1),
    ):
        assert not read_code(func).deterministic
        assert not read_code(func).ignores_data


def test_outputs_that_cannot_be_compared_are_no_counter_example():
    assert not sf.audit.check(lambda d: (x for x in d), PURE).refuted
    assert not sf.audit.check(lambda d: lambda: 3, PURE).refuted


def test_deterministic_functions_that_never_differ_are_not_called_proven():
    verdict = sf.audit.check(lambda d: len(d) * 0, sf.PureDP(0.0))
    assert not verdict.refuted
    assert not verdict.proved
    assert "deterministic" in str(verdict)
    assert sf.audit.check(len, sf.ApproxDP(1.0, 0.5)).refuted
    assert not sf.audit.check(len, sf.ApproxDP(1.0, 1.0)).refuted


# -- using --------------------------------------------------------------------------------


def test_a_function_that_always_raises_is_not_called_private():
    with pytest.raises(ParameterError, match="records="):
        sf.audit.check(lambda d: sum(r["age"] for r in d) + np.random.default_rng().random(), PURE)
    with pytest.raises(ParameterError, match="records="):  # deterministic
        sf.audit.check(lambda d: sum(r["age"] for r in d), PURE)
    with pytest.raises(ParameterError, match="at least two different"):
        sf.audit.check(len, sf.PureDP(1.0, neighbours="bounded"), records=[1])
    with pytest.raises(ParameterError, match="at least two different"):
        sf.audit.check(id, sf.PureDP(1.0, neighbours="bounded"), records=[1])


def test_the_picture_of_a_witness(tmp_path):
    import xml.etree.ElementTree as ET

    s = Specimens(3)
    for func, options in (
        (s.laplace_count(3.0), {}),
        (s.randomized_response(0.9), {"records": [0, 1]}),
    ):
        claim = sf.PureDP(1.0, neighbours="bounded" if options else "unbounded")
        verdict = sf.audit.check(func, claim, batched=True, **options)
        target = verdict.witness.draw(tmp_path / "witness.svg", runs=5_000)
        drawn = ET.parse(target).getroot()
        columns = [e for e in drawn.iter() if e.get("opacity")]
        assert len(columns) >= 4
        assert {e.get("opacity") for e in columns} == {"1.0", "0.28"}
        assert any(verdict.witness.event in (e.text or "") for e in drawn.iter())
    with pytest.raises(ParameterError, match="nothing to draw"):
        sf.audit.check(len, PURE).witness.draw(tmp_path / "no.svg")


def test_values_of_a_users_own_data_are_not_printed():
    rng = np.random.default_rng(5)
    salaries = [91_234, 45_678, 66_001, 58_119]
    leak = lambda d: max(d) + int(rng.integers(2))  # noqa: E731
    verdict = sf.audit.check(leak, PURE, datasets=[salaries], samples=2_000)
    assert verdict.refuted
    assert len(verdict.witness.first) + len(verdict.witness.second) == 7
    assert not any(str(salary) in str(verdict) for salary in salaries)
    assert "4 records" in str(verdict)


def test_a_verdict_can_raise():
    sf.audit.check(lambda d: 1, PURE).require()
    with pytest.raises(PromiseBroken, match="refuted with certainty"):
        sf.audit.check(len, PURE).require()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 10}, "at least 1000 samples"),
        ({"seconds": 0}, "above 0 seconds"),
        ({"confidence": 1.0}, "below 1"),
        ({"size": 0}, "at least 1"),
        ({"arithmetic": "exact"}, "'float' or 'real'"),
        ({"inputs": "rows"}, "'records' or 'answers'"),
        ({"records": []}, "at least one record"),
        ({"timing": True, "batched": True}, "call by call"),
    ],
)
def test_wrong_parameters_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        sf.audit.check(id, PURE, **options)
    with pytest.raises(ParameterError, match="claim="):
        sf.audit.check(len)
    with pytest.raises(ParameterError, match="function of a data set"):
        sf.audit.check(5, PURE)


def test_a_bound_from_outputs_that_are_there():
    rng = np.random.default_rng(6)
    first, second = (on_grid(x + rng.laplace(0, 1, 400_000)) for x in (0, 1))
    assert 0.96 < sf.audit.epsilon_lower_bound(first, second) <= 1.0
    assert 0.9 < sf.audit.epsilon_lower_bound(first, second, delta=0.01) <= 1.0
    alike = rng.normal(size=(2, 10_000))
    assert sf.audit.epsilon_lower_bound(*alike) < 0.05
    texts = ["a"] * 500, ["b"] * 500
    assert sf.audit.epsilon_lower_bound(*texts) > 3
    with pytest.raises(DataError, match="at least 100"):
        sf.audit.epsilon_lower_bound([1, 2], [3, 4])
    with pytest.raises(ParameterError, match="below 1"):
        sf.audit.epsilon_lower_bound(first, second, delta=1.0)


MODULE = """
import numpy as np
rng = np.random.default_rng(1)
def count(data):
    return len(data) + 10
def constant(data):
    return 999
def noisy(data, n):
    return np.rint((sum(data) + rng.laplace(0, 1, n)) * 1024) / 1024
def func4(data):
    return len(data) + rng.laplace(0, 1)
"""


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_statistics.py").write_text(MODULE)
    assert run(["audit", "my_statistics:count", "--epsilon", "1"]) == 1
    assert "[0, 1]" in capsys.readouterr().out
    assert run(["audit", "my_statistics:constant", "-e", "0"]) == 0
    assert "proved" in capsys.readouterr().out
    noisy = ["audit", "my_statistics:noisy", "-e", "1", "--batched", "--samples", "20000"]
    assert run(noisy) == 0
    assert "not refuted" in capsys.readouterr().out
    assert run([*noisy, "--records", "[0, 4]", "--quiet"]) == 1
    assert not capsys.readouterr().out
    assert run([*noisy, "--records", "[0, 4]", "--delta", "0.99"]) == 0
    assert run([*noisy, "--records", "0"]) == 2
    assert "JSON list" in capsys.readouterr().err
    textbook = ["audit", "my_statistics:func4", "-e", "1", "--samples", "2000"]
    assert run(textbook) == 0
    assert "rounding errors" in capsys.readouterr().out
    assert run([*textbook, "--arithmetic", "float"]) == 1
    assert run([*textbook, "--arithmetic", "decimal"]) == 2
    assert run(["audit", "my_statistics:absent", "-e", "1"]) == 2
    assert run(["audit", "no_such_module:f", "-e", "1"]) == 2


FIXTURE_TESTS = """
import numpy as np
import sfumato as sf
rng = np.random.default_rng(1)
def right(data, n):
    return np.rint((len(data) + rng.laplace(0, 1, n)) * 1024) / 1024
def test_right(check_privacy):
    verdict = check_privacy(right, sf.PureDP(1.0), batched=True, samples=20_000)
    assert verdict.confidence == 0.9999
def test_wrong(check_privacy):
    check_privacy(len, sf.PureDP(1.0))
"""


def test_the_fixture_for_users_own_tests(tmp_path):
    (tmp_path / "test_mine.py").write_text(FIXTURE_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "sfumato.testing.pytest_plugin"]
    done = subprocess.run(
        [*command, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "D = [0, 1] gives 2" in done.stdout
