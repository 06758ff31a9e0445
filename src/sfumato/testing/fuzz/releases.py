"""Random tables × definitions × algorithms, each release held against a brute-force judge.

`fuzz_releases` draws small tables of patients (`patients.py`), most with several rows per person,
draws a promise and an algorithm, and looks at what comes out with code that shares nothing with
the rest (`judge.py`): that every class holds by the people who are really in it; that every
released cell stands for the original one and nothing else changed; that the numbers of people mean
one person of one class; that no more was left out than allowed; that `verify`, from the file alone,
says the same; and that giving up is honest. It raises `AssertionError` with what repeats the case.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.definitions.presence import DeltaPresence, KMap
from sfumato.anonymize.run import anonymize
from sfumato.data.tables.sources import read
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.testing.fuzz.judge import Judge, SeenRow, common_labels, one_class
from sfumato.testing.fuzz.patients import QUASI, SENSITIVE, covers, draw_patients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.testing.fuzz.patients import Patients

ALGORITHMS = ("optimal", "local", "mondrian", "cluster", "topdown", "cells")


@dataclass
class ReleaseFuzz:
    """What was tried: cases, releases that were judged, and those that were refused, by reason."""

    cases: int = 0
    released: int = 0
    several_rows: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    algorithms: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.cases:,} cases, {self.released:,} releases judged, {self.several_rows:,} of "
            f"them with several rows per person, {sum(self.refused.values()):,} refused"
        )


@dataclass(frozen=True)
class Case:
    """One table with what is wanted of it."""

    patients: Patients
    promise: Definition
    algorithm: str
    suppression: float
    order: str
    name: str

    def fail(self, why: str) -> AssertionError:
        """Say what is wrong, and what repeats it."""
        return AssertionError(
            f"{why} ({self.algorithm}, {self.promise}, unit {self.patients.unit}, suppression "
            f"{self.suppression}; {self.name})"
        )


def fuzz_releases(
    *,
    cases: int = 60,
    seconds: float | None = None,
    seed: int = 0,
    algorithms: Sequence[str] = ALGORITHMS,
) -> ReleaseFuzz:
    """Anonymise so many random tables (or until the seconds are over) and judge every release."""
    found, ends = ReleaseFuzz(), None if seconds is None else time.monotonic() + seconds
    while found.cases < cases if ends is None else time.monotonic() < ends:
        name = f"seed={seed}, case {found.cases}"
        rng = random.Random(name)  # noqa: S311 - draws tests, not noise
        algorithm = algorithms[found.cases % len(algorithms)]
        share, order = rng.choice((0.0, 0.0, 0.2, 0.5)), rng.choice(("shuffle", "shuffle", "keep"))
        case = Case(draw_patients(rng), draw_promise(rng), algorithm, share, order, name)
        found.cases += 1
        _try(case, found)
    return found


def draw_promise(rng: random.Random) -> Definition:
    """Draw a promise of one part or several."""
    k = KAnonymity(rng.randint(2, 4))
    others: list[Definition] = [
        DistinctLDiversity(rng.randint(1, 3), "ill"),
        DistinctLDiversity(2, "wage"),
        EntropyLDiversity(rng.choice((1.2, 1.7, 2.2)), "ill"),
        RecursiveLDiversity(rng.choice((1.5, 2, 4)), 2, "ill"),
        TCloseness(rng.choice((0.2, 0.4)), "ill"),
        TCloseness(rng.choice((0.2, 0.6)), "ill", distance="kl"),
        TCloseness(rng.choice((0.15, 0.3)), "wage", distance="ordered"),
        TCloseness(rng.choice((0.2, 0.4)), "ill", distance="hierarchical"),
        BetaLikeness(rng.choice((1.0, 2.0)), "ill"),
        DeltaDisclosure(rng.choice((1.0, 2.0)), "ill"),
        KMap(rng.randint(2, 6)),
        DeltaPresence(0, rng.choice((0.5, 0.8))),
        DeltaPresence(rng.choice((0.05, 0.2)), rng.choice((0.7, 1.0))),
    ]
    drawn = rng.sample(others, rng.choice((0, 1, 1, 2)))
    if not drawn or rng.random() < 0.7:
        drawn.append(k)
    promise = drawn[0]
    for part in drawn[1:]:
        promise = promise & part
    return promise


def _try(case: Case, found: ReleaseFuzz) -> None:
    patients = case.patients
    options: dict[str, Any] = {"order": case.order}
    if case.promise.needs_population:
        options["population"] = patients.population
    table = read(patients.columns, schema=patients.schema())
    try:
        release = anonymize(
            table, case.promise, algorithm=case.algorithm, suppression=case.suppression, **options
        )
    except Unsatisfiable:
        found.refused["cannot be kept"] += 1
        if _could_be_one_class(case):
            raise case.fail("Gave up although one class of everybody holds") from None
        return
    except ParameterError:
        found.refused["too few people"] += 1
        if case.promise.minimum_size <= len(set(patients.people)):
            raise
        return
    found.released += 1
    found.several_rows += len(set(patients.people)) < patients.rows
    found.algorithms[case.algorithm] += 1
    _judge(case, release)


def _could_be_one_class(case: Case) -> bool:
    """Tell whether everybody as one class holds; local recoding shows what all have in common."""
    patients = case.patients
    shown = [("*",) * len(QUASI)]
    if case.algorithm != "optimal":
        shown.append(common_labels(patients.columns))
    for labels in shown:
        judge = Judge(one_class(patients.columns, patients.people, labels), patients.population)
        if not all(judge.holds(part) for part in case.promise.parts):
            return False
    return True


def _judge(case: Case, release: Any) -> None:
    """Judge a release by the truth where rows are marked, and else from the file alone."""
    patients = case.patients
    names = list(release.rows.columns)
    rows = [dict(zip(names, cells, strict=True)) for cells in _cells(release)]
    allowed = case.suppression * patients.rows + 1e-9
    if patients.rows - len(rows) != release.suppressed or release.suppressed > allowed:
        raise case.fail(f"{patients.rows - len(rows)} rows are missing")
    seen = _true_rows(case, rows) if patients.marked else _shown_rows(case, rows)
    judge = Judge(seen, patients.population)
    checked = release.verify()
    for part, row in zip(case.promise.parts, checked.promises, strict=True):
        if not judge.holds(part):
            raise case.fail(f"{part} does not hold")
        if not row.holds:
            raise case.fail(f"{part} holds, and verify says it does not: {checked}")
    smallest = min(judge.size(labels) for labels in judge.classes)
    measured = checked.measured[0].found
    if measured != smallest:
        raise case.fail(f"The smallest class has {smallest} people, and verify says {measured}")
    if not patients.marked and not checked.holds:
        raise case.fail(f"verify does not hold: {checked}")


def _cells(release: Any) -> list[list[str]]:
    """Return the released rows as texts."""
    frame = release.rows.frame("columns")
    columns = [[("" if cell is None else str(cell)) for cell in frame[name]] for name in frame]
    return [list(row) for row in zip(*columns, strict=True)]


def _true_rows(case: Case, rows: list[dict[str, str]]) -> list[SeenRow]:
    """Find the original of every row, and hold it against what was released."""
    patients = case.patients
    place = {mark: i for i, mark in enumerate(patients.columns["mark"])}
    seen: list[SeenRow] = []
    numbers: dict[tuple[tuple[str, ...], str], set[str]] = {}
    for row in rows:
        i = place.pop(row["mark"], None)
        if i is None:
            raise case.fail("A row was released twice, or invented")
        for name in QUASI:
            if not covers(name, row[name], patients.columns[name][i]):
                raise case.fail(f"'{row[name]}' of {name} does not stand for what was there")
        values = {name: row[name] for name in SENSITIVE}
        if any(values[name] != patients.columns[name][i] for name in SENSITIVE):
            raise case.fail("A sensitive value was changed")
        labels = tuple(row[name] for name in QUASI)
        seen.append(SeenRow(labels, patients.people[i], values))
        if "person_in_class" in row:
            numbers.setdefault((labels, row["person_in_class"]), set()).add(patients.people[i])
    pairs = {(row.labels, row.person) for row in seen}
    if numbers and (any(len(who) > 1 for who in numbers.values()) or len(numbers) != len(pairs)):
        raise case.fail("Numbers do not mean one person of one class")
    return seen


def _shown_rows(case: Case, rows: list[dict[str, str]]) -> list[SeenRow]:
    """Take people for whom the file says they are, as a stranger must."""
    several = len(set(case.patients.people)) < case.patients.rows
    if several and "person_in_class" not in rows[0]:
        raise case.fail("Nobody can count the people of a class")
    return [
        SeenRow(
            tuple(row[name] for name in QUASI),
            row.get("person_in_class", str(i)),
            {name: row[name] for name in SENSITIVE},
        )
        for i, row in enumerate(rows)
    ]
