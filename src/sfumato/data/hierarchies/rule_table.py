"""The rules by which hierarchies are built from values, by name: what a new one adds is one line.

`Hierarchy.intervals(…)` and its like, and schemas, find a rule here; the rules themselves build
hierarchies, so no hierarchy imports them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sfumato.data.wording import explained
from sfumato.errors import ParameterError
from sfumato.lazy import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.data.hierarchies.levels import Rule

RULES = {
    "automatic": "sfumato.data.hierarchies.rules:Automatic",
    "cuts": "sfumato.data.hierarchies.intervals:Cuts",
    "dates": "sfumato.data.hierarchies.dates:Dates",
    "flat": "sfumato.data.hierarchies.categories:Flat",
    "frequency": "sfumato.data.hierarchies.categories:Frequency",
    "intervals": "sfumato.data.hierarchies.intervals:Intervals",
    "mask": "sfumato.data.hierarchies.rules:Mask",
    "quantiles": "sfumato.data.hierarchies.intervals:Quantiles",
}
"""Rules by name, and where they live."""


def find_rule(name: str) -> type[Rule]:
    """Return the class of a rule."""
    found: type[Rule] = find(RULES[name])
    return found


def make_rule(name: str, options: Mapping[str, Any]) -> Rule:
    """Make a rule, or say which of its options is wrong."""
    kind = find_rule(name)
    try:
        return kind(**options)
    except ValidationError as error:
        raise ParameterError(f"Hierarchy rule '{name}': {explained(error, kind)}") from None
