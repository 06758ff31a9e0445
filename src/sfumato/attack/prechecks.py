"""The check before a release leaves: every attack that fits, before and after.

`precheck` runs the attacks of a release's shape on it and, where the original data are at hand, on
those too, and says for each what happened, and which definition would have stopped it. It proves
nothing: an attack that fails here may succeed for an adversary who knows more. A promise is what
`verify` checks; this is what an adversary would try first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.attack.attack import BY_GROUP, Knowledge
from sfumato.attack.finding import checked_count, checked_share
from sfumato.release import Release
from sfumato.released.view import see_people
from sfumato.representation import Shown
from sfumato.shape import find_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.attack.attack import Attack
    from sfumato.attack.finding import Outcome
    from sfumato.released.view import View


@dataclass(frozen=True)
class TriedAttack:
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
class Precheck(Shown):
    """What every attack that fits did to a release; `skipped` says which did not fit, and why."""

    source: str
    records: int
    promise: str
    tried: tuple[TriedAttack, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no attack succeeds on the release."""
        return not self.succeeding

    @property
    def succeeding(self) -> tuple[TriedAttack, ...]:
        """The attacks that succeed on the release."""
        return tuple(attempt for attempt in self.tried if attempt.after.succeeds)

    @property
    def breaks(self) -> bool:
        """Whether an attack succeeds by which the release fails whatever it promises."""
        return any(attempt.after.serious for attempt in self.succeeding)

    def outcome(self, name: str) -> Outcome:
        """Return what one attack did to the release, by its name as the table shows it."""
        return next(attempt.after for attempt in self.tried if attempt.name == name)

    @property
    def table(self) -> list[tuple[str, str, str, str, str]]:
        """Attack, people exposed before and after, verdict, and what would have stopped it."""
        return [
            (
                attempt.name,
                "–" if attempt.before is None else exposure(attempt.before),
                exposure(attempt.after),
                attempt.verdict,
                attempt.after.remedy,
            )
            for attempt in self.tried
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
    schema: Any = None,
    shape: str | None = None,
    public: Any = None,
    original: Any = None,
    other: Any = None,
    confidence: float = 0.9,
    gain: float = 0.25,
    facts: int = 1,
    attacks: Iterable[Attack] = (),
    **further: Any,
) -> Precheck:
    """Run every attack that fits a release, and say which succeed, before and after.

    `public` is a table of people the adversary can look up, `original` the data as they
    came (known where `release` is a `Release`), `other` an earlier release of overlapping
    data. The attacks count as exposed whom they are `confidence` sure of, or about whom they
    `gain` as much; `facts` is what an adversary with background knowledge can rule out. `attacks`
    adds your own; what attacks of single shapes want to know beside that is given by name.
    """
    checked_share("confidence", confidence)
    checked_share("gain", gain)
    checked_count("facts", facts)
    after = see_people(release, schema, shape=shape)
    form = find_shape(after.shape)
    if original is None and isinstance(release, Release):
        original = form.original(release)
    before = _see_original(original, after)
    knowledge = Knowledge(original, public, other, confidence, gain, facts, further, before)
    tried, skipped = [], []
    for attack in (*(tuple(form.attacks(after, knowledge)) or (BY_GROUP,)), *attacks):
        why = attack.misfit(after, knowledge)
        if why is not None:
            skipped.append((attack.name, why))
            continue
        tried.append(_try(attack, after, before, knowledge))
    return Precheck(after.source, after.records, _promised(after), tuple(tried), tuple(skipped))


def _see_original(original: Any, after: View) -> View | None:
    if original is None:
        return None
    view: View = see_people(original, getattr(after, "schema", None), shape=after.shape)
    return view


def _try(attack: Attack, after: View, before: View | None, knowledge: Knowledge) -> TriedAttack:
    """Run an attack on the release, and on the original data where it fits them."""
    found = attack.run(after, knowledge)
    comparable = before is not None and getattr(attack, "twice", True)
    if not comparable or before is None or attack.misfit(before, knowledge) is not None:
        return TriedAttack(found)
    return TriedAttack(found, attack.run(before, knowledge))


def _promised(view: View) -> str:
    words = "nothing" if view.promise is None else str(view.promise)
    if view.untruthful:
        words += f" (single records are no longer facts: {', '.join(view.untruthful)})"
    return words
