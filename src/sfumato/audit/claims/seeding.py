"""Making a check repeatable, as far as the function draws from generators we can reach.

Contract: inside ``repeatable(seed)`` Python's and numpy's global generators start from the seed,
and so does Sfumato's own noise in this thread; afterwards all are as before. A generator that the
function keeps for itself is its own affair. Without a seed nothing is touched.
"""

from __future__ import annotations

import os
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise import insecure_seeded

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def repeatable(seed: int | None) -> Iterator[None]:
    """Start the global generators from a seed, and put them back at the end."""
    if seed is None:
        yield
        return
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - the function's own
    start(seed)
    try:
        with insecure_seeded(seed):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002 - the same


def start(seed: int | None) -> None:
    """Start Python's and numpy's global generators from a seed, or from the system."""
    chosen = int.from_bytes(os.urandom(16), "little") if seed is None else seed
    random.seed(chosen)
    np.random.seed(np.random.SeedSequence(chosen).generate_state(4))  # noqa: NPY002 - the same
