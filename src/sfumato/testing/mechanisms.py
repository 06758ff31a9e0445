"""A conformance kit for mechanisms: ours and a user's own.

`check_mechanism` runs a mechanism many times on a pair of neighbouring inputs and raises
`AssertionError` at the first broken rule. A mechanism has ``guarantee`` and ``release(value)``;
with ``simulate(value, count)`` it is much faster; with ``error`` that is checked too. The rules:

* the black-box bound on ε, at 99 % confidence, does not exceed the claim, for the outputs and for
  the place of their lowest bit alone (the precision attack);
* neither does the bound for the types of single releases alone: class, dtype and shape;
* outputs follow the probabilities in ``pmf``, when given, by a χ² test with false-alarm rate 10⁻⁶;
* the stated error holds: mean, tail and interval;
* NaN, infinities, ε ≤ 0, bad δ and bad sensitivities are refused with a `ValueError`.

A promise that survives is not proven; a promise that fails is refuted. With ``seed``, mechanisms
that draw from :mod:`sfumato.dp.noise` give the same verdict every time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.bounds import lower
from sfumato.dp.guarantees import ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.noise import insecure_seeded
from sfumato.representation import Shown
from sfumato.testing.blackbox import epsilon_lower_bound, lowest_bits
from sfumato.testing.statistics import chi_square_tail

if TYPE_CHECKING:
    import numpy.typing as npt

Probabilities = Mapping[Any, float]
Loss = Callable[[Any, Any], Any]

FALSE_ALARM = 1e-6
"""How often a right distribution fails the χ² test, and a right error its test."""

LEAST_EXPECTED = 20.0
"""Outcomes are pooled until each cell of the χ² test expects so many."""

_BETAS = (0.5, 0.1, 0.01)
_DELTA = 1e-3
_TYPED, _MOST_TYPED = 48, 2400  # releases whose types are compared, times e^ε and at most
_BAD: Mapping[str, tuple[float, ...]] = {
    "epsilon": (0, -1, math.nan, math.inf, -math.inf),
    "delta": (0, 1, -0.1, 1.5, math.nan),
    "rho": (0, -1, math.nan, math.inf),
    "sensitivity": (0, -1, math.nan, math.inf),
    "threshold": (math.nan, math.inf),
    "truth": (0, 1, -0.5, math.nan),
    "size": (0, -3),
}


@dataclasses.dataclass(frozen=True)
class MechanismCheck(Shown):
    """What the check measured on a mechanism that passed."""

    claim: tuple[float, float]
    epsilon_lower_bound: float
    epsilon_from_lowest_bits: float | None
    p_value: float | None
    mean_error: float | None
    refusals: int


def check_mechanism(
    mechanism: Any,
    *,
    pair: tuple[Any, Any],
    pmf: Probabilities | Callable[[int], float] | None = None,
    loss: Loss | None = None,
    samples: int = 200_000,
    confidence: float = 0.99,
    seed: int | None = 0,
) -> MechanismCheck:
    """Try the rules on a pair of neighbouring inputs, the worst the user can think of.

    ``pmf`` maps outputs on the first input to their probabilities, or is a function of a whole
    number. ``loss(outputs, value)`` gives the errors of outputs, by default their distance.
    """
    if seed is not None:
        with insecure_seeded(seed):
            return check_mechanism(
                mechanism,
                pair=pair,
                pmf=pmf,
                loss=loss,
                samples=samples,
                confidence=confidence,
                seed=None,
            )
    claim = _claim(mechanism)
    first, second = (_outputs(mechanism, value, samples) for value in pair)
    bound = epsilon_lower_bound(
        _flat(first, pair),
        _flat(second, pair),
        delta=claim[1],
        confidence=confidence,
        arithmetic="real",  # the low bits have a rule of their own
    )
    assert bound <= claim[0], (
        f"the claim ε = {claim[0]:.6g} (δ = {claim[1]:.3g}) is refuted: {samples} runs on each of "
        f"two neighbours show ε ≥ {bound:.4g} with {confidence:.0%} confidence"
    )
    bits = _check_bits(first, second, claim, confidence)
    _check_types(mechanism, pair, claim, confidence)
    return MechanismCheck(
        claim,
        bound,
        bits,
        _check_pmf(first, pmf),
        _check_error(mechanism, first, pair[0], loss),
        _check_refusals(mechanism, pair[0]),
    )


def _claim(mechanism: Any) -> tuple[float, float]:
    """Read the guarantee as (ε, δ); concentrated guarantees are tested at one δ."""
    guarantee = mechanism.guarantee
    assert isinstance(guarantee, Guarantee), "a mechanism states a Guarantee"
    assert str(guarantee), "a guarantee can be read"
    if isinstance(guarantee, (PureDP, LocalDP)):
        return guarantee.epsilon, 0.0
    approximate = (
        guarantee if isinstance(guarantee, ApproxDP) else guarantee.to(ApproxDP, delta=_DELTA)
    )
    return approximate.epsilon, approximate.delta


def _outputs(mechanism: Any, value: Any, samples: int) -> npt.NDArray[Any]:
    if hasattr(mechanism, "simulate"):
        return np.asarray(mechanism.simulate(value, samples))
    return np.array([mechanism.release(value) for _ in range(samples)])


def _flat(outputs: npt.NDArray[Any], pair: tuple[Any, Any]) -> npt.NDArray[Any]:
    """Reduce vectors to their part along the direction in which the two inputs differ."""
    if outputs.ndim == 1:
        return outputs
    towards = np.asarray(pair[1], dtype=np.float64) - np.asarray(pair[0], dtype=np.float64)
    flat: npt.NDArray[Any] = outputs.reshape(len(outputs), -1) @ np.sign(towards).ravel()
    return flat


def _check_bits(
    first: npt.NDArray[Any],
    second: npt.NDArray[Any],
    claim: tuple[float, float],
    confidence: float,
) -> float | None:
    if first.dtype.kind != "f":
        return None
    rows = len(first)
    bits = [lowest_bits(outputs).reshape(rows, -1).min(axis=1) for outputs in (first, second)]
    bound = epsilon_lower_bound(*bits, delta=claim[1], confidence=confidence)
    assert bound <= claim[0], (
        f"the precision attack succeeds: the lowest set bits of the outputs show ε ≥ {bound:.4g} "
        f"where {claim[0]:.6g} is claimed; draw the noise on a fixed grid"
    )
    return bound


def _check_types(
    mechanism: Any, pair: tuple[Any, Any], claim: tuple[float, float], confidence: float
) -> None:
    """Release a few times, enough to refute ε where the types tell the neighbours apart."""
    releases = max(100, math.ceil(_TYPED * math.exp(min(claim[0], 20.0))))
    releases = min(_MOST_TYPED, releases)
    names = [
        np.array([_type_of(mechanism.release(value)) for _ in range(releases)]) for value in pair
    ]
    bound = epsilon_lower_bound(*names, delta=claim[1], confidence=confidence)
    assert bound <= claim[0], (
        f"the types of the outputs tell two neighbours apart: {', '.join(sorted(set(names[0])))} "
        f"against {', '.join(sorted(set(names[1])))} show ε ≥ {bound:.4g} where {claim[0]:.6g} is "
        "claimed; let the type be always the same, or a function of the noisy output"
    )


def _type_of(output: Any) -> str:
    """Name what can be seen of an output without its values; sequences by their elements."""
    if isinstance(output, (list, tuple)):
        inner = sorted({_type_of(element) for element in output})
        return f"{type(output).__name__}[{', '.join(inner)}]" if inner else type(output).__name__
    dtype = getattr(output, "dtype", None)
    if dtype is None:
        return type(output).__name__
    return f"{type(output).__name__} of {dtype} with shape {np.shape(output)}"


def _check_pmf(
    outputs: npt.NDArray[Any], pmf: Probabilities | Callable[[int], float] | None
) -> float | None:
    if pmf is None:
        return None
    values, counts = np.unique(outputs, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    wanted = dict(pmf) if isinstance(pmf, Mapping) else _tabulate(pmf, outputs)
    strangers = set(seen) - set(wanted)
    assert not strangers, "an output came up that has probability 0"
    p_value = chi_square(wanted, seen, outputs.size)
    assert p_value > FALSE_ALARM, (
        f"the outputs do not follow the stated probabilities (χ² test, p = {p_value:.2g})"
    )
    return p_value


def _tabulate(pmf: Callable[[int], float], outputs: npt.NDArray[Any]) -> dict[Any, float]:
    low, high = int(outputs.min()), int(outputs.max())
    return {value: pmf(value) for value in range(low, high + 1)}


def chi_square(wanted: Probabilities, seen: Mapping[Any, int], trials: int) -> float:
    """Give the p-value of observed counts, pooling rare outcomes and all that were not listed."""
    cells: list[tuple[float, float]] = []
    pooled_expected = max(0.0, 1 - sum(wanted.values())) * trials
    pooled_seen = float(trials - sum(seen.get(value, 0) for value in wanted))
    for value, probability in wanted.items():
        expected, observed = probability * trials, float(seen.get(value, 0))
        if expected >= LEAST_EXPECTED:
            cells.append((expected, observed))
        else:
            pooled_expected, pooled_seen = pooled_expected + expected, pooled_seen + observed
    if pooled_expected >= LEAST_EXPECTED:
        cells.append((pooled_expected, pooled_seen))
    elif pooled_seen > LEAST_EXPECTED + 10 * math.sqrt(LEAST_EXPECTED):
        return 0.0  # far more rare outcomes than there can be
    if len(cells) < 2:
        return 1.0
    statistic = sum((observed - expected) ** 2 / expected for expected, observed in cells)
    return chi_square_tail(statistic, len(cells) - 1)


def _check_error(
    mechanism: Any, outputs: npt.NDArray[Any], value: Any, loss: Loss | None
) -> float | None:
    alike = outputs.dtype.kind in "iuf" and outputs.shape[1:] == np.shape(value)
    if not hasattr(mechanism, "error") or (loss is None and not alike):
        return None
    losses = np.asarray(loss(outputs, value) if loss else np.abs(outputs - np.asarray(value)))
    losses = losses.reshape(len(outputs), -1).astype(np.float64)
    error = mechanism.error
    mean, spread = float(losses.mean()), float(losses.std() / math.sqrt(losses.size))
    assert mean <= error.expected + 5 * spread, (
        f"the mean error is {mean:.6g} where {error.expected:.6g} was stated"
    )
    for beta in _BETAS:
        beyond = int((losses.max(axis=1) > error.tail(beta)).sum())
        assert lower(beyond, len(losses), FALSE_ALARM) < beta, (
            f"the stated tail bound for β = {beta} is exceeded {beyond} times in {len(losses)}"
        )
        outside = int((losses[:, 0] > error.interval(1 - beta)[1]).sum())
        assert lower(outside, len(losses), FALSE_ALARM) < beta, (
            f"the stated interval of {1 - beta:.0%} misses {outside} times in {len(losses)}"
        )
    return mean


def _check_refusals(mechanism: Any, value: Any) -> int:
    """Count refused parameters and values; mechanisms that are no dataclasses have none.

    One that is given private cells must take whatever they hold.
    """
    release, refused = mechanism.release, 0
    if not dataclasses.is_dataclass(mechanism) or isinstance(mechanism, type):
        return refused
    for field in dataclasses.fields(mechanism):
        if getattr(mechanism, field.name) is None or not field.init:
            continue
        for bad in _BAD.get(field.name, ()):
            if field.name == "epsilon" and not bad and getattr(mechanism, "without_budget", False):
                continue
            changed = partial(dataclasses.replace, mechanism, **{field.name: bad})
            refused += _refuses(changed, f"{field.name} = {bad}")
    if np.asarray(value).dtype.kind in "iuf":
        for bad in (math.nan, math.inf, -math.inf):
            spoilt = np.asarray(value, dtype=np.float64).copy()
            spoilt.reshape(-1)[0] = bad
            if getattr(mechanism, "reads_cells", False):
                release(spoilt)  # an error would tell of one cell
                continue
            refused += _refuses(partial(release, spoilt), f"the value {bad}")
    return refused


def _refuses(attempt: Callable[[], object], what: str) -> int:
    try:
        attempt()
    except ValueError:
        return 1
    raise AssertionError(f"{what} is accepted and must be refused")
