"""Functions that hang, end the program, spoil their input, drift or are seeded; large data sets."""

import contextlib
import multiprocessing
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from chance import seeds
from hangs import usually
from specimens import Specimens, on_grid

import sfumato as sf
from sfumato.audit.claims.neighbours import are_neighbours
from sfumato.audit.claims.outputs import read_objects, unit_of
from sfumato.audit.claims.workers import Workers
from sfumato.dp import Group, Neighbours, Unit
from sfumato.errors import ParameterError

PURE = sf.PureDP(1.0)
NUMPY = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def the_same_noise_in_any_order():
    """At 99 % confidence a right function is accused now and then: not by the order of tests."""
    NUMPY.bit_generator.state = np.random.default_rng(1).bit_generator.state


def noisy(value):
    return on_grid(value + NUMPY.laplace(0, 1.0))


# -- time ---------------------------------------------------------------------------------


def test_the_time_limit_is_kept_by_slow_functions():
    def slow(data):
        time.sleep(0.02)
        return len(data)

    verdict = sf.audit.check(slow, PURE, seconds=1, processes=1)
    few = sum(verdict.witness.runs) < 60 if verdict.witness else True
    assert few or verdict.refuted  # sixty runs without noise are enough
    assert verdict.calls < 400


@pytest.mark.parametrize("processes", [1, 2])
def test_a_call_that_does_not_return_is_ended(processes):
    calls = iter(range(10**9))

    def hangs_sometimes(data):
        if next(calls) == 30:
            time.sleep(1e6)
        return noisy(len(data))

    verdict = sf.audit.check(hangs_sometimes, PURE, seconds=0.6, processes=processes)
    assert not verdict.refuted
    assert "time limit ended the search" in str(verdict)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) in {signal.SIG_DFL, signal.SIG_IGN}


def swallows_everything(data):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(1e6)


def loops_for_ever(data):
    while len(data) >= 0:
        data = data[:1]
    return data


@pytest.mark.parametrize("func", [swallows_everything, loops_for_ever])
def test_a_function_that_never_returns_is_not_called_private(func):
    with pytest.raises(ParameterError, match="did not return once"):
        sf.audit.check(func, PURE, seconds=0.2)


def test_two_checks_at_once_do_not_disturb_each_other():
    verdicts = {}

    def work(name, epsilon):
        run = Specimens(3).laplace_count(epsilon)
        verdicts[name] = sf.audit.check(run, PURE, batched=True, samples=20_000)

    threads = [threading.Thread(target=work, args=("right", 1.0)),
               threading.Thread(target=work, args=("wrong", 3.0))]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not verdicts["right"].refuted
    assert verdicts["wrong"].refuted


HANGS = """
import os, pathlib, time, random
def hangs(data):
    pathlib.Path(f"called-by-{os.getpid()}").touch()
    time.sleep(0.02)
    return random.random()
def exits(data):
    if len(data) > 1 and random.random() < 0.5:
        raise SystemExit(0)
    return random.choice([1, 2])
def count(data):
    return len(data) + random.expovariate(1) - random.expovariate(1)
"""


