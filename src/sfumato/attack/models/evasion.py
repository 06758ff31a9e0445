"""Evasion: the smallest change of a row that makes a classifier say something else.

`evade` looks into the model as far as it can (:mod:`.targets`) and uses the strongest attack that
fits: exact projection for linear models, a sequence of projections where there are gradients, the
thresholds of a forest, and a walk along the border for what answers with labels alone. What comes
back respects what an attacker can change (:mod:`.features`) and is checked by asking the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.models.evasion_decisions import walk_along_the_border
from sfumato.attack.models.evasion_gradient import (
    follow_gradients,
    halve,
    is_misled,
    nearest_starts,
)
from sfumato.attack.models.features import Features
from sfumato.attack.models.projection import Norm, length
from sfumato.attack.models.targets import LinearTarget, ScoringTarget, Target, places_of, target_of
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Evasion(Shown):
    """Rows before and after, the labels the model gives them, and how far each had to go.

    `steps` of rows that could not be misled is infinite; rows that were wrong before are at 0.
    """

    rows: NDArray[np.float64]
    changed: NDArray[np.float64]
    before: NDArray[Any]
    after: NDArray[Any]
    misled: NDArray[np.bool_]
    norm: Norm
    method: str
    steps: NDArray[np.float64] = field(repr=False)

    @property
    def success(self) -> float:
        """The share of rows that were misled."""
        return float(self.misled.mean()) if len(self.misled) else 0.0

    @property
    def mean(self) -> float:
        """The mean length of the steps that misled; NaN if none did."""
        return float(self.steps[self.misled].mean()) if self.misled.any() else float("nan")

    @property
    def median(self) -> float:
        """The median length of the steps that misled; NaN if none did."""
        return float(np.median(self.steps[self.misled])) if self.misled.any() else float("nan")

    def __repr__(self) -> str:
        norm = {1: "L1", 2: "L2", "inf": "L∞"}[self.norm]
        return (
            f"<Evasion by {self.method}: {self.success:.1%} of {len(self.rows):,} rows misled, "
            f"mean {norm} {self.mean:.4g}, median {self.median:.4g}>"
        )


def evade(
    model: Any,
    rows: Any,
    labels: Any = None,
    *,
    wanted: Any = None,
    reference: Any = None,
    classes: Any = None,
    bounds: Any = (0.0, 1.0),
    immutable: Any = (),
    integer: Any = (),
    one_hot: Any = (),
    norm: Norm = 2,
    tries: int = 40,
    seed: int = 0,
) -> Evasion:
    """Find small changes that make a classifier err (or say `wanted`).

    `labels` are the true ones; without them every row should leave the class it is given now.
    `reference` are rows of the same kind to start from, which forests and black boxes need.
    `bounds`, `immutable`, `integer` and `one_hot` say what an attacker can change; `tries` is how
    hard to look where nothing is exact.

    >>> from sfumato.attack.models import evade
    >>> from sfumato.attack.models.targets import LinearTarget
    >>> weights, offsets = np.array([[0, 0], [3.0, 4.0]]), np.array([0, -2.5])
    >>> model = LinearTarget(None, np.array([0, 1]), weights, offsets)
    >>> found = evade(model, [[0.0, 0.0]])
    >>> round(found.mean, 3)
    0.5
    """
    target = target_of(model, classes)
    origin = _matrix(rows)
    features = Features.of(
        origin.shape[1], bounds=bounds, immutable=immutable, integer=integer, one_hot=one_hot
    )
    _check_box(origin, features)
    now = _said_of(target, origin)
    target = _checked(target, origin)
    own = now if labels is None else places_of(_one_each(labels, len(origin)), target.classes)
    goal = None if wanted is None else _goal(wanted, target, len(origin))
    search = _Search(
        target, features, norm, tries, seed, None if reference is None else _matrix(reference)
    )
    best, method = search.run(origin, own, goal)
    best = _with_choices(search, origin, own, goal, best)
    best = _settled(search, origin, own, goal, best)
    return _result(target, origin, best, now, own, goal, norm, method)


def transfer(
    models: Any, rows: Any, labels: Any, *, grow: float = 1.0, classes: Any = None, **options: Any
) -> dict[str, dict[str, float]]:
    """Attack each of several models, and tell which share of the others each attack misleads.

    `models` maps names to models; `grow` lengthens every step. Only rows that all models get right
    count. Models of different data or kinds make a matrix: who must be attacked to fool whom.
    """
    targets = {name: target_of(model, classes) for name, model in dict(models).items()}
    origin = _matrix(rows)
    truth = _one_each(labels, len(origin))
    right = np.ones(len(origin), dtype=np.bool_)
    for target in targets.values():
        right &= target.classes[_said_of(target, origin)] == truth
    if not right.any():
        raise ParameterError("There is no row that all models get right.")
    origin, truth = origin[right], truth[right]
    said = {name: value for name, value in options.items() if name in _SAID}
    features = Features.of(origin.shape[1], **said)
    found: dict[str, dict[str, float]] = {}
    for name, target in targets.items():
        attack = evade(target, origin, truth, **options)
        moved = origin + grow * (attack.changed - origin)
        moved = features.settle(np.clip(moved, features.low, features.high), origin)
        found[name] = {
            other: float((seen.classes[seen.decide(moved)] != truth).mean())
            for other, seen in targets.items()
        }
    return found


_SOME = 500  # rows by which a forest is held against its trees
_SAID = ("bounds", "immutable", "integer", "one_hot")


@dataclass(frozen=True, eq=False)
class _Search:
    """One way to look for the nearest misled rows, chosen by what the target shows."""

    target: Target
    features: Features
    norm: Norm
    tries: int
    seed: int
    reference: NDArray[np.float64] | None

    def run(
        self, origin: NDArray[np.float64], own: NDArray[np.int64], goal: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], str]:
        """Return the rows found, and how."""
        target = self.target
        if isinstance(target, ScoringTarget):
            starts = None
            if not isinstance(target, LinearTarget):
                pool = origin if self.reference is None else self.reference
                starts = nearest_starts(target, origin, own, goal, pool, self.features)
            found = follow_gradients(target, origin, self.features, own, goal, starts, self.norm)
            name = "exact projection" if isinstance(target, LinearTarget) else "gradients"
            return found, name
        if self.reference is None:
            raise ParameterError(
                "This model shows no gradients; give reference=, rows of the same kind to start "
                "from (such as the training rows of an attacker's own)."
            )
        from sfumato.attack.models.forests import (  # noqa: PLC0415 - loads the compiler
            forest_of,
            votes_as,
        )

        forest = forest_of(target.model)
        some = self.reference[:_SOME]
        if forest is not None and votes_as(forest, some, target.decide(some)):
            return self._through(forest, origin, own, goal), "thresholds of the trees"
        starts = nearest_starts(target, origin, own, goal, self.reference, self.features)
        found = walk_along_the_border(
            self.misled(own, goal), origin, starts, self.features, seed=self.seed,
            rounds=max(self.tries // 2, 1),
        )  # fmt: skip
        return found, "decisions alone"

    def misled(self, own: NDArray[np.int64], goal: NDArray[np.int64] | None) -> Any:
        """Return the function that tells which rows are misled."""

        def tell(rows: NDArray[np.float64], who: NDArray[np.int64]) -> NDArray[np.bool_]:
            return is_misled(self.target, rows, own[who], None if goal is None else goal[who])

        return tell

    def _through(
        self, forest: Any, origin: NDArray[np.float64], own: NDArray[np.int64],
        goal: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:  # fmt: skip
        from sfumato.attack.models.forests import Ways, walk  # noqa: PLC0415 - loads the compiler

        assert self.reference is not None
        start = nearest_starts(self.target, origin, own, goal, self.reference, self.features)
        everybody = np.arange(len(origin))
        near = halve(self.misled(own, goal), start, origin, everybody)
        wanted = np.full(len(origin), -1, dtype=np.int64) if goal is None else goal
        ways = Ways(self.features.low, self.features.high, self.features.free,
                    self.features.whole, self.tries)  # fmt: skip
        generator = np.random.Generator(np.random.PCG64(self.seed))  # which cells a try resets
        draws = generator.random((len(origin), max(self.tries, 1)))
        starts = np.stack([start, near], axis=1)
        found, _ = walk(forest, ways, origin, starts, own, wanted, draws)
        return np.asarray(found)


def _with_choices(
    search: _Search, origin: NDArray[np.float64], own: NDArray[np.int64],
    goal: NDArray[np.int64] | None, best: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Try every other value of each one-hot choice as a place to start; keep what is nearer."""
    tell, everybody = search.misled(own, goal), np.arange(len(origin))
    for group in search.features.choices:
        for column in group.tolist():
            swapped = origin.copy()
            swapped[:, group] = 0.0
            swapped[:, column] = 1.0
            other = ~(swapped == origin).all(axis=1)
            if not other.any():
                continue
            found, _ = search.run(swapped[other], own[other], None if goal is None else goal[other])
            who = everybody[other]
            good = tell(found, who)
            best_now = np.where(tell(best[who], who), length(best[who] - origin[who], search.norm),
                                np.inf)  # fmt: skip
            better = good & (length(found - origin[who], search.norm) < best_now)
            best[who[better]] = found[better]
    return best


