"""Minimality: what it tells that an algorithm generalised at all.

Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007. An
algorithm that never generalises more than the promise demands gives away why it did. The
adversary knows who is in a class (a public table that fits it exactly) and sees that
these people could have been released in finer groups, each large enough for k. They were not,
so in at least one finer group some value was too frequent. Among all ways to hand out the
values of the class, those in which every finer group keeps the promise drop out, and the
belief about a member of a group rises above the share in the class.

The finer groups are those by the exact values of one attribute, or of all. All ways to hand
out the values are counted (`ways`), whatever the promise, so the posterior is exact; classes
too large for that are left alone, and so are those whose people are not exactly known. The
outcome says how many there were of each: nothing was learnt about them here, which is no proof
that nothing can be. The attack assumes an algorithm that decides class by
class. Where a finer group has fewer than k people, the class was generalised for k's sake,
every way breaks the promise, and the belief stays what it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_share,
    described,
)
from sfumato.attack.releases.fit import fit
from sfumato.attack.releases.ways import MOST, after_violation, steps
from sfumato.errors import ParameterError
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.attack.releases.fit import Fitting
    from sfumato.attack.releases.ways import Histogram
    from sfumato.data.schema import Schema
    from sfumato.released.evidence import Spread
    from sfumato.released.tables import TableView


EFFORT = 3_000_000
"""Steps of counting for a whole release, small classes first: a few seconds."""


@dataclass(frozen=True)
class _Belief:
    """What follows for the members of one finer group of a class."""

    class_: int
    group: str
    people: int
    value: int
    prior: float
    posterior: float
    sizes: tuple[int, ...]
    kinds: tuple[int, ...]


def minimality(
    release: Any,
    public: Any,
    *,
    promise: Definition | None = None,
    gain: float = 0.1,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people about whom the need to generalise tells at least `gain` more.

    `promise` is what the release says it keeps, where it does not say so itself. `public`
    must hold exactly the people of a class for that class to be attacked.
    """
    limit = checked_share("gain", gain)
    view = see_people(release, schema)
    name = view.attribute(attribute)
    stated = promise or view.promise
    if stated is None:
        raise ParameterError(
            "Minimality needs to know what the algorithm was asked for; give promise=."
        )
    fitting = fit(view, public)
    beliefs, left = _beliefs(view, fitting, name, stated)
    found = [b for b in beliefs if b.posterior - b.prior >= limit - NEARLY]
    found.sort(key=lambda b: (b.prior - b.posterior, -b.people))
    worst = max(beliefs, key=lambda b: b.posterior - b.prior, default=None)
    # Somebody may be in an exposed group by one attribute and in another by all.
    exposed = {kind for b in found for kind in b.kinds}
    return Outcome(
        "minimality",
        f"who is in each class, and that the algorithm kept {stated} and no more",
        "gain",
        int(view.evidence.sizes.sum()),
        int(fitting.public.counts[sorted(exposed)].sum()) if exposed else 0,
        worst.prior if worst else 0.0,
        worst.posterior if worst else 0.0,
        limit,
        tuple(_finding(view, name, b) for b in found[:most]),
        "an algorithm that does not go to the limit, or differential privacy",
        attribute=name,
        figures={
            "finer groups looked at": float(len({(b.class_, b.group) for b in beliefs})),
            "classes left alone: too large": float(left.large),
            "classes left alone: people not known": float(left.unknown),
        },
        notes=left.notes,
    )


