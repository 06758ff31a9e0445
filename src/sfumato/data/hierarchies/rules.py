"""Hierarchies over codes, dates and categories, and the rule that chooses by the values.

Contract: each rule is a small value with options; bound to the values of an attribute it
gives a `Hierarchy` whose leaves are exactly those values. A missing cell is a leaf with a
branch of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from sfumato.data.hierarchies.categories import Frequency
from sfumato.data.hierarchies.dates import Dates, day_of
from sfumato.data.hierarchies.intervals import Intervals
from sfumato.data.hierarchies.levels import Level, Rule, build, level_of, present_values
from sfumato.data.numbers import number
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sfumato.data.hierarchies.hierarchy import Hierarchy


class Mask(Rule):
    """Characters hidden one by one: 12345 → 1234* → 123** → … → *.

    `length` is the number of positions (default: of the longest value). A shorter value is
    filled up with masked positions, so that `130` and `13053` meet in `130**`.
    """

    name: ClassVar[str] = "mask"

    length: int | None = Field(default=None, ge=1, le=1000)
    side: Literal["left", "right"] = "right"
    char: str = Field(default="*", min_length=1, max_length=1)

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - positions ignore frequencies
    ) -> Hierarchy:
        """Return one level per hidden position over the distinct `values`."""
        present, missing = present_values(values, attribute)
        leaves = sorted(present)
        longest = max(map(len, leaves), default=1)
        length = longest if self.length is None else self.length
        if longest > length:
            longer = sum(len(value) > length for value in leaves)
            raise HierarchyError(
                f"Attribute '{attribute}' has {longer} distinct value(s) longer than the mask of "
                f"{length} positions; the longest has {longest}. Raise 'length', leave it out, "
                "or mend the data."
            )
        digits = all(value.isascii() and value.isdigit() for value in leaves)
        levels = [self._level(leaves, length, hidden, digits) for hidden in range(1, length)]
        return build(leaves, levels, missing=missing, source=self.name)

    def _level(self, leaves: Sequence[str], length: int, hidden: int, digits: bool) -> Level:
        shown = length - hidden
        if self.side == "right":
            level = level_of([value[:shown].ljust(length, self.char) for value in leaves])
        else:
            level = level_of([value[-shown:].rjust(length, self.char) for value in leaves])
        if not digits:
            return level
        return Level(level.nodes, level.labels, [10.0 ** s.count(self.char) for s in level.labels])


_CODE_NAMES = re.compile(
    r"(^|[^a-z])(zip|postal|postcode|post|plz|cap|code|icd|phone|telephone|tel|fips|iban|id|nr)"
    r"([^a-z]|code|$)",
    re.IGNORECASE,
)
_LONGEST_CODE = 12


class Automatic(Rule):
    """Chosen by the values: dates, codes to mask, numbers in intervals, else by frequency.

    With `text` even values that look like numbers or dates are taken as mere texts.
    """

    name: ClassVar[str] = "automatic"

    text: bool = False

    def over(
        self, values: Iterable[str], attribute: str, counts: Mapping[str, int] | None = None
    ) -> Hierarchy:
        """Return the hierarchy of the rule that fits the values."""
        present, missing = present_values(values, attribute)
        chosen = fitting_rule(present, attribute, text=self.text)
        return chosen.over([*present, *([""] * missing)], attribute, counts)


def fitting_rule(values: Sequence[str], attribute: str, *, text: bool = False) -> Rule:
    """Return the rule that fits these values, none of them missing."""
    typed = bool(values) and not text
    if typed and all(day_of(value) is not None for value in values):
        return Dates()
    numeric = typed and all(number(value) is not None for value in values)
    if _are_codes(values, attribute, numeric=numeric):
        return Mask()
    return Intervals() if numeric else Frequency()


def _are_codes(values: Sequence[str], attribute: str, *, numeric: bool) -> bool:
    """Whether position matters more than size: postal codes, not salaries."""
    lengths = {len(value) for value in values}
    if len(values) < 2 or max(lengths) > _LONGEST_CODE or min(lengths) < 3:
        return False
    digits = all(value.isascii() and value.isdigit() for value in values)
    if digits and any(value.startswith("0") for value in values):
        return True
    if _CODE_NAMES.search(attribute) and (digits or not numeric):
        return all(any(c.isdigit() for c in value) for value in values)
    mixed = not numeric and all(v.isalnum() and any(c.isdigit() for c in v) for v in values)
    return mixed and len(lengths) == 1
