"""Visits that never happened: several rows per fictional patient, with place and time.

People differ in how often they come, as in life: most a few times, some every week. A visit has a
department, a length, a cost that follows from both, a day that is rarely a Sunday, and the place
from which the person came. Numbers of patients are those of `examples.patients` of the same size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.schema import Schema

DEPARTMENTS: dict[str, tuple[float, float, float]] = {
    "general practice": (40, 15, 35),
    "physiotherapy": (16, 45, 50),
    "laboratory": (14, 10, 60),
    "radiology": (9, 25, 140),
    "cardiology": (7, 35, 160),
    "dermatology": (6, 20, 80),
    "psychology": (5, 55, 90),
    "emergency": (3, 120, 420),
}
"""Department: its share, its typical minutes and its typical cost."""

TOWNS = ((46.50, 11.35, 0.030, 6), (46.67, 11.16, 0.020, 3), (46.72, 11.65, 0.015, 1.5),
         (46.62, 10.77, 0.020, 1), (46.80, 11.94, 0.015, 1))  # fmt: skip
"""Towns: latitude, longitude, spread in degrees, and how many live there."""

FIRST_DAY, DAYS = "2025-01-01", 365
LONGEST, DEAREST = 480, 5_000


def visits_of(people: int, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return the visits of a year, in the order of their days."""
    eagerness = generator.gamma(0.9, 3.5, people)
    each = 1 + generator.poisson(eagerness)
    who = np.repeat(np.arange(people), each)
    n = len(who)
    department = generator.choice(
        len(DEPARTMENTS), n, p=_shares([d[0] for d in DEPARTMENTS.values()])
    )
    typical = np.array([d[1:] for d in DEPARTMENTS.values()])[department]
    minutes = np.clip(typical[:, 0] * generator.lognormal(0, 0.45, n), 5, LONGEST)
    cost = np.clip(typical[:, 1] * (minutes / typical[:, 0]) ** 0.5
                   * generator.lognormal(0, 0.25, n), 10, DEAREST)  # fmt: skip
    town = generator.choice(len(TOWNS), people, p=_shares([t[3] for t in TOWNS]))
    home = np.array(TOWNS)[town]
    place = home[:, :2] + home[:, 2:3] * generator.standard_normal((people, 2))
    days = _days(n, generator)
    order = np.argsort(days, kind="stable")
    columns = {
        "patient": _numbers(people)[who],
        "day": (np.datetime64(FIRST_DAY) + days).astype(str).astype(object),
        "department": np.array([*DEPARTMENTS], dtype=object)[department],
        "minutes": minutes.astype(np.int64),
        "cost": cost.astype(np.int64),
        "latitude": np.round(place[who, 0], 4),
        "longitude": np.round(place[who, 1], 4),
    }
    return {name: column[order] for name, column in columns.items()}


def _shares(weights: list[float]) -> NDArray[np.float64]:
    array = np.array(weights, dtype=np.float64)
    shares: NDArray[np.float64] = array / array.sum()
    return shares


def _numbers(people: int) -> NDArray[Any]:
    width = max(6, len(str(people - 1)))
    return np.char.add("P", np.char.zfill(np.arange(people).astype(str), width)).astype(object)


def _days(n: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw days of the year: few on Sundays, fewer in August, more in winter."""
    all_days = np.arange(DAYS)
    weekday = (all_days + 2) % 7  # 1 January 2025 was a Wednesday
    odds = np.where(weekday == 6, 0.15, np.where(weekday == 5, 0.4, 1.0))
    odds *= 1 + 0.25 * np.cos(2 * np.pi * all_days / DAYS)
    odds[212:243] *= 0.6
    return generator.choice(DAYS, n, p=_shares(odds.tolist())).astype(np.int64)


def visits_schema() -> Schema:
    """Return the schema: departments and lengths are declared, what a visit costs is not."""
    from sfumato.data.schema import Schema  # noqa: PLC0415 - pydantic loads when used

    return Schema(
        attributes={
            "patient": {"role": "identifier", "type": "text"},
            "day": {"role": "quasi", "type": "date"},
            "department": {"role": "sensitive", "type": "text", "domain": tuple(DEPARTMENTS)},
            "minutes": {"role": "sensitive", "type": "integer", "domain": (0, LONGEST)},
            "cost": {"role": "sensitive", "type": "integer"},
            "latitude": {"role": "quasi", "type": "number"},
            "longitude": {"role": "quasi", "type": "number"},
        },
        unit="patient",
        purposes=["research"],
    )
