"""Which findings of an attack are told first."""

from __future__ import annotations

import numpy as np
from chance import seeds

from sfumato.attack.releases.exposure import _leading


@seeds(40)
def test_the_worst_come_first_and_the_largest_of_those(seed):
    """As sorting all of them would say, whether many are equally bad or none are."""
    draw = np.random.default_rng(seed)
    size, most = int(draw.integers(1, 60)), int(draw.integers(0, 12))
    worse = draw.integers(0, draw.integers(1, 40), size) / 40
    count = draw.integers(1, draw.integers(2, 40), size)
    entries = np.flatnonzero(draw.random(size) < 0.8)
    found = _leading(entries, worse, count, most)
    told = sorted(((worse[e], count[e]) for e in entries.tolist()), reverse=True)[:most]
    assert [(worse[e], count[e]) for e in found.tolist()] == told
