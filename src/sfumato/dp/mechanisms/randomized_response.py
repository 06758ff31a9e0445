"""Randomised response: every person answers a yes/no question with deniability.

Promise: ε-local differential privacy for each person's own answer (Warner 1965).

Two ways to state it. With ``truth`` = α a person tells the truth with probability α and otherwise
flips a fair coin; the true answer then comes out with probability p = (1+α)/2, and
ε = ln((1+α)/(1−α)): α = ½ gives ln 3. With ``epsilon`` the true answer comes out with
p = e^ε/(e^ε + 1), which is the most truthful for that ε.

Proof. The answer given is "yes" with probability p or 1−p, depending on the truth; the ratio is
at most p/(1−p) = e^ε. Coins are exact for either statement (:mod:`sfumato.dp.noise.chances`), so
the ratio is too; the ε of an α is rounded up.

Error of the estimated share of "yes" among n people. The share ŷ of "yes" answers estimates
p·s + (1−p)(1−s), so ŝ = (ŷ − (1−p))/(2p−1) is unbiased; its standard deviation is at most
1/(2·√n·(2p−1)), and by Hoeffding it errs by more than √(ln(2/β)/(2n))/(2p−1) with probability
below β, counting the randomness of the coins alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.base import Error, Mechanism
from sfumato.dp.mechanisms.grid import refuse_masked
from sfumato.dp.neighbours import Neighbours, Person
from sfumato.dp.noise.chances import Chance, preference, rational
from sfumato.dp.noise.uniform import bernoulli
from sfumato.dp.rounding import Stated, log_up, stated_up
from sfumato.errors import DataError

if TYPE_CHECKING:
    import numpy.typing as npt

_UP = 1 + 1e-12
_OWN_ANSWER = Neighbours("bounded", Person())


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Mechanism):
    """Flip each true/false answer with a fixed probability; give ``epsilon`` or ``truth``."""

    epsilon: Stated | None = None  # type: ignore[assignment]  # absent when truth is given
    truth: Stated | None = None
    neighbours: Neighbours = _OWN_ANSWER

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.exactly_one((self.epsilon, self.truth), "epsilon= and truth=")
        if self.truth is not None:
            parameters.share(self.truth, "α (truth), the probability of a truthful answer,")

    @property
    def guarantee(self) -> LocalDP:
        """ε-local differential privacy for each person."""
        if self.epsilon is not None:
            epsilon = stated_up(parameters.budget(self.epsilon))
        else:
            alpha = self._alpha()
            epsilon = stated_up(Fraction(log_up((1 + alpha) / (1 - alpha))))
        return LocalDP(epsilon, neighbours=self.neighbours)

    @property
    def keep(self) -> Chance:
        """The probability that the true answer comes out."""
        if self.epsilon is not None:
            return preference(parameters.budget(self.epsilon))
        return rational((1 + self._alpha()) / 2)

    @property
    def lever(self) -> float:
        """2p − 1: how strongly a true answer shows in the one given."""
        if self.epsilon is not None:
            return math.tanh(float(min(parameters.budget(self.epsilon), Fraction(1000))) / 2)
        return float(self._alpha())

    def release(self, value: Any) -> Any:
        """Perturb one answer, or one answer of each of many people."""
        answers = _booleans(value)
        out = answers.ravel() ^ ~bernoulli(self.keep, answers.size)
        return bool(out[0]) if answers.ndim == 0 else out.reshape(answers.shape)

    def simulate(self, value: Any, count: int) -> npt.NDArray[np.bool_]:
        """Perturb one answer ``count`` times, for study."""
        answers: npt.NDArray[np.bool_] = self.release(np.full(count, bool(value)))
        return answers

    def estimate(self, answers: Any) -> float:
        """Estimate the true share of yes, without bias; it may leave [0, 1] for few people."""
        given = _booleans(answers)
        if not given.size:
            raise DataError("An estimate needs at least one answer, and none was given.")
        return float((given.mean() - 0.5) / self.lever + 0.5)

    def at(self, epsilon: Stated) -> Self:
        """Give the mechanism with another ε."""
        return replace(self, epsilon=epsilon, truth=None)

    @property
    def error(self) -> Error:
        """The error of the estimated share of yes among ``size`` people."""
        people = self.size or 1
        lever = self.lever

        def beyond(beta: float) -> float:
            return math.sqrt(math.log(2 / beta) / (2 * people)) / lever * _UP

        expected = 1 / (2 * math.sqrt(people) * lever) * _UP
        return Error("error of the estimated share", expected, 1, beyond)

    def _alpha(self) -> Fraction:
        assert self.truth is not None
        return parameters.share(self.truth, "α (truth), the probability of a truthful answer,")


def _booleans(value: Any) -> npt.NDArray[np.bool_]:
    refuse_masked(value)
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise DataError(
            f"Randomised response takes answers that are True or False, and the given ones have "
            f"type {array.dtype.name}."
        )
    return array
