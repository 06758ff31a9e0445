"""Evasion of differentiable models: a sequence of exact projections.

Each round takes the scores as linear where it stands and projects the *original* row exactly on
what is left of the way (sequential quadratic programming), so a step never has to be undone. The
best row that really is misled is kept and shortened by bisection towards the original. A second
pass starts from the other side: from a bisected point on the way to a row of another class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sfumato.attack.models.evasion_linear import step_away, step_towards
from sfumato.attack.models.projection import Norm, length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.attack.models.features import Features
    from sfumato.attack.models.targets import ScoringTarget, Target

    Misled: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.bool_]]

ROUNDS = 8
FURTHER = 200  # reference rows that are tried where cells are fixed
HALVINGS = 12


def follow_gradients(
    target: ScoringTarget,
    origin: NDArray[np.float64],
    features: Features,
    own: NDArray[np.int64],
    wanted: NDArray[np.int64] | None,
    starts: NDArray[np.float64] | None,
    norm: Norm = 2,
) -> NDArray[np.float64]:
    """Return a misled row near each of `origin`; the row itself where none was found."""
    hunt = _Hunt(
        target, origin, features, own, wanted, norm, origin.copy(), np.full(len(origin), np.inf)
    )
    everybody = np.arange(len(origin))
    hunt.run(everybody, origin)
    if starts is not None:
        begin = halve(hunt.misled, starts, origin, everybody)
        good = hunt.keep(begin, everybody)
        hunt.run(everybody[good], begin[good])
    found = np.flatnonzero(np.isfinite(hunt.shortest))
    hunt.best[found] = halve(hunt.misled, hunt.best[found], origin[found], found)
    return hunt.best


@dataclass(frozen=True, eq=False)
class _Hunt:
    """The rows, what is wanted of them, and the nearest misled one seen of each so far."""

    target: ScoringTarget
    origin: NDArray[np.float64]
    features: Features
    own: NDArray[np.int64]
    wanted: NDArray[np.int64] | None
    norm: Norm
    best: NDArray[np.float64]
    shortest: NDArray[np.float64]

    def misled(self, rows: NDArray[np.float64], who: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which rows have the class they should."""
        return is_misled(self.target, rows, self.own[who], _of(self.wanted, who))

    def keep(self, rows: NDArray[np.float64], who: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Keep rows that are misled and nearer than before; tell which are misled."""
        good = self.misled(rows, who)
        size = length(rows - self.origin[who], self.norm)
        better = good & (size < self.shortest[who])
        self.best[who[better]], self.shortest[who[better]] = rows[better], size[better]
        return good

    def run(self, who: NDArray[np.int64], begin: NDArray[np.float64]) -> None:
        """Linearise and project; what goes round in circles takes half steps, a little longer."""
        rows = begin.copy()
        for turn in range(2 * ROUNDS):
            late = turn >= ROUNDS
            if late:
                unsolved = ~np.isfinite(self.shortest[who])
                who, rows = who[unsolved], rows[unsolved]
            if not len(who):
                return
            base = self.origin[who]
            step = self._step(rows, base, who)
            rows = (rows + base + 1.1 * step) / 2 if late else base + step
            low = np.minimum(self.features.low, base)
            rows = np.clip(rows, low, np.maximum(self.features.high, base))
            self.keep(rows, who)

    def _step(
        self, rows: NDArray[np.float64], base: NDArray[np.float64], who: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if self.wanted is None:
            return step_away(self.target, rows, base, self.features, self.own[who], self.norm)
        return step_towards(self.target, rows, base, self.features, self.wanted[who])


def is_misled(
    target: Target,
    rows: NDArray[np.float64],
    own: NDArray[np.int64],
    wanted: NDArray[np.int64] | None,
) -> NDArray[np.bool_]:
    """Tell which rows have another class than their own, or the wanted one."""
    seen = target.decide(rows)
    found: NDArray[np.bool_] = seen != own if wanted is None else seen == wanted
    return found


def _of(values: NDArray[np.int64] | None, who: NDArray[np.int64]) -> NDArray[np.int64] | None:
    return None if values is None else values[who]


def halve(
    misled: Misled,
    rows: NDArray[np.float64],
    origin: NDArray[np.float64],
    who: NDArray[np.int64],
    times: int = HALVINGS,
) -> NDArray[np.float64]:
    """Go back towards the origin as far as the row stays misled."""
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    for _ in range(times if len(rows) else 0):
        middle = (low + high) / 2
        good = misled(origin + middle[:, None] * (rows - origin), who)
        high, low = np.where(good, middle, high), np.where(good, low, middle)
    return origin + high[:, None] * (rows - origin)


def nearest_starts(
    target: Target,
    origin: NDArray[np.float64],
    own: NDArray[np.int64],
    wanted: NDArray[np.int64] | None,
    reference: NDArray[np.float64],
    features: Features,
) -> NDArray[np.float64]:
    """Return, for every row, the nearest reference row that is in another (or the wanted) class.

    Cells that may not be changed are those of the row itself. Where that undoes it, further ones
    are tried, up to :data:`FURTHER`; a row for which there is no other stays as it is.
    """
    seen = target.decide(reference)
    free = features.free.astype(np.float64)
    pool, mine = reference * free, origin * free
    away = (mine * mine).sum(1)[:, None] - 2 * mine @ pool.T + (pool * pool).sum(1)[None]
    good = seen[None] != own[:, None] if wanted is None else seen[None] == wanted[:, None]
    away = np.where(good, away, np.inf)
    found = origin.copy()
    who = np.arange(len(origin))
    order = np.argsort(away, axis=1, kind="stable")[:, : 1 if features.free.all() else FURTHER]
    for nearest in order.T:
        who = who[np.isfinite(away[who, nearest[who]])]
        mixed = np.where(features.free, reference[nearest[who]], origin[who])
        if not len(who):
            break
        good = is_misled(target, mixed, own[who], _of(wanted, who))
        found[who[good]] = mixed[good]
        who = who[~good]
    return found
