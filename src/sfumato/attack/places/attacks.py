"""The attacks that `precheck` tries on traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.attack.attack import Knowledge, NamedAttack
from sfumato.attack.places import traces

if TYPE_CHECKING:
    from sfumato.attack.attack import Attack
    from sfumato.attack.finding import Outcome
    from sfumato.released.trajectories import TracesView

POINTS = (1, 2, 3, 4)


def trace_attacks(_view: TracesView, _knowledge: Knowledge) -> tuple[Attack, ...]:
    """Return attacks by known points, by the order of places, and by home and work."""
    return (
        *(_by_points(points) for points in POINTS),
        NamedAttack(traces.ORDER_NAME, traces.known_order, traces.no_truth),
        NamedAttack(traces.HOME_NAME, traces.home_and_work, traces.no_truth),
    )


def _by_points(points: int) -> NamedAttack:
    def attack(view: Any, knowledge: Knowledge) -> Outcome:
        return traces.known_points(view, knowledge, points=points)

    return NamedAttack(traces.points_name(points), attack, traces.no_truth)
