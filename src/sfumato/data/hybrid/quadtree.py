"""Places as cells of a quadtree: the hierarchy of an attribute of type place.

A place is written as two numbers, "x y", "x, y" or "x; y"; degrees are written as latitude and
longitude, as people do. The square is cut into four, again and again, down to squares that hold one
place or are as small as 2^-DEPTH of it. Its bounds are given or those of the earth, never those of
the data, which would tell the places at the edge. A cell is called by its corners.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.sets.item_tree import build_tree
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.sets.item_tree import ItemTree

EARTH = (-90.0, -180.0, 90.0, 180.0)
"""Latitudes and longitudes: least of both, then largest of both."""
DEPTH = 20
_PLACE = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*[,; ]\s*([-+]?\d+(?:\.\d+)?)\s*")


def read_place(text: str, attribute: str) -> tuple[float, float]:
    """Return the two numbers of a place."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise DataError(
            f"Attribute '{attribute}' is a place, but a cell does not hold two numbers such as "
            "'48.86, 2.35'."
        )
    return float(found[1]), float(found[2])


def quadtree(
    places: Sequence[str],
    attribute: str,
    bounds: tuple[float, float, float, float] | None = None,
) -> ItemTree:
    """Return the tree of cells above distinct places."""
    low_x, low_y, high_x, high_y = bounds or EARTH
    if not (high_x > low_x and high_y > low_y):
        raise ParameterError(
            f"The bounds of '{attribute}' are the least x and y, then the largest x and y."
        )
    points = np.array([read_place(text, attribute) for text in places], dtype=np.float64)
    share = (points - [low_x, low_y]) / [high_x - low_x, high_y - low_y]
    if ((share < 0) | (share > 1)).any():
        raise DataError(
            f"A place of '{attribute}' lies outside of the bounds ({low_x:g}, {low_y:g}) to "
            f"({high_x:g}, {high_y:g}); give bounds that hold them all."
        )
    cells = np.minimum((share * 2**DEPTH).astype(np.int64), 2**DEPTH - 1)
    order = np.argsort(_interleaved(cells), kind="stable")
    runs = []
    for level in range(DEPTH, -1, -1):  # the finest squares first, the whole last
        here = cells[order] >> (DEPTH - level)
        new = np.concatenate([[True], (here[1:] != here[:-1]).any(axis=1)])
        begins = np.flatnonzero(new).astype(np.int64)
        names = [_name(here[b], level, (low_x, low_y, high_x, high_y)) for b in begins]
        runs.append((begins, names))
    runs[-1] = (runs[-1][0], ["*"])
    return build_tree([places[i] for i in order], runs, "quadtree")


def _interleaved(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of a cell along the curve that visits each quarter as a whole (Morton)."""
    code = np.zeros(len(cells), dtype=np.int64)
    for bit in range(DEPTH):
        code |= ((cells[:, 0] >> bit) & 1) << (2 * bit + 1)
        code |= ((cells[:, 1] >> bit) & 1) << (2 * bit)
    return code


def _name(cell: NDArray[np.int64], level: int, bounds: tuple[float, float, float, float]) -> str:
    wide, tall = (bounds[2] - bounds[0]) / 2**level, (bounds[3] - bounds[1]) / 2**level
    x, y = bounds[0] + wide * cell[0], bounds[1] + tall * cell[1]
    return f"[{x:.6g}, {x + wide:.6g}) × [{y:.6g}, {y + tall:.6g})"
