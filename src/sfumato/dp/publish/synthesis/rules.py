"""Combinations of values that cannot be: structural zeros, kept without exception.

Contract: a :class:`Mask` says which combinations of atoms of some columns can occur at all. It is
public knowledge about the world, never found in the data. The cloud of particles never leaves
what the masks allow; what a mask cannot see, because atoms are coarser than values, the codec
of the shape repairs, and checks, at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_CELLS = 1 << 20
"""A mask over more combinations of atoms is not made; the codec then repairs alone."""


@dataclass(frozen=True, eq=False)
class Mask:
    """``allowed`` has one axis for each of ``columns``, over their atoms."""

    columns: tuple[int, ...]
    allowed: NDArray[np.bool_]


class MaskArrays(NamedTuple):
    """All masks in the arrays that the sweep reads; see :func:`.kernels.sweep`."""

    starts: NDArray[np.int64]
    rules: NDArray[np.int64]
    columns: NDArray[np.int64]
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    allowed: NDArray[np.uint8]


def collect(masks: Sequence[Mask], width: int) -> MaskArrays:
    """Put masks into arrays, for a table of ``width`` columns."""
    most = max((len(mask.columns) for mask in masks), default=1)
    columns = np.full((max(1, len(masks)), most), -1, dtype=np.int64)
    strides = np.zeros_like(columns)
    for t, mask in enumerate(masks):
        columns[t, : len(mask.columns)] = mask.columns
        shape = mask.allowed.shape
        strides[t, : len(shape)] = [math.prod(shape[c + 1 :]) for c in range(len(shape))]
    flat = [mask.allowed.ravel().astype(np.uint8) for mask in masks]
    offsets = np.cumsum([0, *(part.size for part in flat)], dtype=np.int64)
    of_column = [[t for t, mask in enumerate(masks) if i in mask.columns] for i in range(width)]
    starts = np.cumsum([0, *(len(part) for part in of_column)], dtype=np.int64)
    rules = np.array([t for part in of_column for t in part], dtype=np.int64)
    allowed = np.concatenate(flat) if flat else np.ones(1, dtype=np.uint8)
    return MaskArrays(starts, rules, columns, strides, offsets, allowed)


def keep(masks: Sequence[Mask], atoms: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell which particles the masks allow."""
    good = np.ones(atoms.shape[1], dtype=np.bool_)
    for mask in masks:
        good &= mask.allowed[tuple(atoms[c] for c in mask.columns)]
    return good
