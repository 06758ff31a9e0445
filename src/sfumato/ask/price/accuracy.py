"""How far off an answer will be, before it is asked; and the least price for a wanted accuracy.

Contract: :func:`errors` gives the half-width of each measure's interval from the prepared question
alone. Counts and sums have one whatever the data; a mean is divided by the number of rows, so it
needs that number, or a number that is certainly below it (``size``). :func:`least_amount` finds
the smallest amount, to three digits and rounded up, at which every measure is within the accuracy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.price.measures import Recipe
    from sfumato.ask.price.preparation import PreparedQuestion

_LEAST, _MOST = 1e-6, 1e4
_DIGITS = 3


def needs_size(prepared: PreparedQuestion) -> bool:
    """Tell whether some error depends on the number of rows."""
    return any(r.aggregate in {"avg", "variance", "stddev"} for r in prepared.wanted.parts.recipes)


def errors(
    prepared: PreparedQuestion, confidence: float = 0.95, size: float | None = None
) -> dict[str, float]:
    """Give the half-width of the interval of every measure for which it can be told."""
    found = {}
    for recipe in prepared.wanted.parts.recipes:
        each = 1 - (1 - confidence) / len(recipe.places)
        half = []
        for place in recipe.places:
            noise = prepared.allocation.noise(place)
            half.append(0.0 if noise is None else noise.half_width(each))
        width = _width(recipe, half, size)
        if width is not None:
            found[recipe.name] = width
    return found


def _width(recipe: Recipe, half: list[float], size: float | None) -> float | None:
    """Bound how far a measure can be off when its numbers are off by their half-widths."""
    if recipe.grid is None:
        return half[0]
    step = float(recipe.grid.step)
    if recipe.aggregate == "sum":
        return half[0] * step + recipe.rounded
    if recipe.aggregate != "avg" or size is None or size - half[1] < 1:
        return None
    # |S/N − s/n| ≤ (|S − s| + |s/n|·|N − n|)/N with |s/n| at most the reach of the grid.
    return (half[0] + recipe.grid.most * half[1]) / (size - half[1]) * step + recipe.rounded


def _no_accuracy(given: object) -> ParameterError:
    wanted = Argument("accuracy")
    return ParameterError(Message("{} is a number above 0, and {} was given.", wanted, given))


def least_amount(
    at: Callable[[Fraction], PreparedQuestion], accuracy: float, *, size: float | None = None
) -> Fraction:
    """Find the smallest amount at which all measures are within the accuracy, with 95 %."""
    if isinstance(accuracy, bool) or not isinstance(accuracy, (int, float, Fraction)):
        raise _no_accuracy(repr(accuracy))
    if not 0 < accuracy < math.inf:
        raise _no_accuracy(accuracy)
    low, high = _LEAST, _MOST
    if not _holds(at(_rounded(high)), accuracy, size):
        raise Unsatisfiable(
            f"No ε up to {_MOST:g} gives ± {accuracy:g} with 95 % confidence; allow a larger error."
        )
    for _ in range(60):
        if high / low < 1 + 10**-_DIGITS:
            break
        middle = math.sqrt(low * high)
        if _holds(at(_rounded(middle)), accuracy, size):
            high = middle
        else:
            low = middle
    return _rounded(high)


def _holds(prepared: PreparedQuestion, accuracy: float, size: float | None) -> bool:
    found = errors(prepared, size=size)
    names = {recipe.name for recipe in prepared.wanted.parts.recipes}
    return names <= found.keys() and all(width <= accuracy for width in found.values())


def _rounded(amount: float) -> Fraction:
    """Round up to a few digits, so that the ε shown is the ε charged."""
    power = math.floor(math.log10(amount)) - _DIGITS
    unit = Fraction(10) ** power
    return math.ceil(Fraction(amount) / unit) * unit
