"""k-map and δ-presence: classes compared with the population the table is a sample of.

The adversary does not know who is in the table, only who is in the population. For each
class the population counts the people who fit its generalised values.

* k-map (Sweeney: Computational Disclosure Control, MIT 2001): at least k people of the
  population fit. Monotone: when records join a class, its generalised values can only
  become wider and fit as many people or more.
* δ-presence (Nergiz, Atzori, Clifton: Hiding the Presence of Individuals from Shared
  Databases, SIGMOD 2007): the share of those people who are in the table, and so the
  probability that a person who fits is in it, lies between `low` and `high`. Union-closed
  when `low` is 0: the share of a union is at most the mediant of the shares, which is at
  most the larger one. Not when `low` is above 0: the generalised values of a union may
  also fit people whom neither class fitted, and that lowers the share.

Whoever fits no class is certainly not in the table: with `low` above 0 that person is a
breach no class can show, which verification against the population reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.anonymize.definitions.definition import (
    TOLERANCE,
    Definition,
    number_between,
    positive_integer,
)
from sfumato.anonymize.definitions.option import Option, number, whole_number
from sfumato.data.wording import some
from sfumato.errors import ParameterError
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
else:
    np = later("numpy")  # a definition is also read for its option alone


def people_who_fit(classes: Classes, definition: Definition) -> NDArray[np.int64]:
    """Return the population count of each class, or say that no population was given."""
    if classes.population is None:
        raise ParameterError(
            f"{definition} compares the table with a population, and none was given; "
            "hand one over with population=, a table that has the quasi-identifiers."
        )
    return classes.population


def _read_map(text: str) -> Definition:
    return KMap(whole_number("--k-map", text))


def _read_presence(text: str) -> Definition:
    low, _, high = text.partition(",")
    return DeltaPresence(number("--presence", low), number("--presence", high))


@dataclass(frozen=True)
class KMap(Definition):
    """Every released record fits at least k people of the population.

    >>> import sfumato as sf
    >>> str(sf.KMap(4))
    '4-map'
    """

    k: int
    monotone: ClassVar[bool] = True
    union_closed: ClassVar[bool] = True
    needs_population: ClassVar[bool] = True
    shapes: ClassVar[frozenset[str] | None] = frozenset({"table"})
    option: ClassVar[Option | None] = Option(
        "k_map",
        ("--k-map",),
        "<int>",
        "k-map: every class fits at least k people of the population.",
        _read_map,
        several=False,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where at least k people of the population fit."""
        return people_who_fit(classes, self) >= self.k

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Missing people, as a share of k."""
        return np.maximum(self.k - people_who_fit(classes, self), 0) / self.k

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how many people a record fits."""
        people = some(self.k, "person", "people")
        return f"Every released record fits at least {people} of the population."

    def __str__(self) -> str:
        return f"{self.k}-map"


@dataclass(frozen=True)
class DeltaPresence(Definition):
    """Whoever fits a class is in the table with a probability between low and high.

    >>> import sfumato as sf
    >>> str(sf.DeltaPresence(0.1, 0.9))
    '(0.1, 0.9)-presence'
    """

    low: float
    high: float
    needs_population: ClassVar[bool] = True
    shapes: ClassVar[frozenset[str] | None] = frozenset({"table"})
    option: ClassVar[Option | None] = Option(
        "presence",
        ("--presence",),
        "LOW,HIGH",
        "δ-presence: the share of the population of a class that is in the data.",
        _read_presence,
        several=False,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", number_between("low", self.low, 0, 1))
        object.__setattr__(self, "high", number_between("high", self.high, 0, 1))
        if self.low > self.high:
            raise ParameterError(
                f"low must not exceed high; given were low {self.low:g} and high {self.high:g}."
            )

    @property
    def union_closed(self) -> bool:  # type: ignore[override]
        """True when only `high` is promised; see the proof above."""
        return self.low == 0

    @property
    def allows_suppression(self) -> bool:
        """True when only `high` is promised: with a lower bound nobody may be left out."""
        return self.low == 0

    def presence(self, classes: Classes) -> NDArray[np.float64]:
        """Return per class the share of fitting people who are in the table.

        A class that more records than people fit shows that the population is incomplete;
        its share passes 1 and never holds.
        """
        share: NDArray[np.float64] = classes.sizes / np.maximum(people_who_fit(classes, self), 0.5)
        return share

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the share lies between low and high."""
        share = self.presence(classes)
        return (share >= self.low - TOLERANCE) & (share <= self.high + TOLERANCE)

    def most_released(self, classes: Classes) -> NDArray[np.int64]:
        """Return `high` times the people who fit.

        Nobody fits two finer classes, and of those who fit a released one at most the share `high`
        are in it; summed over the finer classes that are released this bounds their records.
        """
        people = people_who_fit(classes, self)
        most = np.floor((self.high + 2 * TOLERANCE) * people + TOLERANCE).astype(np.int64)
        bounded: NDArray[np.int64] = np.minimum(most, classes.sizes)
        return bounded

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Distance of the share from the allowed interval."""
        share = self.presence(classes)
        gap = np.maximum(self.low - share, share - self.high)
        return np.where(gap <= TOLERANCE, 0.0, gap)

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how likely somebody is in the data."""
        return (
            "Whoever fits a released record is in the data with a probability between "
            f"{self.low:g} and {self.high:g}."
        )

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g})-presence"
