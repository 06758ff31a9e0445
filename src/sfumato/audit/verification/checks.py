"""Promises held against the classes of a release, each by the formulas of `measures`.

Only a definition of the user's own is judged by its own `judge`: nobody else knows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.definitions.presence import DeltaPresence, KMap
from sfumato.anonymize.definitions.risk import AverageRisk, UniqueShare
from sfumato.audit.verification import measures
from sfumato.audit.verification.measures import SLACK
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.errors import HierarchyError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.released.evidence import Evidence, Spread
    from sfumato.released.population import PopulationCounts

CELLS_AT_ONCE = 4_000_000
"""Largest dense histogram shown to a user's own definition in one batch."""


@dataclass(frozen=True, eq=False)
class _ClassFigures:
    """A figure per class, which end of it is bad, and which classes keep the promise."""

    measure: str
    values: NDArray[Any]
    worst_is_low: bool
    holds: NDArray[np.bool_]
    whole: float | None = None
    """The figure of the whole release, where the promise is about that."""


def check_part(
    part: Definition, evidence: Evidence, population: PopulationCounts | None
) -> FigureRow:
    """Return the figure behind one promise and whether it holds."""
    attribute = getattr(part, "attribute", "")
    if attribute and attribute not in evidence.sensitive:
        return FigureRow("not in the release", attribute, None, None, str(part), holds=False)
    check = CHECKS.get(type(part))
    if check is not None:
        return _row(check(part, evidence, population), evidence, attribute, str(part))
    verdict = _judged(part, evidence, population)
    broken = _ClassFigures("classes that break it", ~verdict, False, verdict)
    row = _row(broken, evidence, "", str(part))
    return FigureRow(row.measure, "", float((~verdict).sum()), row.bottleneck, str(part), row.holds)


def _row(found: _ClassFigures, evidence: Evidence, attribute: str, promised: str) -> FigureRow:
    # Among the classes that break the promise, or all if none does, show the worst.
    broken = np.flatnonzero(~found.holds)
    among = broken if len(broken) else np.arange(len(found.values))
    values = found.values[among]
    worst = int(among[int(np.argmin(values) if found.worst_is_low else np.argmax(values))])
    return FigureRow(
        found.measure,
        attribute,
        float(found.values[worst]) if found.whole is None else found.whole,
        bottleneck(evidence, worst),
        promised,
        holds=not len(broken),
    )


def bottleneck(evidence: Evidence, c: int) -> Bottleneck:
    """Return what is shown of a class: its generalised tuple and size, nothing sensitive."""
    return Bottleneck(evidence.cells(c), int(evidence.sizes[c]), evidence.person is not None)


# -- one check per built-in definition ------------------------------------------------


