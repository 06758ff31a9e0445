"""Attribute inference: the best guess of each known person's sensitive value.

For a person with known quasi-identifiers the adversary looks at all released records that
may be theirs and guesses the most frequent value; the share of that value is the
posterior. Where the table of people also holds the true value (the steward's own data),
the guesses are counted that come true, beside those of somebody who always guesses the most
frequent value of the whole release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.diversity import DistinctLDiversity, RecursiveLDiversity
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_share,
    described,
    odds,
)
from sfumato.attack.releases.fit import fit
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.attack.releases.fit import Fitting
    from sfumato.data.schema import Schema
    from sfumato.released.evidence import Spread
    from sfumato.released.tables import TableView


def attribute_inference(
    release: Any,
    public: Any,
    *,
    confidence: float = 0.9,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Guess a sensitive attribute of people in a public table who are known to be released."""
    limit = checked_share("confidence", confidence)
    view = see_people(release, schema)
    name = view.attribute(attribute)
    spread = view.spread(name)
    fitting = fit(view, public)
    guess, posterior = guesses(view, fitting, name)
    weights = fitting.public.counts
    exposed = (posterior >= limit - NEARLY) & (guess >= 0)
    overall = spread.total / spread.total.sum()
    worst = int(np.argmax(posterior))
    ranked = np.argsort(-posterior, kind="stable")[: min(most, int(exposed.sum()))]
    stop: Definition = (
        RecursiveLDiversity(odds(limit), 2, name)
        if limit < 1 - NEARLY
        else DistinctLDiversity(2, name)
    )
    return Outcome(
        "attribute inference",
        f"{', '.join(fitting.names)} of people known to be in the release",
        "confidence",
        fitting.total,
        int(weights[exposed].sum()),
        float(overall[guess[worst]]) if guess[worst] >= 0 else float(overall.max()),
        float(posterior[worst]),
        limit,
        tuple(
            _finding(fitting, int(i), name, spread, int(guess[i]), float(posterior[i]))
            for i in ranked
        ),
        f"{stop}: no value has a share of {limit:g} in any class",
        stop,
        name,
        _measured(fitting, name, spread, guess),
    )


def guesses(
    view: TableView, fitting: Fitting, name: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each kind of person the best guess (−1 for none) and its posterior."""
    fits = fitting.add_up(fitting.sizes, fitting.sizes)
    if int(fits.classes.max(initial=0)) <= 1:
        guess, share = _best_of_groups(view.spread(name), fitting)
        found = fits.where >= 0
        return np.where(found, guess[fits.where], -1), np.where(found, share[fits.where], 0.0)
    return _best_of_records(view.spread(name), fitting, fits.total)


def _best_of_groups(
    spread: Spread, fitting: Fitting
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the most frequent value of each group of classes, and its share."""
    group = fitting.group[spread.class_]
    key, index = np.unique(group * len(spread.values) + spread.value, return_inverse=True)
    count = np.bincount(index.reshape(-1), weights=spread.count)
    order = np.lexsort((key % len(spread.values), -count, key // len(spread.values)))
    groups, first = np.unique(key[order] // len(spread.values), return_index=True)
    best = order[first]
    return key[best] % len(spread.values), count[best] / fitting.sizes[groups]


def _best_of_records(
    spread: Spread, fitting: Fitting, everything: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where people fit several classes, walk once per value: the records that fit and have it."""
    best = np.zeros(fitting.kinds)
    guess = np.full(fitting.kinds, -1, dtype=np.int64)
    for value in range(len(spread.values)):
        chosen = spread.value == value
        groups = fitting.group[spread.class_[chosen]]
        counts = np.bincount(groups, weights=spread.count[chosen], minlength=len(fitting.sizes))
        found = fitting.add_up(counts, counts).total
        better = found > best
        best, guess = np.where(better, found, best), np.where(better, value, guess)
    return guess, np.where(everything > 0, best / np.maximum(everything, 1), 0.0)


def _measured(
    fitting: Fitting, name: str, spread: Spread, guess: NDArray[np.int64]
) -> dict[str, float]:
    """Return how many guesses come true, where the table of people says so."""
    if name not in fitting.table.columns:
        return {}
    counted = fitting.table.count((*fitting.names, name))
    place = {value: i for i, value in enumerate(spread.values)}
    truth = np.array([place.get(text, -2) for text in counted.values[-1]])[counted.codes[-1]]
    keys = dict(zip(zip(*(c.tolist() for c in fitting.public.codes), strict=True), guess,
                    strict=True))  # fmt: skip
    guessed = np.array([keys[key] for key in zip(*(c.tolist() for c in counted.codes[:-1]),
                                                 strict=True)])  # fmt: skip
    usual = int(np.argmax(spread.total))
    everybody = counted.counts.sum()
    return {
        "guesses that come true": float(counted.counts[guessed == truth].sum() / everybody),
        "always guessing the most frequent": float(
            counted.counts[truth == usual].sum() / everybody
        ),
    }


def _finding(
    fitting: Fitting, kind: int, name: str, spread: Spread, guess: int, sure: float
) -> Finding:
    person = fitting.person(kind)
    return Finding(
        "attribute inference",
        described(person),
        int(fitting.public.counts[kind]),
        f"their {name}",
        float(spread.total[guess] / spread.total.sum()),
        sure,
        {
            "person": person,
            "classes": [fitting.cells(int(g)) for g in fitting.groups_of(kind)[:3]],
        },
        name,
        secret=(spread.values[guess],),
    )
