"""Bounds that protect the run from what never ends or grows beyond all measure.

They say nothing about speed: that is measured by `make bench`. A bound is ten times what the block
usually takes, in processor time of this process, so that other programs do not matter.
"""

from __future__ import annotations

import time
from contextlib import contextmanager


@contextmanager
def usually(seconds: float):
    """Fail where a block takes ten times the seconds it usually takes."""
    begin = time.process_time()
    yield
    took = time.process_time() - begin
    assert took < 10 * seconds, f"{took:.1f} s, where {seconds:g} are usual: does it ever end?"
