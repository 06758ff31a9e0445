"""De Finetti: learn from all classes what no single class tells.

Kifer: Attacks on Privacy and de Finetti's Theorem, SIGMOD 2009. The adversary knows the exact
quasi-identifiers of the people in each class, as in a public table. Within a class every
member seems equally likely to have any of its values. But if smokers tend to have cancer,
classes with more smokers have more cancer, and a model learnt over all classes tells inside
each class who is likelier to have what.

The model is naive Bayes, p(v)·Π p(v | x_a)/p(v), fitted by expectation maximisation: beliefs
start at the shares of the class; each round counts them into the model and spreads the values of
every class over its members by the model, scaled until members sum to 1 and values to their
counts. Such a model can talk itself into anything, so it is learnt from one half of the classes
and used on the other, and it counts only as much as it predicts the histograms of those other
classes better than the table as a whole does. Nothing is gained where the sensitive value does
not depend on what is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_count,
    checked_share,
    described,
)
from sfumato.attack.releases.fit import fit
from sfumato.attack.releases.walk import sum_rows
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.attack.releases.fit import Fitting
    from sfumato.data.schema import Schema
    from sfumato.released.tables import TableView

SCALINGS = 5
"""How often beliefs are scaled to members and values in turn, per round."""

SHRUNK = 5.0
"""People a value of an attribute must have before what they seem to have counts half."""

TRUST = (0.25, 0.5, 0.75, 0.9, 1.0)
"""How far a model may be trusted; the best on classes it has not seen is taken, or none."""


@dataclass(frozen=True, eq=False)
class _People:
    """Kinds of people who fit one class only: number, class, how many, values per attribute."""

    kind: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[np.float64]
    values: list[NDArray[np.int64]]
    widths: list[int]

    def only(self, chosen: NDArray[np.bool_]) -> _People:
        """Return some of them."""
        values = [value[chosen] for value in self.values]
        return _People(
            self.kind[chosen], self.class_[chosen], self.count[chosen], values, self.widths
        )


def de_finetti(
    release: Any,
    public: Any,
    *,
    gain: float = 0.25,
    rounds: int = 8,
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
    view = see_people(release, schema)
    name = view.attribute(attribute)
    fitting = fit(view, public)
    people = _people(fitting)
    shares = _shares(view, fitting, name)
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
            _finding(view, fitting, name, people, int(i), int(guess[i]), before[i], after[i])
            for i in ranked
        ),
        f"no promise about classes alone; {stop} leaves less to learn from, differential privacy "
        "bounds it",
        attribute=name,
        figures=_measured(view, fitting, name, people, prior, guess),
    )


def _people(fitting: Fitting) -> _People:
    fits = fitting.add_up(fitting.sizes, fitting.sizes)
    kind = np.flatnonzero(fits.classes == 1)
    values = [fitting.public.codes[a][kind].astype(np.int64) for a in range(len(fitting.names))]
    widths = [len(texts) for texts in fitting.public.values]
    counts = fitting.public.counts[kind].astype(np.float64)
    return _People(kind, fits.where[kind], counts, values, widths)


def _shares(view: TableView, fitting: Fitting, name: str) -> NDArray[np.float64]:
    """Return the share of each value in each group of classes."""
    spread = view.spread(name)
    counts = np.zeros((len(fitting.sizes), len(spread.values)))
    np.add.at(counts, (fitting.group[spread.class_], spread.value), spread.count)
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _learnt(people: _People, shares: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
    """Return for each kind of person the belief in each value, learnt from other classes."""
    belief = shares[people.class_]
    if not len(belief):
        return belief
    base = np.average(belief, axis=0, weights=people.count)
    for side in (0, 1):
        inside = people.class_ % 2 == side
        if inside.any() and not inside.all():
            known, unseen = people.only(inside), people.only(~inside)
            found = _best_prediction(known, unseen, shares, base, rounds)
            belief[~inside] = _scaled(found, unseen, shares)
    return belief


def _best_prediction(
    known: _People,
    unseen: _People,
    shares: NDArray[np.float64],
    base: NDArray[np.float64],
    rounds: int,
) -> NDArray[np.float64]:
    """Return the prediction for people of unseen classes that explains their histograms best."""
    best = np.tile(base, (len(unseen.kind), 1))
    score = _explained(best, unseen, shares)
    belief = shares[known.class_]
    for _ in range(rounds):
        tables = _model(known, belief, base)
        prediction = _predicted(tables, unseen, base)
        for trust in TRUST:
            mixed = trust * prediction + (1 - trust) * base
            reached = _explained(mixed, unseen, shares)
            if reached > score:
                best, score = mixed, reached
        belief = _scaled(_predicted(tables, known, base), known, shares)
    return best


def _explained(
    prediction: NDArray[np.float64], people: _People, shares: NDArray[np.float64]
) -> float:
    """Return the log-likelihood of the histograms of classes under predictions for members."""
    mean = sum_rows(people.class_, prediction, people.count, len(shares))
    members = np.bincount(people.class_, weights=people.count, minlength=len(shares))
    inside = members > 0
    mean = mean[inside] / members[inside, None]
    surprise = shares[inside] * np.log(np.maximum(mean, 1e-300))
    return float((surprise.sum(axis=1) * members[inside]).sum())


def _model(
    people: _People, belief: NDArray[np.float64], base: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Count beliefs; return per attribute log p(v | x)/p(v), shrunk to 0 where people are few."""
    tables = []
    for value, width in zip(people.values, people.widths, strict=True):
        table = sum_rows(value, belief, people.count, width)
        have = table.sum(axis=1, keepdims=True)
        likely = (table + SHRUNK * base) / (have + SHRUNK)
        tables.append(np.log(np.maximum(likely, 1e-300)) - np.log(np.maximum(base, 1e-300)))
    return tables


def _predicted(
    tables: list[NDArray[np.float64]], people: _People, base: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the model's belief in each value for each kind of person."""
    score = np.tile(np.log(np.maximum(base, 1e-300)), (len(people.kind), 1))
    for table, value in zip(tables, people.values, strict=True):
        score += table[value]
    likely = np.exp(score - score.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = likely / likely.sum(axis=1, keepdims=True)
    return shares


def _scaled(
    likely: NDArray[np.float64], people: _People, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scale beliefs until members sum to 1 and the values of a class to their counts."""
    members = np.bincount(people.class_, weights=people.count, minlength=len(shares))
    wanted = shares * members[:, None]
    belief = np.maximum(likely, 1e-12)
    for _ in range(SCALINGS):
        held = sum_rows(people.class_, belief, people.count, len(wanted))
        belief = belief * (wanted / np.maximum(held, 1e-300))[people.class_]
        belief = belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return belief


def _measured(
    view: TableView,
    fitting: Fitting,
    name: str,
    people: _People,
    prior: NDArray[np.float64],
    guess: NDArray[np.int64],
) -> dict[str, float]:
    """Return how many guesses come true with and without the model, where the truth is known."""
    if name not in fitting.table.columns or not len(guess):
        return {}
    spread = view.spread(name)
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
    view: TableView,
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
        secret=(view.spread(name).values[guess],),
    )
