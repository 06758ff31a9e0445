"""Composition: two releases of overlapping data, intersected.

Ganta, Kasiviswanathan, Smith: Composition Attacks and Auxiliary Information in Data Privacy,
KDD 2008. Somebody known to be in both releases is in a class of each, and the sensitive value
is one that both classes have. Two releases that each keep their promise may leave one value.

The posterior of value v is proportional to p₁(v)·p₂(v)/q(v): the shares in the two classes,
taken as independent looks at a value whose share at large is q. A single common value
leaves no doubt, whatever the shares. Without knowing who is in both, every pair of classes that one
person can be in is looked at; with `people`, only those people.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import (
    NEARLY,
    SHOWN,
    Finding,
    Outcome,
    checked_share,
    class_query,
    described,
)
from sfumato.attack.releases.fit import fit
from sfumato.errors import SchemaError
from sfumato.released.compatibility import compatible
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.attack.releases.fit import Fitting
    from sfumato.data.schema import Schema
    from sfumato.released.tables import TableView


@dataclass(frozen=True, eq=False)
class _Values:
    """Shares of the sensitive values in the classes of both releases, values in common order."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    overall: NDArray[np.float64]
    texts: tuple[str, ...]

    def posterior(
        self, first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the belief about somebody with these two distributions; zeros if impossible."""
        weight = first * second / self.overall
        total = weight.sum()
        return weight / total if total > 0 else weight


@dataclass(frozen=True)
class _Case:
    """A person, or a pair of classes, with what both releases leave."""

    who: str
    people: int
    value: int
    prior: float
    posterior: float
    classes: tuple[int, int]


def composition(
    first: Any,
    second: Any,
    *,
    people: Any = None,
    confidence: float = 0.9,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    second_schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Intersect two releases; find who is known with `confidence` from both, not from one.

    `people` is a table of those known to be in both. Without it `people` in the outcome are
    pairs of classes that one person can be in.
    """
    limit = checked_share("confidence", confidence)
    first_view = see_people(first, schema)
    second_view = see_people(second, second_schema or schema)
    name = first_view.attribute(attribute)
    if name not in second_view.evidence.sensitive:
        raise SchemaError(f"The second release has no '{name}', so there is nothing to intersect.")
    values = _values(first_view, second_view, name)
    cases = [
        *(
            _pairs(first_view, second_view, values)
            if people is None
            else _known(first_view, second_view, values, people)
        )
    ]
    exposed = [c for c in cases if c.posterior >= limit - NEARLY > c.prior]
    exposed.sort(key=lambda c: (c.prior - c.posterior, -c.people))
    worst = max(cases, key=lambda c: c.posterior - c.prior, default=None)
    kind = "people" if people is not None else "pairs of classes"
    return Outcome(
        "composition",
        "a second release, and that the target is in both",
        "confidence",
        sum(c.people for c in cases) if people is not None else len(cases),
        sum(c.people for c in exposed) if people is not None else len(exposed),
        worst.prior if worst else 0.0,
        worst.posterior if worst else 0.0,
        limit,
        tuple(_finding(first_view, second_view, name, values, c) for c in exposed[:most]),
        "one release instead of two, or differential privacy, whose guarantees add up",
        attribute=name,
        figures={f"{kind} with one value left": float(sum(_single(c) for c in cases))},
        unit=kind,
    )


def _single(case: _Case) -> bool:
    return case.posterior >= 1 - NEARLY > case.prior


def _values(first: TableView, second: TableView, name: str) -> _Values:
    texts = tuple(dict.fromkeys([*first.spread(name).values, *second.spread(name).values]))
    place = {text: i for i, text in enumerate(texts)}
    shares = []
    total = np.zeros(len(texts))
    for view in (first, second):
        spread = view.spread(name)
        to = np.array([place[text] for text in spread.values])
        share = np.zeros((len(spread.sizes), len(texts)))
        share[spread.class_, to[spread.value]] = spread.inside
        shares.append(share)
        np.add.at(total, to, spread.total)
    return _Values(shares[0], shares[1], total / total.sum(), texts)


def _pairs(first: TableView, second: TableView, values: _Values) -> Iterator[_Case]:
    """Look at every pair of classes that one person can be in."""
    a, b = first.evidence, second.evidence
    names = [name for name in a.quasi if name in b.quasi]
    meets = np.ones((a.classes, b.classes), dtype=np.bool_)
    for name in names:
        i, j = a.quasi.index(name), b.quasi.index(name)
        fits = compatible(a.labels[i], b.labels[j], first.schema.attribute(name).hierarchy)
        meets &= fits[np.ix_(a.codes[:, i], b.codes[:, j])]
    for c, d in np.argwhere(meets):
        p, q = values.first[c], values.second[d]
        shown = described(a.cells(int(c)))
        yield from _case(values, p, q, f"anybody in both with {shown}", 1, (int(c), int(d)))


def _known(first: TableView, second: TableView, values: _Values, people: Any) -> Iterator[_Case]:
    """Look at people who are known to be in both releases."""
    fits = [fit(view, people) for view in (first, second)]
    if fits[0].names != fits[1].names:
        shared = tuple(name for name in fits[0].names if name in fits[1].names)
        fits = [fit(view, people, on=shared) for view in (first, second)]
    walked = [fitting.add_up(fitting.sizes, fitting.sizes) for fitting in fits]
    members = [_classes_of_groups(fitting) for fitting in fits]
    inside = np.flatnonzero((walked[0].classes > 0) & (walked[1].classes > 0))
    for kind in inside.tolist():
        mixed, chosen = [], []
        for view, fitting, found, classes_of, share in zip(
            (first, second), fits, walked, members, (values.first, values.second), strict=True
        ):
            alone = found.classes[kind] == 1
            groups = found.where[kind : kind + 1] if alone else fitting.groups_of(kind)
            classes = np.concatenate([classes_of[int(g)] for g in groups])
            sizes = view.evidence.sizes[classes].astype(np.float64)
            mixed.append((share[classes] * sizes[:, None]).sum(axis=0) / sizes.sum())
            chosen.append(int(classes[0]))
        count = int(fits[0].public.counts[kind])
        who = described(fits[0].person(kind))
        yield from _case(values, mixed[0], mixed[1], who, count, (chosen[0], chosen[1]))


def _classes_of_groups(fitting: Fitting) -> list[NDArray[np.int64]]:
    """Return the classes of each group of classes that look alike."""
    order = np.argsort(fitting.group, kind="stable")
    bounds = np.searchsorted(fitting.group[order], np.arange(len(fitting.sizes) + 1))
    return [order[a:b] for a, b in pairwise(bounds)]


def _case(
    values: _Values,
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    who: str,
    people: int,
    classes: tuple[int, int],
) -> Iterator[_Case]:
    posterior = values.posterior(first, second)
    if posterior.sum() > 0:
        value = int(np.argmax(posterior))
        before = float(max(first[value], second[value]))
        yield _Case(who, people, value, before, float(posterior[value]), classes)


def _finding(
    first: TableView, second: TableView, name: str, values: _Values, case: _Case
) -> Finding:
    cells = [s.evidence.cells(c) for s, c in zip((first, second), case.classes, strict=True)]
    return Finding(
        "composition",
        case.who,
        case.people,
        f"their {name}, from both releases together",
        case.prior,
        case.posterior,
        {
            "class in the first": cells[0],
            "class in the second": cells[1],
            "replay": [class_query(c, name, s) for c, s in zip(cells, ("first", "second"),
                                                               strict=True)],
        },
        name,
        secret=(values.texts[case.value],),
    )  # fmt: skip
