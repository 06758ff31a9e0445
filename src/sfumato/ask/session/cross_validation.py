"""How well a model will predict, measured on private rows at a stated price.

Contract: priced and charged like every purchase (:mod:`sfumato.govern.spending`). Nothing but the
score leaves: the models of the folds are thrown away.

Promise: with k folds and an estimator of (ε, δ), the price is (k − 1)·(ε, δ) and the score's ε.

Proof. Every unit is put into one fold by a coin of its own, so one more unit moves nobody. It is in
the training rows of k − 1 fits, each (ε, δ) for it, and in the test rows of one. Given the models,
the number of test rows that are predicted right and the number of all of them change by at most
the unit's r rows each; geometric noise of scale 2r over the score's ε hides both. Of numbers it is
the sum of absolute errors, each at most 2¹⁰ steps of 2⁻¹⁰ of the target's bounds: that changes by
2¹⁰·r steps, and its noise is 2¹⁰ times as wide, on every step. Basic composition adds up.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.session.learn import prepare_fit
from sfumato.ask.session.publications import read_rows
from sfumato.data.cells import as_numbers
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.learn.estimator import read_interval, read_labels
from sfumato.dp.learn.features import as_cells
from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.noise.stream import stream
from sfumato.dp.rounding import stated_up
from sfumato.errors import ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.learn import FitRequest
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.snapshots import Snapshot

_STEPS = 1 << 10


@dataclass(frozen=True)
class Validation:
    """A noisy score over all folds: the share predicted right, or the mean absolute error.

    ``error`` is the standard deviation that noise alone gives it.
    """

    score: float
    error: float
    measure: str
    folds: int
    guarantee: str

    def __str__(self) -> str:
        return f"{self.measure} {self.score:.4f} ± {self.error:.4f}, {self.folds} folds"


def cross_validate(
    desk: Desk,
    estimator: Any,
    target: str,
    columns: Sequence[str] | None,
    *,
    folds: int,
    score_epsilon: Stated | None,
) -> Validation:
    """Charge for a cross-validation and make it, or give it again."""
    desk.spending.refuse_replaced("Cross-validation")
    wanted = prepare_fit(desk, estimator, target, columns)
    if not hasattr(wanted.estimator, "predict"):
        raise ParameterError(
            f"{type(estimator).__name__} predicts nothing, so it has no score; fit it with "
            "session.fit."
        )
    many = parameters.count(folds, "folds")
    if many is None or many < 2:
        raise ParameterError("folds= is a whole number of at least 2.")
    each: Any = wanted.estimator.guarantee
    own = Fraction(str(each.epsilon)) / 10
    score = own if score_epsilon is None else parameters.budget(score_epsilon)
    total = _total(each, many - 1, score)

    def plan(now: Snapshot) -> Plan[FitRequest]:
        if isinstance(desk.budget(now), ZCDP):
            raise ParameterError("This dataset has a budget in ρ; models are priced in ε and δ.")
        desk.spending.amount(now, total.epsilon)
        return Plan(Cost.of(total), total, details={"folds": many}, made=wanted)

    def work(_: Any) -> dict[str, Any]:
        return asdict(_validate(desk, wanted, many, score, str(total)))

    what = f"cross-validate in {many} folds, score {score}: {wanted.text}"
    with desk.lock:
        return Validation(**desk.spending.spend(plan, work, what=what))


def _total(each: Any, fits: int, score: Fraction) -> Any:
    """Add up what all fits and the score promise."""
    epsilon = fits * Fraction(str(each.epsilon)) + score
    delta = fits * Fraction(str(getattr(each, "delta", 0)))
    total: Guarantee = (
        ApproxDP(stated_up(epsilon), stated_up(delta), neighbours=each.neighbours)
        if delta
        else PureDP(stated_up(epsilon), neighbours=each.neighbours)
    )
    return total


def _validate(
    desk: Desk, wanted: FitRequest, folds: int, epsilon: Fraction, told: str
) -> Validation:
    names = [column.name for column in wanted.columns]
    limit = parameters.rows_per_unit(desk.spending.neighbours)
    cells = read_rows(desk, [*names, str(wanted.target)], limit)
    read = {name: as_cells([row[k + 1] for row in cells]) for k, name in enumerate(names)}
    target = as_cells([row[-1] for row in cells])
    fold = _draw_folds([row[0] for row in cells], folds)
    total = 0
    for k in range(folds):
        model, inside = wanted.estimator, fold == k
        model.fit({n: x[~inside] for n, x in read.items()}, target[~inside])
        guessed = model.predict({name: x[inside] for name, x in read.items()})
        total += _count(model, guessed, target[inside])
    number = hasattr(wanted.estimator, "target")
    most = _STEPS if number else 1  # what a row may add
    scale = 2 * limit / epsilon
    noisy = int((total + discrete_laplace(scale * most, 1))[0])
    rows = max(int((len(cells) + discrete_laplace(scale, 1))[0]), 1)
    width = _width(wanted.estimator) if number else 1.0
    error = math.sqrt(2) * float(scale) / rows * width
    measure = "mean absolute error" if number else "share predicted right"
    return Validation(max(noisy, 0) / most * width / rows, error, measure, folds, told)


def _draw_folds(owners: list[Any], folds: int) -> NDArray[np.int64]:
    """Put every unit, with all its rows, into a fold by a coin of its own."""
    number: dict[Any, int] = {}
    places = np.array([number.setdefault(owner, len(number)) for owner in owners], dtype=np.int64)
    drawn = (stream().uint64(len(number)) % np.uint64(folds)).astype(np.int64)
    return drawn[places] if places.size else places


def _count(model: Any, guessed: NDArray[Any], truth: NDArray[Any]) -> int:
    """Count rows that are predicted right, or add absolute errors up in whole steps."""
    if not hasattr(model, "target"):
        _, places = read_labels(truth, list(model.classes_), len(truth))
        return int(np.sum((model.classes_[places] == guessed) & (places >= 0)))
    low, high = read_interval(model.target)  # a command line states texts
    clamped = np.clip(np.nan_to_num(as_numbers(truth), nan=(low + high) / 2), low, high)
    steps = np.rint(np.abs(guessed - clamped) / (high - low) * _STEPS)
    steps = np.nan_to_num(steps, nan=_STEPS)  # of a model that predicts no number
    return int(np.clip(steps, 0, _STEPS).astype(np.int64).sum())


def _width(model: Any) -> float:
    low, high = read_interval(model.target)
    return high - low
