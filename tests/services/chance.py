"""Nothing by chance: every test draws from a source that its name and the run's seed determine.

Contract: ``begin(name)`` starts Python's and numpy's global generators and the noise of Sfumato for
the test of that name; ``rewind`` does so with generators that a module of tests keeps. What a test
draws depends on no other test, so the order of tests does not matter, and a run with the same seed
repeats itself. The noise counts as secure, as the real one is: guards see no difference.

What is out of reach draws from the operating system as ever: other processes, forked or started,
and databases. A test that judges such draws, or that soaks with a seed of each run, states by
``false_alarm`` the probability that it fails though all is right; the run adds them up.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import secrets
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.data.tables import permutation

# The package gives a function of the same name.
noise = importlib.import_module("sfumato.dp.noise.stream")

MOST = 1e-6
"""A run that finds nothing wrong may fail once in a million times."""

_HOME = os.getpid()


class _KnownStream(noise.Stream):
    """The noise of one thread of a test; a forked process draws its own from the system."""

    def __init__(self, name: str) -> None:
        self._key = name.encode()
        super().__init__()

    def _rekey(self) -> None:
        super()._rekey()
        if os.getpid() == _HOME:
            self._key = hashlib.sha512(self._key).digest()
            self._cipher = noise._encryptor(self._key[:32], self._key[32:48])


class _Streams:
    """Takes the place of what keeps a stream per thread: threads are told apart by their order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.books = ("before the first test", threading.local(), [0])

    def restart(self, name: str) -> None:
        self.books = (name, threading.local(), [0])

    @property
    def own(self) -> noise.Stream:
        name, kept, threads = self.books
        if not hasattr(kept, "stream"):
            with self.lock:
                kept.stream = _KnownStream(f"{name} thread {threads[0]}")
                threads[0] += 1
        return kept.stream


_secure, _known = noise._streams, _Streams()
_random_bits = secrets.randbits
_kept: dict[str, list[tuple[object, object]]] = {}
_stated: list[float] = []
run_seed = 0
soaking = False
"""Whether this run is to try all there is, and not an example of everything."""


def seeds(count: int, few: int = 10):
    """Run a test with as many seeds: a few of them in the suite, the others in a soak."""
    rest = range(few, count) if soaking else ()
    return pytest.mark.parametrize(
        "seed", [*range(min(few, count)), *(pytest.param(s, marks=pytest.mark.soak) for s in rest)]
    )


def rounds(few: int, many: int):
    """Run a test with a few rounds of what it draws, and with many in a soak."""
    return pytest.mark.parametrize("rounds", [few, pytest.param(many, marks=pytest.mark.soak)])


def _outcome(func, data):
    try:
        return func(data)
    except Exception as error:  # noqa: BLE001 - tells as much as an output
        return type(error).__name__


def few_runs(func, claim, pairs, *, runs=300, **_) -> bool:
    """Tell whether some hundred runs on each data set refute a claim, wrongly 1 time in 100."""
    from sfumato.audit import epsilon_lower_bound
    from sfumato.audit.claims.promises import forbidden

    bounds = forbidden(claim)
    sure = 1 - 0.01 / (len(pairs) * len(bounds))
    for pair in pairs:
        outputs = [[_outcome(func, data) for _ in range(runs)] for data in pair]
        for bound in bounds:
            options = {"delta": bound.delta, "confidence": sure, "arithmetic": "real"}
            if epsilon_lower_bound(*outputs, **options) > bound.epsilon:
                return True
    return False


def many_runs(func, claim, pairs=None, **options) -> bool:
    """Tell whether an audit refutes a claim, on these pairs or on all that it finds."""
    from sfumato.audit import check

    options = {"samples": 1_000, "seconds": 300, "processes": 1, "pairs": pairs, **options}
    options.pop("runs", None)
    return check(func, claim, **options).refuted


audited = pytest.mark.parametrize(
    "refuted",
    [few_runs, pytest.param(many_runs, marks=pytest.mark.soak)],
    ids=["few runs", "many runs"],
)
"""Audit by few runs in the suite, and as long as a user would in a soak."""


def begin(name: str, *, fresh: bool = False) -> None:
    """Start all generators for a test; with ``fresh`` noise comes from the system, as in use."""
    label = f"{run_seed} {name}"
    number = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")
    random.seed(number)
    np.random.seed(number % 2**32)
    _known.restart(label)
    noise._streams = _secure if fresh else _known
    secrets.randbits = _random_bits if fresh else random.Random(number).getrandbits
    # Orders and perturbation of tables without a seed take their keys there.
    known = SimpleNamespace(urandom=random.Random(number + 1).randbytes)
    permutation.os = os if fresh else known
    _stated.clear()


@contextmanager
def shared(name: str):
    """Make what several tests share, and draw for it as no single test would."""
    states = random.getstate(), np.random.get_state(), _known.books
    begin(name, fresh=noise._streams is _secure)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        _known.books = states[2]


def rewind(module) -> None:
    """Put the generators that a module of tests keeps back to where they were when it was read."""
    if module.__name__ not in _kept:
        _kept[module.__name__] = [
            (found, _state(found)) for found in vars(module).values()
            if isinstance(found, np.random.Generator | random.Random)
        ]  # fmt: skip
    for generator, state in _kept[module.__name__]:
        if isinstance(generator, random.Random):
            generator.setstate(state)
        else:
            generator.bit_generator.state = state


def _state(generator):
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.bit_generator.state


def false_alarm(probability: float) -> None:
    """State the probability that this test fails though nothing is wrong."""
    assert 0 <= probability < 1
    _stated.append(probability)


def stated() -> float:
    """Give what the test under way has stated, in sum."""
    return sum(_stated)
