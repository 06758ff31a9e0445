"""How bins are written, and read back from what is written.

Contract: a label says exactly which values are counted. Of real numbers it is ``[20, 30)``, from 20
and below 30, and the last one ``[90, 100]``; of whole numbers ``20–29``, both ends included, or
``20``. :func:`read_label` gives the ends back, so that a picture needs nothing but the answer.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_REAL = re.compile(rf"\[({_NUMBER}), ({_NUMBER})[)\]]")
_WHOLE = re.compile(r"(-?\d+)(?:–(-?\d+))?")


def number_text(value: Fraction) -> str:
    """Write a number so that reading it gives the same double."""
    return str(int(value)) if value.denominator == 1 else repr(float(value))


def real_labels(edges: Sequence[Fraction]) -> tuple[str, ...]:
    """Label the bins between edges of real numbers; the last holds its upper edge."""
    last = len(edges) - 2
    return tuple(
        f"[{number_text(edges[i])}, {number_text(edges[i + 1])}{']' if i == last else ')'}"
        for i in range(last + 1)
    )


def whole_labels(edges: Sequence[int]) -> tuple[str, ...]:
    """Label the bins of whole numbers from each edge to just below the next."""
    return tuple(
        str(low) if high == low + 1 else f"{low}–{high - 1}"
        for low, high in itertools.pairwise(edges)
    )


def read_label(label: object) -> tuple[float, float] | None:
    """Read the ends of a bin; whole numbers reach to where the next begins. None for others."""
    if not isinstance(label, str):
        return None
    found = _REAL.fullmatch(label)
    if found is not None:
        return float(found[1]), float(found[2])
    found = _WHOLE.fullmatch(label)
    if found is None or len(label) > 40:
        return None
    return float(found[1]), float(found[2] or found[1]) + 1


def read_edges(labels: Sequence[object]) -> tuple[float, ...] | None:
    """Read the edges of bins that stand side by side in rising order; None for others."""
    pairs = [read_label(label) for label in labels]
    known = [pair for pair in pairs if pair is not None]
    if not known or len(known) < len(pairs):
        return None
    touching = all(known[i][1] == known[i + 1][0] for i in range(len(known) - 1))
    rising = all(low < high for low, high in known)
    return (*(low for low, _ in known), known[-1][1]) if touching and rising else None
