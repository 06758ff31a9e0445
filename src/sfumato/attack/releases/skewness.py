"""Skewness: a class that tells more about a sensitive value than the whole table does.

Li, Li, Venkatasubramanian: t-Closeness, ICDE 2007: where 1 % of all people have a disease
and half of a class, being in that class raises the suspicion fifty-fold, though the class is
as diverse as can be. The attack measures the gain, posterior minus prior. t-closeness with
equal distance bounds it by t, β-likeness the ratio by 1 + β.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.likeness import BetaLikeness
from sfumato.attack.finding import NEARLY, SHOWN, Outcome, checked_share
from sfumato.attack.releases.exposure import attacked_people, entry_findings, exposed_people
from sfumato.errors import ParameterError
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.schema import Schema


def skewness(
    release: Any,
    *,
    gain: float = 0.25,
    factor: float | None = None,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people whose value became more likely by at least `gain` (or by `factor`)."""
    checked_share("gain", gain)
    if factor is not None and (not isinstance(factor, int | float) or not 1 < factor < np.inf):
        raise ParameterError(f"factor must be above 1, not {factor!r}.")
    view = see_people(release, schema)
    name = view.attribute(attribute)
    spread = view.spread(name)
    gains, ratios = spread.inside - spread.overall, spread.inside / spread.overall
    severity, limit = (gains, gain) if factor is None else (ratios, factor)
    dangerous = severity >= limit - NEARLY
    worst = int(np.argmax(severity))
    # Closeness is checked up to rounding, so what stops a gain is a little below it.
    stop: Definition = (
        TCloseness(round(0.96 * gain, 6), name)
        if factor is None
        else BetaLikeness(round(0.96 * (factor - 1), 6), name, enhanced=False)
    )
    return Outcome(
        "skewness",
        "in which class the target is, and the whole release",
        "gain" if factor is None else "factor",
        attacked_people(view, name),
        exposed_people(view, name, dangerous),
        float(spread.overall[worst]),
        float(spread.inside[worst]),
        float(limit),
        entry_findings(
            view, name, "skewness", dangerous, spread.inside,
            learnt=f"their {name} is more likely than in the whole release", most=most,
            severity=severity,
        ),
        f"{stop}: no class is that far from the whole release",
        stop,
        name,
        {"largest gain": float(gains.max()), "largest factor": float(ratios.max())},
    )  # fmt: skip
