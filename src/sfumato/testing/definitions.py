"""A conformance kit for definitions of anonymity: ours and a user's own.

`check_definition` shows a definition random equivalence classes and raises
`AssertionError` at the first broken rule. The rules are those the algorithms rely on:

* `judge` gives one boolean per class, changes nothing it was given, gives the same answer
  twice, and judges each class for itself: alone, in company and in any order;
* `shortfall` is finite, never negative, and 0 exactly where the class holds;
* no class below `minimum_size` holds;
* it has a name, a sentence, and a JSON form that can be written;
* where `monotone` is claimed, a class that holds still holds when records join it, and
  where `union_closed` is claimed, the union of two classes that hold, holds.

A claim that survives is not proven; a claim that fails is refuted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition

_SPREADS = (0.1, 0.5, 2.0, 50.0)
"""Concentrations of the random histograms: from nearly one value to nearly even."""


@dataclass(frozen=True)
class DefinitionCheck(Shown):
    """How much the check saw; with no class on one side, the rules were hardly tried."""

    holding: int
    failing: int
    unions: int


def check_definition(
    definition: Definition,
    *,
    values: Mapping[str, Sequence[str]] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    batches: int = 60,
    seed: int = 0,
) -> DefinitionCheck:
    """Try the rules on random classes; return how many held, failed and were united.

    `values` and `hierarchies` give the domain of a sensitive attribute where the definition
    cares about it; otherwise there are a few values under a small tree.
    """
    _check_words(definition)
    rng = np.random.default_rng(seed)
    domains = {
        name: _Domain.of((values or {}).get(name), (hierarchies or {}).get(name), rng)
        for name in definition.sensitive
    }
    holding = failing = unions = 0
    for _ in range(batches):
        classes = _random_classes(definition, domains, rng)
        verdict = _check_verdict(definition, classes)
        _check_shortfall(definition, classes, verdict)
        _check_minimum_size(definition, classes, verdict)
        _check_alone_and_shuffled(definition, classes, verdict, rng)
        unions += _check_unions(definition, classes, verdict)
        holding += int(verdict.sum())
        failing += int((~verdict).sum())
    _check_verdict(definition, _select(classes, np.zeros(0, dtype=np.int64)))
    return DefinitionCheck(holding, failing, unions)


# -- the rules ------------------------------------------------------------------------


def _check_words(definition: Definition) -> None:
    if not str(definition):
        raise AssertionError("str(definition) is empty, and reports need a name for the promise.")
    if not definition.in_words(("age", "zip")):
        raise AssertionError("in_words() is empty, and reports need a sentence about the promise.")
    try:
        json.dumps(definition.to_json())
    except (TypeError, ValueError) as error:
        raise AssertionError(f"to_json() cannot be written as JSON: {error}") from error


def _check_verdict(definition: Definition, classes: Classes) -> NDArray[np.bool_]:
    verdict = definition.judge(classes)
    if not isinstance(verdict, np.ndarray) or verdict.dtype != np.bool_:
        raise AssertionError(f"{definition}: judge must return a numpy array of booleans.")
    if verdict.shape != (len(classes),):
        raise AssertionError(
            f"{definition}: judge was shown {len(classes)} classes and returned an array of "
            f"shape {verdict.shape}."
        )
    if not np.array_equal(verdict, definition.judge(classes)):
        raise AssertionError(f"{definition}: judge answered differently when asked again.")
    with_k = (definition & KAnonymity(3)).judge(classes)
    if not np.array_equal(with_k, verdict & (classes.sizes >= 3)):
        raise AssertionError(f"{definition}: `& KAnonymity(3)` is not both promises at once.")
    return verdict


def _check_shortfall(definition: Definition, classes: Classes, verdict: NDArray[np.bool_]) -> None:
    shortfall = np.asarray(definition.shortfall(classes))
    if shortfall.shape != verdict.shape or not np.isfinite(shortfall).all():
        raise AssertionError(f"{definition}: shortfall must be one finite number per class.")
    if (shortfall < 0).any() or not np.array_equal(shortfall == 0, verdict):
        raise AssertionError(
            f"{definition}: shortfall must be 0 where judge holds and positive elsewhere."
        )


def _check_minimum_size(
    definition: Definition, classes: Classes, verdict: NDArray[np.bool_]
) -> None:
    if (verdict & (classes.sizes < definition.minimum_size)).any():
        raise AssertionError(
            f"{definition}: a class smaller than minimum_size {definition.minimum_size} holds."
        )


def _check_alone_and_shuffled(
    definition: Definition,
    classes: Classes,
    verdict: NDArray[np.bool_],
    rng: np.random.Generator,
) -> None:
    order = rng.permutation(len(classes))
    if not np.array_equal(definition.judge(_select(classes, order)), verdict[order]):
        raise AssertionError(f"{definition}: the verdicts depend on the order of the classes.")
    for number in range(len(classes)):
        alone = definition.judge(_select(classes, np.array([number])))
        if bool(alone[0]) != bool(verdict[number]):
            raise AssertionError(f"{definition}: a class is judged differently on its own.")


def _check_unions(definition: Definition, classes: Classes, verdict: NDArray[np.bool_]) -> int:
    """Unite every two classes; return how many unions put a claim to the test."""
    first, second = np.nonzero(~np.eye(len(classes), dtype=np.bool_))
    united = definition.judge(_unite(classes, first, second))
    holds, both = verdict[first], verdict[first] & verdict[second]
    if definition.monotone and (holds & ~united).any():
        raise AssertionError(
            f"{definition} is not monotone: a class held, and no longer did when records joined."
        )
    if (definition.union_closed or definition.monotone) and (both & ~united).any():
        raise AssertionError(
            f"{definition} is not union-closed: two classes held, and their union did not."
        )
    return int(holds.sum() if definition.monotone else both.sum())


# -- random classes -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Domain:
    """Values of one sensitive attribute, their tree, and how common each is."""

    values: tuple[str, ...]
    hierarchy: Hierarchy
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        values: Sequence[str] | None,
        hierarchy: Hierarchy | None,
        rng: np.random.Generator,
    ) -> _Domain:
        if values is None:
            values = hierarchy.leaves if hierarchy else [f"value {i}" for i in range(5)]
        if hierarchy is None:
            hierarchy = Hierarchy.from_rows(
                [(value, f"group {i // 2}", "*") for i, value in enumerate(values)]
            )
        return cls(tuple(values), hierarchy, rng.dirichlet(np.full(len(values), 3.0)))


def _random_classes(
    definition: Definition, domains: Mapping[str, _Domain], rng: np.random.Generator
) -> Classes:
    """Return classes of a random table: small and large, skewed and even ones."""
    number = int(rng.integers(2, 12))
    sizes = np.maximum(rng.geometric(rng.choice([0.5, 0.1, 0.02]), number), 1).astype(np.int64)
    views = {}
    for name, domain in domains.items():
        concentration = rng.choice(_SPREADS, size=number)
        counts = np.empty((number, len(domain.values)), dtype=np.int64)
        for c in range(number):
            alpha = np.maximum(concentration[c] * len(domain.values) * domain.weights, 1e-3)
            counts[c] = rng.multinomial(sizes[c], rng.dirichlet(alpha))
        views[name] = SensitiveHistogram(
            _frozen(counts), _frozen(counts.sum(axis=0)), domain.values, domain.hierarchy
        )
    others = np.floor(sizes * rng.exponential(rng.choice([0.2, 2.0]), number)).astype(np.int64)
    population = _frozen(sizes + others) if definition.needs_population else None
    return Classes(_frozen(sizes), views, population)


def _select(classes: Classes, chosen: NDArray[np.int64]) -> Classes:
    """Return some of the classes, in the given order, before the same whole table."""
    population = None if classes.population is None else _frozen(classes.population[chosen])
    views = {
        name: SensitiveHistogram(_frozen(v.counts[chosen]), v.total, v.values, v.hierarchy)
        for name, v in classes.sensitive.items()
    }
    return Classes(_frozen(classes.sizes[chosen]), views, population)


def _unite(classes: Classes, first: NDArray[np.int64], second: NDArray[np.int64]) -> Classes:
    """Return the union of each pair of classes, before the same whole table."""
    left, right = _select(classes, first), _select(classes, second)
    population = None
    if left.population is not None and right.population is not None:
        # The generalised values of a union may also fit people whom neither class fitted.
        population = _frozen((left.population + right.population) * (1 + first % 2))
    views = {
        name: SensitiveHistogram(
            _frozen(v.counts + right.sensitive[name].counts), v.total, v.values, v.hierarchy
        )
        for name, v in left.sensitive.items()
    }
    return Classes(_frozen(left.sizes + right.sizes), views, population)


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the array made read-only, so that a definition that writes into it is caught."""
    array.setflags(write=False)
    return array
