"""Reconstruction: a secret column recovered from many noisy counts.

Dinur, Nissim: Revealing Information while Preserving Privacy, PODS 2003. Each answer counts
how many of a random half of the people have the secret, with some error. With errors that
are small beside √n, about n such answers determine nearly every bit: any column that
explains all answers agrees with the true one almost everywhere. With errors of the order of
√n or more nothing much can be said.

The column that explains the answers best is found by least squares over [0, 1]ⁿ, by
accelerated projected gradient steps (Beck, Teboulle: FISTA, 2009; the step is 1/L with L
the largest eigenvalue of QᵀQ, found by power iteration), then rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import Finding, Outcome, checked_count, checked_share
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

STEPS = 400
ENOUGH = 1e-7
"""Steps of the solver, and the change per step from which on it stops."""


@dataclass(frozen=True, eq=False)
class Reconstruction(Shown):
    """The column that explains the answers best: as bits, and before rounding."""

    bits: NDArray[np.int8] = field(repr=False)
    belief: NDArray[np.float64] = field(repr=False)
    residual: float
    steps: int

    def share(self, secret: Sequence[int] | NDArray[Any]) -> float:
        """Return the share of a secret column that was recovered."""
        truth = np.asarray(secret)
        if truth.shape != self.bits.shape:
            raise ParameterError(
                f"The secret must have {len(self.bits)} entries, one per person; given were "
                f"{len(truth)}."
            )
        return float((self.bits == truth).mean())


@dataclass(frozen=True)
class Curve:
    """Share recovered against the noise, for one number of queries."""

    queries: int
    noise: tuple[float, ...]
    share: tuple[float, ...]


def reconstruct(
    queries: NDArray[Any], answers: Sequence[float] | NDArray[Any], *, steps: int = STEPS
) -> Reconstruction:
    """Recover a column of bits from counts over known sets of people.

    `queries[q, i]` says whether person `i` is in the q-th set, `answers[q]` is the noisy
    count of those in it who have the secret.
    """
    matrix = np.asarray(queries, dtype=np.float64)
    given = np.asarray(answers, dtype=np.float64)
    checked_count("steps", steps, low=1)
    if matrix.ndim != 2 or given.shape != (matrix.shape[0],) or not matrix.size:
        raise ParameterError(
            "queries must be a table of sets by people, with one answer per set; given were "
            f"queries of shape {matrix.shape} and answers of shape {given.shape}."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(given).all()):
        raise ParameterError("queries and answers must be finite numbers; some given are not.")
    belief, used = _least_squares(matrix, given, steps)
    residual = float(np.sqrt(np.mean((matrix @ belief - given) ** 2)))
    return Reconstruction((belief > 0.5).astype(np.int8), belief, residual, used)


def _least_squares(
    matrix: NDArray[np.float64], answers: NDArray[np.float64], steps: int
) -> tuple[NDArray[np.float64], int]:
    people = matrix.shape[1]
    step = 1 / _largest_eigenvalue(matrix)
    here = ahead = np.full(people, 0.5)
    pace = 1.0
    for number in range(1, steps + 1):
        slope = matrix.T @ (matrix @ ahead - answers)
        there = np.clip(ahead - step * slope, 0.0, 1.0)
        if (ahead - there) @ (there - here) > 0:
            pace = 1.0  # it overshot: start gathering speed again
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = there + (pace - 1) / faster * (there - here)
        change = float(np.abs(there - here).max())
        here, pace = there, faster
        if change < ENOUGH:
            return here, number
    return here, steps


def _largest_eigenvalue(matrix: NDArray[np.float64]) -> float:
    """Return a bound on the largest eigenvalue of QᵀQ: power iteration, and a little more."""
    vector = np.ones(matrix.shape[1]) / np.sqrt(matrix.shape[1])
    size = 0.0
    for _ in range(30):
        vector = matrix.T @ (matrix @ vector)
        size = float(np.linalg.norm(vector))
        if size == 0:
            return 1.0
        vector /= size
    return 1.02 * size


def random_sets(people: int, queries: int, seed: int) -> NDArray[np.float64]:
    """Return random halves of the people, the same for the same seed."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.integers(0, 2, (queries, people)).astype(np.float64)


