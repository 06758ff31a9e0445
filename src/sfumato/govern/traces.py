"""Budgets for the places of a person over time: what a trace of reports may give away together.

ε of geo-indistinguishability adds up over reports. `TraceReporter` keeps the sum within any
`window` of seconds at most `epsilon` per metre: a report that does not fit is not made, and the
last one is given again, which costs nothing.

Promise: for two traces that are nowhere in a window more than d metres apart, whatever was reported
in it is at most e^(ε·(d + √2·step)) times as likely for one as for the other.

Proof. Every step costs what it spends on top of what was reported before, whatever that was: a
report by planar Laplace noise its ε (:mod:`sfumato.dp.places.planar_laplace`), a repeated one
nothing. With `predictive`, a test looks first whether the last report is still good
(Chatzikokolakis, Palamidessi, Stronati, PETS 2014): it compares the whole number of cells between
the place and the last report, plus discrete Laplace noise of scale 2/γ, with a threshold. For
cells g ≠ g′ these whole numbers differ by at most |g − g′| + 1 ≤ 2·|g − g′|, so the test is
γ-geo-indistinguishable per cell; its outcome decides whether noise is bought. A step is taken only
if what it may cost at most still fits the window, so the sum over any window, and with it the
exponent by adaptive composition, is at most ε.

With `spending` each step is charged to a dataset's ledger before the place is looked at, as the
loss for places `radius` metres apart; the entry says that it holds for these alone. A reporter
keeps its window in memory: one made anew after a restart begins another, and costs add up.
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import PureDP
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.places.guarantee import GeoIndistinguishability
from sfumato.dp.places.planar_laplace import PlanarLaplace
from sfumato.dp.rounding import Stated, stated
from sfumato.errors import DataError, ParameterError
from sfumato.govern.spending import Plan
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.govern.spending import Spending

TEST_SHARE = Fraction(1, 5)
"""Share of the ε of a report that a test of the last one costs."""


@dataclass(frozen=True)
class TraceReport:
    """A report: its moment, its place, what it cost, and whether it is new."""

    time: float
    x: float
    y: float
    cost: Fraction
    fresh: bool


class TraceReporter(Shown):
    """Report the places of one person under an ε per metre and window.

    `reports` is how many fresh reports a window affords. With `predictive`, the last report is
    given again while a noisy test finds the place within `near` metres of it, so slow or resting
    people pay less. `step` is the width of a cell in metres.
    """

    def __init__(
        self,
        *,
        epsilon: Stated,
        window: float,
        reports: int,
        step: Stated = 10,
        predictive: bool = False,
        near: float = 0.0,
        bounds: Sequence[float] | None = None,
        spending: Spending | None = None,
        radius: Stated = 200,
    ) -> None:
        if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
            raise ParameterError(f"reports must be a whole number from 1, not {reports!r}.")
        if not window > 0:
            raise ParameterError(f"window must be a number of seconds above 0, not {window!r}.")
        if predictive and not near > 0:
            raise ParameterError(
                "A predictive reporter needs near=, the metres that are near enough."
            )
        self.epsilon, self.window, self.near = stated(epsilon), float(window), float(near)
        self.predictive, self.spending, self.radius = predictive, spending, stated(radius)
        each = self.epsilon / reports
        self.test_cost = each * TEST_SHARE if predictive else Fraction(0)
        self.noise_cost = each - self.test_cost
        self.mechanism = PlanarLaplace(epsilon=self.noise_cost, step=step, bounds=bounds)
        self._paid: deque[tuple[float, Fraction]] = deque()
        self._last: Any = None
        self._now = -math.inf
        self._steps = 0
        self._trace = secrets.token_hex(16)  # reports of two traces are never the same purchase

    def spent(self, time: float) -> Fraction:
        """Return the ε per metre spent in the window that ends at `time`."""
        return sum((cost for at, cost in self._paid if at > time - self.window), Fraction(0))

    def report(self, time: float, x: float, y: float) -> TraceReport:
        """Report a place; the last report where the window affords no other."""
        if not all(map(math.isfinite, (time, x, y))):
            raise DataError("A report needs a finite moment and place.")
        if time < self._now:
            raise DataError("Time goes backwards; report the places of a trace in their order.")
        self._now = float(time)
        while self._paid and self._paid[0][0] <= time - self.window:
            self._paid.popleft()
        cell = self.mechanism.cells(np.array([[x, y]]))
        cost = Fraction(0)
        if self.predictive and self._last is not None:
            if not self._affords(time, self.test_cost + self.noise_cost):
                return self._repeat(time)
            cost = self.test_cost
            if self._buy(time, cost, "test", partial(self._is_near, cell)):
                return self._repeat(time, cost)
        elif not self._affords(time, self.noise_cost):
            return self._repeat(time)
        place = self._buy(time, self.noise_cost, "report", partial(self._noisy, x, y))
        self._last = place
        return TraceReport(float(time), place[0], place[1], cost + self.noise_cost, fresh=True)

    def _repeat(self, time: float, cost: Fraction = Fraction(0)) -> TraceReport:
        if self._last is None:
            raise ParameterError("The window affords no report at all; give a larger epsilon.")
        return TraceReport(float(time), self._last[0], self._last[1], cost, fresh=False)

    def _affords(self, time: float, cost: Fraction) -> bool:
        return self.spent(time) + cost <= self.epsilon

    def _is_near(self, cell: Any) -> bool:
        gap = cell[0] - self.mechanism.cells([self._last])[0]
        whole = math.isqrt(int(gap[0]) ** 2 + int(gap[1]) ** 2)
        step = stated(self.mechanism.step or 1)
        noise = int(discrete_laplace(2 / (self.test_cost * step), 1)[0])
        return whole + noise <= int(self.near / float(step))

    def _noisy(self, x: float, y: float) -> list[float]:
        found: list[float] = self.mechanism.release([[x, y]])[0].tolist()
        return found

    def _buy(self, time: float, cost: Fraction, kind: str, work: Any) -> Any:
        """Note and charge a cost, and only then look at the place."""
        self._paid.append((float(time), cost))
        self._steps += 1
        if self.spending is None:
            return work()
        spending = self.spending
        promise = GeoIndistinguishability(cost, self.mechanism.step or 1)
        level = promise.level(self.radius)
        details = {
            "mechanism": "planar Laplace", "kind": kind, "radius": str(self.radius),
            "holds_for": f"places at most {self.radius} m apart",
        }  # fmt: skip

        def plan(_: Any) -> Plan[None]:
            return Plan(Cost(level), PureDP(level, neighbours=spending.neighbours), details)

        what = f"{kind} {self._steps} of trace {self._trace} at {float(time)!r}, ε = {cost} a metre"
        return spending.spend(plan, lambda _: work(), what=what)
