"""What one person can contribute to a question, and how far that moves each number.

Contract: :func:`bound_for` turns the owner's unit into the bound an engine enforces on the rows of
a question; :func:`sensitivity_of` derives, through :mod:`sfumato.dp.queries`, how far one unit
moves the vector of a total over all groups. Both look at the question and at the unit, never at
data.

The derivation is about *kept* rows. An engine keeps, of each person, at most what the bound says,
by a function of her own rows; so for a person added or removed the kept rows of all others stay,
and the change is what at most C groups of at most L rows (or M rows) can do, each row moving a
total by at most the largest |z| of its grid.

Where a person is replaced by another (bounded neighbours), the kept rows h of the one give way to
the kept rows h′ of the other, in the same groups or in others: what they move is ‖h − h′‖, which
:mod:`sfumato.dp.queries.grouped` bounds by 2m in L1 and √2·S in L2 for counts. Without groups there
is one number only, and no row can leave it for another: a count lies in [0, m] before and after,
and a sum in m·[low, high]. How many units there are is the same in all neighbours, and public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from sfumato.ask.language.language import Filter, PerPerson, Project, Scan
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.request import Bound, GroupsBound, RowBound, RowsBound, Total
from sfumato.dp.neighbours import Neighbours, PrivacyUnit, Row, Unit
from sfumato.dp.queries.base import scalar, sensitivity
from sfumato.dp.queries.grouped import GroupedSum, Histogram
from sfumato.dp.queries.tables import Sum
from sfumato.errors import ParameterError
from sfumato.message import Argument, Call, Message

if TYPE_CHECKING:
    from sfumato.ask.language.language import Question, Relation
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.queries.base import Query, Sensitivity
    from sfumato.errors import Refused

_MANY = 2  # bins: only "more than one" matters
_MOST = 2**31  # rows or groups of one person


def bound_for(unit: PrivacyUnit, question: Question) -> Bound:
    """Choose the bound that is enforced on the rows of a question."""
    if isinstance(unit, Row):
        return RowBound()
    if not isinstance(unit, Unit):
        raise ParameterError(
            Message(
                "A session protects rows, or people named by a column; {} is neither. Use {} or "
                "{}.",
                unit,
                Argument("unit", "row"),
                Argument("unit", Call("Unit", "user_id", {"rows": 5})),
            )
        )
    if any(n is not None and n > _MOST for n in (unit.rows, unit.groups, unit.rows_per_group)):
        raise ParameterError(
            f"The bounds of {unit} are larger than {_MOST:,}, which no noise would hide; declare "
            "how many rows or groups of one person really should count."
        )
    if _one_row_each(question.relation):
        return GroupsBound(1, 1)
    once = all(measure.aggregate == "people" for measure in question.measures)
    return _grouped(unit, once=once) if question.keys else _whole(unit, once=once)


def _one_row_each(relation: Relation) -> bool:
    """Tell whether a relation has one row per person, so that keeping one loses nothing."""
    while isinstance(relation, (Filter, Project)):
        relation = relation.source
    return isinstance(relation, PerPerson) and not relation.keys


def _whole(unit: Unit, *, once: bool) -> Bound:
    """Bound a question without groups: the whole table is one group."""
    if once:
        return GroupsBound(1, 1)
    limits = [n for n in (unit.rows, unit.rows_per_group) if n is not None]
    if not limits:
        raise _unbounded(unit, "how many rows of one person count", rows=5)
    return GroupsBound(1, min(limits))


def _grouped(unit: Unit, *, once: bool) -> Bound:
    groups = unit.groups if unit.groups is not None else unit.rows
    if groups is None:
        raise _unbounded(
            unit,
            "into how many groups one person falls",
            groups=5,
            rows_per_group=1,
        )
    if unit.rows is not None:
        groups = min(groups, unit.rows)
    if once:
        return GroupsBound(groups, 1)
    if unit.groups is None and unit.rows_per_group is None:
        assert unit.rows is not None
        return RowsBound(unit.rows)
    limits = [n for n in (unit.rows_per_group, unit.rows) if n is not None]
    if not limits:
        raise _unbounded(
            unit,
            "how many rows of one person count in each group",
            groups=groups,
            rows_per_group=5,
        )
    return GroupsBound(groups, min(limits))


def _unbounded(unit: Unit, what: str, **limits: int) -> Refused:
    example = Argument("unit", Call("Unit", unit.name, limits))
    return refuse("unit_bounds", what=what, name=unit.name, example=example)


@dataclass(frozen=True)
class Reach:
    """What one unit may do to a question: its bound, the relation, and whether there are groups.

    ``counts_all`` tells that the question is about all rows of a table, so that the number of
    units in it is the number of all.
    """

    bound: Bound
    relation: Literal["unbounded", "bounded"] = "unbounded"
    grouped: bool = True
    counts_all: bool = False

    @classmethod
    def of(cls, question: Question, bound: Bound, budget: Guarantee) -> Reach:
        """Read what a question and the relation of a budget say."""
        whole = isinstance(question.relation, Scan) and not question.keys
        return cls(bound, budget.neighbours.relation, bool(question.keys), whole)

    @property
    def bounded(self) -> bool:
        """Whether a unit is replaced by another, so that their number is public."""
        return self.relation == "bounded"

    @property
    def touched(self) -> int:
        """Give the most groups in which something changes; replacing changes those of two."""
        groups = touched(self.bound)
        return 2 * groups if self.bounded and self.grouped else groups


def touched(bound: Bound) -> int:
    """Give the most groups in which one unit has rows."""
    if isinstance(bound, RowBound):
        return 1
    return bound.groups if isinstance(bound, GroupsBound) else bound.rows


def rows_in_group(bound: Bound) -> int:
    """Give the most rows one unit has in one group."""
    return 1 if isinstance(bound, RowBound) else bound.rows


def sensitivity_of(total: Total | None, reach: Reach) -> Sensitivity:
    """Derive how far one unit moves a total over all groups; None is the number of people."""
    counted = total is None or (total.form == "rows" and isinstance(reach.bound, RowBound))
    if reach.bounded and reach.counts_all and counted and (total is None or total.where is None):
        return scalar(0, "the number of units is public")
    near = Neighbours(reach.relation, _contributing(total, reach.bound))
    return _derived(_query(total, alone=reach.bounded and not reach.grouped), near)


@lru_cache(maxsize=1024)
def _derived(query: Query, neighbours: Neighbours) -> Sensitivity:
    """Derive a sensitivity once; most totals of most questions have one of a few."""
    return sensitivity(query, neighbours)


def _query(total: Total | None, *, alone: bool) -> Query:
    """Give the query that a total is over all groups, or as the single number it is without."""
    if total is None or total.form in {"rows", "present"}:
        return Histogram(1 if alone else _MANY)
    assert total.grid is not None
    low, high = total.grid.ends
    ends = (min(low, 0), max(high, 0)) if total.form == "sum" else (0, total.grid.most**2)
    return Sum(ends) if alone else GroupedSum(_MANY, ends)


def _contributing(total: Total | None, bound: Bound) -> PrivacyUnit:
    """Describe the kept rows of one unit in the words of the dp room."""
    if isinstance(bound, RowBound):
        return Row()
    if isinstance(bound, RowsBound):
        return Unit("person", rows=bound.rows, rows_per_group=1 if total is None else None)
    return Unit("person", groups=bound.groups, rows_per_group=1 if total is None else bound.rows)
