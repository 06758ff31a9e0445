"""β-likeness and δ-disclosure: bounds on how much a class changes the odds of each value.

With the share p of one sensitive value in a class and q in the whole table:

* β-likeness (Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee, VLDB
  2012): for every value (p − q)/q ≤ β; the enhanced form, which is the default, asks for
  (p − q)/q ≤ min(β, −ln q), so that frequent values cannot become certain.
* δ-disclosure privacy (Brickell, Shmatikov: The Cost of Privacy, KDD 2008): for every value
  of the table |log(p/q)| < δ, in nats. A value of the table that a class lacks breaks it.

Both say that each p lies in an interval that depends on q alone. An interval holds any
mixture of its members, so the union of classes that hold, holds (union-closed). Neither is
monotone: records of one value that join a class raise its share past any bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.anonymize.definitions.definition import TOLERANCE, SensitiveDefinition
from sfumato.anonymize.definitions.diversity import attribute_name, finite_number
from sfumato.anonymize.definitions.option import Option, number, number_and_attribute
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

_NEVER_SEEN = 1e-300  # keeps the ratio finite for a value that the table lacks


def _read_beta(text: str) -> Definition:
    beta, attribute = number_and_attribute("--beta", text)
    return BetaLikeness(number("--beta", beta), attribute)


def _read_delta(text: str) -> Definition:
    delta, attribute = number_and_attribute("--delta-disclosure", text)
    return DeltaDisclosure(number("--delta-disclosure", delta), attribute)


@dataclass(frozen=True)
class BetaLikeness(SensitiveDefinition):
    """No class raises the share of any sensitive value by more than the factor 1 + β.

    `enhanced=False` gives the basic form, without the extra bound for frequent values.

    >>> import sfumato as sf
    >>> str(sf.BetaLikeness(1.5, "disease"))
    'enhanced 1.5-likeness of disease'
    """

    beta: float
    attribute: str
    enhanced: bool = True
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = Option(
        "likeness", ("--beta",), "B:ATTR", "β-likeness of a sensitive attribute.", _read_beta
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", finite_number("beta", self.beta, 0.0, open_low=True))
        attribute_name(self.attribute, "BetaLikeness")
        if not isinstance(self.enhanced, bool):
            raise ParameterError(f"enhanced must be True or False, not {self.enhanced!r}.")

    def excess(self, classes: Classes) -> NDArray[np.float64]:
        """Return per class by how much the worst relative gain passes its bound."""
        view = self.histogram(classes)
        overall = np.maximum(view.overall, _NEVER_SEEN)
        gain = view.shares / overall - 1.0
        bound = np.minimum(self.beta, -np.log(overall)) if self.enhanced else self.beta
        worst: NDArray[np.float64] = (gain - bound).max(axis=1, initial=-1.0)
        return worst

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where no value gains more than its bound."""
        return self.excess(classes) <= TOLERANCE

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Relative gain beyond the bound."""
        excess = self.excess(classes)
        return np.where(excess <= TOLERANCE, 0.0, excess)

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how much likelier a value may become."""
        return (
            f"Knowing whom somebody looks like raises the chance of no {self.attribute} by more "
            f"than the factor 1 + {self.beta:g}."
        )

    def __str__(self) -> str:
        kind = "enhanced" if self.enhanced else "basic"
        return f"{kind} {self.beta:g}-likeness of {self.attribute}"


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveDefinition):
    """No class changes the share of any sensitive value by a factor of e^δ or more.

    >>> import sfumato as sf
    >>> str(sf.DeltaDisclosure(0.7, "disease"))
    '0.7-disclosure privacy of disease'
    """

    delta: float
    attribute: str
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = Option(
        "disclosure",
        ("--delta-disclosure",),
        "D:ATTR",
        "δ-disclosure of a sensitive attribute.",
        _read_delta,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", finite_number("delta", self.delta, 0.0, open_low=True))
        attribute_name(self.attribute, "DeltaDisclosure")

    def change(self, classes: Classes) -> NDArray[np.float64]:
        """Return per class the largest |log(p/q)| over the values of the table."""
        lacking, present = self._changes(classes)
        return np.where(lacking > 0, np.inf, present)

    def _changes(self, classes: Classes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return per class how many values are lacking, and the worst change of the others."""
        view = self.histogram(classes)
        shares, overall = view.shares, view.overall
        lacking: NDArray[np.int64] = ((shares == 0) & (overall > 0)).sum(axis=1)
        ratio = np.where(shares > 0, shares / np.maximum(overall, _NEVER_SEEN), 1.0)
        present: NDArray[np.float64] = np.abs(np.log(ratio)).max(axis=1, initial=0.0)
        return lacking, present

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where every change is strictly less than δ."""
        return self.change(classes) < self.delta - TOLERANCE

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Values that are lacking, plus the change of the others beyond δ."""
        lacking, present = self._changes(classes)
        gap = present - self.delta
        beyond = np.where(gap < -TOLERANCE, 0.0, np.maximum(gap, TOLERANCE))
        total: NDArray[np.float64] = np.add(lacking, beyond)
        return total

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how much the chance of a value may change."""
        return (
            f"Knowing whom somebody looks like changes the chance of every {self.attribute} by "
            f"less than the factor e^{self.delta:g}."
        )

    def __str__(self) -> str:
        return f"{self.delta:g}-disclosure privacy of {self.attribute}"
