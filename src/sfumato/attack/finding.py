"""What an attack achieved: findings about people, gathered in an outcome.

Others rely on: both are frozen values; neither their text nor their representation shows a
sensitive value unless `reveal=True` is asked for; `evidence` holds what is needed to repeat
the attack by hand, as a rule an SQL query over the released file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.data.engines.duckdb import quoted, quoted_text
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.definitions.definition import Definition

SHOWN = 20
"""How many findings an outcome keeps unless asked for more; it counts them all."""

NEARLY = 1e-12
"""What rounding may take from a probability before a threshold calls it too low."""


@dataclass(frozen=True)
class Finding(Shown):
    """One thing learnt about one person, or about people nobody can tell apart.

    `prior` is what the adversary believed before, `posterior` after; both are
    probabilities. `secret` is what was learnt, hidden from every text unless revealed.
    """

    attack: str
    who: str
    people: int
    learnt: str
    prior: float
    posterior: float
    evidence: Mapping[str, Any] = field(hash=False)
    attribute: str = ""
    secret: tuple[str, ...] = field(default=(), repr=False)

    def told(self, *, reveal: bool = False) -> str:
        """Return it as a sentence; the sensitive values only where asked for."""
        shown = f" ({', '.join(self.secret)})" if reveal and self.secret else ""
        return (
            f"{self.who}: {self.learnt}{shown}, {chance(self.posterior)} sure "
            f"({chance(self.prior)} before)"
        )

    def __str__(self) -> str:
        return self.told()


@dataclass(frozen=True)
class Outcome(Shown):
    """What one attack did to one release.

    `people` were attacked and `exposed` of them lost: the adversary is at least
    `threshold` sure, or gained as much, whichever the attack measures (`measure` says it).
    `prior` and `posterior` belong to the worst case. `stopped_by` is a definition under
    which nobody would have been exposed; `remedy` says it in words.
    """

    attack: str
    knows: str
    measure: str
    people: int
    exposed: int
    prior: float
    posterior: float
    threshold: float
    findings: tuple[Finding, ...]
    remedy: str
    stopped_by: Definition | None = None
    attribute: str = ""
    figures: Mapping[str, float] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
    unit: str = "people"
    """What `people` and `exposed` count, where it is not people."""
    serious: bool = False
    """Whether the release fails by it whatever was promised, as verification finds, too."""

    @property
    def succeeds(self) -> bool:
        """Whether anybody is exposed."""
        return self.exposed > 0

    @property
    def share(self) -> float:
        """Exposed people as a share of all who were attacked."""
        return self.exposed / self.people if self.people else 0.0

    @property
    def name(self) -> str:
        """The attack and its attribute in one text."""
        return f"{self.attack} of {self.attribute}" if self.attribute else self.attack

    @property
    def advice(self) -> str:
        """The definition that would have stopped it, or what else would."""
        return self.remedy if self.stopped_by is None else str(self.stopped_by)

    def told(self, *, reveal: bool = False, most: int = 5) -> str:
        """Return it in words, with the most serious findings."""
        lines = [
            f"{self.name}: {self.exposed:,} of {self.people:,} {self.unit} exposed",
            f"  the adversary knows {self.knows}; {self.measure} from {self.threshold:g} on counts",
            f"  worst: {chance(self.posterior)} sure, {chance(self.prior)} before",
            *(f"  {name}: {value:.6g}" for name, value in self.figures.items()),
            *(f"  • {finding.told(reveal=reveal)}" for finding in self.findings[:most]),
            *(f"  note: {text}" for text in self.notes),
            f"  would have stopped it: {self.remedy}",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.told()


def chance(probability: float) -> str:
    """Return a probability as a percentage; only a certainty is written as 100 %."""
    if probability >= 1 - NEARLY:
        return "100 %"
    return f"{min(100 * probability, 99.9):.3g} %"


def described(cells: Mapping[str, str]) -> str:
    """Return the generalised tuple of a class, or a person's quasi-identifiers, as text."""
    shown = ", ".join(f"{name} = {label or '(missing)'}" for name, label in cells.items())
    return shown or "the whole table"


def class_query(cells: Mapping[str, str], attribute: str, source: str = "release") -> str:
    """Return SQL that shows how an attribute is spread over one class of a released file."""
    tests = " AND ".join(
        f"coalesce({quoted(name)}::VARCHAR, '') = {quoted_text(label)}"
        for name, label in cells.items()
    )
    column, table = quoted(attribute), quoted(source)
    return f"SELECT {column}, count(*) FROM {table} WHERE {tests or 'true'} GROUP BY 1"  # noqa: S608 - quoted


def odds(confidence: float) -> float:
    """Return p/(1 − p), rounded down, so that a share below c/(c + 1) is below p."""
    return math.floor(confidence / (1 - confidence) * 1e9 + 1e-3) / 1e9


def checked_share(name: str, value: float, *, low: float = 0.0) -> float:
    """Return a probability parameter, or say what is allowed."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value <= 1:
        raise ParameterError(f"{name} must be a number above {low:g} and at most 1, not {value!r}.")
    return float(value)


def checked_count(name: str, value: int, *, low: int = 0) -> int:
    """Return a whole-number parameter, or say what is allowed."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ParameterError(f"{name} must be a whole number from {low}, not {value!r}.")
    return value
