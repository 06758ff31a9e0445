"""A purse whose noisy numbers are given beforehand: what is released may depend on nothing else."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from sfumato.dp.publish import purse as module


@pytest.fixture
def recorded(monkeypatch):
    """Record what leaves a purse inside a ``with`` block."""
    return lambda: _recorded(monkeypatch)


@pytest.fixture
def replayed(monkeypatch):
    """Replay what was recorded inside a ``with`` block."""
    return lambda kept: _replayed(monkeypatch, kept)


@pytest.fixture
def adversarial(monkeypatch):
    """Replace noise by the worst that could be drawn."""
    return lambda kind: _adversarial(monkeypatch, kind)


@contextlib.contextmanager
def _recorded(monkeypatch):
    """Keep every array of noisy numbers that leaves a purse, in order."""
    kept = []
    measure, laplace = module.Purse.measure, module.Purse.laplace
    inside = []

    def measured(self, *args, **more):
        inside.append(1)
        found = measure(self, *args, **more)
        inside.pop()
        kept.append(found)
        return found

    def noised(self, exact, scale):
        found = laplace(self, exact, scale)
        if not inside:
            kept.append(found)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(module.Purse, "measure", measured)
        patch.setattr(module.Purse, "laplace", noised)
        yield kept


@contextlib.contextmanager
def _replayed(monkeypatch, kept):
    """Give the kept arrays again, whatever the data are; shapes must be asked for alike."""
    left = list(kept)

    def measured(self, what, share, exact, **more):
        self.enter(what, share, exact.size)
        found = left.pop(0)
        assert found.values.shape == np.asarray(exact).shape
        return found

    def noised(self, exact, scale):
        found = left.pop(0)
        assert found.shape == np.asarray(exact).shape
        return found

    with monkeypatch.context() as patch:
        patch.setattr(module.Purse, "measure", measured)
        patch.setattr(module.Purse, "laplace", noised)
        yield
    assert not left


def _adversarial(monkeypatch, kind):
    made = {
        "none": lambda scale, size, **_: np.zeros(size, dtype=np.int64),
        "huge": lambda scale, size, **_: np.full(size, 10**12),
        "negative": lambda scale, size, **_: np.full(size, -(10**12)),
        "alternating": lambda scale, size, **_: np.where(np.arange(size) % 2, 10**9, -(10**9)),
    }[kind]
    monkeypatch.setattr(module, "discrete_laplace", made)
    monkeypatch.setattr(module, "rounded_gaussian", made)
