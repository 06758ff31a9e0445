"""Poisoning: rows added to the training data so that what is learnt is wrong.

A bilevel problem: choose q rows such that the model which is best on training data *and* them does
worst on what the attacker cares about (Biggio, Nelson and Laskov, ICML 2012). The inner problem is
convex (:mod:`.learners`), so its solution moves with a poison row x as the implicit function
theorem says:

    ∂A/∂x = −(1/N)·[ℓ''(m)·(x̃·v)·w + ℓ'(m)·y·v_w],   v = H⁻¹·∇A,

where A is the attacker's objective, H the second derivative of what is minimised, m the margin of
x. All q rows move at once along the sign of that gradient inside the box, with shrinking steps; the
best seen is kept. It starts from training rows with flipped labels that hurt most.

*Untargeted*: A is the loss on rows of validation. *Targeted*: A is minus the loss of the target
rows with the labels that the attacker wants for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.models.learners import Kind, Learner, score
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 60
CANDIDATES = 400


@dataclass(frozen=True, eq=False)
class Poison(Shown):
    """Rows to slip into training data, with their labels, and what they do to the attacker's model.

    `before` and `after` are errors on the rows of validation, or the share of targets that get the
    label the attacker wants.
    """

    rows: NDArray[np.float64]
    labels: NDArray[Any]
    before: float
    after: float
    learner: Learner
    targeted: bool

    def add_to(self, rows: Any, labels: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return training data with the poison at their end."""
        return (
            np.concatenate([np.asarray(rows, dtype=np.float64), self.rows]),
            np.concatenate([np.asarray(labels), self.labels]),
        )

    def __repr__(self) -> str:
        what = "targets won" if self.targeted else "error"
        return (
            f"<Poison of {len(self.rows)} rows for a {self.learner.kind} learner: {what} "
            f"{self.before:.4f} → {self.after:.4f}>"
        )


