"""The check before a release leaves: every attack that fits, before and after.

`precheck` runs the attacks of `attack/` on a release and, where the original data are at hand,
on those too, and says for each what happened, and which definition would have stopped it. It
proves nothing: an attack that fails here may succeed for an adversary who knows more. A
promise is what `verify` checks; this is what an adversary would try first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import checked_count, checked_share
from sfumato.attack.releases.attribute_inference import attribute_inference
from sfumato.attack.releases.background_knowledge import background_knowledge
from sfumato.attack.releases.composition import composition
from sfumato.attack.releases.de_finetti import de_finetti
from sfumato.attack.releases.homogeneity import homogeneity
from sfumato.attack.releases.linkage import linkage
from sfumato.attack.releases.membership import membership
from sfumato.attack.releases.minimality import minimality
from sfumato.attack.releases.probabilistic_inference import probabilistic_inference
from sfumato.attack.releases.similarity import similarity
from sfumato.attack.releases.skewness import skewness
from sfumato.data.numbers import number
from sfumato.data.tables.sources import read
from sfumato.release import Release
from sfumato.released.view import see

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.attack.finding import Outcome
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table
    from sfumato.released.view import AdversaryView

LARGEST_MODEL = 10_000_000
"""Beliefs (people times values) up to which a model over all classes is learnt."""


@dataclass(frozen=True)
class Tried:
    """One attack, on the original data (where they are known) and on the release."""

    after: Outcome
    before: Outcome | None = None

    @property
    def name(self) -> str:
        """The attack and its attribute."""
        return self.after.name

    @property
    def verdict(self) -> str:
        """What became of it, in a word or two."""
        if self.after.succeeds:
            return "succeeds"
        return "stopped" if self.before is not None and self.before.succeeds else "fails"


@dataclass(frozen=True)
class Precheck:
    """What every attack that fits did to a release; `skipped` says which did not fit, and why."""

    source: str
    records: int
    promise: str
    tried: tuple[Tried, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no attack succeeds on the release."""
        return not self.succeeding

    @property
    def succeeding(self) -> tuple[Tried, ...]:
        """The attacks that succeed on the release."""
        return tuple(one for one in self.tried if one.after.succeeds)

    def outcome(self, name: str) -> Outcome:
        """Return what one attack did to the release, by its name as the table shows it."""
        return next(one.after for one in self.tried if one.name == name)

    @property
    def table(self) -> list[tuple[str, str, str, str, str]]:
        """Attack, people exposed before and after, verdict, and what would have stopped it."""
        return [
            (
                one.name,
                "–" if one.before is None else exposure(one.before),
                exposure(one.after),
                one.verdict,
                one.after.remedy,
            )
            for one in self.tried
        ]

    def told(self, *, reveal: bool = False) -> str:
        """Return the table and the worst findings as text."""
        count = f"{len(self.succeeding)} of {len(self.tried)} attacks succeed"
        lines = [f"{self.source}, which promises {self.promise}: {count}"]
        for name, before, after, verdict, remedy in self.table:
            lines.append(f"  {name}: {verdict}; exposed before {before}, after {after}")
            if verdict == "succeeds":
                finding = next(iter(self.outcome(name).findings), None)
                lines += [f"    {finding.told(reveal=reveal)}"] if finding else []
                lines.append(f"    would have stopped it: {remedy}")
        lines += [f"  not tried: {name} ({why})" for name, why in self.skipped]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.told()


def exposure(outcome: Outcome) -> str:
    """Return how many people an attack exposed, and their share."""
    share = 100 * outcome.share
    shown = "<0.1" if 0 < share < 0.05 else f"{share:.1f}"
    kind = "" if outcome.unit == "people" else f" {outcome.unit}"
    return f"{outcome.exposed:,}{kind} ({shown}\N{NO-BREAK SPACE}%)"


def precheck(
    release: Any,
    *,
    public: Any = None,
    original: Any = None,
    other: Any = None,
    schema: str | Path | Schema | None = None,
    confidence: float = 0.9,
    gain: float = 0.25,
    facts: int = 1,
) -> Precheck:
    """Run every attack that fits a release, and say which succeed, before and after.

    `public` is a table of people the adversary can look up, `original` the data as they
    came (known where `release` is a `Release`), `other` an earlier release of overlapping
    data. The attacks count as exposed whom they are `confidence` sure of, or about whom they
    `gain` as much; `facts` is what an adversary with background knowledge can rule out.
    """
    checked_share("confidence", confidence)
    checked_share("gain", gain)
    checked_count("facts", facts)
    after = see(release, schema)
    if original is None and isinstance(release, Release):
        original = _as_it_came(release)
    came = None if original is None else read(original)
    before = None if came is None else see(came, after.schema)
    bench = _Bench(after, before, came, None if public is None else read(public),
                   confidence, gain, facts)  # fmt: skip
    tried = [*bench.linkages(), *bench.classes(), *bench.with_people()]
    skipped = bench.skipped
    if other is not None:
        tried += bench.compositions(other)
    else:
        skipped.append(("composition", "no other release was given"))
    words = "nothing" if after.promise is None else str(after.promise)
    if after.untruthful:
        words += f" (single records are no longer facts: {', '.join(after.untruthful)})"
    return Precheck(after.evidence.source, after.records, words, tuple(tried), tuple(skipped))


