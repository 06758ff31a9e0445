"""What a stream of requests may be asked for, checked: numbers for all, or one per request."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.definition import positive_integer
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODES = ("eager", "deadline", "marginal")
MOST_USERS = 64
"""Users that a box is searched for, at most (`stream_kernel.LARGEST`); a test compares them."""


def above(name: str, value: float) -> float:
    """Return a number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ParameterError(f"{name} must be a number above 0, not {value!r}.")
    return float(value)


def floats_of(values: Any) -> NDArray[np.float64]:
    """Return a column as numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("A request has a moment or a place that is no finite number.") from None


def few_users(name: str, value: Any) -> int:
    """Return a number of users that a box can be searched for."""
    if positive_integer(name, value) > MOST_USERS:
        raise ParameterError(
            f"{name} must be at most {MOST_USERS} in a stream, not {value:,}: a box is searched "
            f"for so many users."
        )
    return int(value)


def each_above(name: str, values: Any, count: int) -> NDArray[np.float64]:
    """Return a number above 0 for each request."""
    wanted = np.asarray(values)
    numbers = wanted.dtype.kind in "iuf" and wanted.shape == (count,)
    if not numbers or not (np.isfinite(wanted) & (wanted > 0)).all():
        raise ParameterError(f"{name} must be a number above 0 for each of {count:,} requests.")
    return wanted.astype(np.float64)


def k_of_each(k: Any, count: int) -> NDArray[np.int64]:
    """Return the k of each request."""
    wanted = np.asarray(k)
    if wanted.shape != (count,) or wanted.dtype.kind not in "iu":
        raise ParameterError(f"k must be a whole number for each of {count:,} requests.")
    if count and not 1 <= wanted.min() <= wanted.max() <= MOST_USERS:
        raise ParameterError(f"k must be from 1 to {MOST_USERS} for every request of a stream.")
    return wanted.astype(np.int64)