@dataclass(frozen=True)
class _Left:
    """Classes that could not be attacked, and the people in them."""

    large: int = 0
    in_large: int = 0
    unknown: int = 0
    in_unknown: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what was left out."""
        notes = []
        if self.large:
            notes.append(
                f"{self.large} class(es) with {self.in_large:,} people are too large to count all "
                "ways, and were left alone"
            )
        if self.unknown:
            notes.append(
                f"the table does not tell who is in {self.unknown} class(es) with "
                f"{self.in_unknown:,} people, and they were left alone"
            )
        return tuple(notes)


def _beliefs(
    view: TableView, fitting: Fitting, name: str, stated: Definition
) -> tuple[list[_Belief], _Left]:
    members = _members(view, fitting) or {}
    parts = _parts(stated, name)
    spread = view.spread(name)
    unknown = np.ones(len(spread.sizes), dtype=np.bool_)
    unknown[list(members)] = False
    left = _Left(unknown=int(unknown.sum()), in_unknown=int(spread.sizes[unknown].sum()))
    if not members or not parts:
        return [], left
    keeps = _judge(parts, name, spread)
    starts = np.searchsorted(spread.class_, np.arange(len(spread.sizes) + 1))
    splits = [*range(len(fitting.names)), None] if len(fitting.names) > 1 else [0]
    beliefs: list[_Belief] = []
    large: set[int] = set()
    budget = EFFORT
    for c in sorted(members, key=lambda c: spread.sizes[c]):
        people = members[c]
        inside = slice(starts[c], starts[c + 1])
        values, held = spread.value[inside], tuple(spread.count[inside].tolist())
        if math.prod(count + 1 for count in held) > MOST:
            large.add(c)
            continue
        for split in splits:
            groups = _groups(fitting, people, split)
            sizes = [int(fitting.public.counts[list(kinds)].sum()) for kinds in groups.values()]
            effort = steps(sizes, held) if len(held) > 1 else 0
            if len(sizes) < 2 or not effort:
                continue  # one group, or one value: nothing finer to learn
            if effort > min(budget, MOST):
                large.add(c)
                continue
            budget -= effort
            raised = after_violation(sizes, held, partial(keeps, values))
            if raised is None:
                continue
            for (key, kinds), n, shares in zip(groups.items(), sizes, raised, strict=True):
                beliefs += [
                    _Belief(c, key, n, int(v), h / sum(held), share, tuple(sizes), tuple(kinds))
                    for v, h, share in zip(values, held, shares, strict=True)
                ]
    people_in = int(spread.sizes[sorted(large)].sum()) if large else 0
    return beliefs, replace(left, large=len(large), in_large=people_in)


def _members(view: TableView, fitting: Fitting) -> dict[int, NDArray[np.int64]] | None:
    """Return the kinds of people in each class that the public table fits exactly."""
    if len(fitting.sizes) != view.evidence.classes:
        return None
    fits = fitting.add_up(fitting.sizes, fitting.sizes)
    alone = fits.classes == 1
    exact = fits.people == fitting.sizes
    order = np.argsort(fits.where[alone], kind="stable")
    kinds, groups = np.flatnonzero(alone)[order], fits.where[alone][order]
    chosen = {}
    for c in range(view.evidence.classes):
        g = int(fitting.group[c])
        inside = kinds[np.searchsorted(groups, g) : np.searchsorted(groups, g, side="right")]
        if exact[g] and fitting.public.counts[inside].sum() == fitting.sizes[g]:
            chosen[c] = inside
    return chosen


def _groups(fitting: Fitting, people: NDArray[np.int64], split: int | None) -> dict[str, list[int]]:
    """Return the kinds of people in the finer groups of a class by one attribute, or by all."""
    groups: dict[str, list[int]] = {}
    for kind in people:
        person = fitting.person(int(kind))
        chosen = person if split is None else {fitting.names[split]: person[fitting.names[split]]}
        groups.setdefault(described(chosen), []).append(int(kind))
    return groups


def _parts(stated: Definition, name: str) -> list[Definition]:
    """Return the parts of a promise that a group of people can be held to on its own."""
    return [part for part in stated.parts if part.per_class and set(part.sensitive) <= {name}]


def _judge(
    parts: list[Definition], name: str, spread: Spread
) -> Callable[[NDArray[np.int64], list[Histogram]], list[bool]]:
    """Return what says of histograms over some values whether a group of them keeps the promise."""

    def keeps(values: NDArray[np.int64], histograms: list[Histogram]) -> list[bool]:
        counts = np.zeros((len(histograms), len(spread.values)), dtype=np.int64)
        counts[:, values] = histograms
        view = SensitiveHistogram(counts, spread.total, spread.values, spread.hierarchy)
        classes = Classes(counts.sum(axis=1), {name: view})
        verdicts = [part.judge(classes) for part in parts]
        return list(np.logical_and.reduce(verdicts).tolist())

    return keeps


def _finding(view: TableView, name: str, belief: _Belief) -> Finding:
    cells = view.evidence.cells(belief.class_)
    return Finding(
        "minimality",
        f"{belief.people} people with {belief.group}, in the class {described(cells)}",
        belief.people,
        f"their {name} is more likely than in their class",
        belief.prior,
        belief.posterior,
        {"class": cells, "finer group": belief.group, "sizes of finer groups": belief.sizes},
        name,
        secret=(view.spread(name).values[belief.value],),
    )