def _k(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    if not part.on:
        return _ClassFigures("k", evidence.sizes, True, evidence.sizes >= part.k)
    sizes = evidence.sizes_on(part.on)
    return _ClassFigures(f"k on {', '.join(part.on)}", sizes, True, sizes >= part.k)


def _distinct(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    values = measures.distinct_values(evidence.sensitive[part.attribute])
    return _ClassFigures("distinct l", values, True, (values >= part.l) & _hidden(part, evidence))


def _hidden(part: Any, evidence: Evidence) -> NDArray[np.bool_]:
    """Tell where no value is everybody's, which diversity asks for as soon as l passes 1."""
    if part.l <= 1:
        return np.ones(evidence.classes, dtype=np.bool_)
    return ~measures.shared_by_all(evidence.sensitive[part.attribute], evidence.sizes)


def _entropy(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    values = measures.effective_values(evidence.sensitive[part.attribute])
    holds = (values >= part.l * (1 - SLACK)) & _hidden(part, evidence)
    return _ClassFigures("entropy l", values, True, holds)


def _recursive(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    spread = evidence.sensitive[part.attribute]
    holds = measures.is_recursive(spread, part.c, part.l) & _hidden(part, evidence)
    ratio = measures.recursive_ratio(spread, part.l)
    return _ClassFigures(f"recursive c (l = {part.l})", ratio, False, holds)


def _closeness(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    values = distances(evidence.sensitive[part.attribute], part.distance, part.attribute)
    return _ClassFigures(f"t ({part.distance})", values, False, values <= part.t + SLACK)


def distances(spread: Spread, distance: str, attribute: str) -> NDArray[np.float64]:
    """Return how far each class is from the whole release."""
    if distance == "equal":
        return measures.equal_distance(spread)
    if distance == "kl":
        return measures.divergence(spread)
    if distance == "ordered":
        return measures.ordered_distance(spread)
    if spread.hierarchy is None:
        raise HierarchyError(
            f"The hierarchical distance needs a hierarchy for '{attribute}' in the schema."
        )
    return measures.hierarchical_distance(spread, spread.hierarchy)


def _likeness(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    spread = evidence.sensitive[part.attribute]
    beyond = measures.gain_beyond(spread, part.beta, enhanced=part.enhanced)
    return _ClassFigures("β", measures.largest_gain(spread), False, beyond <= SLACK)


def _disclosure(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    values = measures.largest_change(evidence.sensitive[part.attribute])
    return _ClassFigures("δ", values, False, values < part.delta - SLACK)


def _needed(part: Definition, population: PopulationCounts | None) -> PopulationCounts:
    if population is None:
        raise ParameterError(f"{part} can only be checked against a population; give population=.")
    return population


def _k_map(part: Any, _: Evidence, population: PopulationCounts | None) -> _ClassFigures:
    people = _needed(part, population).people
    return _ClassFigures("k in the population", people, True, people >= part.k)


def _presence(part: Any, evidence: Evidence, population: PopulationCounts | None) -> _ClassFigures:
    known = _needed(part, population)
    share = evidence.sizes / np.maximum(known.people, 0.5)
    holds = (share >= part.low - SLACK) & (share <= part.high + SLACK)
    if part.low > 0 and known.outside:
        # People who fit no class are certainly not in the table: nothing can hold.
        return _ClassFigures("presence, with people who fit no class", share, True, holds & False)
    low_side = bool((share < part.low - SLACK).any())
    return _ClassFigures("presence", share, low_side, holds)


def _average(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    mean = measures.mean_risk(evidence.sizes)
    holds = np.full(evidence.classes, mean <= measures.as_shown(part.threshold))
    return _ClassFigures("average risk", evidence.sizes, True, holds, float(mean))


def _unique(part: Any, evidence: Evidence, _: PopulationCounts | None) -> _ClassFigures:
    share = measures.share_alone(evidence.sizes)
    holds = np.full(evidence.classes, share <= measures.as_shown(part.share))
    return _ClassFigures("share of unique records", evidence.sizes, True, holds, float(share))


CHECKS: Mapping[
    type[Definition], Callable[[Any, Evidence, PopulationCounts | None], _ClassFigures]
] = {
    KAnonymity: _k,
    DistinctLDiversity: _distinct,
    EntropyLDiversity: _entropy,
    RecursiveLDiversity: _recursive,
    TCloseness: _closeness,
    BetaLikeness: _likeness,
    DeltaDisclosure: _disclosure,
    KMap: _k_map,
    DeltaPresence: _presence,
    AverageRisk: _average,
    UniqueShare: _unique,
}
"""The built-in definitions, each with a formula of its own; a new one gets a line here."""


# -- a user's own definition ----------------------------------------------------------


def _judged(
    part: Definition, evidence: Evidence, population: PopulationCounts | None
) -> NDArray[np.bool_]:
    """Show the classes to the definition's own `judge`, in batches that fit in memory."""
    lacking = [name for name in part.sensitive if name not in evidence.sensitive]
    if lacking:
        return np.zeros(evidence.classes, dtype=np.bool_)
    people = _needed(part, population).people if part.needs_population else None
    sizes = evidence.sizes_on(part.combination) if part.combination else evidence.sizes
    widest = max((len(evidence.sensitive[n].values) for n in part.sensitive), default=1)
    step = max(CELLS_AT_ONCE // widest, 1)
    verdicts = []
    for begin in range(0, evidence.classes, step):
        chosen = slice(begin, min(begin + step, evidence.classes))
        classes = evidence.classes_for(part.sensitive, chosen)
        fitting = None if people is None else people[chosen]
        verdicts.append(part.judge(replace(classes, sizes=sizes[chosen], population=fitting)))
    return np.concatenate(verdicts)
