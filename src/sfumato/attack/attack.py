"""What an attack is: something an adversary tries on what a stranger sees.

An attack says why it does not fit (`misfit`), or runs and returns what it achieved. It is given a
view of a released file, or of the data as they came, and what the adversary knows beside it. A
user's own needs these two methods and a name; hand it to `precheck(attacks=…)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.attack.finding import Finding, Outcome
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.released.view import View


@dataclass(frozen=True, eq=False)
class Knowledge(Shown):
    """What an adversary knows beside the release, and when an attack counts as a success.

    `original` holds the data as they came, `public` people who can be looked up, `other` another
    release of overlapping data. An attack exposes whom it is `confidence` sure of, or about whom it
    learns `gain` as much; `facts` is how much somebody with background knowledge can rule out.
    `further` is what attacks of single shapes want to know. `before` is the view of the original
    data, where somebody has looked at them already.
    """

    original: Any = None
    public: Any = None
    other: Any = None
    confidence: float = 0.9
    gain: float = 0.25
    facts: int = 1
    further: Mapping[str, Any] = field(default_factory=dict)
    before: View | None = None


class Attack(Protocol):
    """One way to attack a view."""

    @property
    def name(self) -> str:
        """What the attack is called."""

    def misfit(self, view: View, knowledge: Knowledge) -> str | None:
        """Say why it cannot be tried, or None where it can."""

    def run(self, view: View, knowledge: Knowledge) -> Outcome:
        """Try it."""


@dataclass(frozen=True)
class NamedAttack(Shown):
    """An attack made of a function; `why_not` says where it does not fit.

    `twice` tells whether it is also tried on the data as they came.
    """

    name: str
    attack: Callable[..., Outcome]
    why_not: Callable[[Any, Knowledge], str | None] = lambda _view, _knowledge: None
    twice: bool = True

    def misfit(self, view: View, knowledge: Knowledge) -> str | None:
        """Say why it cannot be tried."""
        return self.why_not(view, knowledge)

    def run(self, view: View, knowledge: Knowledge) -> Outcome:
        """Call the function."""
        return self.attack(view, knowledge)


def find_by_group(view: View, knowledge: Knowledge) -> Outcome:
    """Find people again who are known by everything a release shows of them.

    Whoever knows all that is visible about a person is left with the members of her group, so is
    one in its size sure. Serves every shape; shapes have sharper attacks of their own.
    """
    sizes = view.groups().sizes
    exposed = 1.0 / sizes.clip(min=1) >= knowledge.confidence
    worst = int(sizes.argmin()) if len(sizes) else None
    findings = tuple(_finding(view, int(group), int(sizes[group])) for group in _first(exposed))
    return Outcome(
        attack="finding people by their group",
        knows="everything the release shows of a person",
        measure="confidence",
        people=int(sizes.sum()),
        exposed=int(sizes[exposed].sum()),
        prior=1.0 / max(int(sizes.sum()), 1),
        posterior=0.0 if worst is None else 1.0 / int(sizes[worst]),
        threshold=knowledge.confidence,
        findings=findings,
        remedy=f"groups of at least {int(1 / knowledge.confidence) + 1}",
    )


def _first(exposed: Any, most: int = 20) -> Iterable[int]:
    chosen: list[int] = exposed.nonzero()[0][:most].tolist()
    return chosen


def _finding(view: View, group: int, size: int) -> Finding:
    shown = view.describe(group)
    return Finding(
        attack="finding people by their group",
        who=", ".join(f"{name} = {text}" for name, text in shown.items()) or "everybody",
        people=size,
        learnt=f"which {view.unit} is theirs",
        prior=1.0 / max(view.records, 1),
        posterior=1.0 / size,
        evidence=dict(shown),
    )


BY_GROUP = NamedAttack("finding people by their group", find_by_group)
