"""What an engine is asked for: exact, bounded aggregates, as whole numbers.

Contract: a :class:`Request` is all an engine sees. It gives back :class:`Aggregates`: for every
group that has a kept row, the number of different people and one whole number per
:class:`Total`, computed from *kept* rows only. Which rows are kept is decided by a keyed hash
of each person's own rows (:mod:`sfumato.ask.plan.choice`), the same on every engine, whatever order
rows are stored in:

* ``RowBound()``: the unit is the row, and all rows are kept;
* ``RowsBound(rows=M)``: of each person the M rows with the smallest hash;
* ``GroupsBound(groups=C, rows=L)``: of each person the C groups with the smallest hash of (person,
  group), and in each of them the L rows with the smallest hash.

A row whose keys are not among the public values of a key is left out before bounding, so that
nobody's few groups are spent on groups that are not shown.

``spread`` are further keys by which kept rows are told apart *after* bounding; they do not take
part in the choice of groups. Quantiles use one: the number of the value's grid point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.ask.language.language import Bounds, Expression, Key, Relation, Value


@dataclass(frozen=True)
class RowBound:
    """Each row is its own unit."""


@dataclass(frozen=True)
class RowsBound:
    """At most ``rows`` rows per person."""

    rows: int


@dataclass(frozen=True)
class GroupsBound:
    """At most ``groups`` groups per person, and at most ``rows`` rows in each of them."""

    groups: int
    rows: int


Bound: TypeAlias = "RowBound | RowsBound | GroupsBound"


@dataclass(frozen=True)
class Grid:
    """Clamped values as whole numbers: z = ⌊(clamp(x) − centre)/step + ½⌋, in doubles.

    NULL and NaN have no number. ``step`` is a power of two; bounds and centre are doubles.

    No |z| passes :attr:`most`, whatever the data: subtraction, division, addition and floor are
    monotone in IEEE arithmetic, so z lies between the numbers of the two bounds, and these are
    computed here with the same operations.
    """

    bounds: Bounds
    step: Fraction
    centre: Fraction

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest number there can be."""
        low, high = self.bounds
        return self.number(float(low)), self.number(float(high))

    @property
    def most(self) -> int:
        """The largest |z| there can be."""
        low, high = self.ends
        return max(abs(low), abs(high))

    def number(self, value: float) -> int:
        """Give the number of a value inside the bounds."""
        return math.floor((value - float(self.centre)) / float(self.step) + 0.5)


@dataclass(frozen=True)
class Total:
    """A whole number per group: a sum over kept rows where ``where`` is true.

    ``rows``: 1 per row. ``present``: 1 per row whose term has a value. ``sum``: z of the term on
    the grid. ``squares``: z². A row without a value adds 0.
    """

    form: Literal["rows", "present", "sum", "squares"]
    term: Expression | None = None
    grid: Grid | None = None
    where: Expression | None = None


@dataclass(frozen=True)
class Request:
    """Bounded totals of the groups of a relation."""

    relation: Relation
    keys: tuple[Key, ...]
    totals: tuple[Total, ...]
    bound: Bound
    salt: bytes
    spread: tuple[tuple[Expression, Grid], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Aggregates:
    """Exact totals; private until noise is added, so it has no readable representation.

    ``keys[i]`` is a tuple of Python values (None, bool, int, str, date), one per key; groups stand
    in no order that means anything. ``spread[s][i]`` are numbers of grid points (None where the
    term had no value: such rows are left out of a request with ``spread``).
    """

    keys: tuple[tuple[Value, ...], ...]
    people: NDArray[np.int64]
    totals: tuple[NDArray[Any], ...]  # int64, or Python integers where they may not fit
    spread: tuple[NDArray[np.int64], ...] = ()
