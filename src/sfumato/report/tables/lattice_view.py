"""The generalisation lattice with the chosen node, where it is small enough to look at.

A small lattice is drawn whole, every node evaluated. Of a large one the page shows the
chosen node with its neighbours one level up and down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.data.wording import some
from sfumato.report.figures import count, decimal
from sfumato.report.svg import Dot, lattice
from sfumato.report.tables.reasons import keeps_promise, node_loss

if TYPE_CHECKING:
    from markupsafe import Markup

    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import FullDomain

MINUS = "\N{MINUS SIGN}"

LARGEST_DRAWN = 200
"""Nodes up to which a lattice is drawn whole."""


@dataclass(frozen=True)
class Layer:
    """The nodes of one height: how many there are, how many keep the promise, the cheapest."""

    height: int
    nodes: int
    holds: int
    cheapest: str


@dataclass(frozen=True)
class LatticeView:
    """The picture, its table, and whether it is the whole lattice."""

    picture: Markup
    layers: tuple[Layer, ...]
    dots: tuple[Dot, ...]
    whole: bool
    nodes: int
    shown: int
    order: str


@dataclass(frozen=True)
class _Judged:
    node: tuple[int, ...]
    holds: bool
    suppressed: int
    loss: float


def lattice_view(problem: Problem, recoding: FullDomain) -> LatticeView:
    """Evaluate the nodes that are shown and draw them."""
    shape = [int(h) for h in problem.heights]
    size = math.prod(shape)
    whole = size <= LARGEST_DRAWN
    nodes = list(product(*map(range, shape))) if whole else _neighbours(recoding.levels, shape)
    evaluator = Evaluator(problem)
    judged = [_judge(problem, evaluator, node) for node in nodes]
    dots = tuple(_dot(dot, recoding.levels, problem, whole=whole) for dot in judged)
    names = ", ".join(problem.table.quasi_names)
    holds = sum(dot.holds for dot in judged)
    told = (
        f"Lattice of {some(len(nodes), 'node')}, levels in the order {names}: {count(holds)} keep "
        f"the promise; chosen is {', '.join(map(str, recoding.levels))}."
    )
    picture = lattice(dots, label=told)
    return LatticeView(picture, _layers(judged), dots, whole, size, len(nodes), names)


def _neighbours(node: tuple[int, ...], shape: list[int]) -> list[tuple[int, ...]]:
    found = [node]
    for a, level in enumerate(node):
        steps = [other for other in (level - 1, level + 1) if 0 <= other < shape[a]]
        found += [(*node[:a], other, *node[a + 1 :]) for other in steps]
    return found


def _judge(problem: Problem, evaluator: Evaluator, node: tuple[int, ...]) -> _Judged:
    found = evaluator.evaluate(node)
    holds = keeps_promise(problem, found)
    loss = node_loss(problem, found) if holds else math.inf
    return _Judged(node, holds, found.suppressed, loss)


def _dot(dot: _Judged, chosen: tuple[int, ...], problem: Problem, *, whole: bool) -> Dot:
    if dot.holds:
        price = f"{problem.objective} {decimal(dot.loss)}"
        title = f"{price}, {some(dot.suppressed, 'record')} suppressed"
    else:
        title = f"{some(dot.suppressed, 'record')} in classes that break the promise"
    tone = "chosen" if dot.node == chosen else "holds" if dot.holds else "fails"
    return Dot(dot.node, tone, title, "" if whole else _step(dot.node, chosen, problem))


def _step(node: tuple[int, ...], chosen: tuple[int, ...], problem: Problem) -> str:
    """Name a neighbour by what sets it apart: `age −1`."""
    for name, level, was in zip(problem.table.quasi_names, node, chosen, strict=True):
        if level != was:
            return f"{name} {'+' if level > was else MINUS}1"
    return "chosen"


def _layers(judged: list[_Judged]) -> tuple[Layer, ...]:
    layers = []
    for height in sorted({sum(dot.node) for dot in judged}, reverse=True):
        nodes = [dot for dot in judged if sum(dot.node) == height]
        best = min(nodes, key=lambda dot: dot.loss)
        cheapest = f"{', '.join(map(str, best.node))} ({decimal(best.loss)})" if best.holds else "–"
        layers.append(Layer(height, len(nodes), sum(dot.holds for dot in nodes), cheapest))
    return tuple(layers)
