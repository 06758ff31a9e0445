"""The mechanisms an account is about: what noise, how often, on how large a sample.

Contract: a :class:`Step` is a frozen description, without data. Its ``multiplier`` is the scale of
the noise divided by the sensitivity (L2 for Gaussian noise, L1 for Laplace).

Which noise is meant matters to tight accountants. ``gaussian`` is continuous normal noise, as in
DP-SGD. ``discrete gaussian`` and ``geometric`` live on the integers and have a whole
``sensitivity`` in grid steps. ``pure`` stands for any ε-private mechanism, Laplace noise on a grid
and the exponential mechanism included: it is accounted by its worst case, randomised response.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from sfumato.dp.accounting.subsampling import amplified_epsilon
from sfumato.dp.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.rounding import Stated, stated, stated_up
from sfumato.errors import ParameterError
from sfumato.representation import Written

Noise: TypeAlias = Literal["gaussian", "discrete gaussian", "geometric", "pure", "approximate"]


@dataclass(frozen=True)
class Step(Written):
    """One mechanism, run ``times`` times, each on a fresh Poisson sample of rate ``rate``."""

    noise: Noise
    multiplier: float = 0.0
    rate: float = 1.0
    times: int = 1
    sensitivity: int = 1
    delta: float = 0.0

    @classmethod
    def gaussian(cls, multiplier: Stated, *, rate: Stated = 1, times: int = 1) -> Step:
        """Continuous normal noise with σ = multiplier × L2 sensitivity."""
        return cls("gaussian", _positive(multiplier), _rate(rate), _times(times))

    @classmethod
    def discrete_gaussian(
        cls, sigma: Stated, *, sensitivity: int = 1, rate: Stated = 1, times: int = 1
    ) -> Step:
        """Discrete normal noise on one integer that moves by at most a whole sensitivity."""
        multiplier = stated(sigma) / _whole(sensitivity)
        number = _positive(multiplier)
        return cls("discrete gaussian", number, _rate(rate), _times(times), sensitivity)

    @classmethod
    def geometric(
        cls, scale: Stated, *, sensitivity: int = 1, rate: Stated = 1, times: int = 1
    ) -> Step:
        """Discrete Laplace noise on one integer that moves by at most a whole sensitivity.

        For several integers at once use ``Step.private(PureDP(…))``: which way their moves
        share the sensitivity matters to the loss.
        """
        multiplier = stated(scale) / _whole(sensitivity)
        return cls("geometric", _positive(multiplier), _rate(rate), _times(times), sensitivity)

    @classmethod
    def laplace(cls, multiplier: Stated, *, rate: Stated = 1, times: int = 1) -> Step:
        """Laplace noise with scale = multiplier × L1 sensitivity, on any grid: 1/multiplier-DP."""
        return cls("pure", _positive(multiplier), _rate(rate), _times(times))

    @classmethod
    def private(cls, guarantee: Guarantee, *, rate: Stated = 1, times: int = 1) -> Step:
        """Any mechanism with a pure or approximate guarantee."""
        if isinstance(guarantee, PureDP) and guarantee.epsilon > 0:
            multiplier = 1 / guarantee.exact_epsilon
            return cls("pure", _positive(multiplier), _rate(rate), _times(times))
        if isinstance(guarantee, ApproxDP) and guarantee.epsilon > 0:
            multiplier = 1 / guarantee.exact_epsilon
            number = _positive(multiplier)
            return cls("approximate", number, _rate(rate), _times(times), 1, guarantee.delta)
        raise ParameterError("A step needs PureDP or ApproxDP with ε above 0.")

    @property
    def exact_multiplier(self) -> Fraction:
        """The multiplier as a rational number, as it was stated."""
        return stated(self.multiplier)

    @property
    def epsilon(self) -> Fraction:
        """The ε of one run on the whole data; Gaussian noise has none."""
        return 1 / self.exact_multiplier

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is normal, continuous or discrete."""
        return self.noise in {"gaussian", "discrete gaussian"}

    def approximately(self, delta: Fraction) -> ApproxDP:
        """Give the (ε, δ) of one run, sampling included, where Gaussian noise may use ``delta``."""
        rate = stated(self.rate)
        if self.is_gaussian:
            base = self.zcdp() if self.noise == "discrete gaussian" else self.gdp()
            before = base.to(ApproxDP, delta=min(delta / rate, Fraction(1, 2)))
        else:
            before = ApproxDP(stated_up(self.epsilon), self.delta)
        return ApproxDP(
            stated_up(amplified_epsilon(before.exact_epsilon, rate)),
            stated_up(rate * before.exact_delta),
        )

    def zcdp(self) -> ZCDP:
        """Give the ρ of one run on the whole data."""
        ratio = self.exact_multiplier
        return ZCDP(stated_up(1 / (2 * ratio**2)))

    def gdp(self) -> GDP:
        """Give the μ of one run of continuous normal noise on the whole data."""
        return GDP(stated_up(1 / self.exact_multiplier))

    def scaled(self, factor: float) -> Step:
        """Give the same step with noise larger by a factor."""
        return replace(self, multiplier=stated_up(self.exact_multiplier * stated(factor)))


def _positive(value: Stated) -> float:
    exact = stated(value)
    if exact <= 0:
        raise ParameterError(f"A noise scale is above 0, and {float(exact):g} was given.")
    number = float(exact)
    return number if stated(number) <= exact else _below(exact)


def _below(exact: Fraction) -> float:
    return -stated_up(-exact)  # less noise than there is: the account errs upwards


def _rate(value: Stated) -> float:
    exact = stated(value)
    if not 0 < exact <= 1:
        raise ParameterError(
            f"A sampling rate is above 0 and at most 1, and {float(exact):g} was given."
        )
    return stated_up(exact)


def _times(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"A step runs a whole number of times, and {value!r} was given.")
    return value


def _whole(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(
            f"The sensitivity of noise on integers is a whole number of at least 1, and {value!r} "
            "was given."
        )
    return value
