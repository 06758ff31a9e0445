"""Probabilistic inference: a value so frequent in a class that guessing it is nearly safe.

A class can have many values and still tell: when nine of ten have the same one, the
adversary is 90 % sure of it (Machanavajjhala et al., ICDE 2006, on why distinct diversity
is not enough). Recursive (c, 2)-diversity keeps every share below c/(c + 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.diversity import DistinctLDiversity, RecursiveLDiversity
from sfumato.attack.finding import NEARLY, SHOWN, Outcome, checked_share, odds
from sfumato.attack.releases.exposure import (
    attacked_people,
    entry_findings,
    exposed_people,
    worst_entry,
)
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.schema import Schema


def probabilistic_inference(
    release: Any,
    *,
    confidence: float = 0.9,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people whose sensitive value is at least `confidence` of their class."""
    limit = checked_share("confidence", confidence)
    view = see_people(release, schema)
    name = view.attribute(attribute)
    spread = view.spread(name)
    dangerous = spread.inside >= limit - NEARLY
    prior, worst = worst_entry(spread.inside, spread.overall)
    stop: Definition = (
        RecursiveLDiversity(odds(limit), 2, name)
        if limit < 1 - NEARLY
        else DistinctLDiversity(2, name)
    )
    return Outcome(
        "probabilistic inference",
        "in which class the target is",
        "confidence",
        attacked_people(view, name),
        exposed_people(view, name, dangerous),
        prior,
        worst,
        limit,
        entry_findings(
            view, name, "probabilistic inference", dangerous, spread.inside,
            learnt=f"their {name}", most=most,
        ),
        f"{stop}: no value has a share of {limit:g} in any class",
        stop,
        name,
        {"largest share of a value in a class": worst},
    )  # fmt: skip
