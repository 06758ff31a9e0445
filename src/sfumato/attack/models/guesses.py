"""Membership: whether a row was in the training data, and how far a guarantee lets that be told.

Scores, one for each row, higher for rows that look like members, are turned into what counts: the
share of members found while at most a given share of outsiders is accused. Beside it stands the
most that any attack can reach under the model's guarantee: at false alarm α at most 1 − f(α), f
the trade-off curve of the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.tradeoff import interpolate, trade_off_of
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee

ALARMS = (0.001, 0.01)
"""Shares of outsiders that may be accused: what counts is to be sure, not right on average."""


@dataclass(frozen=True, eq=False)
class Membership(Shown):
    """What an attack achieves: members found at few false alarms, and the area under the curve.

    `bound` is the most that any attack can reach under the guarantee; empty where none was stated.
    """

    attack: str
    found: Mapping[float, float]
    auc: float
    members: int
    outsiders: int
    bound: Mapping[float, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [
            f"{share:.2%} of members at {alarm:.1%} false alarms"
            + (f" (at most {self.bound[alarm]:.2%})" if alarm in self.bound else "")
            for alarm, share in self.found.items()
        ]
        return f"<{self.attack}: {', '.join(parts)}; AUC {self.auc:.3f}>"


def membership(
    model: Any,
    members: tuple[Any, Any],
    outsiders: tuple[Any, Any],
    *,
    guarantee: Guarantee | None = None,
    alarms: Sequence[float] = ALARMS,
) -> Membership:
    """Guess members by how sure a model is of their label: the threshold on the loss.

    `members` and `outsiders` are rows and labels; the model has `predict_proba` and `classes_`.
    The weakest attack worth the name; :func:`shadow_membership` compares with models that did not
    see the row.
    """
    inside, outside = (_confidence(model, *pair) for pair in (members, outsiders))
    return judge_scores("loss threshold", inside, outside, guarantee=guarantee, alarms=alarms)


def judge_scores(
    attack: str,
    members: Any,
    outsiders: Any,
    *,
    guarantee: Guarantee | None = None,
    alarms: Sequence[float] = ALARMS,
) -> Membership:
    """Turn scores of members and outsiders into what an attack achieves.

    >>> judge_scores("by chance", [0.0, 1.0], [0.0, 1.0], alarms=[0.5]).auc
    0.5
    """
    inside, outside = (np.asarray(s, dtype=np.float64) for s in (members, outsiders))
    if not inside.size or not outside.size or np.isnan(inside).any() or np.isnan(outside).any():
        raise ParameterError(
            "There must be scores of members and of outsiders, all of them numbers."
        )
    ranked = np.sort(outside)
    below = np.searchsorted(ranked, inside, "left")
    equal = np.searchsorted(ranked, inside, "right") - below
    auc = float((below + equal / 2).mean() / len(ranked))
    found = {float(alarm): _found_at(inside, ranked, float(alarm)) for alarm in alarms}
    bound = {}
    if guarantee is not None:
        corners = trade_off_of(guarantee)
        bound = {float(alarm): 1 - interpolate(corners, float(alarm)) for alarm in alarms}
    return Membership(attack, found, auc, len(inside), len(outside), bound)


def _found_at(inside: NDArray[np.float64], ranked: NDArray[np.float64], alarm: float) -> float:
    """Return the share of members above a threshold that at most `alarm` of the others pass."""
    allowed = int(alarm * len(ranked))
    threshold = ranked[len(ranked) - 1 - allowed] if allowed < len(ranked) else -np.inf
    return float((inside > threshold).mean())


def _confidence(model: Any, rows: Any, labels: Any) -> NDArray[np.float64]:
    """Return the log-odds that a model gives the true labels."""
    if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        raise ParameterError(
            f"A {type(model).__name__} cannot be attacked here: a model has predict_proba(rows) "
            "and classes_, as models of scikit-learn and sf.dp have; wrap a torch module in an "
            "object with these two."
        )
    shares = np.asarray(model.predict_proba(rows), dtype=np.float64)
    chosen = find_classes(model, labels)
    return log_odds(shares[np.arange(len(chosen)), chosen])


def find_classes(model: Any, labels: Any) -> NDArray[np.int64]:
    """Return the places of labels among the classes of a model."""
    places = {value: place for place, value in enumerate(np.asarray(model.classes_).tolist())}
    try:
        return np.array([places[value] for value in np.asarray(labels).tolist()], dtype=np.int64)
    except KeyError:
        raise ParameterError("A label is none of the classes that the model knows.") from None


def log_odds(shares: NDArray[Any]) -> NDArray[np.float64]:
    """Return log(p / (1 − p)), finite: the scale on which confidences are about normal."""
    clipped = np.clip(shares.astype(np.float64), 1e-12, 1 - 1e-12)
    found: NDArray[np.float64] = np.log(clipped) - np.log1p(-clipped)
    return found
