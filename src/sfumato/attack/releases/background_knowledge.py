"""Background knowledge: an adversary who can rule things out.

In a class with several sensitive values, somebody who knows j facts about the target or the
others narrows them down (Machanavajjhala et al., ICDE 2006; Martin, Kifer, Machanavajjhala,
Gehrke, Halpern: Worst-Case Background Knowledge, ICDE 2007). Two kinds of facts:

* `about="values"`: j values the target does not have. The records with them drop out.
  In the worst case those are the j most frequent other values.
* `about="people"`: the sensitive values of j other people in the class, whose records
  drop out. In the worst case none of them has the target's value.

Distinct (j + 2)-diversity stops certainty from values: one other value always remains.
Recursive (c, l)-diversity bounds the posterior by c/(c + 1) for j ≤ l − 2: the values left
after ruling out j still satisfy r₁ < c·(r₂ + … + r_m).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.anonymize.definitions.diversity import DistinctLDiversity, RecursiveLDiversity
from sfumato.attack.finding import NEARLY, SHOWN, Outcome, checked_count, checked_share, odds
from sfumato.attack.releases.exposure import (
    attacked_people,
    entry_findings,
    exposed_people,
    worst_entry,
)
from sfumato.errors import ParameterError
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.schema import Schema
    from sfumato.released.evidence import Spread


def background_knowledge(
    release: Any,
    *,
    facts: int = 1,
    about: Literal["values", "people"] = "values",
    confidence: float = 1.0,
    attribute: str | None = None,
    schema: str | Path | Schema | None = None,
    most: int = SHOWN,
) -> Outcome:
    """Find the people an adversary with `facts` worst-case facts is `confidence` sure about."""
    checked_count("facts", facts)
    limit = checked_share("confidence", confidence)
    if about not in {"values", "people"}:
        raise ParameterError(f"about must be 'values' or 'people', not {about!r}.")
    view = see_people(release, schema)
    name = view.attribute(attribute)
    spread = view.spread(name)
    left = _left(spread, facts) if about == "values" else _unknown(spread, facts)
    posterior = spread.count / left
    dangerous = posterior >= limit - NEARLY
    prior, worst = worst_entry(posterior, spread.overall)
    stop, remedy = _remedy(name, facts, about, limit)
    return Outcome(
        "background knowledge",
        f"the class of the target and {_facts(facts, about)}",
        "confidence",
        attacked_people(view, name),
        exposed_people(view, name, dangerous),
        prior,
        worst,
        limit,
        entry_findings(
            view, name, "background knowledge", dangerous, posterior,
            learnt=f"their {name}", most=most,
            proof=lambda e: {"records left after the facts": int(left[e])},
        ),
        remedy,
        stop,
        name,
        {"facts": float(facts)},
    )  # fmt: skip


def _facts(facts: int, about: str) -> str:
    if about == "people":
        return f"the sensitive values of {facts} other people in it"
    return f"{facts} value(s) the target does not have"


def _left(spread: Spread, facts: int) -> NDArray[np.int64]:
    """Return, per entry, the records left once the most frequent other values are ruled out."""
    width = int(spread.count.max(initial=0)) + 1
    order = np.argsort(spread.class_ * width - spread.count, kind="stable")  # classes rise already
    starts = np.searchsorted(spread.class_, np.arange(len(spread.sizes) + 1))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - starts[spread.class_[order]]
    running = np.concatenate([[0], np.cumsum(spread.count[order])])
    values = np.diff(starts)[spread.class_]
    begin = starts[spread.class_]
    # An entry among the j largest makes room for one more: j + 1 without itself.
    taken = np.minimum(np.where(rank < facts, facts + 1, facts), values)
    ruled_out = running[begin + taken] - running[begin]
    ruled_out = ruled_out - np.where(rank < facts, spread.count, 0)
    left: NDArray[np.int64] = spread.sizes[spread.class_] - ruled_out
    return left


def _unknown(spread: Spread, facts: int) -> NDArray[np.int64]:
    """Return, per entry, the records left once other people with other values are known."""
    sizes = spread.sizes[spread.class_]
    left: NDArray[np.int64] = sizes - np.minimum(facts, sizes - spread.count)
    return left


def _remedy(name: str, facts: int, about: str, limit: float) -> tuple[Definition | None, str]:
    if about == "people":
        return None, (
            "nothing about classes bounds it for certain values; larger classes with even "
            "values, or differential privacy, whatever the others tell"
        )
    if limit >= 1 - NEARLY:
        stop: Definition = DistinctLDiversity(facts + 2, name)
        return stop, f"{stop}: two values remain after {facts} fact(s)"
    stop = RecursiveLDiversity(odds(limit), facts + 2, name)
    return stop, f"{stop}: after {facts} fact(s) nobody is {limit:g} sure"
