"""How much to run: what the time allows, and which measurement more runs would decide.

Contract: an ``Effort`` turns the time that is left into numbers of runs. ``more_runs`` tells how
many would probably refute a claim that a measurement came close to refuting. Both are guesses; how
many runs a measurement gets is settled before it begins, which is all that its validity needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.audit.claims.deadline import Deadline
    from sfumato.audit.claims.measurement import Measurement
    from sfumato.audit.claims.samples import Sampler

_MOST_NUMBERS = 1 << 24
"""So many numbers of explored outputs are held at once, for each data set."""

EXPLORING, MEASURING = 0.06, 0.92
"""Of a budget of time, the share for exploring, and of what is left in the end what is planned for
measuring."""

DECIDING = 0.33
"""The share for choosing among what exploring left. A poor choice costs far more than a third of
the measuring runs, by which a bound comes nearer to its estimate by a fifth of a standard error."""

TRYING = 0.02
"""Of a budget of time, the share in which a measurement is timed before its runs are settled."""

_DECIDES = 3.8
"""Standard errors over the claim at which a measurement usually refutes it."""

_NEAR, _NEAR_WITH_DELTA = 1.0, 0.5
_CLEAR = 1.5
_SOME_MORE, _MOST_MORE = 4.0, 20.0


@dataclass(eq=False)
class Effort:
    """The runs and the time of a search."""

    sampler: Sampler
    deadline: Deadline
    samples: int
    budget: bool = False
    """Whether the time is there to be used: exploring then gets a fixed part of it."""
    overhead: float = 0.0
    """Seconds that exploring took for each run beside the run itself."""

    def affordable(self, runs: int, *, pairs: int = 1, share: float, exploring: bool) -> int:
        """Cut a number of runs on each data set to what a share of the time left allows."""
        each = self.sampler.seconds_per_output + (self.overhead / 2 if exploring else 0.0)
        seconds = share * self.deadline.left
        if exploring and self.budget:
            seconds = min(seconds, EXPLORING * self.deadline.seconds - self.spent)
        return min(runs, int(max(0.0, seconds) / (2 * pairs * each + 1e-12)))

    @property
    def spent(self) -> float:
        """Seconds that are over."""
        return self.deadline.seconds - self.deadline.left

    def measurable(self, seconds_per_run: float) -> int:
        """Tell how many runs on each data set what is left of a budget can measure."""
        left = self.deadline.left - max(
            0.0, (EXPLORING + DECIDING) * self.deadline.seconds - self.spent
        )
        return int(MEASURING * left / (2 * seconds_per_run + 1e-12))

    def countable(self, share: float) -> int:
        """Tell how many runs on two data sets a share of the whole time allows, for all pairs."""
        seconds = share * self.deadline.seconds
        return int(seconds / (2 * self.sampler.seconds_per_output + 1e-12))

    @property
    def most(self) -> int:
        """How many runs on each data set exploring can use at most."""
        held = _MOST_NUMBERS // max(1, self.sampler.width)
        return max(1, min(self.samples // 8, held))

    @property
    def late(self) -> bool:
        """Whether half of the time is over, or of a budget twice what exploring should use."""
        return self.spent > (2 * EXPLORING if self.budget else 0.5) * self.deadline.seconds

    def learn_cost(self, seconds: float, runs: int) -> None:
        """Remember how long exploring so many runs took."""
        if runs:
            self.overhead = max(0.0, seconds / runs - self.sampler.seconds_per_output)


def more_runs(found: Sequence[Measurement], runs: int) -> int:
    """Tell how many runs on each data set would probably decide; 0 where no measurement is near."""
    nearest = max(found, key=lambda step: step.excess)
    near = _NEAR if nearest.masses is None else _NEAR_WITH_DELTA
    if nearest.refutes or nearest.excess < near:
        return 0
    limit = _SOME_MORE if nearest.excess < _CLEAR else _MOST_MORE
    factor = (_DECIDES / nearest.excess) ** 2
    return math.ceil(runs * min(max(1.5, 1.3 * factor), limit))
