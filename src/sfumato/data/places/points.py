"""Points: where people are at one moment, in metres of a plane.

Contract: one place per person, finite, in the order given. `points` come as an array of rows (x,
y), or as a mapping or frame with the columns x and y, or lon and lat in degrees, and a person each
if one column is called so (or user, uid, id).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.trajectories.trajectories import PERSON_NAMES, Frame
from sfumato.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = (("lon", "lat"), ("lng", "lat"), ("longitude", "latitude"), ("x", "y"))


@dataclass(frozen=True, eq=False)
class Points:
    """Places of people; `people` tells them apart."""

    places: NDArray[np.float64]
    people: NDArray[Any]
    frame: Frame = field(default_factory=Frame)

    def __len__(self) -> int:
        return len(self.places)


def read_points(points: Any, *, people: Any = None, degrees: bool | None = None) -> Points:
    """Return points of people, checked."""
    if isinstance(points, Points):
        return points
    found, who = _columns(points)
    rows = found if found is not None else points
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("Points are rows of two numbers, x and y.") from None
    if array.ndim != 2 or array.shape[1] != 2:
        raise DataError("Points are rows of two numbers, x and y.")
    if not np.isfinite(array).all():
        bad = ~np.isfinite(array).all(axis=1)
        raise DataError(
            f"{int(bad.sum())} point(s) have no finite coordinates (the first is number "
            f"{int(np.argmax(bad)) + 1}); mend or drop them."
        )
    degrees = who.get("degrees", False) if degrees is None else degrees
    named = people if people is not None else who.get("people")
    return _assemble(array, named, bool(degrees))


def _columns(points: Any) -> tuple[Any, dict[str, Any]]:
    """Return the rows of a frame or mapping, and what its other columns say."""
    names = getattr(points, "columns", None)
    if names is None and hasattr(points, "keys"):
        names = points.keys()
    if names is None:
        return None, {}
    known = {str(name).lower(): name for name in names}
    for across, up in NAMES:
        if across in known and up in known:
            rows = np.column_stack(
                [np.asarray(points[known[across]]), np.asarray(points[known[up]])]
            )
            who: dict[str, Any] = {"degrees": across != "x"}
            person = next((name for name in PERSON_NAMES if name in known), None)
            if person is not None:
                who["people"] = np.asarray(points[known[person]])
            return rows, who
    raise DataError("Points need the columns x and y, or lon and lat.")


def _assemble(array: NDArray[np.float64], people: Any, degrees: bool) -> Points:
    frame = Frame()
    if degrees and len(array):
        if (np.abs(array) > [180.0, 90.0]).any():
            raise DataError("A point has a latitude beyond 90° or a longitude beyond 180°.")
        middle = np.round(np.median(array, axis=0))
        frame = Frame(True, (float(middle[0]), float(middle[1])))
        array = frame.project(array[:, 0], array[:, 1])
    named = np.arange(len(array)) if people is None else np.asarray(people)
    if len(named) != len(array):
        raise DataError(
            f"{len(named)} people were named for {len(array)} points; name one for each."
        )
    if people is not None and len(np.unique(named)) != len(named):
        raise DataError(
            "A person has two places at one moment; a snapshot needs one of each, say the latest."
        )
    return Points(array, named, frame)
