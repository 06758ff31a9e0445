"""Bounding ε at a δ by both counts together, where bounding each alone wastes runs.

Contract: ``excess_epsilon`` gives ε₀ such that with probability at least 1 − α no (ε, δ) with
ε < ε₀ holds for the event; ``log_excess_tail`` is the logarithm of a bound on the probability of
counts as extreme as these under any pair of probabilities that (ε, δ) allows.

Proof. Let A ~ Bin(n, p) and B ~ Bin(m, q) be independent, κ = e^ε and p ≤ κq + δ. For
T = A − κ(n/m)B, every λ > 0 and b = λκn/m, by Markov's inequality

    ln Pr[T ≥ t] ≤ n·ln(1 + p(e^λ − 1)) + m·ln(1 − q(1 − e^−b)) − λt.

The right side grows with p, so p = κq + δ is the worst; in q it is then a sum of logarithms of
linear functions, hence concave, and its maximum lies where the slope n·κu/(1 + (κq + δ)u) −
m·v/(1 − qv) vanishes (u = e^λ − 1, v = 1 − e^−b), which is one linear equation for q, or at an end
of [0, (1 − δ)/κ]. So for each λ the largest value over all q is known in closed form. The least of
these over λ > 0, G(t), falls with t, so Pr[G(T) ≤ ln α] ≤ α: rejecting (ε, δ) there errs with
probability at most α. A search for λ that is not perfect gives more than G, and errs less.
By inversion of tests, the supremum of the rejected ε is a bound with the same error: it exceeds
the least ε that δ allows for the event only if that one was rejected too.

Two bounds at once, p_low and q_high, pay for both errors in full; here they add in quadrature, as
independent errors do, against a loss of the Chernoff bound that does not grow with the runs.
"""

from __future__ import annotations

import math

_ROUNDING = 1e-7
_GOLDEN = (math.sqrt(5) - 1) / 2


def excess_epsilon(
    first: int, runs_first: int, second: int, runs_second: int, delta: float, alpha: float
) -> float:
    """Bound every ε that is valid together with δ from below, at least 0."""
    wanted = math.log(alpha) - _ROUNDING

    def refuted(epsilon: float) -> bool:
        return log_excess_tail(first, runs_first, second, runs_second, epsilon, delta) <= wanted

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refuted(high):
        low, high = high, 2 * high
        if high > 64:
            return low
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def log_excess_tail(
    first: int, runs_first: int, second: int, runs_second: int, epsilon: float, delta: float
) -> float:
    """Bound the logarithm of the probability of such counts under (ε, δ), at most 0."""
    n, m, factor = runs_first, runs_second, math.exp(epsilon)
    seen = first - factor * second * n / m
    if seen <= n * delta:
        return 0.0

    def worst(log_step: float) -> float:
        return _worst(math.exp(log_step), seen, n, m, factor, delta)

    low, high = math.log(1e-9), math.log(20.0)  # λ: a unimodal search on its logarithm
    for _ in range(60):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if worst(left) <= worst(right):
            high = right
        else:
            low = left
    return min(0.0, worst((low + high) / 2))


def _worst(step: float, seen: float, n: int, m: int, factor: float, delta: float) -> float:
    """Give the largest value over q for one λ."""
    u, v = math.expm1(step), -math.expm1(-min(step * factor * n / m, 700.0))
    q = (n * factor * u - m * v * (1 + delta * u)) / (factor * u * v * (n + m))
    q = min(max(q, 0.0), (1 - delta) / factor)
    p = factor * q + delta
    return n * math.log1p(p * u) + m * math.log1p(-q * v) - step * seen
