"""The promise in plain words, one sentence per definition.

A user's own definition is described by the first line of its docstring.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.definition import KAnonymity
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.definitions.presence import DeltaPresence, KMap
from sfumato.report.figures import some

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.anonymize.definitions.definition import Definition


def promise_in_words(definition: Definition, quasi: Sequence[str]) -> tuple[str, ...]:
    """Return one sentence per part of the promise."""
    return tuple(_sentence(part, quasi) for part in definition.parts)


def name_of(definition: Definition) -> str:
    """Return how the definition calls itself; its class's name if it says nothing."""
    own = type(definition).__str__ is not object.__str__
    return str(definition) if own else type(definition).__name__


def _sentence(part: Definition, quasi: Sequence[str]) -> str:
    words = WORDS.get(type(part))  # a subclass may promise something else
    if words is not None:
        return words(part, quasi)
    described = inspect.getdoc(part)
    return described.splitlines()[0] if described else f"{name_of(part)} holds in every class."


def _k_anonymity(part: Any, quasi: Sequence[str]) -> str:
    others = some(part.k - 1, "other")
    return f"Every released record looks like at least {others} on {_listed(part.on or quasi)}."


def _distinct(part: Any, _: Sequence[str]) -> str:
    return (
        f"People who look alike have at least {some(part.l, 'different value')} of "
        f"{part.attribute} among them."
    )


def _entropy(part: Any, _: Sequence[str]) -> str:
    return (
        f"Among people who look alike, {part.attribute} is at least as uncertain as {part.l:g} "
        "equally frequent values."
    )


def _recursive(part: Any, _: Sequence[str]) -> str:
    return (
        f"Among people who look alike, the most frequent {part.attribute} occurs less than "
        f"{part.c:g} times as often as all from the {part.l}th most frequent on together."
    )


def _closeness(part: Any, _: Sequence[str]) -> str:
    return (
        f"Among people who look alike, {part.attribute} is spread as in the whole release, up to a "
        f"distance of {part.t:g} ({part.distance})."
    )


def _likeness(part: Any, _: Sequence[str]) -> str:
    return (
        f"Knowing whom somebody looks like raises the chance of no {part.attribute} by more than "
        f"the factor 1 + {part.beta:g}."
    )


def _disclosure(part: Any, _: Sequence[str]) -> str:
    return (
        f"Knowing whom somebody looks like changes the chance of every {part.attribute} by less "
        f"than the factor e^{part.delta:g}."
    )


def _k_map(part: Any, _: Sequence[str]) -> str:
    return (
        f"Every released record fits at least {some(part.k, 'person', 'people')} of the population."
    )


def _presence(part: Any, _: Sequence[str]) -> str:
    return (
        "Whoever fits a released record is in the data with a probability between "
        f"{part.low:g} and {part.high:g}."
    )


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "all that it shows"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


WORDS: dict[type, Callable[[Any, Sequence[str]], str]] = {
    KAnonymity: _k_anonymity,
    DistinctLDiversity: _distinct,
    EntropyLDiversity: _entropy,
    RecursiveLDiversity: _recursive,
    TCloseness: _closeness,
    BetaLikeness: _likeness,
    DeltaDisclosure: _disclosure,
    KMap: _k_map,
    DeltaPresence: _presence,
}
