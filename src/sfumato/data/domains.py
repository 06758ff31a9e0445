"""Domains: which values an attribute can have, and in which order they stand.

A domain is declared as a list of values or as a range of numbers. Where an attribute has
one, its hierarchy covers all of it (so that loss does not depend on who happens to be in
the data), and a value outside it is an error.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, model_validator

from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy
from sfumato.data.numbers import by_size, number, plain
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LARGEST_LISTED = 10_000
"""A range of integers up to this size is listed leaf by leaf; a larger one is not."""


class Range(BaseModel):
    """Numbers from `low` to `high`, both included."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: Decimal
    high: Decimal

    @model_validator(mode="after")
    def _upwards(self) -> Self:
        if not self.low.is_finite() or not self.high.is_finite() or self.low > self.high:
            raise ValueError(
                f"'domain' must go from a low to a high finite number, but low {self.low} and "
                f"high {self.high} were given."
            )
        return self

    def __contains__(self, text: str) -> bool:
        value = number(text)
        return value is not None and self.low <= value <= self.high


Domain = Range | tuple[str, ...] | None


def domain_leaves(domain: Domain, type_: str | None) -> list[str]:
    """Return the declared values that a hierarchy should list even if the data lacks them."""
    if domain is None:
        return []
    if not isinstance(domain, Range):
        return list(domain)
    with localcontext(prec=60):
        whole = domain.low % 1 == 0 and domain.high % 1 == 0
        if type_ != "integer" or not whole or domain.high - domain.low >= LARGEST_LISTED:
            return []
        return [plain(domain.low + step) for step in range(int(domain.high - domain.low) + 1)]


def refuse_strangers(domain: Domain, values: Sequence[str], name: str, source: str) -> None:
    """Raise where values of the data lie outside the declared domain; missing cells may."""
    if domain is None:
        return
    known = domain if isinstance(domain, Range) else frozenset(domain)
    strangers = sum(value != MISSING and value not in known for value in values)
    if strangers:
        allowed = (
            f"numbers from {plain(domain.low)} to {plain(domain.high)}"
            if isinstance(domain, Range)
            else f"one of the {len(domain)} declared values"
        )
        raise SchemaError(
            f"{source}, attribute '{name}': {strangers} distinct value(s) of the data lie outside "
            f"the declared domain ({allowed}); widen the domain or mend the data."
        )


def natural_order(
    values: Sequence[str], domain: Domain, hierarchy: Callable[[], Hierarchy | None]
) -> tuple[str, ...]:
    """Return the values by the domain's order, by size, by the hierarchy, or as text.

    Numbers stand before texts, each in their own order, so that leaving out the only text
    among numbers does not turn the others round.
    """
    present = [value for value in values if value != MISSING]
    missing = [MISSING] if len(present) < len(values) else []
    if domain is not None and not isinstance(domain, Range):
        ranks = {value: rank for rank, value in enumerate(domain)}
        return (*sorted(present, key=ranks.__getitem__), *missing)
    if by_size(present) is None and (tree := hierarchy()) is not None:
        return (*sorted(present, key=tree.codes.__getitem__), *missing)
    numbers = [value for value in present if by_size([value]) is not None]
    texts = sorted(set(present) - set(numbers))
    return (*(by_size(numbers) or ()), *texts, *missing)
