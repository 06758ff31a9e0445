"""l-diversity: every class holds enough different, well-spread sensitive values.

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-Diversity: Privacy Beyond
k-Anonymity, ACM TKDD 1(1), 2007. With counts r₁ ≥ r₂ ≥ … of the sensitive values of a
class and shares p of the same:

* distinct: at least l values occur. Monotone: records that join take no value away.
* entropy: −Σ p·log p ≥ log l. Union-closed: entropy is concave, so the entropy of a
  mixture is at least the smallest of its parts. Not monotone: records of one value that
  join a balanced class lower its entropy.
* recursive (c, l): r₁ < c·(r_l + … + r_m), absent values counting as 0. Union-closed: the
  top count of a union is at most the sum of the top counts, and what is left after taking
  away any l − 1 values is at least the sum of what is left in the parts, so both sides of
  r₁ < c·tail add up the right way. Not monotone, for the same reason as entropy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.anonymize.definitions.definition import (
    TOLERANCE,
    SensitiveDefinition,
    positive_integer,
)
from sfumato.anonymize.definitions.option import (
    Option,
    number,
    number_and_attribute,
    whole_number,
)
from sfumato.data.wording import some
from sfumato.errors import ParameterError
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
    from sfumato.anonymize.definitions.definition import Definition
else:
    np = later("numpy")  # a definition is also read for its option alone

CLASSED = frozenset({"table", "hybrid", "trees", "graph"})
"""Shapes with classes in which values are counted: of trees, vertices that look alike; of graphs,
nodes that somebody who knows part of the structure cannot tell apart."""

SAFE_SIDE = 1 - 1e-12
"""Factor on the right side of a strict inequality: c = 1.1 is not exactly 11/10 in binary,
and a class on the very boundary must not hold because of that."""


def finite_number(name: str, value: object, low: float, *, open_low: bool = False) -> float:
    """Return `value` as a finite float of at least (or more than) `low`, or raise."""
    allowed = f"{'more than' if open_low else 'at least'} {low:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ParameterError(f"{name} must be a number of {allowed}, not {value!r}.")
    number = float(value)
    if not math.isfinite(number) or number < low or (open_low and number == low):
        raise ParameterError(f"{name} must be a finite number of {allowed}, not {value!r}.")
    return number


def attribute_name(value: object, definition: str) -> str:
    """Return `value` if it can name an attribute, or raise."""
    if not isinstance(value, str) or not value:
        raise ParameterError(
            f"{definition} needs the name of one sensitive attribute, not {value!r}; "
            "combine several attributes with &."
        )
    return value


def _read(text: str) -> Definition:
    l, attribute = number_and_attribute("-l", text)  # noqa: E741 - the letter of the definition
    head, _, kind = attribute.rpartition(":")
    if head and kind == "entropy":
        return EntropyLDiversity(number("-l", l), head)
    if head and kind.startswith("recursive="):
        c = number("-l", kind.removeprefix("recursive="))
        return RecursiveLDiversity(c, whole_number("-l", l), head)
    named = head if head and kind == "distinct" else attribute
    return DistinctLDiversity(whole_number("-l", l), named)


_OPTION = Option(
    "diversity",
    ("-l", "--l"),
    "L:ATTR",
    "l-diversity of a sensitive attribute, as L:ATTRIBUTE, L:ATTRIBUTE:entropy or "
    "L:ATTRIBUTE:recursive=C; may be repeated.",
    _read,
)


@dataclass(frozen=True)
class DistinctLDiversity(SensitiveDefinition):
    """Every class holds at least l different values of the sensitive attribute.

    >>> import sfumato as sf
    >>> str(sf.KAnonymity(5) & sf.DistinctLDiversity(2, "disease"))
    '5-anonymity and distinct 2-diversity of disease'
    """

    l: int  # noqa: E741 - the letter of the definition
    attribute: str
    monotone: ClassVar[bool] = True
    shapes: ClassVar[frozenset[str] | None] = CLASSED
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = _OPTION

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", positive_integer("l", self.l))
        attribute_name(self.attribute, "DistinctLDiversity")

    @property
    def minimum_size(self) -> int:
        """Return l: that many values need that many records."""
        return self.l

    def distinct(self, classes: Classes) -> NDArray[np.int64]:
        """Return the number of different values in each class."""
        distinct: NDArray[np.int64] = (self.histogram(classes).counts > 0).sum(axis=1)
        return distinct

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where at least l values occur."""
        return self.distinct(classes) >= self.l

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Missing values, as a share of l."""
        return np.maximum(self.l - self.distinct(classes), 0) / self.l

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how many values people who look alike have."""
        return (
            f"People who look alike have at least {some(self.l, 'different value')} of "
            f"{self.attribute} among them."
        )

    def __str__(self) -> str:
        return f"distinct {self.l}-diversity of {self.attribute}"


