"""Expectation maximisation with smoothing, for window responses.

Contract: ``fit(window, bins, counts)`` gives the distribution over ``bins`` inputs under which the
counts of a window response are most likely, input v having the window that starts at v. With
``smooth`` every step is followed by the binomial filter (1, 2, 1)/4, which trades a little bias for
much less variance (Li, Wang, Lopuhaä-Zwakenberg, Li and Skoric, "Estimating numerical distributions
under local differential privacy", SIGMOD 2020).

The transition matrix has only two values, so a step costs a few running sums instead of a product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.local.protocols.window_response import Window

    Floats = npt.NDArray[np.float64]

_MOST_STEPS = 10_000


def fit(window: Window, bins: int, counts: npt.NDArray[np.int64], *, smooth: bool) -> Floats:
    """Fit a distribution; it stops when the log-likelihood hardly grows any more."""
    near, far = float(window.near), float(window.far)
    enough = 1e-3 if smooth else 1e-3 * near / far
    current = np.full(bins, 1 / bins)
    last = -np.inf
    for _ in range(_MOST_STEPS):
        expected = far + (near - far) * _covering(current, window.width)
        likelihood = float(counts @ np.log(expected))
        if likelihood - last < enough:
            break
        last = likelihood
        weight = counts / expected
        current = current * (far * weight.sum() + (near - far) * _covered(weight, window.width))
        current /= current.sum()
        if smooth:
            current = _smooth(current)
    return current


def _covering(inputs: Floats, width: int) -> Floats:
    """Give for every output the sum of the inputs whose window covers it."""
    sums = np.concatenate([[0.0], np.cumsum(inputs)])
    outputs = np.arange(inputs.size + width - 1)
    high = np.minimum(outputs + 1, inputs.size)
    low = np.maximum(outputs + 1 - width, 0)
    return np.asarray(sums[high] - sums[low])


def _covered(outputs: Floats, width: int) -> Floats:
    """Give for every input the sum of the outputs that its window covers."""
    sums = np.concatenate([[0.0], np.cumsum(outputs)])
    return np.asarray(sums[width:] - sums[:-width])


def _smooth(inputs: Floats) -> Floats:
    padded = np.concatenate([inputs[:1], inputs, inputs[-1:]])
    out = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return np.asarray(out / out.sum())
