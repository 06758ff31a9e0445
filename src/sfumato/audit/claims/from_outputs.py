"""A lower bound on ε from outputs that are already there.

Contract: given independent outputs on two neighbouring inputs, ``epsilon_lower_bound`` gives an ε₀
such that with the stated confidence the function is not (ε, δ)-private for any ε < ε₀. One half
of the outputs chooses the event, the other measures it once. For δ = 0 the measuring half is
shared out by a fair coin, as :func:`~sfumato.audit.claims.bounds.ratio_bound` requires: Bin(n, 1/2)
outputs of the first input are used and the rest of n of the second, with n a little smaller than
what is there, so that they suffice. Should they not, nothing is claimed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.claims import bounds
from sfumato.audit.claims.evidence.events import Candidate, choose
from sfumato.audit.claims.outputs import Outputs, read, unit_of
from sfumato.audit.claims.promises import Bound
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

_LEAST = 100
_NO_CLAIM = 1e6


def epsilon_lower_bound(
    first: Any,
    second: Any,
    *,
    delta: float = 0.0,
    confidence: float = 0.99,
    arithmetic: str = "float",
    seed: int = 0,
) -> float:
    """Give the largest ε that outputs on two neighbouring inputs refute, at least 0.

    With ``arithmetic="real"`` the rounding errors of floating-point outputs are ignored.
    """
    if not 0 <= delta < 1 or not 0.5 <= confidence < 1:
        raise ParameterError(
            f"δ is at least 0 and below 1, the confidence at least 0.5 and below 1, and {delta} "
            f"and {confidence} were given."
        )
    if arithmetic not in {"float", "real"}:
        raise ParameterError(f"arithmetic is 'float' or 'real', and {arithmetic!r} was given.")
    outputs = [_read(given) for given in (first, second)]
    runs = min(len(side) // 2 for side in outputs)
    choosing = [side.part(slice(0, len(side) - runs)) for side in outputs]
    measuring = [side.part(slice(len(side) - runs, None)) for side in outputs]
    if arithmetic == "real":
        unit = unit_of(choosing)
        choosing = [side.rounded(unit) for side in choosing]
        measuring = [side.rounded(unit) for side in measuring]
    chosen = choose(
        choosing[0],
        choosing[1],
        [Bound(_NO_CLAIM, delta)],  # so that an event for each side is taken where it is sharper
        runs=runs,
        floats=arithmetic == "float",
        both=True,
    )[0]
    happened = [_guesses(chosen, side) for side in measuring]
    if not chosen.event.on_first:
        happened.reverse()
    if delta > 0:
        counts = [int(np.count_nonzero(guesses > 0)) for guesses in happened]
        return bounds.masses(counts[0], runs, counts[1], runs, 1 - confidence).epsilon(delta)
    total = 2 * runs - math.ceil(8 * math.sqrt(runs))
    used = int(np.random.default_rng(seed).binomial(total, 0.5))  # how runs are shared out
    if max(used, total - used) > runs:
        return 0.0
    on_first, on_second = happened[0][:used], happened[1][: total - used]
    right = int(np.count_nonzero(on_first > 0) + np.count_nonzero(on_second < 0))
    wrong = int(np.count_nonzero(on_first < 0) + np.count_nonzero(on_second > 0))
    return bounds.ratio_bound(right, wrong, 1 - confidence)


def _guesses(chosen: Candidate, outputs: Outputs) -> npt.NDArray[np.int8]:
    """Give 1 where the event speaks for its input, −1 where its opposite for the other, else 0."""
    guesses = chosen.event.of(outputs).astype(np.int8)
    if chosen.opposite is not None:
        guesses -= chosen.opposite.of(outputs).astype(np.int8)
    return guesses


def _read(given: Any) -> Outputs:
    count = len(given) if hasattr(given, "__len__") else 0
    outputs = read(given, count) if count >= _LEAST else None
    if outputs is None:
        raise DataError(
            f"Outputs are an array or list of at least {_LEAST} of them for each input, and "
            f"{count} were given."
        )
    return outputs
