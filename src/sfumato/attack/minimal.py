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
too large for that are left alone. The attack assumes an algorithm that decides class by
class. Where a finer group has fewer than k people, the class was generalised for k's sake,
every way breaks the promise, and the belief stays what it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.classes import Classes, SensitiveHistogram
from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_share,
    described,
)
from sfumato.attack.fitting import fit
from sfumato.attack.sight import see
from sfumato.attack.ways import MOST, after_violation, steps
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions import Definition
    from sfumato.attack.fitting import Fitting
    from sfumato.attack.sight import Sight
    from sfumato.attack.ways import Histogram
    from sfumato.audit.evidence import Spread
    from sfumato.data.schema import Schema


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
    sight = see(release, schema)
    name = sight.attribute(attribute)
    stated = promise or sight.promise
    if stated is None:
        raise ParameterError(
            "Minimality needs to know what the algorithm was asked for; give promise=."
        )
    fitting = fit(sight, public)
    beliefs = _beliefs(sight, fitting, name, stated)
    found = [b for b in beliefs if b.posterior - b.prior >= limit - NEARLY]
    found.sort(key=lambda b: (b.prior - b.posterior, -b.people))
    worst = max(beliefs, key=lambda b: b.posterior - b.prior, default=None)
    exposed: dict[tuple[int, str], int] = {(b.class_, b.group): b.people for b in found}
    return Outcome(
        "minimality",
        f"who is in each class, and that the algorithm kept {stated} and no more",
        "gain",
        sight.records,
        sum(exposed.values()),
        worst.prior if worst else 0.0,
        worst.posterior if worst else 0.0,
        limit,
        tuple(_finding(sight, name, b) for b in found[:most]),
        "an algorithm that does not go to the limit, or differential privacy",
        attribute=name,
        figures={"finer groups looked at": float(len(beliefs))},
    )


def _beliefs(sight: Sight, fitting: Fitting, name: str, stated: Definition) -> list[_Belief]:
    members = _members(sight, fitting)
    parts = _parts(stated, name)
    if not members or not parts:
        return []
    spread = sight.spread(name)
    keeps = _judge(parts, name, spread)
    starts = np.searchsorted(spread.class_, np.arange(len(spread.sizes) + 1))
    splits = [*range(len(fitting.names)), None] if len(fitting.names) > 1 else [0]
    beliefs: list[_Belief] = []
    budget = EFFORT
    for c in sorted(members, key=lambda c: spread.sizes[c]):
        people = members[c]
        inside = slice(starts[c], starts[c + 1])
        values, held = spread.value[inside], tuple(spread.count[inside].tolist())
        if math.prod(count + 1 for count in held) > MOST:
            continue
        for split in splits:
            keys, sizes = _groups(fitting, people, split)
            effort = steps(sizes, held) if len(held) > 1 else 0
            if len(sizes) < 2 or not 0 < effort <= min(budget, MOST):
                continue
            budget -= effort
            raised = after_violation(sizes, held, partial(keeps, values))
            if raised is None:
                continue
            for key, n, shares in zip(keys, sizes, raised, strict=True):
                beliefs += [
                    _Belief(c, key, n, int(v), h / sum(held), share, tuple(sizes))
                    for v, h, share in zip(values, held, shares, strict=True)
                ]
    return beliefs


def _members(sight: Sight, fitting: Fitting) -> dict[int, NDArray[np.int64]] | None:
    """Return the kinds of people in each class that the public table fits exactly."""
    if len(fitting.sizes) != sight.evidence.classes:
        return None
    fits = fitting.add_up(fitting.sizes, fitting.sizes)
    alone = fits.classes == 1
    exact = fits.people == fitting.sizes
    order = np.argsort(fits.where[alone], kind="stable")
    kinds, groups = np.flatnonzero(alone)[order], fits.where[alone][order]
    chosen = {}
    for c in range(sight.evidence.classes):
        g = int(fitting.group[c])
        inside = kinds[np.searchsorted(groups, g) : np.searchsorted(groups, g, side="right")]
        if exact[g] and fitting.public.counts[inside].sum() == fitting.sizes[g]:
            chosen[c] = inside
    return chosen


def _groups(
    fitting: Fitting, people: NDArray[np.int64], split: int | None
) -> tuple[list[str], list[int]]:
    """Return the finer groups of a class by one attribute, or by all (None), and their sizes."""
    sizes: dict[str, int] = {}
    for kind in people:
        person = fitting.person(int(kind))
        chosen = person if split is None else {fitting.names[split]: person[fitting.names[split]]}
        key = described(chosen)
        sizes[key] = sizes.get(key, 0) + int(fitting.public.counts[kind])
    return list(sizes), list(sizes.values())


def _parts(stated: Definition, name: str) -> list[Definition]:
    """Return the parts of a promise that a group of people can be held to on its own."""
    return [
        part
        for part in stated.parts
        if not part.needs_population
        and not getattr(part, "on", ())
        and set(part.sensitive) <= {name}
    ]


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


def _finding(sight: Sight, name: str, belief: _Belief) -> Finding:
    cells = sight.evidence.cells(belief.class_)
    return Finding(
        "minimality",
        f"{belief.people} people with {belief.group}, in the class {described(cells)}",
        belief.people,
        f"their {name} is more likely than in their class",
        belief.prior,
        belief.posterior,
        {"class": cells, "finer group": belief.group, "sizes of finer groups": belief.sizes},
        name,
        secret=(sight.spread(name).values[belief.value],),
    )
