"""Homogeneity: everybody in a class has the same sensitive value.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam: l-Diversity, ICDE 2006. Whoever is known
to be in such a class has no secret, however large the class. Distinct 2-diversity stops it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.diversity import DistinctLDiversity
from sfumato.attack.finding import SHOWN, Outcome
from sfumato.attack.releases.exposure import (
    attacked_people,
    entry_findings,
    exposed_people,
    worst_entry,
)
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.data.schema import Schema


def homogeneity(
    release: Any,
    *,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people whose whole class has one sensitive value."""
    view = see_people(release, schema)
    name = view.attribute(attribute)
    spread = view.spread(name)
    values = np.bincount(spread.class_, minlength=len(spread.sizes))
    alone = values[spread.class_] == 1
    classes = int(alone.sum())
    exposed = exposed_people(view, name, alone)
    stop = DistinctLDiversity(2, name)
    prior, posterior = worst_entry(spread.inside, spread.overall)
    return Outcome(
        "homogeneity",
        "in which class the target is",
        "confidence",
        attacked_people(view, name),
        exposed,
        prior,
        posterior,
        1.0,
        entry_findings(
            view, name, "homogeneity", alone, spread.inside,
            learnt=f"their {name}", most=most, severity=spread.count.astype(np.float64),
        ),
        f"{stop}: no class with a single value",
        stop,
        name,
        {"classes with one value": float(classes), "classes": float(len(spread.sizes))},
    )  # fmt: skip
