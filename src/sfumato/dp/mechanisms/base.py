"""What every mechanism is: a promise, an error known beforehand, and a release.

Contract: a mechanism is a frozen value. ``guarantee`` is what it promises; ``error`` is
what it costs, stated before anything is released and from public parameters only; ``release``
(or a call) spends the guarantee once; ``simulate`` makes many independent releases of one value,
for study and for tests, each of which would cost the guarantee again. ``epsilon_for`` turns the
error around: the ε at which a wanted error is reached.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED, Neighbours
from sfumato.errors import ParameterError
from sfumato.representation import Shown, Written

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.rounding import Stated

_LEAST, _MOST = 2.0**-60, 2.0**60  # between them ε is looked for


@dataclass(frozen=True)
class Error(Shown):
    """How far a release is from the truth, for public parameters alone.

    ``expected`` bounds the mean error of one value and ``total`` that of all ``size`` values
    together. ``tail(β)`` is exceeded by any of the values with probability below β.
    ``interval(c)`` holds the error of one given value with probability at least c.
    """

    what: str
    expected: float
    size: int
    beyond: Callable[[float], float] = field(repr=False)
    one_sided: bool = False

    @property
    def total(self) -> float:
        """The expected sum of the errors of all values."""
        return self.size * self.expected

    def tail(self, beta: float) -> float:
        """Bound that the largest error exceeds with probability below ``beta``."""
        parameters.share(beta, "β (beta), the probability of a larger error,")
        return self.beyond(beta / self.size)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Give the interval around the release that holds the truth with this probability."""
        parameters.share(confidence, "The confidence")
        width = self.beyond(1 - confidence)
        return (0.0 if self.one_sided else -width, width)

    def __str__(self) -> str:
        return f"{self.what}: {self.expected:.4g} expected, below {self.tail(0.05):.4g} in 95 %"


@dataclass(frozen=True, kw_only=True)
class Mechanism(Written, ABC):
    """A randomised function with a guarantee it can prove and an error it can state."""

    epsilon: Stated
    size: int | None = None
    neighbours: Neighbours = UNBOUNDED

    without_budget: ClassVar[bool] = False
    """Whether ε = 0 has a meaning: a choice that does not look at the data."""

    reads_cells: ClassVar[bool] = False
    """Whether it is given private cells, none of which it may refuse, and not one statistic."""

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            parameters.budget(self.epsilon, zero=self.without_budget)
        parameters.count(self.size, "The size")
        object.__setattr__(self, "neighbours", Neighbours.of(self.neighbours))

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one release promises."""

    @property
    @abstractmethod
    def error(self) -> Error:
        """How far one release is from the truth."""

    @abstractmethod
    def simulate(self, value: Any, count: int) -> npt.NDArray[Any]:
        """Make ``count`` independent releases of one value, for study: each costs again."""

    @abstractmethod
    def release(self, value: Any) -> Any:
        """Release a value, spending the guarantee once."""

    def __call__(self, value: Any) -> Any:
        """Release a value, spending the guarantee once."""
        return self.release(value)

    def epsilon_for(
        self, *, expected: float | None = None, tail: float | None = None, beta: float = 0.05
    ) -> float:
        """Find the ε with which this mechanism's error is as small as wanted.

        Give the ``expected`` error, or the ``tail`` that is exceeded with probability below
        ``beta``. The smallest such ε is returned, up to one part in 10⁹.
        """
        parameters.exactly_one((expected, tail), "expected= and tail=")
        wanted = float(parameters.positive(expected or tail or 0, "The wanted error"))

        def good(epsilon: float) -> bool:
            error = self.at(epsilon).error
            return (error.expected if tail is None else error.tail(beta)) <= wanted

        return smallest(good, f"an error of {wanted:.4g}")

    def at(self, epsilon: Stated) -> Self:
        """Give the same mechanism with another ε."""
        return replace(self, epsilon=epsilon)


def smallest(good: Callable[[float], bool], what: str) -> float:
    """Find the smallest ε that is good, by bisection; every larger one is good too."""
    low, high = _LEAST, 1.0
    while not good(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ParameterError(
                f"No ε gives {what}: it is below what this mechanism can resolve; allow a larger "
                "error."
            )
    if low == _LEAST and good(low):
        return low
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        if good(middle):
            high = middle
        else:
            low = middle
    return high
