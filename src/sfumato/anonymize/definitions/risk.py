"""Thresholds of re-identification risk: promises about a release as a whole.

* `AverageRisk(t)`: the mean prosecutor risk, which is also the marketer's without a population,
  is at most t. A record's risk is 1 / size of its class, so the mean over the records is
  classes / records.
* `UniqueShare(u)`: at most a share u of the released records are alone in their class.

(El Emam: Guide to the De-Identification of Personal Health Information, 2013.) Both allow some
small classes where the others make up for it, so both protect the average and not everybody:
join them with k-anonymity where nobody may be left alone.

What is asked of a whole release cannot be asked of a class. `judge` therefore asks what suffices:
at least 1/t records, or two. If every class of a release does, the release keeps the promise.
Algorithms that decide one class after the other use that, at a higher price. Those which see all
classes of a release at once call `keep_together`: the most records that keep the promise together.

*Largest classes first.* Let m classes be kept. The m largest have the most records, so they
also have the least classes / records, and among them the fewest uniques; hence the best choice is a
row of largest classes. Every further class adds t·size − 1 to t·records − classes (and u or u − 1
to u·records − uniques), which falls along the row; so what keeps the promise is a beginning of it.

*Monotone*, class by class and as a whole: let classes K of a release keep the promise, and
let records join them, or classes be united. The classes that contain one of K are at most as many,
hold as many records or more, and are alone only where the one they contain was. So they keep it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from sfumato.anonymize.definitions.definition import Definition, number_between
from sfumato.anonymize.definitions.option import Option, number
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
else:
    np = later("numpy")  # a definition is also read for its option alone


class _OfWhole(Definition):
    """A bound on classes or uniques by a share of the records of a release."""

    monotone: ClassVar[bool] = True
    union_closed: ClassVar[bool] = True
    of_whole: ClassVar[bool] = True
    shapes: ClassVar[frozenset[str] | None] = frozenset({"table"})

    @property
    @abstractmethod
    def suffices(self) -> int:
        """Records with which a class needs no others to make up for it."""

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the class is large enough by itself."""
        return classes.sizes >= self.suffices

    def most_together(self, sizes: NDArray[np.int64]) -> int:
        """Return how many records are kept together.

        No finer release has more: the classes that contain those it keeps have all their records
        and keep the promise too, for it is monotone as a whole.
        """
        return int(sizes[self.keep_together(sizes)].sum())

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Missing records, as a share of what suffices."""
        return np.maximum(self.suffices - classes.sizes, 0) / self.suffices


def _read_average(text: str) -> Definition:
    return AverageRisk(number("--average-risk", text))


def _read_unique(text: str) -> Definition:
    return UniqueShare(number("--unique-share", text))


@dataclass(frozen=True)
class AverageRisk(_OfWhole):
    """The mean risk of being found again, classes over records, is at most a threshold.

    >>> import sfumato as sf
    >>> str(sf.AverageRisk(0.1))
    'average risk of at most 0.1'
    """

    threshold: float
    option: ClassVar[Option | None] = Option(
        "average_risk",
        ("--average-risk",),
        "<float>",
        "Mean re-identification risk (classes / records) of the release, at most this.",
        _read_average,
        several=False,
    )

    def __post_init__(self) -> None:
        bound = number_between("threshold", self.threshold, 0, 1, open_low=True)
        object.__setattr__(self, "threshold", bound)

    @property
    def suffices(self) -> int:
        """The least whole number of at least 1/t."""
        return ceil(1 / _exact(self.threshold))

    def keep_together(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Keep the largest classes, as long as classes ≤ t × records."""
        last, many = self._last_kept(sizes)
        kept: NDArray[np.bool_] = sizes > last
        kept[np.flatnonzero(sizes == last)[:many]] = True
        return kept

    def most_classes(self, records: int) -> int:
        """Return t × records, rounded down."""
        return int(_exact(self.threshold) * records)

    def _last_kept(self, sizes: NDArray[np.int64]) -> tuple[int, int]:
        """Return the size at which the row of largest classes ends, and how many of it are kept.

        Sizes are counted, not sorted, and compared in whole numbers of any length.
        """
        bound = _exact(self.threshold)
        spare = last = many = 0  # t × records − classes, times the denominator of t
        times = np.bincount(sizes)
        for size in np.flatnonzero(times)[::-1].tolist():
            loses = bound.denominator - size * bound.numerator
            last, there = size, int(times[size])
            many = there if loses <= 0 else min(there, spare // loses)
            if many < there:
                break
            spare -= many * loses
        return last, many

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about all of them
        """Say what an adversary finds on average."""
        return (
            "Whoever guesses which released record is that of a person in the release is right in "
            f"at most {self.threshold:.3g} of the cases, on average over the records."
        )

    def __str__(self) -> str:
        return f"average risk of at most {self.threshold:g}"


@dataclass(frozen=True)
class UniqueShare(_OfWhole):
    """At most a share of the released records are alone in their class.

    >>> import sfumato as sf
    >>> str(sf.UniqueShare(0.05))
    'at most 0.05 of the records unique'
    """

    share: float
    option: ClassVar[Option | None] = Option(
        "unique_share",
        ("--unique-share",),
        "<float>",
        "Share of released records that may be alone in their class.",
        _read_unique,
        several=False,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", number_between("share", self.share, 0, 1))

    @property
    def suffices(self) -> int:
        """Two: whoever has company is not unique."""
        return 2

    def keep_together(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Keep every class of two or more, and as many uniques as the share allows."""
        share = _exact(self.share)
        others = int(sizes[sizes > 1].sum())
        alone = np.flatnonzero(sizes == 1)
        # a ≤ u·(others + a), so a ≤ u·others / (1 − u)
        most = len(alone) if share == 1 else int(share * others / (1 - share))
        kept = np.ones(len(sizes), dtype=np.bool_)
        kept[alone[most:]] = False
        return kept

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about all of them
        """Say how many stand alone."""
        return f"At most {self.share * 100:.3g} % of the released records are alone in their class."

    def __str__(self) -> str:
        return f"at most {self.share:g} of the records unique"


def _exact(value: float) -> Fraction:
    """Return the decimal that a number is shown as."""
    return Fraction(repr(float(value)))
