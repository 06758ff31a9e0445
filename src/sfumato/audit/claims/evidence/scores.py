"""Scores that tell two data sets apart by an output; events are their upper or lower ends.

Contract: ``learn`` gets outputs on D and on D′ and gives scores, each a function from outputs to
numbers. It sees nothing else: what it learns is later measured on other runs, so a bad score
costs power, never validity. By Neyman and Pearson (1933) the best events for telling D from D′ are
the upper ends of the likelihood ratio; every score here estimates that ratio in another way.

* ``value``: the output itself, when it is one number. Its events are half-lines.
* ``atoms``: the log-ratio of how often exactly this output came.
* ``histogram``: for every shape of output, the log-ratio of the shape, plus that of the range each
  number falls into and that of each text (naive Bayes): intervals, unions of them, boxes, types,
  exceptions and their messages.
* ``low bits``: the same for the binary place of each number's lowest set bit together with its
  magnitude, which textbook noise made of floating-point numbers gives away (Mironov, CCS 2012).
* ``linear``: logistic regression over several numbers.
* ``additive``: logistic regression over the ranges that several numbers, or what each adds to those
  before it, fall into (`additive`); it learns from all runs there are.
* ``alike``: the same with one set of weights for all numbers, where they look alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sfumato.audit.claims.evidence.additive import learn_additive, learn_alike
from sfumato.audit.claims.evidence.lookup import Lookup, edges_of, log_ratio
from sfumato.audit.claims.evidence.regression import logistic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from sfumato.audit.claims.outputs import Outputs

_MOST_ATOMS = 4096
_MOST_SHAPES = 64
_BINS = 256
_BINS_OF_MANY = 32
"""Ranges of one number, and of each of many."""
_NO_BIT = 4000
_LOW_BIT_COLUMNS = 16
_LEARNERS = 100_000
"""Runs on each data set from which most scores are learned."""
_ADDITIVE_LEARNERS = 1_000_000
_MOST_NUMBERS = 4_000_000
"""Runs, and numbers in them, from which sums of weights are learned."""
_FINE_FROM = ((8, 4_000, 60), (16, 200_000, 12))
"""Into how many ranges columns are cut beside two, from how many runs on, and how many columns."""
_REPEATED = 3
_OFTEN = 100
"""Where outputs come so often each, their own ratios say all that any other score could."""


class Score(Protocol):
    """A number for every output, larger where the output speaks for the first data set."""

    @property
    def family(self) -> str:
        """The name of the kind of event."""

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Score outputs."""


@dataclass(frozen=True)
class Value:
    """The output itself; or, of several numbers, their sum."""

    family: str = "value"

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Give the number in each output."""
        if self.family == "sum":
            return np.asarray(np.nansum(outputs.numbers, axis=1))
        if outputs.numbers.shape[1] == 0:
            return np.full(len(outputs), np.nan)
        return outputs.numbers[:, 0]


@dataclass(frozen=True, eq=False)
class Atoms:
    """The log-ratio of exactly this output."""

    table: Lookup
    texts: Mapping[int, str]
    family: str = "atoms"

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Look the outputs up; one never seen speaks for neither."""
        return self.table.of(outputs.whole())


@dataclass(frozen=True, eq=False)
class Histogram:
    """The log-ratio of the shape, and given the shape, of the range of every number."""

    shapes: Lookup
    numbers: Mapping[int, tuple[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], ...]]
    words: tuple[Lookup, ...]
    family: str = "histogram"

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Add up the log-ratios."""
        score = self.shapes.of(outputs.shapes)
        for shape, rows in _groups(outputs.shapes, list(self.numbers)):
            for column, (edges, ratios) in enumerate(self.numbers[shape]):
                if edges.size and column < outputs.numbers.shape[1]:
                    values = outputs.numbers[rows, column]
                    score[rows] += ratios[np.searchsorted(edges, values, side="right")]
        for column, table in enumerate(self.words[: outputs.words.shape[1]]):
            words = outputs.words[:, column]
            score += np.where(words == 0, 0.0, table.of(words))
        return score


@dataclass(frozen=True, eq=False)
class LowBits:
    """The log-ratio of the place of the lowest set bit, for each number."""

    tables: tuple[Lookup, ...]
    family: str = "low bits"

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Add up the log-ratios of the numbers' places."""
        score = np.zeros(len(outputs))
        for column, table in enumerate(self.tables[: outputs.numbers.shape[1]]):
            values = outputs.numbers[:, column]
            score += np.where(np.isnan(values), 0.0, table.of(places(values)))
        return score


