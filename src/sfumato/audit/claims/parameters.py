"""What may be given to a check: the parameters, read and judged before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from sfumato.audit.claims.pairs import POOL
from sfumato.errors import ParameterError


def pool_of(records: Any) -> tuple[Any, ...]:
    """Read the records to make data sets of."""
    if records is None:
        return POOL
    if not isinstance(records, Iterable):
        raise ParameterError(
            f"records= wants a list of records, as in records=[0, 1, 5], and {_kind(records)} was "
            "given."
        )
    pool = tuple(records)
    if not pool:
        raise ParameterError("records= wants at least one record, and none was given.")
    return pool


def datasets_of(datasets: Any) -> tuple[Any, ...]:
    """Read the user's own data sets."""
    if datasets is None:
        return ()
    given = tuple(datasets) if isinstance(datasets, Iterable) else ()
    if not given or not all(isinstance(dataset, (Sequence, np.ndarray)) for dataset in given):
        raise ParameterError(
            "datasets= wants a list of data sets, each a list of records, as in "
            f"datasets=[[3, 1, 4]], and {_kind(datasets)} of something else was given."
        )
    return given


def pairs_given(pairs: Any) -> tuple[tuple[Any, Any], ...]:
    """Read the user's own pairs of neighbours."""
    given = tuple(pairs) if isinstance(pairs, Iterable) else (None,)
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in given):
        raise ParameterError(
            "pairs= wants a list of pairs of data sets, as in pairs=[([0, 1], [0])], and something "
            "else was given."
        )
    return tuple((first, second) for first, second in given)


def check_parameters(
    samples: Any,
    seconds: Any,
    confidence: Any,
    size: Any,
    arithmetic: Any,
    inputs: Any,
    seed: Any,
) -> None:
    """Refuse numbers and words that mean nothing."""
    if samples is not None and not (_whole(samples) and samples >= 1000):
        raise ParameterError(f"A check needs at least 1000 samples, and {samples!r} were given.")
    if not (_number(seconds) and seconds > 0):
        raise ParameterError(f"The time limit is above 0 seconds, and {seconds!r} was given.")
    if not (_number(confidence) and 0.5 <= confidence < 1):
        raise ParameterError(
            f"The confidence is at least 0.5 and below 1, as 0.99, and {confidence!r} was given."
        )
    if not (_whole(size) and size >= 1):
        raise ParameterError(f"The number of answers is at least 1, and {size!r} was given.")
    if arithmetic not in {None, "float", "real"}:
        raise ParameterError(f"arithmetic is 'float' or 'real', and {arithmetic!r} was given.")
    if inputs not in {"records", "answers"}:
        raise ParameterError(f"inputs are 'records' or 'answers', and {inputs!r} was given.")
    if seed is not None and not (_whole(seed) and seed >= 0):
        raise ParameterError(f"The seed is a whole number from 0, and {seed!r} was given.")


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    return type(value).__name__
