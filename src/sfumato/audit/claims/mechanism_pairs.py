"""Neighbouring inputs of a mechanism: values that its own stated sensitivity allows.

Contract: a mechanism takes a value, not a data set; two values are neighbouring when they differ by
no more than the ``sensitivity`` it states, so that pairs at that distance are the hardest it must
stand. What kind of value it takes is told by its parameters alone: a ``threshold`` for a sequence
of answers, ``monotone`` for the scores of candidates, ``truth`` for a person's bit, otherwise
numbers. A mechanism of another kind needs ``pairs=``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.errors import ParameterError


def pairs_of(mechanism: Any) -> tuple[tuple[Any, Any], ...]:
    """Give pairs of values at the distance the mechanism states."""
    if hasattr(mechanism, "truth"):
        return ((True, False),)
    if not hasattr(mechanism, "sensitivity"):
        raise ParameterError(
            f"The neighbouring values of a {type(mechanism).__name__} are not known here; give "
            "some with pairs=[(value, neighbouring value), …]."
        )
    step, size = float(mechanism.sensitivity), getattr(mechanism, "size", None)
    if hasattr(mechanism, "threshold"):
        return _answers(mechanism, step)
    if hasattr(mechanism, "monotone"):
        return _scores(step, size or 3, monotone=mechanism.monotone)
    return _values(step, size)


def _values(step: float, size: int | None) -> tuple[tuple[Any, Any], ...]:
    whole = step.is_integer()
    zero, apart = (0, int(step)) if whole else (0.0, step)
    if size is None or size == 1:
        pairs = [(zero, apart), (5 * apart, 6 * apart)]
        if size is None:
            return tuple(pairs)
        return tuple((np.array([a]), np.array([b])) for a, b in pairs)
    alone = np.zeros(size, dtype=np.int64 if whole else np.float64)
    alone[0] = apart
    pairs_of_vectors = [(np.zeros_like(alone), alone)]
    if whole and int(step) >= 2:
        # L1 distance `step` at most, spread over several places.
        spread = np.zeros(size, dtype=np.int64)
        spread[: min(size, int(step))] = 1
        pairs_of_vectors.append((np.zeros_like(spread), spread))
    return tuple(pairs_of_vectors)


def _scores(step: float, size: int, *, monotone: bool) -> tuple[tuple[Any, Any], ...]:
    rest = size - 1
    if monotone:
        return (
            ([3 * step] + [0.0] * rest, [3 * step] + [step] * rest),
            ([0.0] * size, [step] + [0.0] * rest),
        )
    return (
        ([3 * step] + [0.0] * rest, [2 * step] + [step] * rest),
        ([0.0] + [4 * step] * rest, [step] + [3 * step] * rest),
    )


def _answers(mechanism: Any, step: float) -> tuple[tuple[Any, Any], ...]:
    bar, count = float(mechanism.threshold), 3 * mechanism.positives
    if mechanism.monotone:
        low = [bar] * count
        return ((low, [bar + step] * count), ([bar - step] * count, low))
    below, above = [bar - step] * count, [bar + step] * count
    middle = [bar] * (2 * count)
    return ((below + above, middle), ([bar + step] + [bar] * count, [bar] + [bar + step] * count))