@dataclass(frozen=True, eq=False)
class Linear:
    """A weighted sum of the numbers."""

    centre: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    family: str = "linear"

    def of(self, outputs: Outputs) -> npt.NDArray[np.float64]:
        """Give the weighted sum."""
        columns = min(self.weights.size, outputs.numbers.shape[1])
        shifted = np.nan_to_num(outputs.numbers[:, :columns] - self.centre[:columns])
        score: npt.NDArray[np.float64] = shifted @ self.weights[:columns]
        return score


def learn(
    first: Outputs, second: Outputs, *, floats: bool, rounding_only: bool = False
) -> list[Score]:
    """Give scores that tell the two apart; low bits only where ``floats`` have any.

    With ``rounding_only``, only those that a rounding error can change.
    """
    small = first.part(slice(0, _LEARNERS)), second.part(slice(0, _LEARNERS))
    if rounding_only:
        exact = _atoms(*small)
        return [_low_bits(*small), *([] if exact is None else [exact])]
    scores: list[Score] = []
    if first.scalar and second.scalar and first.shapes[0] == second.shapes[0]:
        scores.append(Value())
    elif first.numbers.shape[1] > 1:
        scores.append(Value("sum"))
    atoms = _atoms(*small)
    if atoms is not None:
        if atoms.table.distinct * _OFTEN <= 2 * len(small[0]):
            many = (
                first.part(slice(0, _ADDITIVE_LEARNERS)),
                second.part(slice(0, _ADDITIVE_LEARNERS)),
            )
            return [*scores, _atoms(*many) or atoms]
        scores.append(atoms)
    scores.append(_histogram(*small))
    if floats and (first.floats or second.floats):
        scores.append(_low_bits(*small))
    if min(first.numbers.shape[1], second.numbers.shape[1]) > 1:
        scores.append(_linear(*small))
        scores += _additive(first, second)
    return scores


def learn_sums(first: Outputs, second: Outputs, *, quick: bool = False) -> list[Score]:
    """Give sums of weights only; none where outputs come so often that their own ratios say all.

    A ``quick`` one has one number of ranges, the least of the fine ones that the runs allow.
    """
    if min(first.numbers.shape[1], second.numbers.shape[1]) < 2:
        return []
    small = [side.part(slice(0, _LEARNERS)) for side in (first, second)]
    distinct = np.unique(np.concatenate([side.whole() for side in small])).size
    if distinct * _OFTEN <= 2 * len(small[0]):
        return []
    return list(_additive(first, second, quick=quick))


