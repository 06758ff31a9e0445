"""The run itself: repeatable draws, an order by weight, and what false alarms add up to."""

import itertools
import multiprocessing
import random
import threading
from types import SimpleNamespace

import chance
import numpy as np
import pytest
import scheduling

import sfumato as sf


def drawn():
    return random.random(), np.random.rand(), sf.dp.geometric(0, sensitivity=1, epsilon=0.001)


@pytest.fixture(autouse=True)
def begun_again(request):
    yield
    chance.begin(request.node.nodeid)


def test_the_name_of_a_test_determines_what_it_draws():
    chance.begin("a")
    first = drawn(), drawn()
    chance.begin("b")
    other = drawn(), drawn()
    chance.begin("a")
    with chance.shared("a fixture"):
        drawn()
    assert (drawn(), drawn()) == first != other


def test_threads_draw_differently_and_alike_each_time():
    def of_threads():
        chance.begin("threads")
        found = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: found.append(sf.dp.noise.stream().bytes(16)))
            thread.start()
            thread.join()
        return [*found, sf.dp.noise.stream().bytes(16)]

    found = of_threads()
    assert len(set(found)) == 3
    assert of_threads() == found


def test_a_forked_process_draws_from_the_system():
    def child(pipe):
        pipe.send(sf.dp.noise.stream().bytes(16))

    chance.begin("fork")
    sf.dp.noise.stream()
    seen = set()
    for _ in range(2):
        here, there = multiprocessing.get_context("fork").Pipe()
        process = multiprocessing.get_context("fork").Process(target=child, args=(there,))
        process.start()
        seen.add(here.recv())
        process.join()
    seen.add(sf.dp.noise.stream().bytes(16))
    assert len(seen) == 3


def test_an_order_is_repeated_by_its_seed_and_keeps_files_together():
    story = SimpleNamespace(ordered="each step needs the one before")
    items = [
        SimpleNamespace(nodeid=f"tests/{f}.py::test_{n}", module=story if f == "a" else None)
        for f in "abcde" for n in range(6)
    ]  # fmt: skip

    def shuffled(seed):
        given = list(items)
        scheduling.shuffle(given, seed, inside=True)
        return [item.nodeid for item in given]

    once = shuffled(1)
    assert once == shuffled(1) != shuffled(2)
    assert sorted(once) == sorted(item.nodeid for item in items)
    files = [name.partition("::")[0] for name in once]
    assert sum(a != b for a, b in itertools.pairwise(files)) == 4
    of = {f: [name for name in once if name.startswith(f"tests/{f}.py")] for f in "ab"}
    assert of["a"] == sorted(of["a"])
    assert of["b"] != sorted(of["b"])


def test_the_jvm_starts_first_and_then_what_takes_longest(monkeypatch):
    monkeypatch.setattr(scheduling, "weights", lambda: {"tests/b.py": 9.0, "tests/c.py": 30.0})
    names = ["tests/a.py", "tests/b.py", "tests/c.py", "spark", "tests/d.py"]
    ordered = scheduling.by_weight({name: {} for name in names})
    assert ordered == ["spark", "tests/c.py", "tests/b.py", "tests/a.py", "tests/d.py"]


def test_false_alarms_of_a_test_add_up():
    chance.begin("alarms")
    assert chance.stated() == 0
    chance.false_alarm(1e-9)
    chance.false_alarm(2e-9)
    assert chance.stated() == pytest.approx(3e-9)
    chance.begin("alarms")
