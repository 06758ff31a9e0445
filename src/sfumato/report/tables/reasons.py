"""Why a full-domain release is as coarse as it is, attribute by attribute.

For each attribute that was generalised the node one level lower is evaluated: how many
records would then be in classes that break the promise, which released classes would break,
and, where the promise would still hold, what it would cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.data.wording import some
from sfumato.report.figures import count, decimal, label, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluation
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import FullDomain

TIE = 1e-9


@dataclass(frozen=True)
class BrokenClass:
    """A released class that one level lower would break apart."""

    cells: tuple[tuple[str, str], ...]
    records: int
    parts: int
    failing: int


@dataclass(frozen=True)
class StepDown:
    """What one level less of one attribute would do.

    `outcome`: the promise `fails`; or it holds and the release would be `dearer` (or as
    dear); or even `cheaper`, which only a heuristic leaves lying. `kept` means that the
    attribute is released as it is.
    """

    attribute: str
    outcome: Literal["kept", "fails", "dearer", "cheaper"]
    level: int
    failing: int = 0
    classes_broken: int = 0
    by_part: tuple[tuple[str, int], ...] = ()
    example: BrokenClass | None = None
    sentence: str = ""


def steps_down(problem: Problem, recoding: FullDomain) -> tuple[StepDown, ...]:
    """Return for each quasi-identifier what forced its level."""
    evaluator = Evaluator(problem)
    now = evaluator.evaluate(recoding.levels)
    return tuple(
        _kept(problem, a, now) if level == 0 else _step(problem, evaluator, recoding, a, now)
        for a, level in enumerate(recoding.levels)
    )


def _kept(problem: Problem, a: int, now: Evaluation) -> StepDown:
    sentence = "Released as it is; nothing had to be generalised."
    if now.suppressed:
        sentence += " What it lost are the suppressed records."
    return StepDown(problem.table.quasi_names[a], "kept", 0, sentence=sentence)


def _step(
    problem: Problem, evaluator: Evaluator, recoding: FullDomain, a: int, now: Evaluation
) -> StepDown:
    levels = recoding.levels
    lower = (*levels[:a], levels[a] - 1, *levels[a + 1 :])
    found = evaluator.evaluate(lower)
    name = problem.table.quasi_names[a]
    if keeps_promise(problem, found):
        return _affordable(problem, name, levels[a], found, now)
    failing = evaluator.suppressed_tuples(lower)
    broken, example = _broken_classes(problem, recoding, lower, failing)
    step = StepDown(
        name,
        "fails",
        levels[a],
        found.suppressed,
        broken,
        _by_part(problem, lower),
        example,
    )
    return replace(step, sentence=_why(problem, step, now))


def keeps_promise(problem: Problem, found: Evaluation) -> bool:
    """Tell whether a node is a release: few enough suppressed, and something left."""
    return found.suppressed <= problem.suppression_limit and found.kept_classes > 0


def node_loss(problem: Problem, found: Evaluation) -> float:
    """Return the loss of a node that keeps the promise, under the problem's objective."""
    n = problem.rows
    if problem.objective == "DM":
        return (found.kept_squares + found.suppressed * n) / n**2
    if problem.objective == "AECS":
        return 1 / max(found.kept_classes + (found.suppressed > 0), 1)
    price = sum(
        float((problem.table.counts * costs[problem.table.quasi[:, a], found.node[a]]).sum())
        for a, costs in enumerate(problem.costs)
    )
    return (price + found.saved) / n


def _affordable(
    problem: Problem, name: str, level: int, found: Evaluation, now: Evaluation
) -> StepDown:
    loss, present = node_loss(problem, found), node_loss(problem, now)
    cheaper = loss < present - TIE
    would = (
        f"One level lower would keep the promise too, with {some(found.suppressed, 'record')} "
        f"suppressed instead of {count(now.suppressed)}, and lose "
        f"{'less' if cheaper else 'more' if loss > present + TIE else 'as much'}: "
        f"{problem.objective} {decimal(loss)} instead of {decimal(present)}."
    )
    if cheaper:
        would += " The recoding comes from a heuristic or an earlier decision and does not take it."
    return StepDown(
        name, "cheaper" if cheaper else "dearer", level, found.suppressed, sentence=would
    )


def _why(problem: Problem, step: StepDown, now: Evaluation) -> str:
    limit = problem.suppression_limit
    allowed = f"at most {count(limit)} may be suppressed" if limit else "none may be suppressed"
    sentence = (
        f"One level lower would put {some(step.failing, 'record')} "
        f"({percent(step.failing / problem.rows)}) into classes that break the promise; {allowed}."
    )
    if step.classes_broken:
        of = f"{count(step.classes_broken)} of the {some(now.kept_classes, 'class', 'classes')}"
        sentence += f" It would break {of} released now."
    return sentence


def _by_part(problem: Problem, node: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """Return how many records each part of a promise of several would suppress on its own."""
    parts = problem.definition.parts
    if len(parts) < 2:
        return ()
    return tuple(
        (str(part), Evaluator(replace(problem, definition=part)).evaluate(node).suppressed)
        for part in parts
    )


def _broken_classes(
    problem: Problem,
    recoding: FullDomain,
    lower: tuple[int, ...],
    failing: NDArray[np.bool_],
) -> tuple[int, BrokenClass | None]:
    """Return how many released classes would hold failing records, and the worst of them."""
    table, hierarchies = problem.table, problem.hierarchies
    cells = released_cells(table, hierarchies, recoding)
    n = len(cells.level)
    lost = cells.kept & failing
    hurt = np.bincount(cells.row[lost], weights=table.counts[lost], minlength=n)
    if not hurt.any():
        return 0, None
    worst = int(hurt.argmax())
    members = np.flatnonzero(cells.row == worst)
    finer = np.stack(
        [h.levels[table.quasi[members, a], lower[a]] for a, h in enumerate(hierarchies)], axis=1
    )
    example = BrokenClass(
        tuple(
            (name, label(h.label(int(cells.low[worst, a]), recoding.levels[a])))
            for a, (name, h) in enumerate(zip(table.quasi_names, hierarchies, strict=True))
        ),
        int(table.counts[members].sum()),
        len(np.unique(finer, axis=0)),
        int(hurt[worst]),
    )
    return int(np.count_nonzero(hurt)), example
