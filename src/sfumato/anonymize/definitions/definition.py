"""What it means to be anonymous: promises about equivalence classes.

A `Definition` judges classes: sizes and sensitive histograms in, one verdict per class
out. Definitions are combined with `&`. A user's own subclass needs one method, `judge`,
and then works with every algorithm, with verification and in reports.

Two properties let algorithms prune; both default to the safe answer, no:

* `monotone`: a class that holds still holds when any records join it;
* `union_closed`: the union of classes that all hold, holds. Every monotone definition is
  union-closed. Convex conditions (entropy, recursive diversity, closeness, likeness) are
  union-closed without being monotone, as long as the reference distribution of the whole
  table stays the same, that is, while nothing is suppressed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram

LARGEST = 2**53

TOLERANCE = 1e-9
"""Slack for comparisons of floating-point frequencies: a promise of t = 0.2 is not
broken by the last bit of a sum of fractions."""


class Definition(ABC):
    """A promise about every equivalence class of a release."""

    shapes: ClassVar[frozenset[str] | None] = frozenset({"table"})
    """The shapes of data it makes sense for; None for every shape."""
    monotone: ClassVar[bool] = False
    union_closed: ClassVar[bool] = False
    needs_population: ClassVar[bool] = False

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive attributes whose histograms `judge` wants to see."""
        return ()

    @property
    def minimum_size(self) -> int:
        """No class smaller than this can hold; algorithms use it as a cheap first test."""
        return 1

    @abstractmethod
    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Return for each class whether it holds."""

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Return how far each class is from holding: 0 where it holds, larger is worse.

        Only a guide for search; `judge` decides.
        """
        return np.where(self.judge(classes), 0.0, 1.0)

    @property
    def parts(self) -> tuple[Definition, ...]:
        """The definitions that must all hold; a single one is its own only part."""
        return (self,)

    def __str__(self) -> str:
        """Name it in messages and reports; a definition of your own may say it better."""
        return repr(self) if is_dataclass(self) else type(self).__name__

    def __and__(self, other: Definition) -> Definition:
        if not isinstance(other, Definition):
            raise ParameterError(
                f"A definition can be joined with another one, not with {other!r}."
            )
        return Conjunction((*self.parts, *other.parts))


@dataclass(frozen=True)
class Conjunction(Definition):
    """All of several definitions at once, made by `&`."""

    members: tuple[Definition, ...]

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Monotone when every part is."""
        return all(part.monotone for part in self.members)

    @property
    def union_closed(self) -> bool:  # type: ignore[override]
        """Union-closed when every part is."""
        return all(part.union_closed or part.monotone for part in self.members)

    @property
    def needs_population(self) -> bool:  # type: ignore[override]
        """True when any part compares with a population."""
        return any(part.needs_population for part in self.members)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive attributes of all parts, each once."""
        return tuple(dict.fromkeys(name for part in self.members for name in part.sensitive))

    @property
    def minimum_size(self) -> int:
        """The largest minimum of the parts."""
        return max(part.minimum_size for part in self.members)

    @property
    def parts(self) -> tuple[Definition, ...]:
        """The members."""
        return self.members

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where every part holds."""
        verdict = np.ones(len(classes), dtype=np.bool_)
        for part in self.members:
            verdict &= part.judge(classes)
        return verdict

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Sum of the parts' shortfalls."""
        total = np.zeros(len(classes))
        for part in self.members:
            total += part.shortfall(classes)
        return total

    def __str__(self) -> str:
        return " and ".join(str(part) for part in self.members)


@dataclass(frozen=True)
class KAnonymity(Definition):
    """Every record looks like at least k − 1 others on the quasi-identifiers.

    `on` restricts the promise to some of the quasi-identifiers, so that several key
    combinations can each have a k of their own.
    """

    k: int
    on: tuple[str, ...] = ()
    shapes: ClassVar[frozenset[str] | None] = None
    monotone: ClassVar[bool] = True
    union_closed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        names: Any = self.on
        if isinstance(names, str):
            raise ParameterError(f"on must be a list of attributes; write on=['{names}'].")
        object.__setattr__(self, "on", tuple(names))

    @property
    def minimum_size(self) -> int:
        """Return k, or 1 when only some attributes are meant: then smaller classes may hold."""
        return 1 if self.on else self.k

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the class has at least k records."""
        return classes.sizes >= self.k

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Missing records, as a share of k."""
        return np.maximum(self.k - classes.sizes, 0) / self.k

    def __str__(self) -> str:
        on = f" on {', '.join(self.on)}" if self.on else ""
        return f"{self.k}-anonymity{on}"


class SensitiveDefinition(Definition):
    """A promise about one sensitive attribute inside each class."""

    attribute: str

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The one attribute judged."""
        return (self.attribute,)

    def histogram(self, classes: Classes) -> SensitiveHistogram:
        """Return the histogram of the attribute, or say that it is absent."""
        try:
            return classes.sensitive[self.attribute]
        except KeyError:
            raise ParameterError(
                f"{self} needs the sensitive attribute '{self.attribute}', which the data does "
                f"not have; available: {', '.join(classes.sensitive) or 'none'}."
            ) from None


def positive_integer(name: str, value: object) -> int:
    """Return `value` as an integer of at least 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}.")
    if value > LARGEST:
        raise ParameterError(f"{name} must be at most {LARGEST}, not {value!r}.")
    return int(value)


def number_between(
    name: str, value: object, low: float, high: float, *, open_low: bool = False
) -> float:
    """Return `value` as a float within [low, high], or raise."""
    allowed = f"{'more than' if open_low else 'at least'} {low:g} and at most {high:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ParameterError(f"{name} must be a number of {allowed}, not {value!r}.")
    number = float(value)
    if not (low <= number <= high) or (open_low and number == low):
        raise ParameterError(f"{name} must be {allowed}, not {value!r}.")
    return number