@dataclass(frozen=True, eq=False)
class _Aim:
    """What the attacker wants: rows, signs, and whether they should go wrong or right."""

    rows: NDArray[np.float64]
    signs: NDArray[np.float64]
    targeted: bool

    def value(self, theta: NDArray[np.float64]) -> float:
        """Return the attacker's gain."""
        loss = float(np.logaddexp(0.0, -self.signs * score(self.rows, theta)).mean())
        return -loss if self.targeted else loss

    def gradient(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of the gain."""
        margin = self.signs * score(self.rows, theta)
        weight = -self.signs / (1 + np.exp(np.clip(margin, -500, 500))) / len(self.rows)
        found = np.append(weight @ self.rows, weight.sum())
        return -found if self.targeted else found

    def success(self, theta: NDArray[np.float64]) -> float:
        """Return the error on validation, or the share of targets that are won."""
        right = float((self.signs * score(self.rows, theta) > 0).mean())
        return right if self.targeted else 1 - right


def poison(
    rows: Any,
    labels: Any,
    *,
    points: int,
    validation: tuple[Any, Any] | None = None,
    targets: tuple[Any, Any] | None = None,
    learner: Kind | Learner = "logistic",
    bounds: Any = (0.0, 1.0),
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Poison:
    """Find `points` rows that hurt what is learnt from `rows` and them.

    Give `validation` (rows and labels) for damage anywhere, or `targets` (rows and the labels that
    they should get). There are two classes. `learner` is what the victim is thought to fit:
    "logistic", "squared_hinge" or "hinge" (linear support vector machines, as `LinearSVC` and
    `SVC(kernel="linear")` fit them), "ridge", or "clipped", which stands for learners that bound
    what a row can do, private ones above all.

    >>> X = np.array([[0.1], [0.4], [0.6], [0.9]] * 10); y = np.array([0, 0, 1, 1] * 10)
    >>> found = poison(X, y, points=8, validation=(X, y))
    >>> found.after > found.before
    True
    """
    base, signs, classes = _training(rows, labels)
    model = learner if isinstance(learner, Learner) else Learner(learner)
    aim = _aim(validation, targets, classes, base.shape[1])
    if points < 1:
        raise ParameterError("points is at least 1.")
    low, high = (np.broadcast_to(np.asarray(end, float), (base.shape[1],)) for end in bounds)
    clean = model.fit(base, signs)
    chosen = _most_harmful(model, base, signs, clean, aim, points, seed)
    bad, bad_signs = base[chosen].copy(), -signs[chosen]
    best, gain, theta = bad.copy(), -np.inf, clean
    for turn in range(rounds + 1):
        joint, joint_signs = np.concatenate([base, bad]), np.concatenate([signs, bad_signs])
        theta = model.fit(joint, joint_signs, theta, steps=4 if turn else 30)
        now = aim.value(theta)
        if now > gain:
            best, gain = bad.copy(), now
        slope = _slopes(model, joint, joint_signs, theta, aim, bad, bad_signs)
        size = np.maximum(np.abs(slope).max(axis=1, keepdims=True), 1e-300)
        bad = np.clip(bad + 0.3 / (1 + turn / 8) * (high - low) * slope / size, low, high)
    joint, joint_signs = np.concatenate([base, best]), np.concatenate([signs, bad_signs])
    hurt = model.fit(joint, joint_signs, theta)
    return Poison(best, classes[(bad_signs > 0).astype(int)], aim.success(clean), aim.success(hurt),
                  model, aim.targeted)  # fmt: skip


def flip_labels(
    rows: Any,
    labels: Any,
    *,
    points: int,
    validation: tuple[Any, Any],
    learner: Kind | Learner = "logistic",
    seed: int = 0,
) -> Poison:
    """Add copies of random training rows with the other label: the attack that needs no thought."""
    base, signs, classes = _training(rows, labels)
    model = learner if isinstance(learner, Learner) else Learner(learner)
    aim = _aim(validation, None, classes, base.shape[1])
    generator = np.random.Generator(np.random.PCG64(seed))  # an attack; nothing is released
    chosen = generator.choice(len(base), size=min(points, len(base)), replace=False)
    joint, joint_signs = (
        np.concatenate([base, base[chosen]]), np.concatenate([signs, -signs[chosen]])
    )  # fmt: skip
    clean, hurt = model.fit(base, signs), model.fit(joint, joint_signs)
    return Poison(base[chosen], classes[(signs[chosen] < 0).astype(int)], aim.success(clean),
                  aim.success(hurt), model, targeted=False)  # fmt: skip


def _slopes(
    model: Learner,
    rows: NDArray[np.float64],
    signs: NDArray[np.float64],
    theta: NDArray[np.float64],
    aim: _Aim,
    bad: NDArray[np.float64],
    bad_signs: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return how the attacker's gain grows with every cell of the poison."""
    towards = np.linalg.solve(model.hessian(rows, signs, theta), aim.gradient(theta))
    margin = bad_signs * score(bad, theta)
    along = bad @ towards[:-1] + towards[-1]
    moved = model.curvature(margin) * along
    found: NDArray[np.float64] = -(
        moved[:, None] * theta[:-1] + (model.slope(margin) * bad_signs)[:, None] * towards[:-1]
    )
    return found / len(rows)


def _most_harmful(
    model: Learner, rows: NDArray[np.float64], signs: NDArray[np.float64],
    theta: NDArray[np.float64], aim: _Aim, points: int, seed: int,
) -> NDArray[np.int64]:  # fmt: skip
    """Choose rows whose copies with the other label would help most, to first order."""
    generator = np.random.Generator(np.random.PCG64(seed))  # an attack; nothing is released
    pool = generator.permutation(len(rows))[:CANDIDATES]
    towards = np.linalg.solve(model.hessian(rows, signs, theta), aim.gradient(theta))
    flipped = -signs[pool]
    slope = model.slope(flipped * score(rows[pool], theta)) * flipped
    helped = -slope * (rows[pool] @ towards[:-1] + towards[-1])
    best = pool[np.argsort(-helped)]
    return np.resize(best, points) if len(best) < points else best[:points]


def _training(
    rows: Any, labels: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    base = np.asarray(rows, dtype=np.float64)
    if base.ndim != 2 or not np.isfinite(base).all():
        raise ParameterError("Training rows are a matrix of finite numbers.")
    classes, places = np.unique(np.asarray(labels), return_inverse=True)
    if len(classes) != 2 or len(places) != len(base):
        raise ParameterError("Poisoning is stated for two classes, with a label for every row.")
    signs: NDArray[np.float64] = np.where(places == 1, 1.0, -1.0)
    return base, signs, classes


def _aim(
    validation: tuple[Any, Any] | None,
    targets: tuple[Any, Any] | None,
    classes: NDArray[Any],
    columns: int,
) -> _Aim:
    if (validation is None) == (targets is None):
        raise ParameterError(
            "Give validation= for damage anywhere, or targets= with wanted labels."
        )
    given = validation if targets is None else targets
    assert given is not None
    rows, labels = np.atleast_2d(np.asarray(given[0], dtype=np.float64)), np.atleast_1d(given[1])
    if rows.shape[1] != columns or len(rows) != len(labels) or not np.isin(labels, classes).all():
        raise ParameterError(
            "Rows of validation or targets have the columns and classes of training."
        )
    return _Aim(rows, np.where(labels == classes[1], 1.0, -1.0), targeted=targets is not None)