def test_ctrl_c_ends_the_command_at_once_and_quietly(tmp_path):
    (tmp_path / "my_module.py").write_text(HANGS)
    code = "from sfumato.cli import main; main()"
    command = [sys.executable, "-c", code, "audit", "my_module:hangs", "-e", "1"]
    started = subprocess.Popen(
        [*command, "--processes", "2", "-q"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 120
    while len(list(tmp_path.glob("called-by-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)  # until it is at work, and not alone
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to all of the group
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.parametrize("at", ["the command", "the forked process"])
def test_ctrl_c_at_the_moment_of_a_fork_leaves_no_process_behind(at, monkeypatch):
    """A terminal sends it to both, and either may be anywhere."""
    fork, forked = os.fork, []

    def interrupted():
        number = fork()
        if number:
            forked.append(number)
            if at == "the command" and len(forked) == 2:
                signal.raise_signal(signal.SIGINT)
        elif signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, []):
            os._exit(3)  # it would be raised here, in a copy of the command
        elif at == "the forked process":
            signal.raise_signal(signal.SIGINT)
        return number

    monkeypatch.setattr(os, "fork", interrupted)
    before = signal.getsignal(signal.SIGINT)
    if at == "the command":
        with pytest.raises(KeyboardInterrupt):
            Workers.start(len, 2)
    else:
        pool = Workers.start(len, 2)
        (outputs,) = pool.draw(([1, 2, 3],), [0] * 10)
        assert outputs.numbers[:, 0].tolist() == [3] * 10
        pool.close()
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert len(forked) == 2
    for number in forked:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_processes_that_never_return_end_with_the_command_that_is_killed():
    reads, writes = os.pipe()

    def command():
        def never_returns(data):
            os.write(writes, b"called")
            while True:
                time.sleep(1)

        pool = Workers.start(never_returns, 2)
        for pipe in pool.pipes:
            pipe.send((([1],), [0]))
        time.sleep(600)

    started = multiprocessing.get_context("fork").Process(target=command)
    started.start()
    os.close(writes)
    called = b""
    while len(called) < len(b"called") * 2:
        called += os.read(reads, 100)
    started.kill()
    started.join()
    ready, _, _ = select.select([reads], [], [], 60)  # against a hang: it takes milliseconds
    assert ready
    assert os.read(reads, 1) == b""  # all who could write are gone
    os.close(reads)


def test_a_pool_that_cannot_be_started_leaves_no_process_behind(monkeypatch):
    fork, forked = os.fork, []

    def exhausted():
        if forked:
            raise BlockingIOError("no more processes")
        number = fork()
        if number:
            forked.append(number)
        return number

    monkeypatch.setattr(os, "fork", exhausted)
    with pytest.raises(BlockingIOError):
        Workers.start(len, 2)
    with pytest.raises(ProcessLookupError):
        os.kill(forked[0], 0)


# -- what a function may do ----------------------------------------------------------------


def test_an_attempt_to_end_the_program_is_an_output(tmp_path, monkeypatch, capsys):
    def exits(data):
        if len(data) > 1 and random.random() < 0.5:
            raise SystemExit(3)
        return random.choice([1, 2])

    verdict = sf.audit.check(exits, PURE, samples=2_000)
    assert verdict.refuted
    assert "SystemExit" in verdict.witness.event

    def always(data):
        sys.exit(len(data))

    with pytest.raises(ParameterError, match="SystemExit"):
        sf.audit.check(always, PURE)


def test_a_function_may_spoil_everything_it_is_given():
    def grows(data):
        for record in data:
            record["seen"].append(1)
        return on_grid(sum(len(record["seen"]) for record in data) + NUMPY.laplace(0, 1.0))

    verdict = sf.audit.check(grows, PURE, records=[{"seen": []}], samples=2_000)
    assert not verdict.refuted  # one more record is one more: nothing is left from earlier runs
    assert verdict.epsilon_lower_bound > 0.5

    def adds(data):
        for record in data:
            record[:] = record + 1
        return float(sum(record.sum() for record in data))

    records = [np.zeros(2), np.ones(2)]
    assert sf.audit.check(adds, PURE, records=records, samples=2_000).refuted
    assert records[0].sum() == 0


@seeds(4, few=1)
def test_a_function_that_drifts_is_not_accused(seed):
    """It answers many questions and then refuses for ever, in the middle of a measurement."""
    rng, asked = np.random.default_rng(seed), []

    def limited(data):
        asked.append(1)
        if len(asked) > 25_000:
            raise RuntimeError("no budget left")
        return on_grid(len(data) + rng.laplace(0, 1.0))

    verdict = sf.audit.check(limited, PURE, samples=20_000, pairs=[([0, 1], [0])], processes=1)
    assert len(asked) > 30_000
    assert not verdict.refuted


def test_batches_of_a_function_that_drifts_come_in_random_order():
    order = []

    def run(data, n):
        order.append(len(data))
        return np.zeros(n)

    sf.audit.check(run, PURE, batched=True, samples=200_000, pairs=[([0, 1], [0])])
    tail = order[-10:-2]  # the last look; then one output for each side of the witness
    assert sorted(tail) not in (tail, tail[::-1])
    assert tail.count(1) == tail.count(2) == 4


def test_a_function_that_seeds_itself_has_no_noise():
    def fixed(data):
        np.random.seed(0)
        return len(data) + np.random.laplace()

    assert sf.audit.check(fixed, PURE, samples=1_000).refuted


# -- seeds ----------------------------------------------------------------------------------


def by_python(data):
    return len(data) + round(random.expovariate(1) - random.expovariate(1))


def by_numpy(data):
    return round(len(data) + np.random.laplace())


def by_us(data):
    return sf.dp.laplace(len(data), sensitivity=1, epsilon=1)


@pytest.mark.parametrize("func", [by_python, by_numpy, by_us])
def test_the_same_seed_gives_the_same_verdict(func):
    def told(seed):
        verdict = sf.audit.check(
            func, PURE, seed=seed, samples=1_000, seconds=120, processes=1, pairs=[([0, 1], [0])]
        )
        return verdict.epsilon_lower_bound, verdict.witness.counts, str(verdict)

    before = random.getstate(), np.random.get_state()[1].tolist()
    assert told(3) == told(3)
    assert told(3) != told(4)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_without_a_seed_generators_are_left_alone():
    random.seed(5)
    wanted = random.random()
    random.seed(5)
    sf.audit.check(lambda d: noisy(len(d)), PURE, samples=1_000, pairs=[([0, 1], [0])])
    assert random.random() == wanted


# -- large data sets, and what is printed ----------------------------------------------------


def test_large_data_sets_have_neighbours_too():
    people = list(range(20_000))
    with usually(4):
        verdict = sf.audit.check(
            lambda d: noisy(len(d)), PURE, datasets=[people], samples=1_000, processes=1
        )
    assert not verdict.refuted
    assert verdict.epsilon_lower_bound > 0.2
    assert abs(len(verdict.witness.first) - len(verdict.witness.second)) == 1


def test_neighbours_of_large_data_sets_are_told_quickly():
    many = list(range(20_000))
    other = [*many[:500], -1, *many[500:]]
    with usually(2):
        assert are_neighbours(many, other, Neighbours("unbounded"))
        assert not are_neighbours(many, many[::-1], Neighbours("unbounded"))
        assert not are_neighbours(many, [*many[1:], 0], Neighbours("unbounded"))
        two = Neighbours("unbounded", Group(sf.dp.Row(), 2))
        assert are_neighbours(many, [*many[1:], 0], two)  # one out, one in
        assert not are_neighbours(many, [*many[2:], 0], two)
        users = [{"user": i // 2} for i in range(4_000)]
        unit = Neighbours("unbounded", Unit("user", rows=2))
        assert are_neighbours(users, users[2:], unit)
        assert not are_neighbours(users, users[1:], unit)
        assert not are_neighbours(users, users[4:], unit)


def subsequence(a, b):
    """The longest common subsequence, by the book."""
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1], best[i - 1][j - 1] + (x == y))
    return best[-1][-1]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_insertions_agree_with_the_book(most):
    rng = np.random.default_rng(most)
    relation = Neighbours("unbounded", Group(sf.dp.Row(), most))
    seen = set()
    for _ in range(800):
        a = rng.integers(0, 3, rng.integers(0, 8)).tolist()
        b = rng.integers(0, 3, rng.integers(0, 8)).tolist()
        steps = len(a) + len(b) - 2 * subsequence(a, b)
        assert are_neighbours(a, b, relation) is (1 <= steps <= most)
        seen.add(1 <= steps <= most)
    assert seen == {True, False}


def test_nothing_printed_shows_the_users_own_data(tmp_path):
    salaries = [91_234, 45_678, 66_001, 58_119]
    verdict = sf.audit.check(
        lambda d: max(d) + int(NUMPY.integers(2)), PURE, datasets=[salaries], samples=2_000
    )
    assert verdict.refuted
    picture = verdict.witness.draw(tmp_path / "own.svg", runs=500)
    shown = [str(verdict), repr(verdict), repr(verdict.witness), picture.read_text()]
    secrets = [str(salary + more) for salary in salaries for more in (0, 1)]
    for text in shown:
        assert not [secret for secret in secrets if secret in text]
    revealed = verdict.witness.draw(tmp_path / "own.svg", runs=500, reveal=True).read_text()
    assert [secret for secret in secrets if secret in revealed]


def test_rounding_forgets_what_arithmetic_adds_and_nothing_else():
    values = [0.1, 1 - 0.9, 0.3, 0.1 + 0.2, 0.0, 0.3 - (0.1 + 0.2), 1e9 + 0.1, 1e9 + 0.2]
    outputs = read_objects(values)
    unit = unit_of([read_objects([-0.5, 0.1, 0.7, 1.2])])
    codes = outputs.rounded(unit).whole().tolist()
    assert codes[0] == codes[1]
    assert codes[2] == codes[3]
    assert codes[4] == codes[5]
    assert len(set(codes)) == 5
    assert np.abs(outputs.rounded(unit).numbers[:, 0] - values).max() < 1e-4
    assert np.array_equal(
        outputs.rounded(unit).numbers, outputs.rounded(unit).rounded(unit).numbers
    )
    assert (
        read_objects([2**60, 2**60 + 256]).rounded(1.0).whole()[0]
        != read_objects([2**60 + 256]).rounded(1.0).whole()[0]
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"records": 5}, "records="),
        ({"datasets": 5}, "datasets="),
        ({"datasets": [5]}, "datasets="),
        ({"pairs": [1]}, "pairs="),
        ({"pairs": 7}, "pairs="),
        ({"samples": "many"}, "1000 samples"),
        ({"seconds": "long"}, "time limit"),
        ({"seed": "x"}, "seed is a whole number"),
        ({"seed": -1}, "seed is a whole number"),
        ({"confidence": None}, "confidence"),
    ],
)
def test_what_means_nothing_is_refused_in_words(options, words):
    with pytest.raises(ParameterError, match=words):
        sf.audit.check(lambda d: noisy(len(d)), PURE, **options)
