"""Records beyond 0 and 1, with which a claim that stands for these might fall.

Contract: ``wider_pairs`` gives neighbouring data sets over other records, of one kind at a time:
larger and smaller numbers, fractions, texts, tuples. A function need not be made for any of them,
so what they show never refutes a claim: it is told beside the verdict, and so are the records that
were tried. Data sets on which a function only raises exceptions are set aside for the same reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.audit.claims.pairs import POOL, Pair, Pairs
from sfumato.dp.neighbours import Unit

if TYPE_CHECKING:
    import numpy as np

WIDER: tuple[tuple[Any, ...], ...] = (
    (0, 10),
    (0, 1000),
    (0, -1),
    (0, 0.5),
    ("a", "a longer text"),
    ((0, 0), (1, 1)),
)
_OF_A_KIND = 5


def may_be_wider(pairs: Pairs) -> bool:
    """Tell whether other records are to be tried: only where the user named no inputs."""
    return records_tried(pairs) is POOL and not isinstance(pairs.relation.unit, Unit)


def wider_pairs(pairs: Pairs, rng: np.random.Generator) -> list[list[Pair]]:
    """Give a few pairs for each kind of record; none where the user named the inputs."""
    if not may_be_wider(pairs):
        return []
    return [replace(pairs, records=pool).first(rng)[:_OF_A_KIND] for pool in WIDER]


def records_tried(pairs: Pairs) -> tuple[Any, ...] | None:
    """Name the records that data sets were made of, if they were."""
    own = pairs.given is not None or pairs.answers is not None or pairs.datasets or pairs.values
    return None if own else pairs.records
