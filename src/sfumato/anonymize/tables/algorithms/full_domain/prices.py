"""What nodes of the lattice cost, for every search that walks it, and what to say if none holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluation
    from sfumato.anonymize.tables.problem import Problem

SEPARABLE = frozenset({"LM", "MD", "NUE"})
"""Objectives that are a sum over cells, so that the price of a node is known at once."""

TIE = 1e-12
"""Losses closer than this are the same; the node found first stays."""


def level_prices(problem: Problem) -> list[NDArray[np.float64]]:
    """Return for each attribute what its levels cost, as a share of the whole table."""
    counts = problem.table.counts
    leaves = [
        np.bincount(problem.table.quasi[:, a], weights=counts, minlength=len(costs))
        for a, costs in enumerate(problem.costs)
    ]
    return [n @ costs / problem.rows for n, costs in zip(leaves, problem.costs, strict=True)]


def node_prices(problem: Problem) -> NDArray[np.float64]:
    """Return a lower bound on the price of every node before suppression, told at once.

    For sums over cells it is the price itself. AECS and DM are at least one over the number of
    classes that a node can have at most: one for each combination of labels, or for each record.
    """
    shape = [int(height) for height in problem.heights]
    if problem.objective in SEPARABLE:
        return along_all(level_prices(problem))
    most = np.ones(shape)
    for a, hierarchy in enumerate(problem.hierarchies):
        labels = np.array([float(len(labels)) for labels in hierarchy.labels])
        most *= _along(labels, a, len(shape))
    return 1 / np.minimum(most, float(max(problem.rows, 1)))


def least_losses(problem: Problem, prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a lower bound on the loss of every node, told at once from `node_prices`.

    AECS and DM are also at least one over as many classes as a promise about the whole release
    allows, and one of what is suppressed. That bounds the loss with suppression: before it a node
    has as many classes as it likes, so what suppression adds does not come on top.
    """
    if problem.objective in SEPARABLE:
        return prices.copy()
    allowed = min(part.most_classes(problem.rows) + 1 for part in problem.definition.parts)
    return np.maximum(prices, 1 / max(allowed, 1))


def along_all(per_attribute: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Add up a number for each level of each attribute, for every node."""
    total = np.zeros([len(values) for values in per_attribute])
    for a, values in enumerate(per_attribute):
        total += _along(values, a, total.ndim)
    return total


def _along(values: NDArray[np.float64], axis: int, axes: int) -> NDArray[np.float64]:
    """Lay values along one axis of the lattice."""
    return values.reshape([-1 if a == axis else 1 for a in range(axes)])


def suppression_prices(problem: Problem) -> NDArray[np.float64] | None:
    """Return what suppressing the 1, 2, … records that are cheapest to suppress costs.

    None where the number of suppressed records does not matter by itself.
    """
    if problem.objective == "AECS":
        return None
    if problem.objective == "DM":
        return np.arange(1, problem.rows + 1, dtype=np.float64)
    table = problem.table
    price = np.zeros(table.distinct)
    for a, supp in enumerate(problem.suppressed):
        price += supp[table.quasi[:, a]]
    order = np.argsort(price, kind="stable")
    return np.cumsum(np.repeat(price[order], table.counts[order]))


def node_loss(problem: Problem, node: Evaluation, price: float) -> float:
    """Return the loss of an evaluated node; `price` is its price before suppression."""
    n = problem.rows
    if problem.objective == "DM":
        return (node.kept_squares + node.suppressed * n) / n**2
    if problem.objective == "AECS":
        return 1 / max(node.kept_classes + (node.suppressed > 0), 1)
    return price + node.saved / n


def unsatisfiable_message(problem: Problem, proven: bool = True) -> str:
    """Say why there is no release and what could be changed."""
    limit = problem.suppression_limit
    why = "No generalisation" if proven else "No generalisation tried before the search stopped"
    return (
        f"{why} of {problem.attributes} quasi-identifiers meets {problem.definition} on "
        f"{problem.rows:,} records with at most {limit:,} suppressed, not even with every value "
        "generalised to the root. Ask for less (a smaller k or l, a larger t), allow more "
        "suppression, or check that the hierarchies end in a single root."
    )
