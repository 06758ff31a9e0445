"""Linkage: people of a public table found again in a release.

Sweeney (k-anonymity: a model for protecting privacy, 2002) joined a voters' list with
hospital records on zip code, birth date and sex and found the Governor. Here the released
quasi-identifiers may be generalised: `130**`, `[30,40)` or a node of a tree matches every
value it may stand for.

Two adversaries, in the words of `audit.risk`:

* the prosecutor knows that the target is in the release. A person who fits N released
  records is found with confidence 1/N; one who fits a single record is found for certain.
* the journalist knows the public table to hold everybody who could be in the release. A
  record that P people fit belongs to each of them with confidence 1/P, and for certain when
  P is 1. A class with more records than people who fit it shows that the table does not
  hold everybody; its records then count as that many people.

Expected re-identifications are those of an adversary who guesses evenly among candidates.
Columns that are released as they are count, too: `column_linkage` finds people by those that are
nearly unique, with no table of people at hand, for every other file that has them would do.

For classes that overlap (local recoding) the confidence is that of guessing evenly; what
can be excluded because somebody else must have a record is not followed up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.presence import KMap
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
from sfumato.data.engines.duckdb import quoted, quoted_text
from sfumato.errors import ParameterError, SchemaError
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.attack.releases.fit import Fitting
    from sfumato.data.schema import Schema
    from sfumato.released.tables import TableView

COLUMNS = "linkage by columns released as they are"

Adversary = Literal["journalist", "prosecutor"]


@dataclass(frozen=True)
class Linkage(Outcome):
    """Who was found again, and how surely.

    The arrays have one entry per kind of person in the public table, in the order of
    `columns`: `people` of that kind, the released `records` they fit, and the `confidence`
    with which one of those records is theirs.
    """

    expected: float = 0.0
    certain: int = 0
    confidence: NDArray[np.float64] = field(
        default_factory=lambda: np.zeros(0), repr=False, compare=False
    )
    records: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(0, np.int64), repr=False, compare=False
    )
    fitting: Fitting | None = field(default=None, repr=False, compare=False)

    @property
    def columns(self) -> dict[str, Any]:
        """Quasi-identifiers, people, fitting records and confidence, one row per kind of person."""
        assert self.fitting is not None
        public = self.fitting.public
        values = {
            name: np.array(public.values[a], dtype=object)[public.codes[a]]
            for a, name in enumerate(self.fitting.names)
        }
        return {
            **values,
            "people": public.counts,
            "fitting records": self.records,
            "confidence": self.confidence,
        }

    def candidates(self, kind: int) -> list[tuple[dict[str, str], int]]:
        """Return the released classes a kind of person fits, with their sizes."""
        assert self.fitting is not None
        groups = self.fitting.groups_of(kind)
        return [(self.fitting.cells(int(g)), int(self.fitting.sizes[g])) for g in groups]


def linkage(
    release: Any,
    public: Any,
    *,
    schema: str | Path | Schema | None = None,
    adversary: Adversary = "journalist",
    confidence: float = 0.9,
    names: str | None = None,
    on: tuple[str, ...] | None = None,
    most: int = SHOWN,
) -> Linkage:
    """Find people of a public table in a release.

    Somebody found with at least `confidence` is exposed. `names` is a column of the public
    table that says who people are; without it findings name them by quasi-identifiers. `on`
    limits the attributes compared; `most` is the number of findings to keep.
    """
    if adversary not in {"journalist", "prosecutor"}:
        raise ParameterError(f"adversary must be 'journalist' or 'prosecutor', not {adversary!r}.")
    limit = checked_share("confidence", confidence)
    checked_count("most", most)
    view = see_people(release, schema)
    fitting = fit(view, public, on=on)
    if names is not None and names not in fitting.table.columns:
        raise SchemaError(f"{fitting.table.source} has no column '{names}' to name people by.")
    return _linked(view, fitting, adversary, limit, names, most)


def column_linkage(
    release: Any,
    *,
    schema: str | Path | Schema | None = None,
    confidence: float = 0.9,
    most: int = SHOWN,
) -> Outcome:
    """Find people by the nearly unique columns that are released as they are.

    The attacker has another file with these columns and the quasi-identifiers. A column that the
    schema calls `linkable: accepted, <reason>` does not count.
    """
    limit = checked_share("confidence", confidence)
    checked_count("most", most)
    view = see_people(release, schema)
    accepted = view.schema.accepted
    columns = [found.column for found in view.linkable if found.column not in accepted]
    sizes = view.linked.evidence.sizes
    exposed = np.flatnonzero(1 / sizes >= limit - NEARLY) if columns else np.zeros(0, np.int64)
    people = int(view.evidence.sizes.sum())
    named = ", ".join(columns) or "no column that is released as it is and nearly unique"
    return Outcome(
        COLUMNS,
        f"{named}, and the quasi-identifiers",
        "confidence",
        people,
        int(sizes[exposed].sum()),
        1 / people,
        1 / int(sizes.min()),
        limit,
        tuple(
            Finding(
                COLUMNS,
                f"the only person with some value of {named}",
                int(sizes[c]),
                "which released record is theirs, and all that it says",
                1 / people,
                1 / int(sizes[c]),
                {"columns": columns, "class": view.linked.evidence.cells(int(c))},
            )
            for c in exposed[:most]
        ),
        f"the role 'quasi' for {named}, or leaving it out",
        figures={"records alone with their values": float((sizes == 1).sum())},
        serious=bool(columns),
    )


def _linked(
    view: TableView,
    fitting: Fitting,
    adversary: str,
    limit: float,
    names: str | None,
    most: int,
) -> Linkage:
    sizes = fitting.sizes
    first = fitting.add_up(sizes, 1 / sizes)
    records = first.total.astype(np.int64)
    weights = fitting.public.counts
    crowd = np.maximum(first.people, sizes)
    fits = records > 0
    if adversary == "prosecutor":
        sure = np.where(fits, 1 / np.maximum(records, 1), 0.0)
        where = first.where
        expected = float((weights * sure).sum())
    else:
        second = fitting.add_up(sizes, 1 / crowd)
        sure, where = np.where(fits, second.best, 0.0), second.where
        expected = float((sizes / crowd)[first.people > 0].sum())
    exposed = (sure >= limit - NEARLY) & fits
    certain = (sure >= 1 - NEARLY) & fits
    chosen = np.argsort(-sure, kind="stable")[: min(most, int(exposed.sum()))]
    worst = float(sure.max(initial=0.0))
    stop = _stop(adversary, limit)
    who = "the target is in the release" if adversary == "prosecutor" else "who may be in it"
    return Linkage(
        f"linkage by a {adversary}",
        f"{', '.join(fitting.names)} of {fitting.total:,} people, and {who}",
        "confidence",
        fitting.total,
        int(weights[exposed].sum()),
        _prior(adversary, view.records, fitting.total),
        worst,
        limit,
        tuple(
            _finding(view, fitting, int(i), int(where[i]), float(sure[i]), adversary, who_is)
            for i, who_is in zip(chosen, _named(fitting, chosen, names), strict=True)
        ),
        f"{stop}: nobody is found with more than 1/{getattr(stop, 'k', 2)}",
        stop,
        figures={
            "people who fit a record": float(weights[fits].sum()),
            "expected re-identifications": expected,
            "certain re-identifications": float(weights[certain].sum()),
        },
        notes=_notes(fitting, first.people, adversary),
        expected=expected,
        certain=int(weights[certain].sum()),
        confidence=sure,
        records=records,
        fitting=fitting,
    )


def _prior(adversary: str, records: int, people: int) -> float:
    """Return the confidence of a guess without any quasi-identifier."""
    return 1 / records if adversary == "prosecutor" else 1 / max(people, records)


def _stop(adversary: str, limit: float) -> Definition:
    """Return the definition under which nobody reaches the confidence."""
    k = max(int(np.floor(1 / limit + NEARLY)) + 1, 2)
    return KAnonymity(k) if adversary == "prosecutor" else KMap(k)


def _finding(
    view: TableView,
    fitting: Fitting,
    kind: int,
    group: int,
    sure: float,
    adversary: str,
    who: str,
) -> Finding:
    person = fitting.person(kind)
    people = int(fitting.public.counts[kind])
    classes = np.flatnonzero(fitting.group == group)
    return Finding(
        "linkage",
        who,
        people,
        "which released record is theirs, and all that it says",
        _prior(adversary, view.records, fitting.total),
        sure,
        {
            "person": person,
            "class": fitting.cells(group),
            "records in the class": int(fitting.sizes[group]),
            "replay": _replay(fitting, kind),
        },
        secret=_said(view, classes),
    )


def _named(fitting: Fitting, kinds: NDArray[np.int64], names: str | None) -> list[str]:
    """Return who some people are: by the public table's column, or by quasi-identifiers."""
    people = [fitting.person(int(kind)) for kind in kinds]
    if names is None or not people:
        return [described(person) for person in people]
    table = fitting.table
    columns = ", ".join(table.text(name) for name in fitting.names)
    wanted = ", ".join(
        f"({', '.join(quoted_text(text) for text in person.values())})" for person in people
    )
    query = (
        f"SELECT DISTINCT {columns}, {table.text(names)} FROM {table.scan} "  # noqa: S608 - quoted
        f"WHERE ({columns}) IN ({wanted})"
    )
    known: dict[tuple[str, ...], list[str]] = {}
    for row in table.run(query):
        known.setdefault(tuple(row[:-1]), []).append(str(row[-1]))
    found = [sorted(known.get(tuple(person.values()), ["(no name)"])) for person in people]
    return [" or ".join(called[:2]) + (" or others" if len(called) > 2 else "") for called in found]


