"""What the conformance kit measures from outside; the audit itself is ``sfumato.audit``.

``epsilon_lower_bound`` is :func:`sfumato.audit.epsilon_lower_bound`: the kit and the checker of
claims share one way to choose an event, one to measure it and one exact bound.

``lowest_bits`` is the precision attack alone: it forgets the outputs but for the place of their
lowest set bit. Textbook noise made of floating-point numbers has low bits where the true value
has none, so that place alone tells two inputs apart (Mironov 2012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims.from_outputs import epsilon_lower_bound

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["epsilon_lower_bound", "lowest_bits"]


def lowest_bits(outputs: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Give the exponent of the lowest set bit of each output; 0 has none and gives 2000."""
    values = np.asarray(outputs, dtype=np.float64).reshape(-1)
    mantissas, exponents = np.frexp(values)
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    trailing = np.zeros(values.size, dtype=np.int64)
    odd = whole & -whole
    positive = odd > 0
    trailing[positive] = np.log2(odd[positive].astype(np.float64)).astype(np.int64)
    return np.where(positive, exponents.astype(np.int64) - 53 + trailing, 2000)
