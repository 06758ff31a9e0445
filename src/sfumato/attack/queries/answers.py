"""Membership and attribute inference against published answers.

`membership_from_answers` traces a person in published averages (Homer et al., PLoS Genetics
2008; Dwork, Smith, Steinke, Ullman, Vadhan: Robust Traceability from Trace Amounts, FOCS
2015). The score of a person x is Σ_j (a_j − p_j)·(x_j − p_j): averages a of a group that x is
in lean towards x, beside those of the population, p. People of a reference set, known not to be
in the group, set the score that only a share `false_alarms` of outsiders reach; the attack
counts as a success when more than twice that share of the targets reach it. Under (ε, δ)-DP
at most e^ε·false_alarms + δ of the members reach it, whatever the score.

`attribute_from_answers` weighs the possible values of one person by how well they explain
noisy sums, given everybody else: the strongest adversary. With Laplace noise of scale Δ/ε per
answer the odds of two values change at most by e^ε per answer, which is what DP promises.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.attack.finding import NEARLY, Finding, Outcome, checked_share
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def membership_from_answers(
    answers: Sequence[float] | NDArray[Any],
    targets: NDArray[Any],
    reference: NDArray[Any],
    *,
    false_alarms: float = 0.01,
    prior: float = 0.5,
) -> Outcome:
    """Find which targets are in the group whose averages were published.

    `answers[j]` is the published average of attribute j, `targets[i, j]` and
    `reference[i, j]` are the attributes of targets and of outsiders, numbers on the same
    scale. `prior` is the share of targets believed to be members.
    """
    checked_share("false_alarms", false_alarms)
    checked_share("prior", prior)
    published = np.asarray(answers, dtype=np.float64)
    people, outsiders = (np.asarray(t, dtype=np.float64) for t in (targets, reference))
    if not (people.ndim == outsiders.ndim == 2) or not (
        people.shape[1] == outsiders.shape[1] == len(published)
    ):
        raise ParameterError(
            f"There are {len(published)} answers, so targets and reference must be tables with as "
            f"many columns; given were {people.shape} and {outsiders.shape}."
        )
    if not all(np.isfinite(table).all() for table in (published, people, outsiders)):
        raise ParameterError("Answers, targets and reference must be finite numbers.")
    half = len(outsiders) // 2
    if half * false_alarms < 1:
        raise ParameterError(
            f"{len(outsiders)} outsiders cannot show a false-alarm rate of {false_alarms:g}; at "
            f"least {math.ceil(2 / false_alarms)} are needed."
        )
    # One half tells what is usual, the other what score outsiders reach: no one does both.
    usual = outsiders[:half].mean(axis=0)
    scores = (people - usual) @ (published - usual)
    theirs = np.sort((outsiders[half:] - usual) @ (published - usual))
    allowed = math.floor(false_alarms * len(theirs))
    threshold = theirs[len(theirs) - allowed - 1]
    flagged = scores > threshold
    share = float(flagged.mean())
    # Bayes with the detection rate read off the targets themselves.
    hits = max((share - (1 - prior) * false_alarms) / prior, false_alarms)
    sure = prior * min(hits, 1.0) / (prior * min(hits, 1.0) + (1 - prior) * false_alarms)
    return Outcome(
        "membership from answers",
        f"{len(published):,} attributes of the targets, and {len(outsiders):,} outsiders",
        f"share flagged beyond chance, at {false_alarms:g} false alarms",
        len(people),
        int(flagged.sum()) if share > 2 * false_alarms else 0,
        prior,
        float(sure),
        2 * false_alarms,
        tuple(
            Finding(
                "membership from answers",
                f"target {i}",
                1,
                "that they are in the group",
                prior,
                float(sure),
                {"score": float(scores[i]), "score outsiders reach": float(threshold)},
            )
            for i in np.argsort(-scores)[: min(20, int(flagged.sum()))]
        )
        if share > 2 * false_alarms
        else (),
        "differential privacy over all answers: at most e^ε times as many members as outsiders "
        "are flagged",
        figures={"flagged": share, "false alarms allowed": false_alarms},
    )


def attribute_from_answers(
    answers: Sequence[float] | NDArray[Any],
    candidates: Mapping[str, float],
    *,
    rest: float,
    scale: float,
    noise: Literal["laplace", "gaussian"] = "laplace",
    prior: Mapping[str, float] | None = None,
    confidence: float = 0.9,
    attribute: str = "secret",
) -> Outcome:
    """Weigh the candidates for one person's value by noisy sums of everybody's.

    `rest` is the sum of all others, `scale` the scale of the noise (the standard deviation if
    Gaussian), 0 for none; `candidates` names each possible value and its number.
    """
    limit = checked_share("confidence", confidence)
    names = list(candidates)
    if len(names) < 2 or noise not in {"laplace", "gaussian"} or scale < 0:
        raise ParameterError(
            "Give at least two candidates, noise 'laplace' or 'gaussian', and a scale from 0; "
            f"given were {len(names)} candidates, {noise!r} and {scale!r}."
        )
    believed = np.array([1.0 if prior is None else float(prior[name]) for name in names])
    believed = believed / believed.sum()
    values = np.array([candidates[name] for name in names], dtype=np.float64)
    differences = np.asarray(answers, dtype=np.float64) - rest
    if not (np.isfinite(differences).all() and np.isfinite(values).all()):
        raise ParameterError("Answers, candidates and the rest must be finite numbers.")
    posterior = _posterior(differences, values, scale, noise, believed)
    best = int(np.argmax(posterior))
    sure = float(posterior[best])
    found = sure >= limit - NEARLY
    finding = Finding(
        "attribute from answers",
        "the target",
        1,
        f"their {attribute}",
        float(believed[best]),
        sure,
        {"answers": len(answers), "scale of the noise": scale},
        attribute,
        secret=(names[best],),
    )
    return Outcome(
        "attribute from answers",
        "everybody else's values, and the noise",
        "confidence",
        1,
        int(found),
        float(believed[best]),
        sure,
        limit,
        (finding,) if found else (),
        "differential privacy: all answers together change the odds of two values by e^ε at most",
        attribute=attribute,
        figures={"largest change of odds": _largest_change(posterior, believed)},
    )


def _posterior(
    differences: NDArray[np.float64],
    values: NDArray[np.float64],
    scale: float,
    noise: str,
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    error = np.abs(differences[:, None] - values[None, :])
    if scale == 0:
        likely = np.where(np.isclose(error, 0, atol=1e-9).all(axis=0), prior, 0.0)
        return likely / likely.sum() if likely.sum() else prior
    loss = error / scale if noise == "laplace" else (error / scale) ** 2 / 2
    score = np.log(np.maximum(prior, 1e-300)) - loss.sum(axis=0)
    likely = np.exp(score - score.max())
    shares: NDArray[np.float64] = likely / likely.sum()
    return shares


def _largest_change(posterior: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Return the largest factor by which the odds of two candidates changed."""
    change = posterior / prior
    low = float(change.min())
    return math.inf if low == 0 else float(change.max()) / low
