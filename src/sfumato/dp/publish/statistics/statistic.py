"""Statistic: a number, or several, asked of data that are no table.

Contract: a statistic says for which shape and units it makes sense (`check`), what its error will
be, from public facts alone (`forecast`), and answers (`measure`) with pure ε-differential privacy
for one unit added or removed. Whatever limits a unit states are enforced in the same call, by
keeping at most so many parts of each unit, drawn at random; sensitivities follow from them. One
limit is checked instead: the ``degree`` of a ``Node`` is declared by the owner of all graphs that
are possible, and a graph that exceeds it is refused (:mod:`.graph`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.dp.mechanisms.laplace import Geometric
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from sfumato.dp.neighbours import PrivacyUnit

SURE = 0.95
"""How sure a stated margin is."""


@dataclass(frozen=True)
class MeasuredValue:
    """What was measured: a value (or several), the margin of its noise, and remarks.

    `margin` holds the noise of every single figure with 95 % probability; None where the noise fits
    the data, so that to state it would tell about them.
    """

    value: Any
    margin: float | None = None
    notes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StatisticForecast:
    """What the error will be, before anything is paid; `useful` compares it with a guess."""

    what: str
    margin: float | None
    useful: bool | None
    words: str

    def __str__(self) -> str:
        return f"{self.what}: {self.words}"


class Statistic(ABC):
    """One question about data of some shape; use a subclass."""

    shape: ClassVar[str]
    units: ClassVar[tuple[type[PrivacyUnit], ...]]

    @property
    def what(self) -> str:
        """What is asked, in words."""
        return type(self).__name__

    def key(self) -> dict[str, Any]:
        """Return what tells it from others: its name and parameters."""
        return {"statistic": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]  # every one is a dataclass

    def check(self, unit: PrivacyUnit) -> None:
        """Refuse a unit that it says nothing about, or whose limits are missing."""
        if not isinstance(unit, self.units):
            names = ", ".join(kind.__name__ for kind in self.units)
            raise ParameterError(
                f"{self.what} can be asked with {names} as the unit, and the unit is {unit}."
            )

    @abstractmethod
    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return the most that one unit changes all figures together; None if it depends."""

    @abstractmethod
    def measure(self, data: Any, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Answer; the guarantee is pure ε-differential privacy for the unit."""

    def forecast(
        self, unit: PrivacyUnit, epsilon: Fraction, guess: float | None = None
    ) -> StatisticForecast:
        """State the margin of the noise; `guess` is what the answer may be."""
        self.check(unit)
        most = self.sensitivity(unit)
        if most is None:
            return StatisticForecast(self.what, None, None, self.error_in_words(unit, epsilon))
        margin = noise_margin(most, epsilon)
        useful = None if guess is None else margin <= 0.2 * abs(guess)
        sure = f"± {math.ceil(margin):,} in {SURE:.0%} of cases"
        words = f"{sure}, since {unit} changes it by up to {most:,}"
        if useful is False:
            words += f"; of about {guess:,.0f} that leaves nothing to use: spend more, or ask less"
        return StatisticForecast(self.what, margin, useful, words)

    def error_in_words(self, unit: PrivacyUnit, epsilon: Fraction) -> str:  # noqa: ARG002 - for those whose noise fits the data
        """Say what can be said where the noise fits the data."""
        return "the noise fits the data, so its size is not known before"


def noise_margin(sensitivity: int, epsilon: Fraction) -> float:
    """Return what geometric noise stays within, in 95 % of cases."""
    if sensitivity == 0:
        return 0.0
    return float(_noise(sensitivity, epsilon).error.interval(SURE)[1])


def add_noise(value: Any, sensitivity: int, epsilon: Fraction) -> Any:
    """Add geometric noise to a whole number or an array of them."""
    if sensitivity == 0:
        return value
    size = None if isinstance(value, int) else len(value)
    mechanism = Geometric(epsilon=epsilon, sensitivity=sensitivity, size=size)
    return mechanism.release(value)


def _noise(sensitivity: int, epsilon: Fraction) -> Geometric:
    return Geometric(epsilon=epsilon, sensitivity=sensitivity)


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`, or raise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return value


def plain(value: float) -> int:
    """Return a rounded figure as a whole number."""
    return math.floor(value + 0.5)