def _said(view: TableView, classes: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the sensitive values that all records of some classes agree on."""
    said = []
    for name, spread in view.evidence.sensitive.items():
        values = np.unique(spread.value[np.isin(spread.class_, classes)])
        if len(values) == 1:
            said.append(f"{name} = {spread.values[int(values[0])]}")
    return tuple(said)


def _replay(fitting: Fitting, kind: int) -> str:
    """Return SQL that shows the released records a person fits."""
    tests = []
    for a, name in enumerate(fitting.names):
        labels = fitting.covers[a].of(int(fitting.public.codes[a][kind]))
        texts = ", ".join(quoted_text(fitting.labels[a][int(label)]) for label in labels)
        tests.append(f"coalesce({quoted(name)}::VARCHAR, '') IN ({texts})")
    return f"SELECT * FROM release WHERE {' AND '.join(tests)}"  # noqa: S608 - quoted above


def _notes(fitting: Fitting, people: NDArray[np.int64], adversary: str) -> tuple[str, ...]:
    notes = [
        f"{count} label(s) of {name} cannot be read without a hierarchy and count as any value"
        for name, count in fitting.unread.items()
    ]
    lacking = int((people < fitting.sizes).sum())
    if lacking and adversary == "journalist":
        notes.append(
            f"{lacking} class(es) have more records than people of the public table who fit them, "
            "so it does not hold everybody; their records count as that many people"
        )
    return tuple(notes)
