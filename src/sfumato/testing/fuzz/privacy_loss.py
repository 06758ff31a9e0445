"""How much two neighbouring tables can be told apart by what was really released, exactly.

Contract: `loss` takes what was observed on a table (`observation.py`) and the exact totals of its
neighbour, and returns what the noisy numbers cost: ε of geometric noise as L1 / scale, μ² of normal
noise as L2² / variance, ε of a picked quantile from both exact distributions, and δ as the
probability that a group shows which only one of the two has. No derived sensitivity is used.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.ask.language.request import Aggregates
    from sfumato.testing.fuzz.observation import AskedRequest, Draw, ObservedAnswer, Pick

Place = tuple[Any, tuple[int, ...]]
Totals = dict[Place, tuple[int, tuple[int, ...]]]


def totals_of(found: Aggregates) -> Totals:
    """Return aggregates as a mapping from (keys, spread) to (people, totals)."""
    rows: Totals = {}
    for i, key in enumerate(found.keys):
        place = (key, tuple(int(column[i]) for column in found.spread))
        if place in rows:
            raise AssertionError("a group came twice")
        rows[place] = (int(found.people[i]), tuple(int(total[i]) for total in found.totals))
    return rows


def moves(before: Totals, after: Totals, read: Callable[[Any], int]) -> dict[Place, int]:
    """Return how far every group moves; a group that is not there counts 0."""
    none = (0, (0,) * 200)
    return {p: read(before.get(p, none)) - read(after.get(p, none)) for p in {*before, *after}}


@dataclass
class Loss:
    """What the noisy numbers of two neighbours cost."""

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    delta: float = 0.0

    def add(self, far: Iterable[int], drawn: list[Draw]) -> None:
        """Add noisy numbers that move so far."""
        distances = [abs(move) for move in far if move]
        if not distances:
            return
        if len(drawn) != 1:
            raise AssertionError(f"a number that moves got noise {len(drawn)} times, not once")
        if drawn[0].kind == "geometric":
            self.epsilon += Fraction(sum(distances)) / drawn[0].size
        else:
            self.mu_squared += Fraction(sum(d * d for d in distances)) / drawn[0].size

    def exceeds(self, cost: Any) -> str | None:
        """Say in which respect it is more than a cost that was charged; None where it is not."""
        if float(self.epsilon) > float(cost.epsilon) * (1 + 1e-9) + 1e-12:
            return f"ε = {float(self.epsilon):.6g}, charged {float(cost.epsilon):.6g}"
        if self.mu_squared > cost.mu_squared:
            return f"μ² = {float(self.mu_squared):.6g}, charged {float(cost.mu_squared):.6g}"
        if self.delta > float(cost.delta) * (1 + 1e-9):
            return f"δ = {self.delta:.6g}, charged {float(cost.delta):.6g}"
        return None


def loss(observed: ObservedAnswer, neighbour: list[Totals], whole: Loss | None = None) -> Loss:
    """Add up what telling the observed table from its neighbour costs."""
    found = whole or Loss()
    for asked, theirs in zip(observed.asked, neighbour, strict=True):
        mine = totals_of(asked.exact)
        if asked.request.spread and not asked.search:
            _add_picks(found, observed, asked, mine, theirs)
        elif asked.search:
            found.add(moves(mine, theirs, lambda row: row[1][0]).values(), asked.search)
        else:
            _add_totals(found, observed, asked, mine, theirs)
    return found


def _add_totals(
    found: Loss, observed: ObservedAnswer, asked: AskedRequest, mine: Totals, theirs: Totals
) -> None:
    """Add the noisy totals of every group, and the groups that show by themselves."""
    for i in range(len(asked.request.totals)):
        far = moves(mine, theirs, lambda row, i=i: row[1][i])  # type: ignore[misc]
        found.add(_shown(far, asked), asked.added[i])
    ready = observed.ready
    if ready is not None and ready.wanted.people:
        far = moves(mine, theirs, lambda row: row[0])
        found.add(_shown(far, asked), asked.added[len(asked.request.totals)])
    if ready is not None and ready.threshold is not None:
        law = asked.added[-1]
        for here_rows, there_rows in ((mine, theirs), (theirs, mine)):
            for key in here_rows.keys() - there_rows.keys():
                if here_rows[key][0] != 1:
                    raise AssertionError("a group that comes with one person has more people")
                found.delta += exceeding(law[0], ready.threshold - 1)


def _shown(far: Mapping[Place, int], asked: AskedRequest) -> list[int]:
    """Return the moves of groups; none may move that has no public value and is not found."""
    for (key, _), move in far.items():
        for value, declared in zip(key, asked.request.keys, strict=True):
            if move and declared.values is not None and value not in declared.values:
                raise AssertionError("a group outside of the public values was counted")
    return list(far.values())


def exceeding(law: Draw, reach: int) -> float:
    """Return Pr[noise ≥ reach], from the law's own formula."""
    if law.kind == "geometric":
        decay = math.exp(-1 / float(law.size))
        return decay**reach / (1 + decay)
    return math.erfc((reach - 0.5) / math.sqrt(2 * float(law.size))) / 2


