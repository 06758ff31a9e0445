"""Membership: whether a person is in the release at all.

Nergiz, Atzori, Clifton: Hiding the Presence of Individuals from Shared Databases, SIGMOD
2007. In a release of people with a disease, being in it is the secret. An adversary who knows
the population sees that P people fit a class of n records, so each of them is in it with
probability n/P. Whoever fits no class is certainly not among the released records.
δ-presence bounds the probability. Where a person fits several classes, the probabilities
add up, at most to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.presence import DeltaPresence
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_share,
    described,
)
from sfumato.attack.releases.fit import fit
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.attack.releases.fit import Fitting
    from sfumato.data.schema import Schema


_EVERYBODY = "nearly everybody in the table is in the release, so being in it is no secret"


def membership(
    release: Any,
    population: Any,
    *,
    confidence: float = 0.9,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people of a population who are in the release with at least `confidence`."""
    limit = checked_share("confidence", confidence)
    view = see_people(release, schema)
    fitting = fit(view, population)
    presence = presences(fitting)
    weights = fitting.public.counts
    prior = min(view.records / fitting.total, 1.0)
    exposed = (presence >= limit - NEARLY) & (prior < limit)
    ranked = np.argsort(-presence, kind="stable")[: min(most, int(exposed.sum()))]
    stop = DeltaPresence(0.0, round(0.96 * limit, 6))
    absent = float(weights[presence == 0].sum())
    return Outcome(
        "membership",
        f"{', '.join(fitting.names)} of the whole population of {fitting.total:,} people",
        "confidence",
        fitting.total,
        int(weights[exposed].sum()),
        prior,
        float(presence.max(initial=0.0)),
        limit,
        tuple(_finding(fitting, int(i), float(presence[i]), prior) for i in ranked),
        f"{stop}: nobody is in the release with more than {stop.high:g}",
        stop,
        figures={
            "people certainly in the release": float(weights[presence >= 1 - NEARLY].sum()),
            "people certainly not among the released records": absent,
        },
        notes=(_EVERYBODY,) if prior >= limit else (),
    )


def presences(fitting: Fitting) -> NDArray[np.float64]:
    """Return for each kind of person the probability of being in the release."""
    sizes = fitting.sizes.astype(np.float64)
    people = fitting.add_up(sizes, sizes).people
    share = np.minimum(sizes / np.maximum(people, 1), 1.0)
    return np.minimum(fitting.add_up(share, share).total, 1.0)


def _finding(fitting: Fitting, kind: int, sure: float, prior: float) -> Finding:
    person = fitting.person(kind)
    group = int(fitting.groups_of(kind)[0])
    return Finding(
        "membership",
        described(person),
        int(fitting.public.counts[kind]),
        "that they are in the release",
        prior,
        sure,
        {
            "person": person,
            "class": fitting.cells(group),
            "records in the class": int(fitting.sizes[group]),
        },
    )
