"""Between which levels of its hierarchy an attribute may be released: the owner's limits.

A minimum says that an attribute is never shown finer than that, a maximum that it is never made
coarser. The search keeps both; what the promise needs beyond them cannot be met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.anonymize.tables.problem import Problem

TOP = -1
"""Stands for the top of a hierarchy, whose height is known when its values are."""

Bounds: TypeAlias = tuple[tuple[int, int], ...]
"""The lowest and the highest level per quasi-identifier, both allowed."""


def level_bounds(problem: Problem, given: Mapping[str, tuple[int, int] | int]) -> Bounds:
    """Return the bounds of every quasi-identifier; those not given are free.

    A single level is the lowest and the highest.
    """
    names = problem.table.quasi_names
    if not isinstance(given, Mapping):
        raise ParameterError(
            "levels= gives attributes a lowest and a highest level, as in "
            f"levels={{{names[0]!r}: (1, 2)}} or levels={{{names[0]!r}: 2}}."
        )
    for name in given:
        if name not in names:
            raise ParameterError(
                f"Levels are limited for '{name}', which is no quasi-identifier; those are "
                f"{listed(names)}.{did_you_mean(name, names)}"
            )
    highest = [int(height) - 1 for height in problem.heights]
    return tuple(
        _checked(name, given.get(name, (0, top)), top)
        for name, top in zip(names, highest, strict=True)
    )


def _checked(name: str, bounds: tuple[int, int] | int, top: int) -> tuple[int, int]:
    pair = (bounds, bounds) if isinstance(bounds, int) else bounds
    if (
        not isinstance(pair, (tuple, list))
        or len(pair) != 2
        or any(isinstance(end, bool) or not isinstance(end, int) for end in pair)
    ):
        raise ParameterError(
            f"The levels of '{name}' are one whole number, or a lowest and a highest, as in "
            f"levels={{{name!r}: (1, 2)}}."
        )
    low, high = pair[0], top if pair[1] == TOP else pair[1]
    if not 0 <= low <= high <= top:
        raise ParameterError(
            f"The levels of '{name}' go from 0 (as it is) to {top} (the top of its hierarchy); "
            f"{low} to {high} is not within."
        )
    return low, high