def reconstruction(
    query: Callable[[NDArray[np.bool_]], float],
    people: int,
    *,
    queries: int | None = None,
    confidence: float = 0.9,
    secret: Sequence[int] | NDArray[Any] | None = None,
    seed: int = 0,
) -> Outcome:
    """Ask a counting interface about random halves and recover the secret column.

    `query` takes a mask over `people` and returns the (noisy) count of those with the secret.
    Four questions per person are asked unless `queries` says otherwise; those refused, by None,
    NaN or an exception, are left out. The attack succeeds
    if at least `confidence` of the column is recovered, as far as `secret`, the truth, tells;
    without it the adversary's own measure serves: how far the beliefs are from one half.
    """
    checked_count("people", people, low=1)
    limit = checked_share("confidence", confidence)
    number = 4 * people if queries is None else checked_count("queries", queries, low=1)
    sets = random_sets(people, number, seed)
    answers = np.array([_answer(query, row > 0) for row in sets])
    given = np.isfinite(answers)
    refused = int((~given).sum())
    if refused == number:  # nothing is known: an empty set with the count 0
        sets, answers, given = np.zeros((1, people)), np.zeros(1), np.ones(1, dtype=np.bool_)
    found = reconstruct(sets[given], answers[given])
    sure = float(np.abs(2 * found.belief - 1).mean() / 2 + 0.5)
    share = sure if secret is None else found.share(secret)
    ones = found.bits.mean() if secret is None else float(np.mean(np.asarray(secret)))
    prior = max(ones, 1 - ones)
    exposed = round(share * people) if share >= limit else 0
    notes = (f"{refused} of {number} questions were refused",) if refused else ()
    evidence = {"queries": number, "seed": seed, "residual": found.residual, "steps": found.steps}
    findings = (
        (
            Finding(
                "reconstruction",
                f"{exposed} of {people} people",
                exposed,
                "their secret bit",
                float(prior),
                share,
                evidence,
                secret=("".join(str(b) for b in found.bits),),
            ),
        )
        if exposed
        else ()
    )
    return Outcome(
        "reconstruction",
        f"who is in each of {number:,} random sets",
        "share recovered",
        people,
        exposed,
        float(prior),
        share,
        limit,
        findings,
        "differential privacy with one budget for all answers: noise that grows with their number",
        figures={
            "share recovered" if secret is not None else "share believed": share,
            "residual per answer": found.residual,
        },
        notes=notes,
    )


def _answer(query: Callable[[NDArray[np.bool_]], float], chosen: NDArray[np.bool_]) -> float:
    """Ask; a refusal in whatever form is NaN."""
    try:
        answer = query(chosen)
        return float("nan") if answer is None else float(answer)
    except Exception:  # noqa: BLE001 - the interface refuses as it likes
        return float("nan")


def reconstruction_curves(
    secret: Sequence[int] | NDArray[Any],
    *,
    noise: Sequence[float],
    queries: Sequence[int],
    seed: int = 0,
) -> tuple[Curve, ...]:
    """Return the share of a column recovered against the noise, per number of queries.

    Answers are true counts of random halves plus an error spread evenly over ±`noise`.
    """
    truth = np.asarray(secret, dtype=np.float64)
    if truth.ndim != 1 or not np.isin(truth, (0, 1)).all():
        raise ParameterError("The secret must be a column of zeros and ones.")
    generator = np.random.Generator(np.random.PCG64(seed))
    curves = []
    for number in queries:
        sets = random_sets(len(truth), checked_count("queries", number, low=1), seed)
        counts = sets @ truth
        shares = [
            reconstruct(sets, counts + generator.uniform(-error, error, number)).share(secret)
            for error in noise
        ]
        curves.append(Curve(number, tuple(float(e) for e in noise), tuple(shares)))
    return tuple(curves)
