"""What an answer may cost, in the terms of the session's budget.

Contract: :func:`offers` turns what the analyst wrote (``epsilon=``, ``rho=``, ``delta=``) into the
prices at which the session could answer. A :class:`Price` is pure (ε, for geometric noise) or
Gaussian (for normal noise), and carries the failure δ that finding keys privately takes.

* A ``PureDP`` budget allows pure prices and no δ.
* A ``ZCDP`` budget allows Gaussian prices (``rho=``) and pure ones (``epsilon=``, charged Σεᵢ²/2).
* An ``ApproxDP(E, D)`` budget allows both: ε with Gaussian noise means the noise that is
  (ε, D − δ)-private by itself; the account folds Gaussians into one and is smaller than the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from sfumato.ask.language.refusals import refuse
from sfumato.dp.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.normal import gaussian_sigma_up
from sfumato.dp.rounding import Stated, stated
from sfumato.errors import ParameterError
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

_FINE = 1 << 60
_LEAST, _MOST = Fraction(1, 10**12), Fraction(10**6)  # prices at which noise can be computed with

KEYS_SHARE = Fraction(1, 20)
"""The part of a session's δ that one question with unknown keys takes unless it says otherwise."""


@dataclass(frozen=True)
class Price:
    """What one question may cost.

    ``epsilon`` with ``calibration`` δ means Gaussian noise that is (ε, δ)-private alone; ``rho``
    means Gaussian noise of ρ-zCDP; ``epsilon`` alone means pure noise. ``delta`` is the failure
    probability of finding keys.
    """

    kind: Literal["pure", "gaussian"]
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    calibration: Fraction | None = None
    delta: Fraction = Fraction(0)

    def mu_squared(self, share: Fraction) -> Fraction:
        """Give the μ² that ``share`` of a Gaussian price buys."""
        if self.rho is not None:
            return 2 * self.rho * share
        assert self.epsilon is not None
        assert self.calibration is not None
        return _mu_squared(self.epsilon * share, self.calibration)

    def pure_epsilon(self, share: Fraction, parts: int) -> Fraction:
        """Give the ε of each of ``parts`` pure mechanisms that ``share`` of the price buys.

        In a price of ρ each is charged ε²/2, so ε = √(2ρ·share/parts), rounded down.
        """
        if self.rho is None:
            assert self.epsilon is not None
            return self.epsilon * share / parts
        square = 2 * self.rho * share / parts
        root = math.isqrt(square.numerator * _FINE * _FINE // square.denominator)
        return Fraction(root, _FINE)


@lru_cache(maxsize=256)
def _mu_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    return 1 / Fraction(gaussian_sigma_up(epsilon, delta)) ** 2


def offers(
    budget: Guarantee,
    *,
    epsilon: Stated | None,
    rho: Stated | None,
    delta: Stated | None,
    finds_keys: bool,
    available: Fraction | None = None,
) -> Sequence[Price]:
    """List the prices at which a session could answer; the one with the least noise is taken.

    ``available`` is the δ that the account has for a first Gaussian answer, where that is less
    than all of the budget's.
    """
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            Message(
                "Say what the answer may cost: {}, {} or {}.",
                Argument("epsilon", 0.1),
                Argument("rho", 0.01),
                Argument("accuracy", ...),
            )
        )
    amount = _positive(epsilon, "ε (epsilon)") if rho is None else _positive(rho, "ρ (rho)")
    failure = _failure(budget, delta, finds_keys=finds_keys)
    if rho is not None:
        if not isinstance(budget, ZCDP):
            raise ParameterError(
                Message(
                    "{} is for sessions with a ZCDP budget; this one has {}. Give {}.",
                    Argument("rho"),
                    budget.kind,
                    Argument("epsilon"),
                )
            )
        return (Price("gaussian", rho=amount),)
    pure = Price("pure", epsilon=amount, delta=failure)
    if not isinstance(budget, ApproxDP) or not budget.delta:
        return (pure,)
    whole = budget.exact_delta if not available else min(available, budget.exact_delta)
    calibration = whole - failure
    if failure >= budget.exact_delta:
        raise ParameterError(
            Message(
                "{} is smaller than the δ of the session's budget; the noise needs some of it.",
                Argument("delta"),
            )
        )
    if calibration <= 0:  # what is left of δ is too little for Gaussian noise, and pure needs none
        return (pure,)
    return (
        pure,
        Price("gaussian", epsilon=amount, calibration=calibration, delta=failure),
    )


def _failure(budget: Guarantee, delta: Stated | None, *, finds_keys: bool) -> Fraction:
    """Give the δ for finding keys: as asked, or a share of the session's."""
    if not finds_keys:
        if delta is not None:
            _probability(delta)
        return Fraction(0)
    if not isinstance(budget, ApproxDP) or not budget.delta:
        kind = budget.kind if isinstance(budget, Guarantee) else "none"
        raise refuse("unknown_keys", kind=kind)
    return budget.exact_delta * KEYS_SHARE if delta is None else _probability(delta)


def _positive(value: Stated | None, name: str) -> Fraction:
    assert value is not None
    try:
        exact = stated(value)
    except ParameterError:
        raise ParameterError(
            f"{name} is a finite number above 0, and {value!r} was given."
        ) from None
    if exact <= 0:
        raise ParameterError(f"{name} is above 0, and {value} was given.")
    if not _LEAST <= exact <= _MOST:
        raise ParameterError(
            f"{name} lies between {float(_LEAST):g} and {float(_MOST):g}; what was given is beyond."
        )
    return exact


def _probability(value: Stated) -> Fraction:
    exact = stated(value)
    if not 0 < exact < 1:
        raise ParameterError(f"δ (delta) is above 0 and below 1, and {value} was given.")
    return exact


def is_pure(budget: Guarantee) -> bool:
    """Tell whether a budget allows no δ at all."""
    return isinstance(budget, PureDP) or (isinstance(budget, ApproxDP) and not budget.delta)
