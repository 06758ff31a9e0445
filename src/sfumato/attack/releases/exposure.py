"""From entries of a class histogram to the people they expose.

An entry is one sensitive value in one class, with the number of people who have it there.
The attacks on a single release differ in what makes an entry dangerous; counting the
people, naming the class responsible and hiding the value are the same for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.attack.finding import Finding, class_query, described

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.released.tables import TableView


def exposed_people(view: TableView, attribute: str, dangerous: NDArray[np.bool_]) -> int:
    """Count the people whose own value is a dangerous entry."""
    return int(view.spread(attribute).count[dangerous].sum())


def attacked_people(view: TableView, attribute: str) -> int:
    """Count whom an attack on a sensitive attribute can expose.

    Where people have several records, somebody counts once for each of her values in a class, as
    the exposed do.
    """
    return int(view.spread(attribute).count.sum())


def entry_findings(
    view: TableView,
    attribute: str,
    attack: str,
    dangerous: NDArray[np.bool_],
    posterior: NDArray[np.float64],
    *,
    learnt: str,
    most: int,
    severity: NDArray[np.float64] | None = None,
    proof: Callable[[int], dict[str, object]] | None = None,
) -> tuple[Finding, ...]:
    """Return a finding per dangerous entry, the surest and largest first."""
    spread = view.spread(attribute)
    worse = posterior if severity is None else severity
    found = []
    for entry in _leading(np.flatnonzero(dangerous), worse, spread.count, most):
        c = int(spread.class_[entry])
        cells = view.evidence.cells(c)
        evidence: dict[str, object] = {
            "class": cells,
            "records in the class": int(spread.sizes[c]),
            "replay": class_query(cells, attribute),
            **({} if proof is None else proof(int(entry))),
        }
        found.append(
            Finding(
                attack,
                people_in(int(spread.count[entry]), int(spread.sizes[c]), cells),
                int(spread.count[entry]),
                learnt,
                float(spread.overall[entry]),
                float(posterior[entry]),
                evidence,
                attribute,
                secret=(spread.values[int(spread.value[entry])],),
            )
        )
    return tuple(found)


def _leading(
    entries: NDArray[np.int64], worse: NDArray[np.float64], count: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Return the `most` entries that are worst, the largest of those that are equally bad first.

    What is less bad than so many others is put aside before the rest is sorted.
    """
    for figure in (worse, count):
        left = len(entries) - most
        if left <= 0 or most <= 0:
            break
        value = figure[entries]
        least = value.max()  # often shared by more than are asked for: certainty
        if np.count_nonzero(value == least) < most:
            least = np.partition(value, left)[left]
        entries = entries[value >= least]
        if (figure[entries] > least).any():
            break  # equally bad entries alone may be put in the order of the next figure
    return entries[np.lexsort((-count[entries], -worse[entries]))[:most]]


def people_in(people: int, size: int, cells: dict[str, str]) -> str:
    """Return who a finding is about, by the class they are in."""
    noun = "person" if people == 1 else "people"
    among = f"all {people} {noun}" if people == size and size > 1 else f"{people} {noun} of {size}"
    return f"{'the only person' if size == 1 else among} with {described(cells)}"


def worst_entry(posterior: NDArray[np.float64], prior: NDArray[np.float64]) -> tuple[float, float]:
    """Return prior and posterior of the entry with the largest posterior; the rarest on a tie."""
    if not len(posterior):
        return 0.0, 0.0
    ties = np.flatnonzero(posterior == posterior.max())
    entry = int(ties[prior[ties].argmin()])
    return float(prior[entry]), float(posterior[entry])
