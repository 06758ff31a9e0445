"""Top-down specialisation: start from the roots, and say more while the promise holds.

Fung, Wang, Yu: Top-Down Specialization for Information and Privacy Preservation, ICDE 2005.
Every attribute begins at the root of its hierarchy. A step replaces a node by its
children, either in one class on its own (`scope="local"`: children that cannot stand alone
keep the parent's value together) or one level for the whole table (`scope="full-domain"`,
see `levels`). Which `steps` come first decides what is kept:

* `"loss"`: the step that saves most loss first;
* `"fewest-children"`: the step into the fewest children first, which keeps classes large
  and later steps possible;
* `"information-gain"`: the step that tells most about a target attribute for the anonymity it
  costs, gain / (fall of the smallest class + 1), for releases that train a classifier.

A greedy heuristic: nothing is proven about its loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sfumato.anonymize.tables.algorithms.clock import running
from sfumato.anonymize.tables.algorithms.encoding import describe
from sfumato.anonymize.tables.algorithms.full_domain.levels import specialize_levels
from sfumato.anonymize.tables.algorithms.settle import settle
from sfumato.anonymize.tables.algorithms.top_down.partition import Splitter, by_gain
from sfumato.anonymize.tables.recoding import SearchRecord
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Shares
    from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
    from sfumato.anonymize.tables.algorithms.encoding import Encoding
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.algorithms.top_down.cuts import RecordSets
    from sfumato.anonymize.tables.algorithms.top_down.partition import Preference
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding

Scope = Literal["local", "full-domain"]
Steps = Literal["loss", "fewest-children", "information-gain"]


def specialize(
    problem: Problem,
    *,
    scope: Scope = "local",
    steps: Steps = "loss",
    target: str | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Recoding:
    """Return the most special recoding reached from the roots that holds.

    `target` names the sensitive attribute that information gain is about; by default the
    first that the promise names. Interrupted by Ctrl-C or the time limit, the descent ends where
    it is.
    """
    _check("scope", scope, get_args(Scope))
    _check("steps", steps, get_args(Steps))
    column = _target(problem, target) if steps == "information-gain" else None
    if scope == "full-domain":
        with running(time_limit) as clock:
            return specialize_levels(
                problem, steps=steps, target=column, progress=progress, clock=clock
            )

    def propose(problem: Problem, encoding: Encoding, judge: Judge) -> Shares:
        preference = _preference(problem, encoding, steps, column)
        return Splitter(encoding, judge, preference=preference).split()

    with running(time_limit) as clock:
        settled = settle(problem, propose, clock=clock)
    recoding = settled.recoding(
        SearchRecord(
            algorithm="topdown",
            label=f"heuristic: top-down specialisation by {steps}; not proven optimal",
            facts={"scope": scope, "steps": steps},
        )
    )
    if progress is not None:
        progress(1.0, settled.loss(), f"{recoding.classes:,} classes")
    return recoding


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")


def _target(problem: Problem, name: str | None) -> NDArray[np.int64]:
    """Return the values of the target attribute, one per tuple."""
    names = problem.table.sensitive_names
    if not names:
        raise ParameterError(
            "steps='information-gain' needs a sensitive attribute to be informed about, and the "
            "promise names none; name one, for instance with & DistinctLDiversity(1, attribute), "
            "which every class meets, or choose other steps."
        )
    chosen = names[0] if name is None else name
    _check("target", chosen, names)
    return problem.table.sensitive[:, names.index(chosen)].astype(np.int64)


def _preference(
    problem: Problem, encoding: Encoding, steps: Steps, column: NDArray[np.int64] | None
) -> Preference:
    if column is not None:
        return _by_information(encoding, column)
    return by_gain if steps == "loss" else _by_fewest_children(problem)


def _by_fewest_children(problem: Problem) -> Preference:
    # Loss saved breaks ties; no set can save more than all of its records' suppression.
    scale = 2.0 * max(problem.rows, 1)

    def prefer(
        sets: RecordSets,  # noqa: ARG001 - part of the signature
        gain: NDArray[np.float64],
        parts: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        score: NDArray[np.float64] = gain / scale - parts
        return score

    return prefer


def _by_information(encoding: Encoding, column: NDArray[np.int64]) -> Preference:
    tree = encoding.tree
    values = int(column.max(initial=0)) + 1

    def prefer(
        sets: RecordSets, gain: NDArray[np.float64], parts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        n = len(parts)
        groups = np.repeat(np.arange(n), np.diff(sets.begin))
        level, _, _ = describe(tree, sets.tuple_, groups, n)
        total = np.bincount(groups, weights=sets.size, minlength=n)
        before = _spread(groups, column[sets.tuple_], sets.size, n, values)
        score = np.zeros_like(gain)
        for a in range(gain.shape[1]):
            below = np.maximum(level[groups, a] - 1, 0)
            at = tree.start[a] + tree.leaves[sets.tuple_, a] * tree.height[a] + below
            children, child = np.unique(
                groups * (int(tree.node.max()) + 1) + tree.node[at], return_inverse=True
            )
            owner = children // (int(tree.node.max()) + 1)
            after = _spread(child, column[sets.tuple_], sets.size, len(children), values)
            learned = before - np.bincount(owner, weights=after, minlength=n)
            smallest = np.full(n, np.inf)
            np.minimum.at(smallest, owner, np.bincount(child, weights=sets.size))
            score[:, a] = learned / (total - smallest + 1)
        return score

    return prefer


def _spread(
    groups: NDArray[np.int64],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    n: int,
    n_values: int,
) -> NDArray[np.float64]:
    """Return entropy times size of the values in each group, from the cells that occur."""
    cells, cell = np.unique(groups * n_values + values, return_inverse=True)
    weights = np.bincount(cell, weights=counts)
    size = np.bincount(groups, weights=counts, minlength=n)
    owner = cells // n_values
    surprise = -weights * np.log(weights / size[owner])
    return np.bincount(owner, weights=surprise, minlength=n).astype(np.float64)
