"""Mechanisms that pick one candidate by its score.

Contract: scores come as a sequence or array (the index of the pick is released) or as a mapping
from candidates to scores (the candidate is released). The set of candidates is public; only
the scores depend on the data. ``sensitivity`` bounds how much the score of any one candidate
changes between neighbours. ``monotone=True`` states that neighbours move all scores in the same
direction, as adding a person does to counts; then half the noise suffices. Scores are used
exactly as the numbers they are: integers, or floats as dyadic rationals.

The error is the score lost against the best candidate, for ``size`` candidates.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.base import Error, Mechanism
from sfumato.dp.mechanisms.grid import numeric
from sfumato.dp.rounding import Stated, stated_up
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

_UP = 1 + 1e-12


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """Pick one of finitely many candidates, the better the likelier."""

    sensitivity: Stated
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.bound(self.sensitivity)

    @property
    def guarantee(self) -> PureDP:
        """ε-differential privacy, exactly."""
        spent = parameters.budget(self.epsilon, zero=self.without_budget)
        return PureDP(stated_up(spent), neighbours=self.neighbours)

    @property
    def rate(self) -> Fraction:
        """ε/(2Δ), or ε/Δ for monotone scores: how fast a score gains weight."""
        return parameters.budget(self.epsilon, zero=self.without_budget) / (
            self.doubling * parameters.bound_up(self.sensitivity)
        )

    @property
    def doubling(self) -> int:
        """How often a sensitivity counts: twice, or once for monotone scores."""
        return 1 if self.monotone else 2

    @property
    def per_log(self) -> float:
        """1/rate, the score that a factor of e in probability is worth."""
        if not self.rate:
            return math.inf
        return parameters.as_float(1 / self.rate, "The error of this selection")

    @abstractmethod
    def picks(self, scores: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
        """Pick ``count`` times, independently."""

    def release(self, value: Any) -> Any:
        """Release the picked candidate, spending the guarantee once."""
        index = int(self.picks(self._scores(value), 1)[0])
        return list(value)[index] if isinstance(value, Mapping) else index

    def simulate(self, value: Any, count: int) -> npt.NDArray[np.int64]:
        """Pick ``count`` times from the same scores, for study; gives indices."""
        return self.picks(self._scores(value), count)

    def _scores(self, value: Any) -> npt.NDArray[Any]:
        scores = numeric(list(value.values()) if isinstance(value, Mapping) else value)
        if scores.ndim != 1 or not scores.size:
            raise DataError(
                f"Scores are a list with one number per candidate, at least one, and the given "
                f"ones have shape {scores.shape}."
            )
        if self.size not in {None, scores.size}:
            raise ParameterError(
                f"This mechanism was declared for size={self.size} candidates and is given "
                f"{scores.size}."
            )
        return scores

    @property
    def candidates(self) -> int:
        """How many candidates the error is stated for."""
        if self.size is None:
            raise ParameterError(
                "The error of a selection depends on the number of candidates: state it as size=…."
            )
        return self.size

    def _score_loss(self, expected: float, per_log: float, extra: float) -> Error:
        """State an error whose tail is per_log·(ln(1/β) + extra)."""

        def beyond(beta: float) -> float:
            return max(0.0, per_log * (extra - math.log(beta))) * _UP

        what = "score lost against the best candidate"
        return Error(what, expected * _UP, 1, beyond, one_sided=True)
