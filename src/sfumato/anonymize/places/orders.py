"""Ways to divide users into groups of at least k: by cuts, along a curve, by columns.

Each takes places and the k of each user, and returns the number of each user's group. Groups hold
at least as many users as any of their members asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 16
"""Bits per axis of the Hilbert curve: cells of a metre for a city of 65 km."""


def divide_by_cuts(places: NDArray[np.float64], k: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cut along x or y wherever that makes boxes smallest."""
    from sfumato.anonymize.places.partition_kernel import divide  # noqa: PLC0415 - compiles

    x, y = np.ascontiguousarray(places[:, 0]), np.ascontiguousarray(places[:, 1])
    found: NDArray[np.int64] = divide(
        x, y, k, np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    )
    return found


def divide_along_the_curve(places: NDArray[np.float64], k: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fill groups in the order of the Hilbert curve."""
    return _fill(np.argsort(hilbert_index(places), kind="stable"), k)


def divide_by_columns(places: NDArray[np.float64], k: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make columns of equal numbers of users, and fill groups from bottom to top in each.

    A group that is begun at the top of a column is filled at the top of the next: columns run up
    and down in turns.
    """
    n = len(places)
    columns = max(int(np.sqrt(n / max(int(k.mean()), 1))), 1)
    rank = np.empty(n, np.int64)
    rank[np.argsort(places[:, 0], kind="stable")] = np.arange(n)
    column = rank * columns // n
    height = np.where(column % 2 == 0, places[:, 1], -places[:, 1])
    return _fill(np.lexsort([height, column]), k)


def _fill(order: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.int64]:
    """Close a group once it has as many users as a member asks for; the rest joins the last."""
    from sfumato.anonymize.places.order_kernel import fill  # noqa: PLC0415 - compiles

    group = np.empty(len(order), np.int64)
    group[order] = fill(k[order])
    return group


def hilbert_index(places: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the place of each point on a Hilbert curve over the square that holds all of them."""
    from sfumato.anonymize.places.order_kernel import along_the_curve  # noqa: PLC0415 - compiles

    low = places.min(axis=0)
    side = max(float(np.ptp(places, axis=0).max()), 1e-9)
    cells = ((places - low) / side * (2**BITS - 1)).astype(np.int64)
    found: NDArray[np.int64] = along_the_curve(cells[:, 0].copy(), cells[:, 1].copy(), BITS)
    return found
