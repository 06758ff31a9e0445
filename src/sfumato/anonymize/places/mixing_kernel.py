"""The loop that forms batches: k different people, one after the other through one side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@njit(cache=True)
def make_batches(  # noqa: C901 - one loop, compiled
    key: Ints, person: Ints, entered: Floats, left: Floats, settled: Floats, k: int, delay: float
) -> Any:
    """Return batch and moment of passages that are sorted by key (zone and side) and entry.

    Whoever has waited `delay` when the next enters is held back, as is a second passage of a person
    who waits already: both are known at that entry, so membership depends on entries alone. So does
    the moment: `settled` seconds (of that passage's zone) after the last entry. A batch of which
    somebody has not left by then is held back as a whole.
    """
    n = len(key)
    batch, moment = np.full(n, -1, np.int64), np.zeros(n)
    waiting = np.empty(k, np.int64)
    count, batches = 0, 0
    for i in range(n):
        if count > 0 and key[waiting[0]] != key[i]:
            count = 0
        fresh = 0
        for w in range(count):  # those who would wait too long are held back
            if entered[i] - entered[waiting[w]] <= delay:
                waiting[fresh] = waiting[w]
                fresh += 1
        count = fresh
        twice = False
        for w in range(count):
            twice = twice or person[waiting[w]] == person[i]
        if twice:
            continue
        waiting[count] = i
        count += 1
        if count == k:
            begin = entered[i] + settled[i]
            gone = True
            for w in range(k):
                gone = gone and left[waiting[w]] <= begin
            if gone:
                for w in range(k):
                    batch[waiting[w]] = batches
                    moment[waiting[w]] = begin
                batches += 1
            count = 0
    return batch, moment