@dataclass(frozen=True)
class EntropyLDiversity(SensitiveDefinition):
    """The entropy of the sensitive attribute in every class is at least log l.

    l may be any number of at least 1, since log l is all that counts.

    >>> import sfumato as sf
    >>> str(sf.EntropyLDiversity(2.5, "disease"))
    'entropy 2.5-diversity of disease'
    """

    l: float  # noqa: E741 - the letter of the definition
    attribute: str
    shapes: ClassVar[frozenset[str] | None] = CLASSED
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = _OPTION

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", finite_number("l", self.l, 1.0))
        attribute_name(self.attribute, "EntropyLDiversity")

    @property
    def minimum_size(self) -> int:
        """Return l rounded up: entropy log l needs that many values, hence records."""
        return max(math.ceil(self.l * (1 - TOLERANCE)), 1)

    def entropy(self, classes: Classes) -> NDArray[np.float64]:
        """Return the entropy of the attribute in each class, in nats."""
        shares = self.histogram(classes).shares
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        entropy: NDArray[np.float64] = -(shares * logs).sum(axis=1)
        return entropy

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the entropy is at least log l."""
        return self.entropy(classes) >= math.log(self.l) - TOLERANCE

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Missing entropy, as a share of log l."""
        goal = math.log(self.l)
        gap = goal - self.entropy(classes)
        return np.where(gap <= TOLERANCE, 0.0, gap / max(goal, TOLERANCE))

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how uncertain the value stays."""
        return (
            f"Among people who look alike, {self.attribute} is at least as uncertain as {self.l:g} "
            "equally frequent values."
        )

    def __str__(self) -> str:
        return f"entropy {self.l:g}-diversity of {self.attribute}"


@dataclass(frozen=True)
class RecursiveLDiversity(SensitiveDefinition):
    """The most frequent value of a class is not too frequent, the rarer ones not too rare.

    Strictly r₁ < c·(r_l + … + r_m). A class with fewer than l values never holds.

    >>> import sfumato as sf
    >>> str(sf.RecursiveLDiversity(3, 2, "disease"))
    'recursive (3, 2)-diversity of disease'
    """

    c: float
    l: int  # noqa: E741 - the letter of the definition
    attribute: str
    shapes: ClassVar[frozenset[str] | None] = CLASSED
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = _OPTION

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", finite_number("c", self.c, 0.0, open_low=True))
        object.__setattr__(self, "l", positive_integer("l", self.l))
        attribute_name(self.attribute, "RecursiveLDiversity")

    @property
    def minimum_size(self) -> int:
        """Return l, or more where a small c asks for a longer tail."""
        # The smallest class has r₁ = 1 and all values different; its tail of size − l + 1
        # records must exceed 1/c.
        return self.l + math.floor(1 / (self.c * SAFE_SIDE))

    def excess(self, classes: Classes) -> NDArray[np.float64]:
        """Return r₁ − c·(r_l + … + r_m) for each class; negative where it holds."""
        counts = self.histogram(classes).counts
        if counts.shape[1] == 0:
            return np.zeros(len(classes))
        top = counts.max(axis=1)
        if self.l == 1:
            tail = counts.sum(axis=1)
        elif self.l > counts.shape[1]:
            tail = np.zeros_like(top)
        else:
            ranked = np.partition(counts, counts.shape[1] - self.l + 1, axis=1)
            tail = ranked[:, : counts.shape[1] - self.l + 1].sum(axis=1)
        excess: NDArray[np.float64] = top - (self.c * SAFE_SIDE) * tail
        return excess

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where r₁ is strictly less than c times the tail."""
        return self.excess(classes) < 0

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Excess of the most frequent value, as a share of the class."""
        excess = self.excess(classes)
        share = np.maximum(excess / np.maximum(classes.sizes, 1), TOLERANCE)
        return np.where(excess < 0, 0.0, share)

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how frequent the most frequent value may be."""
        return (
            f"Among people who look alike, the most frequent {self.attribute} occurs less than "
            f"{self.c:g} times as often as all from the {self.l}th most frequent on together."
        )

    def __str__(self) -> str:
        return f"recursive ({self.c:g}, {self.l})-diversity of {self.attribute}"
