"""Attribute inference: the value that a model lets an attacker guess of a row he knows otherwise.

The attacker knows a row but for one column, and its label. He tries every value of that column and
takes the one that is likeliest: how common it is, times how likely the model finds the label then
(Fredrikson, Lantz, Jha, Lin, Page and Ristenpart 2014). Much of what he gets right he would get
right of anybody, because columns hang together: that is what the model is for, and no privacy of
rows prevents it. What the model tells of *its* rows is how much better he guesses of members than
of outsiders, so both are shown, and beside them the guess that needs no model.

Bound. The guess for a row is a function of the model and of public facts. That it is right is an
event; it has probability p when the row was learnt from and q when not, so p ≤ 1 − f(q), f the
trade-off curve of the guarantee. As f is convex, that holds for averages over rows as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.models.guesses import find_classes
from sfumato.dp.tradeoff import interpolate, trade_off_of
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee


@dataclass(frozen=True, eq=False)
class AttributeInference(Shown):
    """Shares of rows whose hidden value is guessed: of members, of outsiders, and without a model.

    `bound` is the most that is expected of members under the guarantee, given the outsiders'.
    """

    members: float
    outsiders: float
    blind: float
    bound: float | None = None

    def __repr__(self) -> str:
        most = "" if self.bound is None else f" (at most {self.bound:.1%})"
        return (
            f"<attribute inference: right for {self.members:.1%} of members{most}, "
            f"{self.outsiders:.1%} of outsiders, {self.blind:.1%} without the model>"
        )


def infer_attribute(
    model: Any,
    members: tuple[Any, Any],
    outsiders: tuple[Any, Any],
    *,
    column: int,
    values: Sequence[float],
    guarantee: Guarantee | None = None,
) -> AttributeInference:
    """Guess one column of rows from a model, the other columns and the label.

    `members` and `outsiders` are rows and labels; `values` are those that the column may have. The
    model has `predict_proba` and `classes_`. How common values are is learnt from the outsiders.
    """
    choices = np.asarray(values, dtype=np.float64)
    if choices.ndim != 1 or len(np.unique(choices)) != choices.size or choices.size < 2:
        raise ParameterError("values= lists two numbers or more that the column may have, once.")
    known, strangers = (_read(pair, column) for pair in (members, outsiders))
    hidden = strangers[0][:, column]
    common = np.array([(hidden == value).sum() for value in choices]) + 1.0
    right = [_guess(model, *pair, column, choices, np.log(common)) for pair in (known, strangers)]
    inside, outside = (float(found.mean()) for found in right)
    blind = float((known[0][:, column] == choices[common.argmax()]).mean())
    bound = None if guarantee is None else 1 - interpolate(trade_off_of(guarantee), outside)
    return AttributeInference(inside, outside, blind, bound)


def _read(pair: tuple[Any, Any], column: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    rows, labels = np.asarray(pair[0], dtype=np.float64), np.asarray(pair[1])
    if rows.ndim != 2 or not len(rows) or labels.shape != (len(rows),):
        raise ParameterError("There must be rows, an array of numbers, and a label for each.")
    if not 0 <= column < rows.shape[1]:
        raise ParameterError(f"column= is a number from 0 to {rows.shape[1] - 1}.")
    return rows, labels


def _guess(
    model: Any, rows: NDArray[np.float64], labels: NDArray[Any], column: int,
    choices: NDArray[np.float64], common: NDArray[np.float64],
) -> NDArray[np.bool_]:  # fmt: skip
    """Tell of which rows the likeliest value is the one they have."""
    places = find_classes(model, labels)
    likely = np.empty((len(rows), choices.size))
    for k, value in enumerate(choices):
        tried = rows.copy()
        tried[:, column] = value
        shares = np.asarray(model.predict_proba(tried), dtype=np.float64)
        likely[:, k] = common[k] + np.log(shares[np.arange(len(rows)), places] + 1e-12)
    right: NDArray[np.bool_] = choices[likely.argmax(axis=1)] == rows[:, column]
    return right
