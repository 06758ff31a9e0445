"""Which attacks are tried on a released table, in which order, and where they do not fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sfumato.attack.attack import Knowledge, NamedAttack
from sfumato.attack.releases.attribute_inference import attribute_inference
from sfumato.attack.releases.background_knowledge import background_knowledge
from sfumato.attack.releases.composition import composition
from sfumato.attack.releases.de_finetti import de_finetti
from sfumato.attack.releases.fit import People
from sfumato.attack.releases.homogeneity import homogeneity
from sfumato.attack.releases.linkage import COLUMNS, column_linkage, linkage
from sfumato.attack.releases.membership import membership
from sfumato.attack.releases.minimality import minimality
from sfumato.attack.releases.probabilistic_inference import probabilistic_inference
from sfumato.attack.releases.similarity import similarity
from sfumato.attack.releases.skewness import skewness
from sfumato.data.numbers import number
from sfumato.data.tables.sources import read
from sfumato.released.tables import TableView
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sfumato.attack.finding import Outcome

LARGEST_MODEL = 10_000_000
"""Beliefs (people times values) up to which a model over all classes is learnt."""


def table_attacks(view: TableView, knowledge: Knowledge) -> Iterator[NamedAttack]:
    """Give the attacks: on who people are, on classes, on people in them, on two releases."""
    adversary = _Adversary(view, knowledge)
    yield from adversary.linkages()
    for name in view.evidence.sensitive:
        yield from adversary.classes(name)
    yield from adversary.with_people()
    yield from adversary.compositions()


@dataclass(frozen=True, eq=False)
class _Adversary:
    """What the attacks are tried with."""

    view: TableView
    knowledge: Knowledge

    @cached_property
    def came(self) -> People | None:
        before = self.knowledge.before
        return (
            People.seen(before)
            if isinstance(before, TableView)
            else _people(self.knowledge.original)
        )

    @cached_property
    def public(self) -> People | None:
        return _people(self.knowledge.public)

    def linkages(self) -> Iterator[NamedAttack]:
        """Find people again, known to be in the release or not."""
        sure: dict[str, Any] = {"confidence": self.knowledge.confidence}
        yield _attack(
            "linkage by a prosecutor",
            partial(linkage, adversary="prosecutor", **sure),
            self.came if self._shares(self.came) else None,
            unless="the original people are not known",
        )
        yield NamedAttack(COLUMNS, lambda view, _: column_linkage(view, **sure), _no_column)
        why = "no public table was given that shares a quasi-identifier"
        public = self.public if self._shares(self.public) else None

        def journalist(view: TableView, people: People) -> Outcome:
            had = [n for n in view.schema.insensitive_names if n in people.columns]
            known = view.known_by([n for n in had if n in view.table.columns])
            return linkage(known, people, adversary="journalist", **sure)

        yield _attack("linkage by a journalist", journalist, public, unless=why)
        yield _attack("membership", partial(membership, **sure), public, unless=why)

    def _shares(self, people: People | None) -> bool:
        quasi = self.view.evidence.quasi
        return people is not None and any(name in people.columns for name in quasi)

    def classes(self, name: str) -> Iterator[NamedAttack]:
        """Look at the classes of the release alone."""
        knowledge = self.knowledge
        named: dict[str, Callable[..., Outcome]] = {
            "homogeneity": homogeneity,
            "background knowledge": partial(background_knowledge, facts=knowledge.facts),
            "probabilistic inference": partial(
                probabilistic_inference, confidence=knowledge.confidence
            ),
            "skewness": partial(skewness, gain=knowledge.gain),
            "similarity": partial(similarity, confidence=knowledge.confidence, gain=knowledge.gain),
        }
        for title, attack in named.items():
            fits = title != "similarity" or self._has_meaning(name)
            yield _about(title, name, attack, "" if fits else "its values have no tree or order")

    def _has_meaning(self, name: str) -> bool:
        spread = self.view.spread(name)
        declared = self.view.schema.attribute(name).domain is not None
        numeric = all(number(value) is not None for value in spread.values if value)
        return spread.hierarchy is not None or declared or numeric

    def with_people(self) -> Iterator[NamedAttack]:
        """Use who is in each class: the public table, or the original people."""
        people = self.public if self._shares(self.public) else self.came
        names = ("attribute inference", "de Finetti", "minimality")
        if people is None or not self._shares(people):
            yield from (_attack(name, None, None, unless="no table of people was given")
                        for name in names)  # fmt: skip
            return
        for attribute in self.view.evidence.sensitive:
            large = people.rows * len(self.view.spread(attribute).values) > LARGEST_MODEL
            why = "there are too many people and values for a precheck" if large else ""
            yield from self._models(people, attribute, why)

    def _models(self, people: People, attribute: str, why: str) -> Iterator[NamedAttack]:
        """Guess a sensitive value of each known person, from her class and from all of them."""
        knowledge, promise = self.knowledge, self.view.promise
        guess = partial(attribute_inference, public=people, confidence=knowledge.confidence)
        yield _about("attribute inference", attribute, guess, why)
        learn = partial(de_finetti, public=people, gain=knowledge.gain)
        yield _about("de Finetti", attribute, learn, why, twice=False)
        judged = promise is not None and attribute in getattr(promise, "sensitive", ())
        if why or judged:
            reason = partial(minimality, public=people, gain=knowledge.gain)
            yield _about("minimality", attribute, reason, why, twice=False)

    def compositions(self) -> Iterator[NamedAttack]:
        """Intersect with another release."""
        if self.knowledge.other is None:
            yield _attack("composition", None, None, unless="no other release was given")
            return
        second = see_people(self.knowledge.other, self.view.schema)
        people = self.public if self._shares(self.public) else None
        both = partial(
            composition, second=second, people=people, confidence=self.knowledge.confidence
        )
        for name in self.view.evidence.sensitive:
            if name in second.evidence.sensitive:
                yield _about("composition", name, both, "", twice=False)


def _no_column(view: TableView, _: Knowledge) -> str | None:
    accepted = view.schema.accepted
    found = [column.column for column in view.linkable]
    if any(name not in accepted for name in found):
        return None
    reasons = "; ".join(f"{name} is nearly unique, accepted: {accepted[name]}" for name in found)
    return reasons or "no column that is released as it is is nearly unique"


def _people(source: Any) -> People | None:
    return None if source is None else People(read(source))


def _attack(
    name: str, attack: Callable[..., Outcome] | None, people: People | None, *, unless: str
) -> NamedAttack:
    """Return an attack with a table of people; without one it says why it does not fit."""
    why = None if people is not None else unless
    return NamedAttack(
        name,
        lambda view, _: attack(view, people),  # type: ignore[misc]  # never run where it is None
        lambda _view, _knowledge: why,
    )


def _about(
    title: str, attribute: str, attack: Callable[..., Outcome], why: str, *, twice: bool = True
) -> NamedAttack:
    """Return an attack on one attribute, which a view must show."""

    def misfit(view: TableView, _: Knowledge) -> str | None:
        if why:
            return why
        return None if attribute in view.evidence.sensitive else "it is not among the attributes"

    name = f"{title} of {attribute}"
    return NamedAttack(name, lambda view, _: attack(view, attribute=attribute), misfit, twice)
