"""Which hierarchy to suggest for a column, with its options spelled out.

Options are written down rather than left to be chosen again, so that the steward sees and
can change them and the next batch of data is treated the same way.
"""

from __future__ import annotations

from decimal import localcontext
from typing import TYPE_CHECKING

from sfumato.data.hierarchies.bins import comfortable_width
from sfumato.data.hierarchies.categories import Flat, Frequency
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.hierarchies.intervals import PRECISION, Intervals
from sfumato.data.hierarchies.rules import Mask
from sfumato.data.numbers import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.data.hierarchies.levels import Rule
    from sfumato.data.tables.column_facts import ColumnFacts

FEW = 3
"""Categories up to this number go straight to `*`."""


def suggested_rule(facts: ColumnFacts, counts: Mapping[str, int] | None) -> Rule:
    """Return the rule that fits the column's values, bound to round numbers."""
    values = [value for value in counts or {} if value != MISSING]
    rule = facts.fitting
    if isinstance(rule, Mask) and values:
        return Mask(length=max(map(len, values)))
    if isinstance(rule, Intervals) and len(values) > FEW:
        numbers = [n for n in map(number, values) if n is not None]
        if len(numbers) == len(values):
            with localcontext(prec=PRECISION):
                whole = all(n == n.to_integral_value() for n in numbers)
                return Intervals(width=comfortable_width(min(numbers), max(numbers), whole=whole))
    if isinstance(rule, Frequency) and 0 < len(values) <= FEW:
        return Flat()
    return rule