def _additive(first: Outputs, second: Outputs, *, quick: bool = False) -> Iterator[Score]:
    """Learn sums of weights with few and with many ranges, of the numbers and of innovations."""
    width = first.numbers.shape[1]
    learners = slice(0, min(_ADDITIVE_LEARNERS, _MOST_NUMBERS // width))
    all_of = [outputs.part(learners) for outputs in (first, second)]
    fine = [r for r, least, most in _FINE_FROM if len(first) >= least and width <= most]
    for ranges in (fine or [2])[:1] if quick else (2, *fine):
        for innovations in (False, True):
            found = learn_additive(*all_of, ranges=ranges, innovations=innovations)
            if found is not None:
                yield found
        alike = learn_alike(*all_of, ranges=ranges)
        if alike is not None:
            yield alike


def _atoms(first: Outputs, second: Outputs) -> Atoms | None:
    codes = [first.whole(), second.whole()]
    table = Lookup.learn(codes[0], codes[1], most=_MOST_ATOMS)
    if table.distinct > 0.5 * (len(first) + len(second)):
        # Nearly every output is new, and tells nothing; one that comes again and again does.
        table = Lookup.learn(codes[0], codes[1], most=_MOST_ATOMS, least=_REPEATED)
        if not table.keys.size:
            return None
    texts: dict[int, str] = {}
    for outputs, code in zip((first, second), codes, strict=True):
        known = np.flatnonzero(np.isin(code, table.keys))[:2000]
        for key, row in zip(*np.unique(code[known], return_index=True), strict=True):
            if len(texts) < 64:
                texts.setdefault(int(key), text_of(outputs, int(known[row])))
    return Atoms(table, texts)


def _histogram(first: Outputs, second: Outputs) -> Histogram:
    shapes = Lookup.learn(first.shapes, second.shapes, most=_MOST_SHAPES)
    width = min(first.numbers.shape[1], second.numbers.shape[1])
    numbers = {}
    for shape in shapes.keys.tolist():
        a, b = (outputs.numbers[outputs.shapes == shape] for outputs in (first, second))
        if min(len(a), len(b)) >= 20:
            most = _BINS if width <= 2 else _BINS_OF_MANY
            bins = int(np.clip((len(a) + len(b)) / 100, 4, most))
            columns = (_ratios(a[:, c], b[:, c], bins) for c in range(width))
            numbers[shape] = tuple(columns)
    texts = min(first.words.shape[1], second.words.shape[1])
    words = tuple(
        Lookup.learn(first.words[:, c], second.words[:, c], most=_MOST_ATOMS) for c in range(texts)
    )
    return Histogram(shapes, numbers, words)


def _ratios(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], bins: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    edges = edges_of(np.concatenate([a, b]), bins)
    counts = [
        np.bincount(np.searchsorted(edges, x, side="right"), minlength=edges.size + 1)
        for x in (a, b)
    ]
    return edges, log_ratio(counts[0], counts[1])


def _low_bits(first: Outputs, second: Outputs) -> LowBits:
    columns = min(first.numbers.shape[1], second.numbers.shape[1], _LOW_BIT_COLUMNS)
    return LowBits(
        tuple(
            Lookup.learn(
                places(first.numbers[:, c]), places(second.numbers[:, c]), most=_MOST_ATOMS
            )
            for c in range(columns)
        )
    )


def _linear(first: Outputs, second: Outputs) -> Linear:
    most = 10_000
    a, b = np.nan_to_num(first.numbers[:most]), np.nan_to_num(second.numbers[:most])
    width = min(a.shape[1], b.shape[1])
    return Linear(*logistic(a[:, :width], b[:, :width]))


def places(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Code the exponent of each number together with the place of its lowest set bit."""
    finite = np.where(np.isfinite(values), values, 0.0)
    mantissas, exponents = np.frexp(finite)
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1].astype(np.int64)
    exponents = exponents.astype(np.int64)
    place = np.where(whole > 0, exponents + lowest - 54, _NO_BIT)
    return (np.clip(exponents, -20, 200) + 1000) * 10_000 + place


def _groups(
    shapes: npt.NDArray[np.int64], wanted: list[int]
) -> Iterator[tuple[int, slice | npt.NDArray[np.int64]]]:
    """Give the rows of each wanted shape."""
    if len(wanted) == 1 and bool((shapes == wanted[0]).all()):
        yield wanted[0], slice(None)
        return
    order = np.argsort(shapes, kind="stable")
    ordered = shapes[order]
    for shape in wanted:
        low = int(np.searchsorted(ordered, shape, side="left"))
        high = int(np.searchsorted(ordered, shape, side="right"))
        if high > low:
            yield shape, order[low:high]


def text_of(outputs: Outputs, row: int) -> str:
    """Show one output in words."""
    shape = outputs.names.get(int(outputs.shapes[row]), "?")
    numbers = [f"{x:.12g}" for x in outputs.numbers[row] if not math.isnan(x)]
    words = [repr(outputs.names.get(int(x), "?")) for x in outputs.words[row] if x]
    if not words and len(numbers) == 1:
        return numbers[0]
    if len(words) == 1 and not numbers:
        return f"{shape}({words[0]})" if shape.startswith("raises") else words[0]
    return f"{shape} of {', '.join([*numbers, *words])}" if numbers or words else shape