def _as_it_came(release: Release) -> dict[str, NDArray[Any]]:
    """Return the quasi-identifiers and judged attributes of the original records."""
    problem = release.decision.problem
    table, counts = problem.table, problem.table.counts
    columns = {
        name: np.repeat(np.array(h.leaves, dtype=object)[table.quasi[:, a]], counts)
        for a, (name, h) in enumerate(zip(table.quasi_names, problem.hierarchies, strict=True))
    }
    for s, name in enumerate(table.sensitive_names):
        values = np.array(table.sensitive_values[s], dtype=object)
        columns[name] = np.repeat(values[table.sensitive[:, s]], counts)
    return columns


@dataclass(frozen=True)
class _Bench:
    """What the attacks are tried with; `skipped` gathers those that did not fit."""

    after: AdversaryView
    before: AdversaryView | None
    came: Table | None
    public: Table | None
    confidence: float
    gain: float
    facts: int
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def _both(self, attack: Callable[..., Outcome], *given: Any, **options: Any) -> Tried:
        """Run an attack on the release, and on the original where it has the attribute."""
        after = attack(self.after, *given, **options)
        if self.before is None:
            return Tried(after)
        if after.attribute and after.attribute not in self.before.evidence.sensitive:
            return Tried(after)
        return Tried(after, attack(self.before, *given, **options))

    def linkages(self) -> list[Tried]:
        """Find people again, known to be in the release or not."""
        tried = []
        sure = {"confidence": self.confidence}
        if self._shares(self.came):
            tried.append(self._both(linkage, self.came, adversary="prosecutor", **sure))
        else:
            self.skipped.append(("linkage by a prosecutor", "the original people are not known"))
        if self._shares(self.public):
            tried.append(self._both(linkage, self.public, adversary="journalist", **sure))
            tried.append(self._both(membership, self.public, **sure))
        else:
            why = "no public table was given that shares a quasi-identifier"
            self.skipped.extend([("linkage by a journalist", why), ("membership", why)])
        return tried

    def _shares(self, people: Table | None) -> bool:
        quasi = self.after.evidence.quasi
        return people is not None and any(name in people.columns for name in quasi)

    def classes(self) -> list[Tried]:
        """Look at the classes of the release alone."""
        tried = []
        for name in self.after.evidence.sensitive:
            attacks: list[Callable[..., Outcome]] = [
                homogeneity,
                partial(background_knowledge, facts=self.facts),
                partial(probabilistic_inference, confidence=self.confidence),
                partial(skewness, gain=self.gain),
            ]
            if self._has_meaning(name):
                attacks.append(partial(similarity, confidence=self.confidence))
            else:
                self.skipped.append((f"similarity of {name}", "its values have no tree or order"))
            tried += [self._both(attack, attribute=name) for attack in attacks]
        return tried

    def _has_meaning(self, name: str) -> bool:
        spread = self.after.spread(name)
        declared = self.after.schema.attribute(name).domain is not None
        numeric = all(number(value) is not None for value in spread.values if value)
        return spread.hierarchy is not None or declared or numeric

    def with_people(self) -> list[Tried]:
        """Use who is in each class: the public table, or the original people."""
        people = self.public if self._shares(self.public) else self.came
        if people is None or not self._shares(people):
            why = "no table of people was given"
            self.skipped.extend(
                (name, why) for name in ("attribute inference", "de Finetti", "minimality")
            )
            return []
        tried = []
        for name in self.after.evidence.sensitive:
            if people.rows * len(self.after.spread(name).values) > LARGEST_MODEL:
                why = "there are too many people and values for a precheck"
                names = ("attribute inference", "de Finetti", "minimality")
                self.skipped.extend((f"{attack} of {name}", why) for attack in names)
                continue
            guessed = partial(attribute_inference, confidence=self.confidence, attribute=name)
            tried.append(self._both(guessed, people))
            tried.append(Tried(de_finetti(self.after, people, gain=self.gain, attribute=name)))
            if self.after.promise is not None and name in self.after.promise.sensitive:
                tried.append(Tried(minimality(self.after, people, gain=self.gain, attribute=name)))
        return tried

    def compositions(self, other: Any) -> list[Tried]:
        """Intersect with another release."""
        second = see(other, self.after.schema)
        people = self.public if self._shares(self.public) else None
        return [
            Tried(composition(self.after, second, people=people, confidence=self.confidence,
                              attribute=name))
            for name in self.after.evidence.sensitive
            if name in second.evidence.sensitive
        ]  # fmt: skip
