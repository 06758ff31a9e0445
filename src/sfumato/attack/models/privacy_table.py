"""What privacy changes: one learner, plain, clipped and private, under the same attacks.

Poison that was made for a plain learner makes a private one look immune; poison made for a learner
that clips does not. So both attackers stand in the table, and a learner that clips without noise
beside the private ones, which shows whether it is the noise that protects. The bound says what the
guarantee promises of q poison rows: q·μ in place of μ (group privacy of a Gaussian guarantee), so
an error of at most Φ(Φ⁻¹(error) + q·μ): honest, and loose.

Attributes are guessed of members and of outsiders. What is guessed of both alike holds of people in
general, and no privacy of rows is meant to hide it; what tells members is the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.models.attributes import AttributeInference, infer_attribute
from sfumato.attack.models.evasion import evade
from sfumato.attack.models.guesses import membership
from sfumato.attack.models.poisoning import poison
from sfumato.dp.guarantees import ApproxDP
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FEW = 32
"""How many values a column may have that is guessed: each is tried for every row."""
NO_NOISE = 1e4
"""An ε at which noise is too small to be seen: what is left is the clipping."""


@dataclass(frozen=True)
class PrivacyRow:
    """One learner: errors clean and poisoned by both attackers, margin, membership, attributes."""

    model: str
    error: float
    poisoned: float
    poisoned_adapted: float
    margin: float
    membership_auc: float
    attribute: AttributeInference | None
    bound: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        bound = "–" if self.bound is None else f"{self.bound:.2f}"
        told = self.attribute
        guessed = "–" if told is None else f"{told.members:.3f} / {told.outsiders:.3f}"
        return (self.model, f"{self.error:.4f}", f"{self.poisoned:.4f}",
                f"{self.poisoned_adapted:.4f}", f"{self.margin:.3f}",
                f"{self.membership_auc:.3f}", guessed, bound)  # fmt: skip


@dataclass(frozen=True)
class PrivacyTable(Shown):
    """What privacy changes, a row per learner. `hidden` is the column that was guessed."""

    rows: tuple[PrivacyRow, ...]
    poison_rows: int
    hidden: int | None = None

    columns = ("model", "error", "poisoned", "adapted poison", "evasion L2", "membership AUC",
               "attribute, in / out", "bound on poison")  # fmt: skip

    def __str__(self) -> str:
        lines = [self.columns, *(row.cells for row in self.rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def compare_privacy(
    rows: Any,
    labels: Any,
    *,
    validation: tuple[Any, Any],
    test: tuple[Any, Any],
    epsilons: Sequence[float] = (0.1, 1.0, 10.0),
    delta: float = 1e-5,
    poison_rows: int | None = None,
    hidden: int | None = None,
    seed: int = 0,
) -> PrivacyTable:
    """Attack logistic regression as it is, clipped, and private at several ε.

    Rows are numbers in [0, 1], labels 0 and 1. `validation` is what the poisoner has; `test` is
    used to tell errors and membership. A twentieth of the rows are poison unless said otherwise.
    `hidden` is the number of the column that an attacker guesses of a row he knows otherwise: one
    of few values; the most even of those with fewest if not said.
    """
    table, truth = np.asarray(rows, dtype=np.float64), np.asarray(labels)
    if table.ndim != 2 or table.min() < 0 or table.max() > 1 or set(truth.tolist()) - {0, 1}:
        raise ParameterError("Rows are numbers in [0, 1], and labels are 0 and 1.")
    many = max(len(table) // 20, 1) if poison_rows is None else poison_rows
    learners = _learners(epsilons, delta)
    column = choose_hidden(table) if hidden is None else hidden
    values = None if column is None else _values(table, column)
    blind = poison(table, truth, points=many, validation=validation, seed=seed)
    adapted = poison(table, truth, points=many, validation=validation, learner="clipped", seed=seed)
    found = []
    for name, make, epsilon in learners:
        clean = make().fit(table, truth)
        hurt = [
            1 - make().fit(*each.add_to(table, truth)).score(*test) for each in (blind, adapted)
        ]
        error = 1 - clean.score(*test)
        margin = evade(clean, np.asarray(test[0])[:200], np.asarray(test[1])[:200])
        told = membership(clean, (table, truth), test)
        guessed = None
        if column is not None and values is not None:
            guarantee = None if epsilon is None else ApproxDP(epsilon, delta)
            guessed = infer_attribute(
                clean, (table, truth), test, column=column, values=values, guarantee=guarantee
            )
        found.append(PrivacyRow(name, error, hurt[0], hurt[1], margin.mean, told.auc, guessed,
                                _bound(error, many, epsilon, delta)))  # fmt: skip
    return PrivacyTable(tuple(found), many, column)


def choose_hidden(rows: Any) -> int | None:
    """Choose the column to guess: of those with fewest values, the one where guessing is hardest.

    None where every column has one value alone or more than :data:`FEW`.
    """
    counts = [np.unique(column, return_counts=True)[1] for column in np.asarray(rows).T]
    open_ = [place for place, each in enumerate(counts) if 2 <= each.size <= FEW]
    return min(open_, key=lambda place: (counts[place].size, counts[place].max()), default=None)


def _values(rows: Any, column: int) -> list[float]:
    if not 0 <= column < rows.shape[1]:
        raise ParameterError(f"hidden= is a number from 0 to {rows.shape[1] - 1}.")
    values = np.unique(rows[:, column])
    if not 2 <= values.size <= FEW:
        raise ParameterError(
            f"The hidden column has two to {FEW} different values, and column {column} has "
            f"{values.size}; choose another, or round it."
        )
    return [float(value) for value in values]


def _learners(
    epsilons: Sequence[float], delta: float
) -> list[tuple[str, Callable[[], Any], float | None]]:
    from sklearn.linear_model import LogisticRegression as Plain  # noqa: PLC0415 - an extra

    from sfumato.dp.learn.logistic import LogisticRegression  # noqa: PLC0415 - an extra

    def private(epsilon: float) -> Callable[[], Any]:
        return lambda: LogisticRegression(epsilon=epsilon, delta=delta, bounds=(0, 1))

    return [
        ("plain", lambda: Plain(C=1.0, max_iter=1_000), None),
        ("plain, strong ridge", lambda: Plain(C=0.01, max_iter=1_000), None),
        ("clipped, no noise", private(NO_NOISE), None),
        *((f"private, ε = {epsilon:g}", private(epsilon), epsilon) for epsilon in epsilons),
    ]


def _bound(error: float, poison_rows: int, epsilon: float | None, delta: float) -> float | None:
    """Bound the error after q poison rows by the guarantee alone."""
    if epsilon is None:
        return None
    normal = NormalDist()
    mu = _mu(ApproxDP(epsilon, delta))
    shifted = normal.inv_cdf(min(max(error, 1e-9), 1 - 1e-9)) + poison_rows * mu
    return float(normal.cdf(shifted))


def _mu(guarantee: Any) -> float:
    """Return the μ of the Gaussian mechanism that this guarantee is met by."""
    from sfumato.dp.normal import gaussian_sigma_up  # noqa: PLC0415 - small

    return 1 / gaussian_sigma_up(guarantee.exact_epsilon, guarantee.exact_delta, 1)