def _settled(
    search: _Search, origin: NDArray[np.float64], own: NDArray[np.int64],
    goal: NDArray[np.int64] | None, best: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Round whole columns; where that undoes the attack, go a little further first."""
    if not (search.features.whole & search.features.free).any():
        return best
    tell, everybody = search.misled(own, goal), np.arange(len(origin))
    rows = search.features.settle(best, origin)
    for grow in (1.1, 1.3, 1.6, 2.0, 3.0):
        bad = ~tell(rows, everybody)
        if not bad.any():
            break
        further = origin + grow * (best - origin)
        rows[bad] = search.features.settle(
            np.clip(further, search.features.low, search.features.high), origin
        )[bad]
    return rows


def _result(
    target: Target, origin: NDArray[np.float64], best: NDArray[np.float64],
    now: NDArray[np.int64], own: NDArray[np.int64], goal: NDArray[np.int64] | None,
    norm: Norm, method: str,
) -> Evasion:  # fmt: skip
    already = now != own if goal is None else now == goal
    best = np.where(already[:, None], origin, best)
    after = target.decide(best)
    misled = after != own if goal is None else after == goal
    best = np.where(misled[:, None], best, origin)
    steps = np.where(misled, length(best - origin, norm), np.inf)
    classes = target.classes
    return Evasion(
        origin, best, classes[now], classes[target.decide(best)], misled, norm, method, steps
    )


def _matrix(rows: Any) -> NDArray[np.float64]:
    found = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if found.ndim != 2 or not len(found) or not np.isfinite(found).all():
        raise ParameterError("Rows are a matrix of finite numbers with at least one row.")
    return found


def _check_box(rows: NDArray[np.float64], features: Features) -> None:
    """Refuse rows where an attacker could not have begun."""
    outside = (rows < features.low) | (rows > features.high)
    if outside.any():
        raise ParameterError(
            f"{int(outside.any(axis=1).sum()):,} of {len(rows):,} rows lie outside bounds=, in "
            f"{int(outside.any(axis=0).sum())} column(s); give the bounds of the features, one "
            "pair for all or one per column."
        )


def _said_of(target: Target, rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return what a model says of rows, or that they are not of its features."""
    try:
        return target.decide(rows)
    except (ValueError, TypeError, IndexError, RuntimeError):
        raise ParameterError(
            f"The model takes no rows of {rows.shape[1]} column(s); give the features it was "
            "trained on, in their order."
        ) from None


def _one_each(labels: Any, rows: int) -> NDArray[Any]:
    names = np.asarray(labels)
    if names.shape != (rows,):
        raise ParameterError(f"labels must be one per row: {rows:,}, not {names.size:,}.")
    return names


def _goal(wanted: Any, target: Target, rows: int) -> NDArray[np.int64]:
    names = np.broadcast_to(np.asarray(wanted), (rows,))
    return places_of(names, target.classes)


def _checked(target: Target, rows: NDArray[np.float64]) -> Target:
    """Use what was read out of a model only if it answers like the model itself."""
    model = target.model
    if type(target) is Target or model is None or not hasattr(model, "predict"):
        return target
    said = np.asarray(model.predict(rows))
    if (target.classes[target.decide(rows)] == said).mean() > 0.99:
        return target
    return Target(model, target.classes)