def _add_picks(
    found: Loss, observed: ObservedAnswer, asked: AskedRequest, mine: Totals, theirs: Totals
) -> None:
    """Add what picking a quantile in every group costs, from both exact distributions.

    A pick that was drawn is compared with what the neighbour's would have been. Groups that did not
    show were not drawn; where such a group moves, the dearest pick of its mechanism stands for it.
    """
    here, there = _points(mine), _points(theirs)
    moved = {key for key in {*here, *there} if here.get(key) != there.get(key)}
    if not moved or not asked.picks:
        return
    pick, shown = asked.picks[0], {_ranges_of(pick_): pick_ for pick_ in asked.picks}
    for key in moved:
        ranges = [pick.mechanism._ranges(*_arrays(side.get(key, {}))) for side in (here, there)]  # noqa: SLF001 - what the release does
        drawn = shown.get(_signature(*ranges[0]))
        if drawn is None and observed.ready is not None and observed.ready.threshold is None:
            raise AssertionError("a group that shows was picked from other rows than its own")
        found.epsilon += Fraction(distance(pick.rate, *ranges))


def _points(rows: Totals) -> dict[Any, dict[int, int]]:
    groups: dict[Any, dict[int, int]] = defaultdict(dict)
    for (key, spread), (_, totals) in rows.items():
        groups[key][spread[0]] = totals[0]
    return groups


def _arrays(points: dict[int, int]) -> tuple[Any, Any]:
    order = sorted(points)
    return np.array(order, dtype=np.int64), np.array([points[p] for p in order], dtype=np.int64)


def _ranges_of(pick: Pick) -> Any:
    return _signature(pick.first, pick.sizes, pick.distances)


def _signature(*arrays: Any) -> Any:
    return tuple(tuple(int(x) for x in array) for array in arrays)


def distance(rate: Fraction, here: Any, there: Any) -> float:
    """Return the largest |ln ratio| of two exponential mechanisms over the same points."""
    logs = [_log_probabilities(rate, *ranges) for ranges in (here, there)]
    starts = np.unique(np.concatenate([first for first, _ in logs]))
    values = [value[np.searchsorted(first, starts, side="right") - 1] for first, value in logs]
    return float(np.abs(values[0] - values[1]).max())


def _log_probabilities(rate: Fraction, first: Any, sizes: Any, distances: Any) -> tuple[Any, Any]:
    """Return where every range begins and the logarithm of the probability of its points."""
    weight = -float(rate) * np.asarray(distances, dtype=np.float64)
    total = np.logaddexp.reduce(weight + np.log(np.asarray(sizes, dtype=np.float64)))
    order = np.argsort(first)
    return np.asarray(first)[order], (weight - total)[order]
