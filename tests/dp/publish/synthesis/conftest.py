import numpy as np
import pytest

from sfumato.dp.publish.synthesis.domain import CodedColumn, Domain


@pytest.fixture
def chain():
    """Four columns, each depending on the one before, with a spike in an ordered one."""
    rng = np.random.default_rng(3)
    n = 4000
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.7, b, rng.integers(0, 4, n))
    e = np.where(a == 0, 7, rng.integers(0, 40, n))
    codes = np.stack([a, b, c, e]).astype(np.uint32)
    columns = (
        CodedColumn("a", 3),
        CodedColumn("b", 3),
        CodedColumn("c", 4),
        CodedColumn("e", 40, ordered=True),
    )
    return codes, Domain(columns)
