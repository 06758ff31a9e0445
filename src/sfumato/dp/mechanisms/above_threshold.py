"""Above-threshold, the sparse vector technique: which answers exceed a threshold.

Promise: ε-differential privacy for the whole sequence of yes and no, however many questions are
asked and however they depend on earlier answers, until ``positives`` times yes was said.

The correct variant (Lyu, Su and Li, "Understanding the sparse vector technique", VLDB 2017,
Algorithm 1): the threshold gets noise once, every answer gets noise of its own, the noise of the
answers grows with the number c of positives, no numeric answer is released, and the run ends
after c of them.

Proof. On a grid, answers are integers that move by at most D between neighbours. Let the
threshold noise be N₀ of scale t₀ = 2D/ε and the answers' noise N_i of scale t₁ = 4cD/ε, discrete
Laplace. Fix the noise of the answers declared negative, and let a run with N₀ and noises N_i of
its positives be given. On the neighbour, take N₀ + D and N_i + 2D instead: negatives stay below
the higher threshold, because their answers rise by at most D; positives stay at or above it,
because their answers fall by at most D and the threshold rose by D. The shifted noises have at
least e^(−D/t₀) and, for each of the at most c positives, e^(−2D/t₁) times the probability:
together e^(−ε/2 − c·2D/t₁) = e^(−ε). For monotone queries (all move in one direction) a shift of
D suffices, so t₁ = 2cD/ε.

Error. For k questions and c positives, every answer on the wrong side is within
t₀·ln(2/β) + t₁·ln(2k/β) of the threshold, with probability 1 − β (a union over the noises), plus
four steps of the grid for rounding.

The proof counts on c positives from one noisy threshold. A :class:`Run` holds both, so it answers
one question at a time, also when threads share it, and there is never a second copy of it.
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.base import Error, Mechanism
from sfumato.dp.mechanisms.grid import Grid, add, numeric
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.rounding import Stated, stated_up
from sfumato.errors import BudgetExceeded, DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    import numpy.typing as npt

_UP = 1 + 1e-12
_LONGEST = 61  # a simulated run is encoded in one integer of 64 bits


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Mechanism):
    """Say which answers exceed a threshold, until ``positives`` of them did.

    ``size`` is the number of questions the error is stated for; the promise needs no such limit.
    """

    threshold: Stated
    sensitivity: Stated
    positives: int = 1
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.bound(self.sensitivity)
        parameters.read(self.threshold, "The threshold", "a finite number")
        parameters.count(self.positives, "The number of positives")

    @property
    def guarantee(self) -> PureDP:
        """ε-differential privacy for the whole run."""
        return PureDP(stated_up(parameters.budget(self.epsilon)), neighbours=self.neighbours)

    @property
    def grid(self) -> Grid:
        """A grid 2⁻²⁰ times the sensitivity and the scale; each answer is rounded alone."""
        sensitivity = parameters.bound(self.sensitivity)
        scale = 2 * sensitivity / parameters.budget(self.epsilon)
        return Grid.fine(sensitivity=sensitivity, scale=scale, size=1)

    @property
    def steps(self) -> tuple[Fraction, Fraction]:
        """The scales of the threshold's and of the answers' noise, in steps of the grid."""
        moved = self.grid.l1(parameters.bound(self.sensitivity), 1)
        unit = 2 * moved / parameters.budget(self.epsilon)
        return unit, unit * self.positives * (1 if self.monotone else 2)

    def start(self) -> Run:
        """Begin an interactive run: the guarantee is spent, whatever is then asked."""
        return Run(self)

    def release(self, value: Iterable[Any]) -> list[bool]:
        """Answer a sequence of questions until the last allowed positive, or its end."""
        run, out = self.start(), []
        for answer in value:
            if run.finished:
                break
            out.append(run.ask(answer))
        return out

    def simulate(self, value: Any, count: int) -> npt.NDArray[np.int64]:
        """Make ``count`` runs over the same answers, for study; gives each run as a code.

        The code is the number whose binary digits are the answers, after a leading 1.
        """
        answers = self.grid.multiples(np.atleast_1d(numeric(value)))
        if answers.size > _LONGEST:
            raise ParameterError(f"A simulated run has at most {_LONGEST} answers.")
        bar = _shifted(self._bar(), discrete_laplace(self.steps[0], count))
        codes = np.ones(count, dtype=np.int64)
        left = np.full(count, self.positives, dtype=np.int64)
        for answer in answers:
            noisy = _shifted(int(answer), discrete_laplace(self.steps[1], count))
            above = (noisy >= bar).astype(np.bool_)
            open_ = left > 0
            codes = np.where(open_, 2 * codes + above, codes)
            left -= above & open_
        return codes

    def _bar(self) -> int:
        exact = parameters.read(self.threshold, "The threshold", "a finite number")
        # Public and fixed, so it may be rounded in any way.
        return math.floor(exact / self.grid.step)

    @property
    def error(self) -> Error:
        """How far from the threshold an answer on the wrong side can be."""
        questions = self.size or 1
        first, each, spare = (
            parameters.as_float(scale * self.grid.step, "The error of this run")
            for scale in (*self.steps, 4)
        )

        def beyond(beta: float) -> float:
            logs = first * math.log(2 / beta) + each * math.log(2 * questions / beta)
            return (logs + spare) * _UP

        expected = (first + each * (math.log(questions) + 1) + spare) * _UP
        return Error("distance of a misjudged answer from the threshold", expected, 1, beyond)


def _shifted(origin: int, noise: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return add(np.array([origin], dtype=object), noise)


class Run:
    """One run of :class:`AboveThreshold`: ask until ``finished``.

    Threads may share a run: one question is answered after the other, so that no two of them
    both take the last positive. A run has one noisy threshold and one count, and a second copy
    of it would say yes again for nothing; so it cannot be copied, pickled or used in a forked
    process.
    """

    __slots__ = ("_bar", "_found", "_lock", "_mechanism", "_process")

    def __init__(self, mechanism: AboveThreshold) -> None:
        noise = discrete_laplace(mechanism.steps[0], 1)
        self._mechanism = mechanism
        self._bar = mechanism._bar() + int(noise[0])  # noqa: SLF001 - its own run
        self._found = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"Run({self._mechanism!r}, found={self._found})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "A run of AboveThreshold cannot be copied or pickled, because each copy would say yes "
            "again without paying for it; call start() for another run, which costs its ε again."
        )

    @property
    def mechanism(self) -> AboveThreshold:
        """The mechanism this is a run of."""
        return self._mechanism

    @property
    def found(self) -> int:
        """How often yes was said."""
        return self._found

    @property
    def finished(self) -> bool:
        """Whether the allowed positives are used up."""
        return self._found >= self._mechanism.positives

    def ask(self, answer: Any) -> bool:
        """Say whether an answer exceeds the threshold."""
        if os.getpid() != self._process:  # before the lock, which a fork may have left closed
            raise BudgetExceeded(
                "This run belongs to the process that started it, where it goes on; start another "
                "run in this process, which costs its ε again."
            )
        with self._lock:
            if self.finished:
                raise BudgetExceeded(
                    f"This run may say yes {self._mechanism.positives} times and has done so; "
                    "start another run, which costs its ε again, or allow more positives at the "
                    "start."
                )
            above = self._judge(answer)
            self._found += above
            return above

    def _judge(self, answer: Any) -> bool:
        array = numeric(answer)
        if array.ndim:
            raise DataError("Ask one number at a time; release() takes a sequence of them.")
        multiple = int(self._mechanism.grid.multiples(array).item())
        return multiple + int(discrete_laplace(self._mechanism.steps[1], 1)[0]) >= self._bar
