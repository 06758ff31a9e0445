"""Differencing: two harmless questions whose answers differ by one person.

The average salary of a faculty and that of the faculty without the one hired in 2020 give
away a salary, though neither is about one person (Denning, Denning, Schwartz: The Tracker,
1979). Given a query function and what is known about the target, the attack searches for
such a pair: a base that the target is in, and the base without whoever has some further
attributes of the target's. The counts of both must differ by exactly one.

A limit on the size of the set asked about does not help: the search starts with the widest
bases. What helps is noise. The attack asks every question of the pair twice; answers
that change are noisy, and one difference then says little (`answers` says how little).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

from sfumato.attack.finding import Finding, Outcome, checked_count, described
from sfumato.errors import ParameterError
from sfumato.representation import Written

Answers = Literal["sum", "mean"]


@dataclass(frozen=True)
class Condition(Written):
    """Who is asked about: all of `including` must match, and not all of `excluding`.

    It is a predicate on records (mappings), and it reads as SQL.
    """

    including: tuple[tuple[str, Any], ...] = ()
    excluding: tuple[tuple[str, Any], ...] = ()

    def __call__(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is asked about."""
        if any(record[name] != value for name, value in self.including):
            return False
        if not self.excluding:
            return True
        return any(record[name] != value for name, value in self.excluding)

    @property
    def sql(self) -> str:
        """The condition as SQL."""
        wanted = [f"{_name(name)} = {_literal(value)}" for name, value in self.including]
        without = [f"{_name(name)} = {_literal(value)}" for name, value in self.excluding]
        if without:
            wanted.append(f"NOT ({' AND '.join(without)})")
        return " AND ".join(wanted) or "true"

    def __str__(self) -> str:
        return self.sql


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


Query = Callable[[Condition], Any]


@dataclass
class _Interface:
    """The query functions, with every question asked remembered and counted."""

    query: Query
    count: Query
    limit: int
    asked: int = 0
    known: dict[tuple[bool, Condition], float | None] = field(default_factory=dict)

    def answer(self, condition: Condition, *, count: bool = False, again: bool = False) -> Any:
        """Return the answer as a number, or None if it is refused."""
        key = (count, condition)
        if key not in self.known or again:
            self.asked += 1
            try:
                answer = (self.count if count else self.query)(condition)
                value = None if answer is None else float(answer)
            except Exception:  # noqa: BLE001 - a refusal, in whatever form
                value = None
            if again:
                return value
            self.known[key] = None if value is None or math.isnan(value) else value
        return self.known[key]

    @property
    def spent(self) -> bool:
        """Whether no further question may be asked."""
        return self.asked >= self.limit


def differencing(
    query: Query,
    target: Mapping[str, Any],
    *,
    count: Query,
    answers: Answers = "mean",
    questions: int = 2_000,
    secret: str = "secret",  # noqa: S107 - a name, no password
) -> Outcome:
    """Search for two questions whose difference is the target's secret.

    `query` takes a `Condition` and answers with the sum or mean (`answers`) of the secret over
    the people it selects; `count` says how many they are. Both may refuse by returning
    None or raising. `target` is what is known about the target; `secret` names what is asked
    about. At most `questions` are asked.
    """
    if answers not in {"sum", "mean"}:
        raise ParameterError(f"answers must be 'sum' or 'mean', not {answers!r}.")
    checked_count("questions", questions, low=2)
    if not target:
        raise ParameterError("Nothing is known about the target; give at least one attribute.")
    asked = _Interface(query, count, questions)
    pair = _pair(asked, target)
    if pair is None:
        return _outcome(asked, target, secret, None, "no pair of questions isolates the target")
    steady = all(
        asked.answer(c, count=n, again=True) == asked.answer(c, count=n)
        for c in pair
        for n in (False, True)
    )
    if not steady:
        return _outcome(
            asked, target, secret, None, "the answers are noisy: asked again, they differ"
        )
    value = _difference(asked, pair, answers)
    return _outcome(asked, target, secret, (pair, value), "")


def _pair(asked: _Interface, target: Mapping[str, Any]) -> tuple[Condition, Condition] | None:
    """Return the first base, widest first, from which one further condition takes one person."""
    for base, further in _splits(target):
        if asked.spent:
            return None
        whole, without = Condition(base), Condition(base, further)
        sizes = [asked.answer(c, count=True) for c in (whole, without)]
        if None in sizes or sizes[0] - sizes[1] != 1:
            continue
        if None not in (asked.answer(whole), asked.answer(without)) or sizes[1] == 0:
            return whole, without
    return None


def _splits(
    target: Mapping[str, Any],
) -> Iterator[tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, Any], ...]]]:
    """Return every way to use what is known as a base and a further condition."""
    names = list(target)
    for used in range(1, len(names) + 1):
        for width in range(used):
            for base in combinations(names, width):
                rest = [name for name in names if name not in base]
                for further in combinations(rest, used - width):
                    yield (
                        tuple((name, target[name]) for name in base),
                        tuple((name, target[name]) for name in further),
                    )


def _difference(asked: _Interface, pair: tuple[Condition, Condition], answers: str) -> float:
    whole, without = (asked.answer(c) for c in pair)
    if answers == "sum":
        return float(whole - (without or 0.0))
    size = asked.answer(pair[0], count=True)
    return float(size * whole - (size - 1) * (without or 0.0))


def _outcome(
    asked: _Interface,
    target: Mapping[str, Any],
    secret: str,
    found: tuple[tuple[Condition, Condition], float] | None,
    note: str,
) -> Outcome:
    who = described({name: str(value) for name, value in target.items()})
    findings: tuple[Finding, ...] = ()
    if found is not None:
        (whole, without), value = found
        evidence = {"questions": (whole.sql, without.sql), "asked in all": asked.asked}
        findings = (
            Finding("differencing", who, 1, f"their {secret}", 0.0, 1.0, evidence, secret,
                    secret=(f"{value:.12g}",)),
        )  # fmt: skip
    return Outcome(
        "differencing",
        f"{', '.join(target)} of the target, and may ask questions",
        "confidence",
        1,
        len(findings),
        0.0,
        1.0 if findings else 0.0,
        1.0,
        findings,
        "differential privacy with one budget for all questions",
        attribute=secret,
        figures={"questions asked": float(asked.asked)},
        notes=(note,) if note else (),
    )
