"""De Finetti: learn from all classes what no single class tells.

Kifer: Attacks on Privacy and de Finetti's Theorem, SIGMOD 2009. The adversary knows the exact
quasi-identifiers of the people in each class, as in a public table. Within a class every
member seems equally likely to have any of its values. But if smokers tend to have cancer,
classes with more smokers have more cancer, and a model learnt over all classes tells inside
each class who is likelier to have what.

The model is naive Bayes, p(v)·Π p(x_a | v), fitted by expectation maximisation: beliefs start
at the shares of the class; each round counts them into the model, with one pseudo-record
per value, and then spreads the values of every class over its members by the model, scaled
until members sum to 1 and values to their counts. Nothing is gained where the sensitive
value does not depend on what is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.closeness import TCloseness
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_count,
    checked_share,
    described,
)
from sfumato.attack.fitting import fit
from sfumato.attack.sight import see

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.attack.fitting import Fitting
    from sfumato.attack.sight import Sight
    from sfumato.data.schema import Schema

SCALINGS = 5
"""How often beliefs are scaled to members and values in turn, per round."""


@dataclass(frozen=True, eq=False)
class _People:
    """Kinds of people who fit one class only: number, class, how many, values per attribute."""

    kind: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[np.float64]
    values: list[NDArray[np.int64]]
    widths: list[int]


def de_finetti(
    release: Any,
    public: Any,
    *,
    gain: float = 0.25,
    rounds: int = 30,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Guess sensitive values inside classes by a model learnt over all of them.

    Somebody is exposed whose best guess became likelier than in the class by at least
    `gain`. Where the public table holds the true values, the guesses that come true are
    counted, beside those of the class shares alone.
    """
    limit = checked_share("gain", gain)
    checked_count("rounds", rounds, low=1)
    sight = see(release, schema)
    name = sight.attribute(attribute)
    fitting = fit(sight, public)
    people = _people(fitting)
    shares = _shares(sight, fitting, name)
    prior = shares[people.class_]
    belief = _learnt(people, shares, rounds)
    guess = np.argmax(belief, axis=1) if len(belief) else np.zeros(0, np.int64)
    rows = np.arange(len(guess))
    before, after = prior[rows, guess], belief[rows, guess]
    exposed = after - before >= limit - NEARLY
    worst = int(np.argmax(after - before)) if len(guess) else -1
    ranked = np.argsort(before - after, kind="stable")[: min(most, int(exposed.sum()))]
    stop = TCloseness(round(0.96 * limit, 6), name)
    return Outcome(
        "de Finetti",
        f"{', '.join(fitting.names)} of the people in each class",
        "gain",
        fitting.total,
        int(people.count[exposed].sum()),
        float(before[worst]) if len(guess) else 0.0,
        float(after[worst]) if len(guess) else 0.0,
        limit,
        tuple(
            _finding(sight, fitting, name, people, int(i), int(guess[i]), before[i], after[i])
            for i in ranked
        ),
        "nothing about classes alone; closeness leaves less to learn from "
        f"({stop} of {name}), differential privacy bounds it",
        attribute=name,
        figures=_measured(sight, fitting, name, people, prior, guess),
    )


def _people(fitting: Fitting) -> _People:
    fits = fitting.add_up(fitting.sizes, fitting.sizes)
    kind = np.flatnonzero(fits.classes == 1)
    values = [fitting.public.codes[a][kind].astype(np.int64) for a in range(len(fitting.names))]
    widths = [len(one) for one in fitting.public.values]
    counts = fitting.public.counts[kind].astype(np.float64)
    return _People(kind, fits.where[kind], counts, values, widths)


def _shares(sight: Sight, fitting: Fitting, name: str) -> NDArray[np.float64]:
    """Return the share of each value in each group of classes."""
    spread = sight.spread(name)
    counts = np.zeros((len(fitting.sizes), len(spread.values)))
    np.add.at(counts, (fitting.group[spread.class_], spread.value), spread.count)
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _learnt(people: _People, shares: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
    """Return for each kind of person the belief in each value, after some rounds."""
    belief = shares[people.class_]
    members = np.bincount(people.class_, weights=people.count, minlength=len(shares))
    wanted = shares * members[:, None]
    for _ in range(rounds):
        score = _model(people, belief)
        score = np.where(shares[people.class_] > 0, score, -np.inf)
        likely = np.exp(score - score.max(axis=1, keepdims=True, initial=-1e300))
        belief = _scaled(likely, people, wanted)
    return belief


def _model(people: _People, belief: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count the beliefs into a naive Bayes model; return its log-likelihood per kind and value."""
    weight = belief * people.count[:, None]
    total = weight.sum(axis=0)
    score = np.tile(np.log(total + 1.0), (len(belief), 1))
    for value, width in zip(people.values, people.widths, strict=True):
        table = np.zeros((width, belief.shape[1]))
        np.add.at(table, value, weight)
        # One pseudo-record per value, spread as the attribute is among everybody.
        usual = table.sum(axis=1, keepdims=True) / max(weight.sum(), 1.0)
        score += np.log((table + usual + 1e-300) / (total + 1.0))[value]
    return score


def _scaled(
    likely: NDArray[np.float64], people: _People, wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scale beliefs until members sum to 1 and the values of a class to their counts."""
    belief = likely
    for _ in range(SCALINGS):
        held = np.zeros_like(wanted)
        np.add.at(held, people.class_, belief * people.count[:, None])
        belief = belief * (wanted / np.maximum(held, 1e-300))[people.class_]
        belief = belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return belief


def _measured(
    sight: Sight,
    fitting: Fitting,
    name: str,
    people: _People,
    prior: NDArray[np.float64],
    guess: NDArray[np.int64],
) -> dict[str, float]:
    """Return how many guesses come true with and without the model, where the truth is known."""
    if name not in fitting.table.columns or not len(guess):
        return {}
    spread = sight.spread(name)
    place = {value: i for i, value in enumerate(spread.values)}
    truth = np.zeros((fitting.kinds, len(spread.values)))
    counted = fitting.table.count((*fitting.names, name))
    key = {k: i for i, k in enumerate(zip(*(c.tolist() for c in fitting.public.codes),
                                          strict=True))}  # fmt: skip
    for i, codes in enumerate(zip(*(c.tolist() for c in counted.codes), strict=True)):
        value = place.get(counted.values[-1][codes[-1]])
        if value is not None:
            truth[key[codes[:-1]], value] += counted.counts[i]
    known = truth[people.kind]
    rows, everybody = np.arange(len(guess)), people.count.sum()
    plain = np.argmax(prior, axis=1)
    return {
        "guesses that come true": float(known[rows, guess].sum() / everybody),
        "by the shares of the class alone": float(known[rows, plain].sum() / everybody),
    }


def _finding(
    sight: Sight,
    fitting: Fitting,
    name: str,
    people: _People,
    i: int,
    guess: int,
    before: float,
    after: float,
) -> Finding:
    person = fitting.person(int(people.kind[i]))
    return Finding(
        "de Finetti",
        described(person),
        int(people.count[i]),
        f"their {name} is more likely than in their class",
        float(before),
        float(after),
        {"person": person, "class": fitting.cells(int(people.class_[i]))},
        name,
        secret=(sight.spread(name).values[guess],),
    )
